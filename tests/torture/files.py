"""Experiment files that are nearly right: each is one message, or runs, and what it resolves to reads back as itself."""

from __future__ import annotations

import functools
import json
import time
from pathlib import Path
from random import Random

import longfat
from longfat import ExperimentError
from longfat._longfat import Document

from torture.mutate import mutate

ROOT = Path(__file__).parent.parent.parent
MOST_SECONDS = 20.0


@functools.cache
def texts() -> list[str]:
    """The experiments that come with longfat, in their short forms' size and without a base."""
    found = [path.read_text(encoding="utf-8") for home in ("experiments", "papers") for path in sorted((ROOT / home).rglob("*.toml"))]
    return [text for text in found if len(text) < 4000 and "\nbase" not in text]


class _Enough(Exception):
    """The run goes, and that is what was asked."""


def attack(random: Random, folder: Path) -> None:
    """One file, read, resolved, and run for a moment."""
    del folder
    text = mutate(random, random.choice(texts()))
    start = time.monotonic()
    try:
        experiment = longfat.Experiment(text)
        run = experiment.resolve(random.randrange(min(experiment.run_count, 10**6)))
        said = ""
    except ExperimentError as error:
        run, said = None, str(error)
    assert len(said) < 20_000, f"an error of {len(said)} characters"
    assert time.monotonic() - start < MOST_SECONDS, f"it took {time.monotonic() - start:.0f} s to read"
    if run is None:
        return
    resolved = json.loads(run.resolved)
    assert Document(text, "again").run(0).hash == longfat.Experiment(text).resolve(0).hash
    if len(resolved["flow"]) > 1000 or run.cost > 1e9:
        return
    begun = time.monotonic()

    def progress(share: float) -> None:
        del share
        if time.monotonic() - begun > 0.3:
            raise _Enough

    try:
        trace = run.execute(progress)
    except (_Enough, ExperimentError):
        return
    finally:
        assert time.monotonic() - begun < MOST_SECONDS, f"not stopped for {time.monotonic() - begun:.0f} s"
    tables = trace.tables()
    assert len(tables["flows"]["flow"]) > 0
