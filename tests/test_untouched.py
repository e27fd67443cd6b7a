"""`longfat show` says what a Linux host as it comes would get, where that is less than half."""

from __future__ import annotations

from pathlib import Path

import longfat
import pytest
from longfat.cli.app import app
from longfat.report import untuned as untouched
from typer.testing import CliRunner

FILE = """
title = "far"
[path]
preset = "dumbbell"
rtt = "100 ms"
bottleneck = { rate = "1 Gbit/s" }
edge = { rate = "10 Gbit/s" }
[[flow]]
SAID
[measure]
duration = "4 s"
"""


def shown(said: str, tmp_path: Path, rate: str = "1 Gbit/s") -> str:
    """The line of a run whose flow says this."""
    (tmp_path / "far.toml").write_text(FILE.replace("SAID", said).replace("1 Gbit/s", rate))
    runner = CliRunner()
    for arguments in (
        ["run", str(tmp_path / "far.toml"), "--results", str(tmp_path / "results")],
        ["show", str(tmp_path / "results" / "far")],
    ):
        done = runner.invoke(app, arguments, catch_exceptions=False)
        assert done.exit_code == 0, done.output
    lines = [line for line in done.output.splitlines() if "untouched" in line]
    assert len(lines) <= 1
    return "".join(lines)


def test_a_tuned_host_far_away_is_told(tmp_path: Path) -> None:
    line = shown("", tmp_path)
    # 4 MiB once in 100 ms.
    assert "at most 4 MiB in flight" in line
    assert "at most 335 Mbit/s over 100 ms" in line
    assert "flow1 has" in line


@pytest.mark.parametrize(
    ("said", "rate"),
    [
        ('stack = "linux"\nwindow_sizing = "linux"', "1 Gbit/s"),
        ('window = "64 MiB"', "1 Gbit/s"),
        ('receiver = { receive_buffer = "100 MiB" }', "1 Gbit/s"),
        # An untouched host has more than half of this.
        ("", "500 Mbit/s"),
        ('traffic = { kind = "udp", rate = "900 Mbit/s" }', "1 Gbit/s"),
    ],
)
def test_nothing_is_said_where_the_hosts_are_not_tuned_or_it_makes_no_difference(said: str, rate: str, tmp_path: Path) -> None:
    assert shown(said, tmp_path, rate) == ""


def test_one_line_stands_for_a_sweep_and_names_the_worst(tmp_path: Path) -> None:
    text = FILE.replace("SAID", "").replace('"100 ms"', '{ sweep = ["40 ms", "200 ms"], name = "rtt" }').replace("4 s", "8 s")
    experiment = longfat.Experiment(text)
    results = experiment.sweep()
    assert "over 200 ms" in untouched.line(results)
