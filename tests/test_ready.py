"""Every ready experiment runs through to its tables, cut short in time."""

from collections.abc import Callable
from pathlib import Path

import longfat
import pytest
from longfat.locate import experiments

READY = [name for name in experiments() if "/" not in name]


@pytest.mark.slow
@pytest.mark.parametrize("name", READY)
def test_a_ready_experiment_runs(name: str, short_runs: Callable[[str], Path]) -> None:
    experiment = longfat.load(name)
    results = longfat.load_results(short_runs(name))
    assert len(results.runs) == experiment.run_count or experiment.plans.is_adaptive
    for table in (results.flows, results.links):
        assert table.columns.is_unique
        assert set(results.axes) <= set(table.columns)
    assert results.flows["bytes_delivered"].gt(0).any()


def test_an_axis_named_like_a_column_keeps_both() -> None:
    experiment = longfat.load("lfn")
    experiment["flow[0].recovery"] = "sack"
    experiment["measure.interval"] = "100 ms"
    experiment["measure.duration"] = "300 ms"
    experiment["flow[0].congestion_control"] = ["reno", "cubic"]
    flows = experiment.sweep().flows
    assert flows["congestion_control"].tolist() == flows["flow_congestion_control"].tolist() == ["reno", "cubic"]


def test_an_axis_whose_number_is_a_column_leaves_that_column() -> None:
    experiment = longfat.load("lfn")
    experiment["flow[0].recovery"] = "sack"
    experiment["measure.duration"] = "300 ms"
    experiment.set("path.bottleneck.rate", '{ name = "rate", sweep = ["10 Mbit/s", "20 Mbit/s"] }')
    results = experiment.sweep()
    assert results.runs["rate_bps"].tolist() == [10e6, 20e6]
    assert set(results.links["rate_bps"]) == {10e6, 20e6, 1e9}
