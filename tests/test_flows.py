"""Connections that come by a load: their completion times by size, and what the report says of them."""

from __future__ import annotations

import longfat
import numpy as np
import pytest
from longfat import LongfatError, Results
from longfat.plot import default_plots
from longfat.report.answer import answer

ONE = """
[path]
preset = "dumbbell"
rtt = "1 ms"
bottleneck = { rate = "1 Gbit/s", queue = { kind = "droptail", limit = "250 packets" } }
[[flow]]
name = "search"
stack = "linux"
traffic = { kind = "flows", sizes = "web-search", load = { sweep = [0.2, 0.6] } }
stop = "4 s"
[measure]
duration = "20 s"
warmup = "1 s"
"""


@pytest.fixture(scope="module")
def results() -> Results:
    return longfat.Experiment(ONE).sweep()


def test_completion_times_by_size(results: Results) -> None:
    table = results.by_size()
    assert list(dict.fromkeys(table["load"])) == ["0.2", "0.6"]
    assert table["flows"].sum() == results.flows["slowdown"].notna().sum() > 100
    # A flow takes no less than it could, and a larger one longer.
    assert (results.flows["slowdown"].dropna() > 0.999).all()
    assert all((rows["completion_p50_s"].diff().dropna() > 0).all() for _, rows in table.groupby("load"))
    assert ((table["above_bytes"] == 0) | table["above_bytes"].isin(table["up_to_bytes"])).all()
    # The quantiles of the run are those of one class with all of it.
    one = results.by_size([1e9]).set_index("load")
    runs = results.runs.set_index("load")
    for column in ("completion_p50_s", "completion_p99_s", "slowdown_p99"):
        assert np.allclose(one[column], runs[column]), column


def test_classes_are_checked(results: Results) -> None:
    for edges in ([], [0], [5, 5], [9, 3]):
        with pytest.raises(LongfatError, match="sizes in bytes above 0"):
            results.by_size(edges)
    bulk = longfat.Experiment(ONE.replace('{ kind = "flows", sizes = "web-search", load = { sweep = [0.2, 0.6] } }', '"bulk"')).sweep()
    with pytest.raises(LongfatError, match="no run has a finished flow"):
        bulk.by_size()


def test_the_answer_is_about_completion_times(results: Results) -> None:
    said = answer(results)
    assert said.sentences[0].startswith("The lowest slowdown (99th percentile) is ")
    assert "load 0.2" in said.sentences[0]
    assert said.columns[:3] == ["load", "slowdown, 99th percentile", "median slowdown"]
    titles = [plot.title for plot in default_plots(results)]
    assert titles[0] == "Slowdown of the slowest hundredth by load"
    assert "Median slowdown, by the size of the flow" in titles
    assert "How the flows share" not in titles


@pytest.mark.slow
def test_a_shared_link_is_a_queue_with_processor_sharing() -> None:
    """Mean completion time S / (1 - rho), whatever the sizes (Kleinrock, Queueing Systems II, section 4.4)."""
    text = (
        ONE.replace('rtt = "1 ms"', 'rtt = "200 us"\npairs = 20').replace("1 Gbit/s", "100 Mbit/s").replace("250 packets", "10000 packets")
    )
    text = text.replace('sizes = "web-search", load = { sweep = [0.2, 0.6] }', 'sizes = "exponential", size = "1 MB", load = 0.5')
    text = text.replace('stop = "4 s"', 'stop = "200 s"').replace('duration = "20 s"', 'duration = "300 s"').replace('"1 s"', '"20 s"')
    flows = longfat.Experiment("repeats = 5\n" + text).sweep().flows
    flows = flows[flows["slowdown"].notna()]
    rate, headers, span = 100e6 / 8, 1500 / 1448, 5 * 180
    rho = flows["bytes_delivered"].sum() * headers / span / rate
    mean = flows["completion_s"].mean() / (flows["bytes_delivered"].mean() / rate)
    # Four standard errors of 20 seeds twice as long are 5 %.
    assert mean == pytest.approx(headers / (1 - rho), rel=0.12)
    assert 0.45 < rho < 0.6
