"""Repeats: random starts make them differ, and their means have intervals."""

from __future__ import annotations

import math
from itertools import pairwise

import pandas as pd
import pytest
from longfat import Experiment, LongfatError, Results
from longfat._longfat import student_t
from longfat.plot.units import with_half
from longfat.report import tables, terminal
from longfat.results.repeats import half_width, metrics

RANDOM = """\
title = "Two flows that start at random"
repeats = 4

[path]
preset = "dumbbell"
rtt = "20 ms"
bottleneck = { rate = "10 Mbit/s" }
edge = { rate = "100 Mbit/s" }

[[flow]]
count = 2
start = { random = "uniform 0 s..1 s" }
window = { sweep = ["16 KiB", "64 KiB"], name = "window" }

[measure]
duration = "4 s"
"""


@pytest.fixture(scope="module")
def results() -> Results:
    return Experiment(RANDOM).sweep()


@pytest.mark.parametrize(
    ("freedom", "level", "value"), [(1, 0.975, 12.706), (4, 0.975, 2.776), (4, 0.95, 2.132), (29, 0.995, 2.756), (1000, 0.975, 1.962)]
)
def test_quantiles_are_those_of_the_tables(freedom: int, level: float, value: float) -> None:
    assert student_t(level, freedom) == pytest.approx(value, abs=5e-4)
    assert student_t(1 - level, freedom) == pytest.approx(-value, abs=5e-4)


def test_a_quantile_that_is_none() -> None:
    assert all(math.isnan(student_t(*of)) for of in [(0.5, 0), (0, 3), (1, 3), (math.nan, 3)])


def test_an_interval_by_hand() -> None:
    # Mean 3, s^2 = 10 / 4; 2.776 sqrt(2.5 / 5) = 1.963.
    assert half_width([1, 2, 3, 4, 5]) == pytest.approx(1.9632, abs=1e-3)
    assert half_width([1, 2, 3, 4, 5, math.nan]) == half_width([1, 2, 3, 4, 5])
    assert math.isnan(half_width([3]))


def test_means_have_a_row_a_combination(results: Results) -> None:
    means = results.means()
    assert list(means["window"]) == ["16 KiB", "64 KiB"]
    assert list(means["repeats"]) == [4, 4]
    for window, row in means.set_index("window").iterrows():
        values = results.runs.loc[results.runs["window"] == window, "goodput_total_bps"]
        assert row["goodput_total_bps"] == pytest.approx(values.mean())
        assert row["goodput_total_bps_ci"] == pytest.approx(3.18245 * values.std() / 2, rel=1e-4)
        assert row["goodput_total_bps_ci"] > 0
    # A wider interval is surer.
    assert (results.means(0.99)["goodput_total_bps_ci"] > means["goodput_total_bps_ci"]).all()
    assert not {"seed", "steps", "warnings", "window"} & set(metrics(results))


def test_how_many_repeats_a_width_takes(results: Results) -> None:
    counts = [results.repeats_needed("goodput_total_bps", within)["repeats_needed"].tolist() for within in (10.0, 0.01, 0.0001)]
    assert counts[0] == [4, 4]
    assert all(few <= many for less, more in pairwise(counts) for few, many in zip(less, more, strict=True))
    row = results.repeats_needed("goodput_total_bps", 0.0001).iloc[0]
    s = row["goodput_total_bps_ci"] / student_t(0.975, 3) * 2

    def half(n: int) -> float:
        return student_t(0.975, n - 1) * s / math.sqrt(n)

    needed, width = int(row["repeats_needed"]), 0.0001 * row["goodput_total_bps"]
    assert half(needed) <= width < half(needed - 1)
    absolute = results.repeats_needed("goodput_total_bps", width, relative=False)
    assert absolute["repeats_needed"].iloc[0] == needed


def test_what_cannot_be_asked_is_told(results: Results) -> None:
    for ask in (
        lambda: results.repeats_needed("goodput"),
        lambda: results.repeats_needed("goodput_total_bps", 0),
        lambda: results.means(1.0),
    ):
        with pytest.raises(LongfatError, match=r"choose one of|expected a"):
            ask()


def test_without_repeats_there_is_no_interval() -> None:
    alone = Experiment(RANDOM.replace("repeats = 4", "")).sweep()
    assert alone.means()["goodput_total_bps_ci"].isna().all()
    assert alone.repeats_needed("goodput_total_bps")["repeats_needed"].isna().all()
    assert tables.mean_table(alone) == ([], [])


def test_repeats_with_random_starts_differ_and_are_the_same_again(results: Results) -> None:
    assert results.flows.groupby("window")["start_s"].nunique().tolist() == [8, 8]
    assert results.runs["goodput_total_bps"].nunique() == 8
    assert "repeats_alike" not in {warning.name for warning in results.warnings}
    pd.testing.assert_frame_equal(Experiment(RANDOM).sweep().runs, results.runs)


def test_the_terminal_shows_means(results: Results, capsys: pytest.CaptureFixture[str]) -> None:
    tables.print_results(terminal.console(), results)
    shown = capsys.readouterr().out
    assert "Means over the repeats, ± half of the 95 % confidence interval (Student's t)" in shown
    titles, rows = tables.mean_table(results)
    place = titles.index("goodput total (Mbit/s)")
    assert all(" ± " in row[place] for row in rows)


GROUPS = (
    RANDOM.replace("[[flow]]\ncount = 2\n", "[[flow]]\nname = 'a_pair'\ncount = 2\n")
    + """
[[flow]]
name = "total"
start = { random = "uniform 0 s..1 s" }
"""
)


def test_two_to_four_groups_of_flows_have_their_goodput_as_columns(results: Results, capsys: pytest.CaptureFixture[str]) -> None:
    groups = Experiment(GROUPS).sweep()
    means = groups.means(by="group").pivot(index="window", columns="group")
    titles, rows = tables.mean_table(groups)
    for group in ("a_pair", "total"):
        place = titles.index(f"{group} goodput (Mbit/s)")
        values = zip(means["goodput_bps", group] / 1e6, means["goodput_bps_ci", group] / 1e6, strict=True)
        assert [row[place] for row in rows] == [with_half(mean, half) for mean, half in values]
    titles, rows = tables.run_table(groups)
    sums = groups.flows.groupby(["run", "group"])["goodput_bps"].sum().unstack() / 1e6
    for group in sums:
        shown = [float(row[titles.index(f"{group} goodput (Mbit/s)")]) for row in rows]
        assert shown == pytest.approx([sums.loc[run, group] for run in groups.runs["run"]], rel=1e-3)
    tables.print_results(terminal.console(), groups)
    assert "a_pair goodput" in capsys.readouterr().out.replace("\n", " ")

    assert not any(title.endswith(" goodput (Mbit/s)") for title in tables.run_table(results)[0])
    five = RANDOM + "".join(f'[[flow]]\nname = "more{number}"\n' for number in range(4))
    assert not any(title.endswith(" goodput (Mbit/s)") for title in tables.run_table(Experiment(five).sweep())[0])


def test_a_run_that_stands_twice_in_a_sweep_has_its_goodput_once() -> None:
    twice = Experiment(GROUPS.replace("repeats = 4", "").replace('"64 KiB"', '"16384 bytes"')).sweep()
    assert twice.runs["run"].nunique() == 1
    titles, rows = tables.run_table(twice)
    flows = twice.flows.drop_duplicates(["run", "flow"]).groupby("group")["goodput_bps"].sum() / 1e6
    for group, expected in flows.items():
        assert [float(row[titles.index(f"{group} goodput (Mbit/s)")]) for row in rows] == pytest.approx([expected] * 2, rel=1e-3)
