"""Convergence times of RFC 5166, by hand and on runs."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import longfat
import numpy as np
import pandas as pd
import pytest
from longfat.results.convergence import of_run


def run_of(rates: list[Any], starts: list[float], *, interval: float = 0.1, end: float = 20.0, rtt: float = 0.1) -> Any:
    """A run whose flows deliver at `rates[i](t)` bytes per second."""
    times = np.round(np.arange(0.0, end + interval / 2, interval), 9)
    tables: list[pd.DataFrame] = []
    for flow, (rate, start) in enumerate(zip(rates, starts, strict=True)):
        each = [rate(time) * interval if time >= start else 0.0 for time in times]
        arrived = np.concatenate([[0.0], np.cumsum(each)[:-1]])
        tables.append(pd.DataFrame({"time_s": times, "flow": flow, "bytes_arrived": arrived}))
    flows = pd.DataFrame(
        {"flow": range(len(rates)), "group": [f"g{i}" for i in range(len(rates))], "start_s": starts, "goodput_bps": 1.0}
        | {"rtt_min_s": rtt, "rtt_mean_s": rtt}
    )
    return SimpleNamespace(flows=flows, flow_series=pd.concat(tables), labels={})


def test_it_is_the_first_span_after_the_last_start_in_which_rates_are_even() -> None:
    # The second flow starts at 5 s and has 1/101 until 12 s, then a half. Rates are over ten round trips, 1 s. In the span that ends at
    # t it has had x = t - 12 of 1 s at a half: its share is (x/2 + (1 - x)/101), at least 0.45 for x >= 0.898: the sample at 12.9 s.
    run = run_of([lambda t: 50.0 if t >= 12 else 100.0, lambda t: 50.0 if t >= 12 else 1.0], [0.0, 5.0])
    found = of_run(run)
    assert found.time_s == pytest.approx(7.9)
    assert found.left_s == pytest.approx(15.0)
    assert found.rtt_s == 0.1
    # Half of the span: 0.45 s of the 0.5 s.
    assert of_run(run, over_s=0.5).time_s == pytest.approx(7.5)
    # 0.5-fair allows a share of a quarter: x >= 0.49.
    assert of_run(run, delta=0.5).time_s == pytest.approx(7.5)


def test_a_flow_that_takes_too_much_is_not_fair_either() -> None:
    assert math.isnan(of_run(run_of([lambda _: 1.0, lambda _: 3.0], [0.0, 5.0])).time_s)
    # Even before the last start does not count, and a span that begins before it does not.
    run = run_of([lambda _: 1.0, lambda _: 1.0, lambda _: 1.0], [0.0, 0.0, 5.0])
    assert of_run(run).time_s == pytest.approx(1.0)
    assert of_run(run, ["g0", "g1"]).time_s == pytest.approx(1.0)


def test_delta_fair_is_epsilon_fair() -> None:
    # RFC 5166 section 2.3.1: the least over the greatest is at least 1 - epsilon; here epsilon = 2 delta / (1 + delta).
    delta = 0.1
    epsilon = 2 * delta / (1 + delta)
    just = run_of([lambda _: 1.0, lambda _: 1 - 0.999 * epsilon], [0.0, 0.0])
    beyond = run_of([lambda _: 1.0, lambda _: 1 - 1.001 * epsilon], [0.0, 0.0])
    assert of_run(just, delta=delta).time_s == pytest.approx(1.0)
    assert math.isnan(of_run(beyond, delta=delta).time_s)


def test_what_it_cannot_be_read_from_is_said() -> None:
    run = run_of([lambda _: 1.0, lambda _: 1.0], [0.0, 0.0])
    for given, expected in (
        ({"delta": 0.0}, "delta=0.0: expected a number between 0 and 1"),
        ({"over_s": 0.0}, "over_s=0.0: expected seconds above 0"),
        ({"groups": ["g7"]}, "there is no group of flows 'g7' with a goodput: choose among g0, g1"),
        ({"groups": ["g1"]}, "convergence takes two flows or more"),
    ):
        with pytest.raises(longfat.LongfatError, match=expected):
            of_run(run, **given)
    run.flow_series = run.flow_series.iloc[:0]
    with pytest.raises(longfat.LongfatError, match=r"set `measure.interval`"):
        of_run(run)


SWEEP = """
title = "A late comer"
repeats = 2
[path]
preset = "dumbbell"
rtt = "20 ms"
pairs = 2
bottleneck = { rate = "10 Mbit/s" }
[[flow]]
name = "first"
congestion_control = { name = "control", sweep = ["reno", "cubic"] }
[[flow]]
name = "late"
start = { random = "uniform 5 s..6 s" }
[measure]
duration = "40 s"
interval = "100 ms"
"""


def test_results_have_it_for_every_sweep() -> None:
    results = longfat.Experiment(SWEEP).sweep()
    table = results.convergence()
    assert table["control"].tolist() == ["reno", "cubic"]
    assert table["repeats"].tolist() == [2, 2]
    for label, row in zip(["reno", "cubic"], table.to_dict("records"), strict=True):
        times = [of_run(result).time_s for result in results.select(control=label)]
        known = [time for time in times if time == time]
        assert row["converged"] == len(known)
        assert row["convergence_s"] == pytest.approx(sum(known) / len(known))
        assert row["convergence_rtts"] > row["convergence_s"] / 0.03
    # The metric of each run, which is computed with the others, is the same.
    each = [of_run(result).time_s for result in results]
    assert results.runs["convergence_s"].tolist() == pytest.approx(each, nan_ok=True)
    # Easier to reach, so not later.
    assert (results.convergence(delta=0.3)["convergence_s"] <= table["convergence_s"]).all()
    with pytest.raises(longfat.LongfatError, match="choose among first, late"):
        results.convergence("last")
