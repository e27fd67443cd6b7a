"""Warnings: said before the run where the file shows it, else after; the same from the folder, and for what another longfat left."""

from __future__ import annotations

import json
import random
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import longfat
import pytest
from kept import changed, finished, keep
from longfat import Experiment, ExperimentError
from longfat.cli.app import app
from longfat.locate import sources
from longfat.report import terminal
from longfat.results.warning import ASKED, MOST_RUNS, RunWarning, kinds, merged, new_ones, of_facts, told
from longfat.sweep.summary import RunSummary, SweepSummary
from typer.testing import CliRunner

if TYPE_CHECKING:
    from longfat._longfat import Entry

SLOW_EDGE = """\
title = "An edge as fast as the bottleneck"
repeats = 2

[path]
preset = "dumbbell"
rtt = "20 ms"
bottleneck = { rate = "10 Mbit/s" }
edge = { rate = { sweep = ["10 Mbit/s", "100 Mbit/s"], name = "edge" } }

[[flow]]
window = "8 KiB"

[measure]
duration = "1 s"
"""


NO_EDGES = """\
title = "Two flows, and nothing said of the edges"

[path]
preset = "dumbbell"
rtt = { sweep = ["10 ms", "20 ms", "40 ms"] }
bottleneck = { rate = "100 Mbit/s" }

[[flow]]
count = 2
congestion_control = { sweep = ["reno", "cubic"] }

[measure]
duration = "30 s"
warmup = "5 s"
"""


def test_two_flows_without_a_word_of_the_edges_share_the_bottleneck() -> None:
    # With edges of the bottleneck's own rate all of it goes to one of them, by the phase of their packets (Floyd and Jacobson 1992).
    flows = Experiment(NO_EDGES).sweep(jobs=1).flows
    for _, of_run in flows.groupby("run"):
        assert of_run.goodput_bps.min() > 0.4 * of_run.goodput_bps.max()
        assert of_run.goodput_bps.sum() == pytest.approx(96.5e6, rel=0.05)


def test_what_the_file_shows_is_said_before_a_run() -> None:
    experiment = Experiment(SLOW_EDGE)
    told = {warning.name: warning for warning in experiment.warnings}
    assert set(told) == {"edge_not_faster", "window_below_path", "repeats_alike"}
    assert len(told["edge_not_faster"].runs) == 2
    assert len(told["window_below_path"].runs) == 4
    assert "higher rate" in told["edge_not_faster"].advice


def test_the_same_after_it_and_from_the_folder(tmp_path: Path) -> None:
    made = Experiment(SLOW_EDGE).sweep(tmp_path)
    again = longfat.load_results(tmp_path)
    assert made.warnings == again.warnings
    names = [warning.name for warning in again.warnings]
    assert names == ["repeats_alike", "edge_not_faster", "window_below_path"]
    assert again.warnings[0].text == "2 repeats gave the same in every metric in 2 of 2 combinations: nothing that matters is random"
    # In the table of runs, each run has its own.
    assert list(again.runs["warnings"]) == ["edge_not_faster, window_below_path"] * 2 + ["window_below_path"] * 2
    assert [warning.name for warning in again[0].warnings] == ["edge_not_faster", "window_below_path"]


def test_the_terminal_says_each_once(tmp_path: Path) -> None:
    (tmp_path / "edge.toml").write_text(SLOW_EDGE)
    done = CliRunner().invoke(app, ["run", str(tmp_path / "edge.toml"), "--results", str(tmp_path / "results")])
    assert done.exit_code == 0
    for name in ("window_below_path", "repeats_alike"):
        assert done.stderr.count(f"({name}, ") == 1, done.stderr
    assert len([line for line in done.stderr.splitlines() if "warning" in line]) == 2
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "results" / "edge")])
    assert shown.stdout.count("window_below_path") == 1
    assert "a window of" not in shown.stdout
    explained = CliRunner().invoke(app, ["show", str(tmp_path / "results" / "edge"), "--warnings"]).stdout
    assert "window_below_path: 4 of 4 runs\n  flow1: a window of 8 KiB" in explained
    assert "edge_not_faster: 2 of 4 runs, the sweep is about it\n" in explained
    assert "help: raise `window`" in explained


def names(experiment: Experiment) -> set[str]:
    return {warning.name for warning in told(experiment.warnings, experiment.expected)}


def test_no_warning_is_about_what_is_swept() -> None:
    assert names(Experiment(SLOW_EDGE)) == {"window_below_path", "repeats_alike"}  # the sweep is over the rate of the edge
    swept = Experiment(SLOW_EDGE.replace('"8 KiB"', '{ sweep = ["8 KiB", "16 KiB"] }'))
    assert names(swept) == {"repeats_alike"}
    assert swept.expected.items() >= {"edge_not_faster": ASKED, "window_below_path": ASKED}.items()
    # Also where the values of the axis are tables, and where another key ends in the same letters.
    tables = Experiment(SLOW_EDGE.replace('rate = { sweep = ["10 Mbit/s", "100 Mbit/s"], name = "edge" }', 'rate = "10 Mbit/s"'))
    tables["path.edge"] = [{"label": "slow", "rate": "10 Mbit/s"}, {"label": "fast", "rate": "1 Gbit/s"}]
    assert "edge_not_faster" in tables.expected
    other = Experiment(SLOW_EDGE.replace('edge = { rate = { sweep = ["10 Mbit/s", "100 Mbit/s"], name = "edge" } }', ""))
    other["path.bottleneck.rate"] = ["10 Mbit/s", "20 Mbit/s"]
    assert other.expected == {}


def test_what_is_expected_is_not_printed_and_is_checked(tmp_path: Path) -> None:
    text = SLOW_EDGE.replace("repeats = 2", 'expect = ["window_below_path", "unfinished"]')
    (tmp_path / "edge.toml").write_text(text)
    home = str(tmp_path / "results")
    done = CliRunner().invoke(app, ["run", str(tmp_path / "edge.toml"), "--results", home])
    assert "window_below_path" not in done.stderr
    assert "  warning: no run gave unfinished, which `expect` names (not_as_expected)" in done.stderr.splitlines()
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "edge.toml"), "--results", home])
    assert "warnings: not_as_expected: --warnings" in shown.stdout
    explained = CliRunner().invoke(app, ["show", str(tmp_path / "edge.toml"), "--results", home, "--warnings"]).stdout
    assert "window_below_path: 2 of 2 runs, named by `expect`" in explained
    # A changed file is another question.
    changed_too = CliRunner().invoke(app, ["run", str(tmp_path / "edge.toml"), "--results", home, "--set", "measure.duration=2 s"])
    assert "not_as_expected" not in changed_too.stderr


def test_expect_changes_no_run_and_takes_names_of_warnings_alone() -> None:
    named = Experiment(SLOW_EDGE.replace("repeats = 2", 'repeats = 2\nexpect = "repeats_alike"'))
    assert [run.hash for run in named.resolve_all()] == [run.hash for run in Experiment(SLOW_EDGE).resolve_all()]
    with pytest.raises(ExperimentError, match="window_below_path"):
        Experiment(SLOW_EDGE.replace("repeats = 2", 'expect = ["window_below_pth"]'))


def test_a_family_says_each_kind_once(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.toml").write_text(SLOW_EDGE.replace("8 KiB", f"{len(name) + 4} KiB" if name == "one" else "9 KiB"))
    done = CliRunner().invoke(app, ["run", str(tmp_path), "--results", str(tmp_path / "results")])
    told_once = [line for line in done.stderr.splitlines() if "window_below_path" in line]
    assert len(told_once) == 1
    assert told_once[0].endswith("(window_below_path, 8 of 8 runs)")


def test_the_papers_say_nothing_about_what_they_ask() -> None:
    """`make run` printed eleven warnings of windows below the path, in a paper whose question is the window."""
    for source in sources("ansnet"):
        experiment = longfat.load(source.file)
        assert names(experiment) == set(), source.name
        experiment.quicken()
        assert names(experiment) == set(), source.name


def test_a_run_of_another_longfat(tmp_path: Path) -> None:
    run = Experiment(SLOW_EDGE).sweep(tmp_path).runs["run"][0]
    runs = finished(tmp_path)
    (one,) = [one for one in runs if one.run == run]
    given_up = RunWarning("", "flow flow1 1 has given up ECN", 1, (run,)).as_facts()
    said = json.dumps([given_up, json.loads(one.facts["warnings"])[0]])
    older = changed(one, without=["flows.cwnd_end_bytes", "flows.gave_up_ecn"], warnings=said)
    keep(tmp_path, [older if other is one else other for other in runs])
    told = [(warning.name, warning.text) for warning in longfat.load_results(tmp_path).open(run).warnings]
    assert [name for name, _ in told] == ["edge_not_faster", "window_below_path", "", ""]
    assert told[2][1] == "flow flow1 1 has given up ECN"
    assert told[3][1] == "its trace was stored without flows.cwnd_end_bytes, flows.gave_up_ecn: what is made of that has no value"


def test_those_that_differ_in_numbers_are_one() -> None:
    found = [RunWarning("a", "flow 1: 2.5", 3, ("x",)), RunWarning("a", "flow 2: 13", 5, ("y",)), RunWarning("b", "flow 1: 2.5", 1, ("x",))]
    assert merged(found) == [RunWarning("a", "flow 1: 2.5", 5, ("x", "y")), RunWarning("b", "flow 1: 2.5", 1, ("x",))]
    assert new_ones(found, [RunWarning("a", "flow 7: 9")]) == [found[2]]
    assert [of_facts(warning.as_facts()) for warning in found] == found


def test_a_spoilt_run_is_told_first() -> None:
    names = ["not_controlled", "", "suspect", "invalid", "", "not_controlled", "invalid"]
    found = kinds(RunWarning(name, f"{number}") for number, name in enumerate(names))
    assert [kind.name for kind in found] == ["invalid", "not_controlled", "", "suspect", ""]
    assert [kind.text for kind in found[:2]] == ["3, and 1 more like it", "0, and 1 more like it"]
    assert kinds([]) == []


def test_a_warning_of_many_runs_names_some_and_counts_all(capsys: pytest.CaptureFixture[str]) -> None:
    runs = tuple(f"{number:064x}" for number in range(1000))
    facts = RunWarning("", "short", 1, runs).as_facts()
    assert (facts["runs"], facts["more_runs"]) == (list(runs[:MOST_RUNS]), 1000 - MOST_RUNS)
    kept = of_facts(facts)
    assert kept.as_facts() == facts
    for warning in (kept, RunWarning("", "short", 1, runs)):
        terminal.print_warnings(terminal.console(), [warning], 2000)
        assert "(1,000 of 2,000 runs)" in capsys.readouterr().out


@pytest.mark.parametrize("entry", longfat.registries()["warnings"], ids=lambda entry: entry["name"])
def test_the_list_says_what_to_do(entry: Entry, capsys: pytest.CaptureFixture[str]) -> None:
    terminal.print_entries(terminal.console(), "warnings", [entry], details=True)
    assert entry.get("advice", "?") in " ".join(capsys.readouterr().out.split())


def test_totals_count_runs_without_holding_them() -> None:
    """Against all of them at once: combinations with repeats, some of them alike, and runs that come again under other labels."""
    rng = random.Random(3)
    for _ in range(50):
        summaries: list[RunSummary] = []
        for combination in range(rng.randrange(1, 6)):
            same, alike = rng.choice([b"a", b"b"]), rng.random() < 0.5
            for repeat in range(rng.choice([1, 2, 7, 30])):
                run = f"{rng.choice([combination, 0])}-{repeat}"
                warnings = tuple(RunWarning("w", f"{rng.randrange(9)} lost", rng.randrange(3), (run,)) for _ in range(rng.randrange(2)))
                summaries.append(
                    RunSummary(run, (str(combination),), same if alike or not repeat else rng.randbytes(2), warnings, 1.0, 2.0, 3.0)
                )
        summary = SweepSummary()
        summary.add_all(summaries)
        groups = [list(some) for _, some in groupby(summaries, lambda one: one.labels)]
        repeated = [some for some in groups if len(some) > 1]
        same_runs = [some for some in repeated if len({one.numbers for one in some}) == 1]
        expected = merged(warning for one in summaries for warning in one.warnings)
        found = {one.name: one for one in summary.warnings}
        assert ("repeats_alike" in found) == bool(same_runs)
        if same_runs:
            runs = [one.run for some in same_runs for one in some]
            alike_now = found.pop("repeats_alike")
            assert alike_now.as_facts() == RunWarning("repeats_alike", alike_now.text, 1, tuple(runs)).as_facts()
            assert alike_now.text.startswith(f"{len(same_runs[0])} repeats ")
            assert f"in {len(same_runs)} of {len(repeated)} comb" in alike_now.text or len(repeated) == 1
        assert [one.as_facts() for one in found.values()] == [one.as_facts() for one in expected]
