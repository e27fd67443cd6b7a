"""Sets of hashes say what sets of strings say, in far less memory."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ONE
from longfat import Experiment
from longfat.store import Store
from longfat.store.finished import Finished
from longfat.store.many import Shown
from longfat.store.place import place_of
from longfat.store.shards import Shards
from longfat.sweep.hashes import Hashes
from longfat.sweep.work import timed


def hashes(rng: random.Random, count: int) -> list[str]:
    """Some of them like one another: with zeros at the end, or at the beginning."""
    made = [rng.randbytes(32) for _ in range(count)]
    made[::5] = [one[:4].ljust(32, b"\0") for one in made[::5]]
    made[1::5] = [one[:4].rjust(32, b"\0") for one in made[1::5]]
    return [one.hex() for one in made]


@pytest.mark.parametrize("seed", range(20))
def test_a_set_of_hashes_says_what_a_set_of_strings_says(seed: int) -> None:
    rng = random.Random(seed)
    every = hashes(rng, rng.choice([1, 10, 300]))
    one, other = ({run for run in every if rng.random() < rng.choice([0, 0.5, 1])} for _ in range(2))
    left, right = Hashes.of(one), Hashes.of(other)
    assert left == one == set(left)
    assert len(left) == len(one)
    assert (left & right, left - right, left | right) == (one & other, one - other, one | other)
    assert (one & right, one | right) == (one & other, one | other)
    assert (left & other, left - other, left | other) == (one & other, one - other, one | other)
    assert (left <= right, left == right, bool(left)) == (one <= other, one == other, bool(one))
    assert [run in left for run in every] == [run in one for run in every]
    digests = np.array([bytes.fromhex(run) for run in every], "S32")
    assert left.among(digests).tolist() == [run in one for run in every]
    assert Hashes.joined([left.digests, digests]) == set(every)


def test_what_is_no_hash_is_in_no_set_of_them() -> None:
    run = "ab" * 32
    found = Hashes.of([run, "", "cd", "x" * 64, "é" * 64, f"{run}{run}", run[:-2] + "  "])
    assert list(found) == [run]
    assert not [other for other in ("", "cd", run.upper(), f"{run}{run}", run[:-2], f" {run}", 3) if other in found]
    assert found - ["cd", run.upper()] == {run}


def test_finished_runs_are_those_of_all_shards_but_what_is_aside(tmp_path: Path) -> None:
    """Runs of several writers, some of them in several shards; merged at random."""
    rng = random.Random(1)
    (run,) = Experiment(ONE).resolve_all()
    real = Finished.of_run(run, "One", *timed(run))
    tables: dict[str, Any] = dict(real.tables)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    every, names = hashes(rng, 60), hashes(rng, 5)
    shards, expected = Shards(place_of(tmp_path)), set[str]()
    for _ in range(8):
        some = rng.sample(every, 12)
        shards.write(Finished(real.facts | {"run": one, "seed": rng.randrange(9)}, tables) for one in some)
        shards.refresh()
        expected.update(some)
        for one in rng.sample(some, 2):
            shards.put_aside(one)
            expected.discard(one)
        if rng.random() < 0.3:
            kept = [shard for shard in shards.there.values() if shard.name not in {name for _, name in shards.aside()}]
            assert not kept or shards.merge(kept)
        wanted = Hashes.of([*rng.sample(every, 20), *names])
        assert shards.finished() == expected
        assert shards.finished(wanted) == expected & set(wanted)
        assert [shards.has(one) for one in every] == [one in expected for one in every]
        for one in rng.sample(sorted(expected), 3):
            found = shards.read(one)
            assert found is not None
            assert found.run == one
    store = Store(tmp_path)
    assert store.finished() == store.whole(every) == store.finished_of(every) == expected
    found = [[facts["run"] for facts in one.facts] if isinstance(one, Shown) else [one[0]] for one in store.tables_of(every)]
    assert {run for some in found for run in some} == set(every)


def test_a_finished_run_takes_some_dozen_bytes() -> None:
    count = 100_000
    digests = np.sort(np.frombuffer(random.Random(1).randbytes(32 * count), "S32"))
    tracemalloc.start()
    try:
        found = Hashes.joined([digests[::2], digests[1::2]])
        held, most = tracemalloc.get_traced_memory()
        assert len(found) == count
        assert held < 40 * count
        assert len(found - Hashes(digests[::2])) == count / 2
        most = tracemalloc.get_traced_memory()[1]
        assert most < 150 * count
    finally:
        tracemalloc.stop()
