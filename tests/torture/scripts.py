"""Packet scripts that are nearly right: each passes, fails, or is told to be none."""

from __future__ import annotations

import functools
import time
from pathlib import Path
from random import Random

from longfat.cli import script

from torture.mutate import mutate

ROOT = Path(__file__).parent.parent
MOST_SECONDS = 20.0


@functools.cache
def texts() -> list[str]:
    """The scripts of the tests."""
    return [path.read_text(encoding="utf-8") for path in sorted((ROOT / "scripts").rglob("*.pkt"))]


def attack(random: Random, folder: Path) -> None:
    """One script, under a version of IP."""
    file = folder / "mutant.pkt"
    file.write_text(mutate(random, random.choice(texts())), encoding="utf-8")
    start = time.monotonic()
    for report in script.run(file, [random.choice(script.VERSIONS)]):
        assert report["verdict"] in ("pass", "fail", "not supported", "error")
        said = script.text(report)
        assert report["verdict"] == "pass" or said
        assert len(said) < 100_000, f"a report of {len(said)} characters"
    assert time.monotonic() - start < MOST_SECONDS, f"it took {time.monotonic() - start:.0f} s"
