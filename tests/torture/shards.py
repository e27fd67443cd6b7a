"""Shards lost, foreign, half-written or damaged, and a `gather` killed: right tables or one message; running again completes them."""

from __future__ import annotations

import functools
import shutil
import signal
import tempfile
import time
from pathlib import Path
from random import Random

import longfat
from longfat import LongfatError
from longfat.store import Store

from torture.damage import SMALL, TABLES, is_same, spoil
from torture.stop import start

SWEEP = SMALL.replace('"2 s"', '{ sweep = ["1 s", "1.5 s", "2 s", "2.5 s"] }')
"""Eight runs."""
FOREIGN = SWEEP.replace("10 Mbit/s", "11 Mbit/s")
"""Sweep with the same axes and the same labels, over another link."""
SHARDS = 4


@functools.cache
def pieces(text: str) -> list[Path]:
    """The folders that the shards of a sweep leave, each written by its own process to a folder of its own."""
    home = Path(tempfile.mkdtemp(prefix="longfat-torture-"))
    for shard in range(1, SHARDS + 1):
        longfat.Experiment(text, name="small").sweep_shard(home / str(shard), shard, SHARDS, jobs=1)
    return [home / str(shard) for shard in range(1, SHARDS + 1)]


@functools.cache
def expected() -> longfat.Results:
    """The sweep in one go."""
    return longfat.Experiment(SWEEP, name="small").sweep(jobs=1)


def put(source: Path, place: Path) -> None:
    """Copies the output of a shard's process into the folder where all of them write."""
    shutil.copytree(source, place, dirs_exist_ok=True)


def damage(random: Random, place: Path) -> str:
    """Spoils the shards in `place`; says how."""
    how = random.choice(("lost", "half", "foreign", "spoilt", "two", "none"))
    several = pieces(SWEEP)
    taken = [piece for piece in several if how != "lost" or piece != several[-1]]
    for piece in random.sample(taken, len(taken)):
        put(piece, place)
    match how:
        case "half":
            file = random.choice(sorted((place / "shards").rglob("*.parquet")) or sorted(place.rglob("*.journal*")))
            file.write_bytes(file.read_bytes()[: random.randrange(file.stat().st_size)])
        case "foreign":
            for part in random.choice(pieces(FOREIGN)).iterdir():
                if part.is_dir():
                    put(part, place / part.name)
        case "spoilt":
            how += " " + spoil(random, place)
        case "two":
            put(random.choice(several), place)
    return how


def gather(place: Path) -> longfat.Results | LongfatError:
    """The tables; or why there are none."""
    try:
        return longfat.Experiment(SWEEP, name="small").gather(place)
    except LongfatError as error:
        return error


def killed(random: Random, folder: Path) -> None:
    """`longfat gather` is killed at some moment, some times in a row."""
    for _ in range(random.randrange(1, 4)):
        process = start(folder, "gather", "small.toml")
        time.sleep(0.4 + random.random() * 1.2)
        process.send_signal(signal.SIGKILL)
        _, said = process.communicate(timeout=60)
        assert "Traceback" not in said, said


def attack(random: Random, folder: Path) -> None:
    """No table is wrong whatever became of the shards; running again makes what is missing."""
    (folder / "small.toml").write_text(SWEEP, encoding="utf-8")
    place = folder / "results" / "small"
    done = damage(random, place)
    if random.random() < 0.5:
        killed(random, folder)
        done += ", killed"
    found = gather(place)
    if isinstance(found, LongfatError):
        assert done.split(",")[0] not in ("none", "two", "foreign"), f"{done}: {found}"
        assert len(str(found)) < 2000, f"{done}: the error is long"
        # The message says so where runs are missing; where something else is damaged, it names the file.
        assert str(place) in str(found) or "missing" in str(found), f"{done}: {found}"
    else:
        right(found, done)
    right(longfat.Experiment(SWEEP, name="small").sweep(place, jobs=1), f"{done}, run again")
    right(longfat.load_results(place), f"{done}, run again and loaded")
    assert Store(place).text() == SWEEP


def right(found: longfat.Results, done: str) -> None:
    """It is what the sweep is in one go."""
    for table in TABLES[:4]:
        assert is_same(getattr(found, table), getattr(expected(), table)), f"{done}: {table} is wrong"
