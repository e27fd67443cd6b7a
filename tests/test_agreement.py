"""Runs of two backends side by side. Here the second is the first with other windows; test_testbed.py has the real one."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import longfat
import pytest
from longfat.report import agreement
from longfat.results.result import Result
from rich.console import Console

FILE = """
title = "side by side"
[path]
preset = "dumbbell"
rtt = { sweep = ["20 ms", "40 ms"], name = "rtt" }
bottleneck = { rate = "10 Mbit/s", queue = { kind = "droptail", limit = "1 bdp" } }
edge = { rate = "100 Mbit/s", delay = "1 ms" }
[[flow]]
window = { sweep = ["8 KiB", "16 KiB"], name = "window" }
[measure]
duration = "2 s"
interval = "100 ms"
"""


@pytest.fixture(scope="module")
def both() -> list[Result]:
    """8 KiB stand for one backend, 16 KiB for the other."""
    made: list[Result] = []
    for result in longfat.Experiment(FILE).sweep():
        backend = "sim" if result.labels["window"] == "8 KiB" else "testbed"
        labels = {"backend": backend, "rtt": result.labels["rtt"]}
        made.append(replace(result, labels=labels, verdict=None if backend == "sim" else "valid"))
    return made


def test_runs_are_paired_by_all_other_axes(both: list[Result]) -> None:
    found = agreement.pairs(both)
    assert [pair.labels for pair in found] == [{"rtt": "20 ms"}, {"rtt": "40 ms"}]
    assert all(pair.first.labels["backend"] == "sim" and pair.second.labels["backend"] == "testbed" for pair in found)
    # Five segments, and eleven.
    assert 1 < agreement.goodput(found[1]).difference < 2
    table = agreement.table(both)
    assert list(table["verdict"]) == ["valid", "valid"]
    assert table["goodput_bps testbed"].iloc[0] == both[1].metrics["goodput_total_bps"]
    assert agreement.summary(both) == "goodput within 5 % in 0 of 2, mean queue delay within 10 % in 1"
    assert agreement.summary([both[0], replace(both[0], labels=both[1].labels)]).startswith("goodput within 5 % in 1 of 1")


def test_both_are_drawn_over_each_other(both: list[Result], tmp_path: Path) -> None:
    plots = {plot.id: plot for plot in agreement.plots(agreement.pairs(both)[0])}
    assert {"20-ms-goodput", "20-ms-cwnd", "20-ms-rtt"} <= set(plots)
    for plot in plots.values():
        assert [one.name.split(", ")[-1] for one in plot.series] == ["sim", "testbed"], plot.id
    goodput = plots["20-ms-goodput"].series
    assert max(goodput[1].y) > 1.5 * max(goodput[0].y)
    files = agreement.draw(both, tmp_path / "new" / "folder")
    assert all(file.exists() for file in files)


def test_it_is_printed_with_its_units(both: list[Result]) -> None:
    console = Console(width=200, record=True, force_terminal=False)
    agreement.show(console, both)
    text = console.export_text()
    assert "testbed goodput (Mbit/s)" in text
    assert "goodput within 5 % in 0 of 2" in text


def test_what_cannot_be_paired_is_said(both: list[Result]) -> None:
    with pytest.raises(longfat.LongfatError, match="not by two backends"):
        agreement.pairs(both[:1])
    other = replace(both[1], labels={"backend": "testbed", "rtt": "40 ms"})
    with pytest.raises(longfat.LongfatError, match="no run is finished by both sim and testbed"):
        agreement.pairs([both[0], other])
    empty = [replace(one, flow_series=one.flow_series.iloc[:0], link_series=one.link_series.iloc[:0]) for one in both]
    with pytest.raises(longfat.LongfatError, match=r"sets no measure\.interval"):
        agreement.draw(empty, Path("/nowhere"))


@pytest.mark.parametrize(
    ("options", "expected"),
    [(["--backends", "--strict"], "are of papers"), (["--figures", "figures"], "say --backends, too")],
)
def test_options_that_do_not_go_together_are_said(options: list[str], expected: str) -> None:
    done = subprocess.run([sys.executable, "-m", "longfat", "compare", "ansnet", *options], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert expected in done.stderr


def test_runs_of_one_backend_are_refused_before_any_is_read(results: longfat.Results) -> None:
    def refuse(_: str) -> longfat.Result:
        pytest.fail("a run was read")

    with pytest.raises(longfat.LongfatError, match="not by two backends"):
        agreement.read(replace(results, open=refuse))
