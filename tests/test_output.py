"""Output that cannot be written: results first, and one message."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SWEEP

SHORT = SWEEP.replace('"30 s"', '"1 s"').replace('"500 kB"', '"20 kB"')
FULL = "error: cannot write to standard output: No space left on device\n"


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A line of a shell, in which `$LONGFAT` is the command, and its exit code that of the first command in it."""
    script = f"{line}\nexit ${{PIPESTATUS[0]}}"
    environment = {"LONGFAT": f"{sys.executable} -m longfat", "PATH": "/usr/bin:/bin"}
    call = ["bash", "-c", script]
    return subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    ("where", "code", "said"),
    [
        (">/dev/full", 1, FULL),
        ("2>/dev/full", 0, ""),
        (">/dev/full 2>/dev/full", 1, ""),
        (">&-", 0, ""),
        ("2>&-", 0, ""),
        ("<&- >&- 2>&-", 0, ""),
        ("| true", 1, ""),
    ],
)
def test_a_sweep_whose_output_cannot_be_written_has_results(tmp_path: Path, where: str, code: int, said: str) -> None:
    (tmp_path / "small.toml").write_text(SHORT)
    done = shell(f"$LONGFAT run small.toml {where}", tmp_path)
    assert done.returncode == code
    # Beside warnings of the sweep.
    assert (done.stderr.count("error"), said in done.stderr) == (len(said) > 0, True)
    shown = shell("$LONGFAT show small", tmp_path)
    assert shown.returncode == 0, shown.stderr
    # Nothing that was printed is in a file of results.
    text = (tmp_path / "results" / "small" / "experiment.toml").read_text()
    assert text == SHORT


@pytest.mark.parametrize("words", ["list", "--help", "--version", "schema", "list nothing", "show"])
@pytest.mark.parametrize("where", [">/dev/full", "2>/dev/full", ">&-", "2>&-", "| true"])
def test_no_command_ends_in_a_traceback(tmp_path: Path, words: str, where: str) -> None:
    done = shell(f"$LONGFAT {words} {where}", tmp_path)
    assert done.returncode in (0, 1, 2)
    assert not {"Traceback", "Exception"} & set(done.stderr.split())
    if where == ">/dev/full" and words not in ("list nothing", "show"):
        assert (done.returncode, done.stderr) == (1, FULL)


def test_a_report_is_drawn_whatever_a_notebook_has_set(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SHORT)
    done = shell("$LONGFAT run small.toml > /dev/null; MPLBACKEND=nothing-of-that-name $LONGFAT report --figures small", tmp_path)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "reports" / "small" / "figures").glob("*.png"))


@pytest.mark.parametrize("words", ["--help", "run --help", "testbed check --help", "cc load --help"])
def test_help_is_there_without_docstrings(tmp_path: Path, words: str) -> None:
    assert shell(f"PYTHONOPTIMIZE=2 $LONGFAT {words}", tmp_path).stdout == shell(f"$LONGFAT {words}", tmp_path).stdout
