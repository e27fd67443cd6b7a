"""One run of many is found by the index of its shard; a writer holds nothing of what is finished."""

# pyarrow comes without types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false

from __future__ import annotations

import gc
import hashlib
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from conftest import ONE
from longfat import Experiment
from longfat.errors import DamagedError
from longfat.store import Store, index, writer
from longfat.store.finished import Finished
from longfat.store.many import Many
from longfat.store.place import place_of
from longfat.store.shard import Shard
from longfat.store.shards import Shards
from longfat.sweep.hashes import Hashes
from longfat.sweep.work import timed


def names(count: int) -> list[str]:
    return [hashlib.sha256(str(number).encode()).hexdigest() for number in range(count)]


def runs(count: int) -> Iterator[Finished]:
    """One run under so many hashes."""
    (run,) = Experiment(ONE).resolve_all()
    real = Finished.of_run(run, "One", *timed(run))
    for number, name in enumerate(names(count)):
        yield Finished(real.facts | {"run": name, "repeat": number}, parts=real.parts)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """60 runs in shards of 20, 20, and 20 that were merged of 10 each."""
    monkeypatch.setattr(index, "GROUP_ROWS", 3)
    shards = Shards(place_of(tmp_path))
    every = list(runs(60))
    for start, end in ((0, 20), (20, 40), (40, 50), (50, 60)):
        shards.write(iter(every[start:end]))
    shards.refresh()
    assert shards.merge([shard for shard in shards.there.values() if not shard.find(Hashes.of(names(40)))[0].size])
    assert len(shards.there) == 3
    return tmp_path


def test_a_run_is_read_without_the_hashes_of_the_others(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[tuple[str, int]] = []
    group = Shard.group

    def noted(self: Shard, table: str, number: int, columns: list[str] | None = None) -> object:
        read.append((table, number))
        return group(self, table, number, columns)

    monkeypatch.setattr(Shard, "group", noted)
    monkeypatch.setattr(Shard, "_loaded", lambda _: pytest.fail("all hashes of a shard were read"))
    for number in (0, 19, 20, 47, 59):
        read.clear()
        assert Store(folder).read(names(60)[number]).repeat == number
        assert len([one for one in read if one[0] == "runs"]) == 2  # that the hash is there, and its row
    read.clear()
    with pytest.raises(DamagedError, match="no finished run"):
        Store(folder).read(names(61)[60])
    assert not read


def test_the_index_has_each_run_once_and_in_order(folder: Path) -> None:
    for path in folder.glob("shards/index/*.parquet"):
        found = pq.read_table(path)
        hashes = pq.read_table(folder / "shards" / "runs" / path.name)["run"].to_pylist()
        expected = sorted((int(run[:16], 16), row) for row, run in enumerate(hashes))
        assert list(zip(found["prefix"].to_pylist(), found["row"].to_pylist(), strict=True)) == expected


@pytest.mark.parametrize("harm", ["gone", "cut", "flipped", "never"])
def test_without_an_index_runs_are_found_all_the_same(folder: Path, harm: str) -> None:
    """`never`: `NAME.json` does not name it, as where both were lost and `NAME.json` was written again."""
    for path in folder.glob("shards/index/*.parquet"):
        data = path.read_bytes()
        if harm == "cut":
            path.write_bytes(data[: len(data) // 3])
        elif harm == "flipped":
            path.write_bytes(data[:40] + bytes([data[40] ^ 1]) + data[41:])
        else:
            path.unlink()
    for path in folder.glob("shards/*.json") if harm == "never" else ():
        facts = json.loads(path.read_bytes())["shard"]
        del facts["tables"]["index"]
        path.write_text(json.dumps({"sha256": hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest(), "shard": facts}))
    store = Store(folder)
    assert [store.read(run).repeat for run in names(60)[::7]] == list(range(0, 60, 7))
    assert store.finished_of(names(90)[30:]) == set(names(60)[30:])
    shards = Shards(place_of(folder))
    shards.refresh()
    assert shards.merge(list(shards.there.values()))
    assert Store(folder).finished() == set(names(60))
    # The merged shard has an index again.
    assert [shard.prefixes() is not None for shard in shards.there.values()] == [True]
    assert [shards.has(run) for run in names(61)] == 60 * [True] + [False]


def test_runs_that_two_shards_have_are_merged_to_one(folder: Path) -> None:
    shards = Shards(place_of(folder))
    shards.write(iter(list(runs(45))[30:]))
    shards.refresh()
    assert shards.merge(list(shards.there.values()))
    (shard,) = shards.there.values()
    assert shard.rows("runs") == 60
    assert shard.runs == set(names(60))


def test_a_shard_that_was_merged_since_the_last_look_is_found_in_the_other(folder: Path) -> None:
    reader = Shards(place_of(folder))
    reader.refresh()
    other = Shards(place_of(folder))
    other.refresh()
    assert other.merge(list(other.there.values()))
    assert reader.finished() == set(names(60))
    assert reader.has(names(60)[33])


def test_a_writer_does_not_grow_with_finished_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "JOURNAL_RUNS", 600)
    (real,) = runs(1)
    held: list[int] = []
    with Store(tmp_path).writer() as kept:
        for number, name in enumerate(names(2_410)):
            if number == 610:  # what is read and made once is there
                tracemalloc.start()
            kept.add(Finished(real.facts | {"run": name}, parts=real.parts, digest=real.digest))
            if number in (1_209, 2_409):
                gc.collect()
                held.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    assert Store(tmp_path).finished() == set(names(2_410))
    # It was 37 bytes for each run and what shards say of themselves. What is left comes with the shards and has an end: names that Python
    # keeps of the methods that pyarrow calls.
    assert held[1] - held[0] < 30 * 1_200, held


def test_digests_of_many_runs_are_those_of_each_whatever_stands_in_them(tmp_path: Path) -> None:
    """The resolved run is written as JSON in two places, which have to agree to the letter."""
    signs = "".join(map(chr, [*range(0x300), *range(0x2020, 0x2040), 0xFFFF, 0x1F600, 0x10FFFF]))
    said = [signs, signs[::-1], "", '"', "\\\\u00e9"]
    odd = [
        Finished(run.facts | {"resolved": text, "title": text, "cost": 1e-7}, parts=run.parts)
        for run, text in zip(runs(5), said, strict=True)
    ]
    shards = Shards(place_of(tmp_path))
    shards.write(iter(odd))
    shards.refresh()
    together = [some for some in shards.read_many(names(5)) if isinstance(some, Many)]
    assert [some.whole() for some in together] == [[True] * 5]


def test_prefixes_sort_as_digests_do() -> None:
    digests = np.frombuffer(np.random.default_rng(2).bytes(32 * 1000), "S32")
    order = np.argsort(digests, kind="stable")
    assert (np.diff(index.prefixes_of(digests)[order].astype(object)) > 0).all()
    assert [f"{prefix:016x}" for prefix in index.prefixes_of(digests).tolist()] == [
        one.hex()[:16] for one in Hashes(digests).digests.tolist()
    ]
