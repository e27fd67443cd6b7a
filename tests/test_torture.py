"""A short form of `make torture`: the same cases each time."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from torture import attacks, case

ROOT = Path(__file__).parent

CASES = {
    "damage": range(4),
    "stop": range(1),
    "files": range(60),
    "scripts": range(200),
    "networks": range(8),
    "shards": range(8),
    "workers": range(3, 5),
    "machine": range(3),
    "large": range(2),
    "captures": range(1, 2),
    "protocol": range(1),
}
"""Cases of each attack that take little time."""
SLOW = ("stop", "damage", "shards", "workers", "machine", "large", "captures", "protocol")


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in CASES])
def test_it_holds(name: str, tmp_path: Path) -> None:
    for seed in CASES[name]:
        folder = tmp_path / str(seed)
        folder.mkdir()
        case(attacks()[name], seed, folder)


def test_the_short_form_has_all_attacks() -> None:
    assert CASES.keys() == attacks().keys()


@pytest.mark.slow
def test_the_harness_finds_what_breaks(tmp_path: Path) -> None:
    """An attack that raises, one that takes its process with it, one that never ends: all are found, by their seeds."""
    spec = importlib.util.spec_from_file_location("harness", ROOT / "torture" / "__main__.py")
    assert spec is not None
    assert spec.loader is not None
    harness = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(harness)
    copy = tmp_path / "torture"
    copy.mkdir()
    (copy / "__main__.py").write_text((ROOT / "torture" / "__main__.py").read_text())
    (copy / "__init__.py").write_text(
        "import os, time\nBATCH = {'bad': 4}\n"
        "def case(attack, seed, folder):\n    attack(seed)\n"
        "def bad(seed):\n    if seed == 3: raise ValueError('three')\n    if seed == 5: os.abort()\n    if seed == 7: time.sleep(60)\n"
        "def attacks():\n    return {'bad': bad}\n"
    )
    harness.__file__ = str(copy / "__main__.py")
    assert harness.batch("bad", range(0, 3), 60) == {}
    assert harness.batch("bad", range(2, 5), 60) == {3: "ValueError at __init__.py:6: three"}
    assert "ended with -6" in harness.batch("bad", range(4, 6), 60)[5]
    assert harness.batch("bad", range(6, 8), 5) == {7: "took more than 5 s"}
    done = subprocess.run([sys.executable, str(copy), "--only", "bad:3"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, "ValueError at __init__.py:6: three\n")
