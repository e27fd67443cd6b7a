"""The path as a file between two hosts has it, beside what its runs showed: worked out by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
from longfat.report import answer
from longfat.report.believed import believed_table
from longfat.results.results import Results

FILE = """
title = "to dtn"
backend = "live"
[live]
[[live.host]]
name = "left1"
at = "local"
[[live.host]]
name = "right1"
at = "dtn.example.org"
[path]
preset = "dumbbell"
rtt = "20 ms"
[path.bottleneck]
rate = "20 Mbit/s"
queue = { kind = "droptail", limit = "1 bdp" }
loss = { kind = "bernoulli", probability = 0.001 }
reverse = { rate = "5 Mbit/s", loss = "none" }
[[flow]]
name = "up"
[[flow]]
name = "down"
from = "right1"
to = "left1"
[measure]
duration = "5 s"
"""


def results(**more: Any) -> Results:
    """Three runs. Up, one filled the path and lost at its full queue, one did not fill it, and one lost at random. Down has no queue."""
    runs = pd.DataFrame(
        {
            "run": ["a", "b", "c"],
            "base_rtt_before_s": [0.0202, 0.0201, 0.0204],
            "path_goodput_up_bps": [19.3e6, math.nan, 19.1e6],
            "path_goodput_down_bps": math.nan,
            "queue_delay_up_p99_s": [0.02, 0.001, 0.019],
            "queue_delay_down_p99_s": 1e-4,
            "tcp_efficiency_up": [0.99, 1.0, 0.998],
            "tcp_efficiency_down": 1.0,
        }
    )
    up = {"from": "left1", "bytes_retransmitted": [9, 0, 9], "limited_by": ["congestion, by loss", "receive window", "random loss"]}
    down = {"from": "right1", "bytes_retransmitted": 0, "limited_by": "application"}
    flows = pd.concat([pd.DataFrame({"run": ["a", "b", "c"], **one}) for one in (up, down)])
    return cast("Results", SimpleNamespace(runs=runs.assign(**more), flows=flows))


def test_believed_stands_beside_seen_and_a_dash_where_nothing_was_seen() -> None:
    columns, rows = believed_table(results(), FILE)
    assert columns == ["", "believed", "seen", "least", "most", "runs"]
    table = {row[0]: row[1:] for row in rows}
    assert table["base round trip"] == ["20 ms", "20.2 ms", "20.1 ms", "20.4 ms", "3 of 3"]
    # 19.3 and 19.1 Mbit/s of payload, times 1500 / 1448.
    assert table["rate up"] == ["20 Mbit/s", "19.9 Mbit/s", "19.8 Mbit/s", "20 Mbit/s", "2 of 3"]
    assert table["rate down"] == ["5 Mbit/s", "–", "–", "–", "0 of 3"]
    # 20 ms at 19.99 Mbit/s, of the one run that lost at a full queue. A BDP of the path is 50 kB.
    assert table["buffer up"] == ["50 kB", "50 kB", "50 kB", "50 kB", "1 of 3"]
    assert table["buffer down"][1] == "–"
    assert table["loss up"] == ["0.001", "0.002", "0.002", "0.002", "1 of 3"]
    assert table["loss down"][:2] == ["0", "–"]


def test_jumbo_frames_have_fewer_headers() -> None:
    _, rows = believed_table(results(mtu_up_bytes=9000.0), FILE)
    assert {row[0]: row[2] for row in rows}["rate up"] == "19.3 Mbit/s"


def test_files_without_a_path_or_between_no_hosts_have_no_table() -> None:
    assert believed_table(results(), FILE[: FILE.index("[path]")] + FILE[FILE.index("[[flow]]") :])[1] == []
    assert believed_table(results(), "")[1] == []
    assert believed_table(results(), "no TOML [")[1] == []
    # A path that the simulator does not know between these hosts is shown without what is believed.
    rows = believed_table(results(), FILE.replace('"left1"', '"here"').replace("right1", "there"))[1]
    assert {row[1] for row in rows} == {"–"}


def between_hosts(**more: Any) -> Results:
    """A run with a flow each way, of which the one down was stopped in its warmup."""
    flows = pd.DataFrame(
        {
            "run": "a",
            "flow": [0, 1],
            "group": ["up", "down"],
            "from": ["left1", "right1"],
            "to": ["right1", "left1"],
            "goodput_bps": [19.2e6, math.nan],
            "limited_by": ["congestion, by loss", "cannot tell"],
            "limited_by_confidence": [0.93, 0.0],
        }
    )
    runs = pd.DataFrame({"run": ["a"], "verdict": ["invalid"]})
    return cast("Results", SimpleNamespace(runs=runs, flows=flows.assign(**more)))


def test_the_page_begins_with_what_each_flow_got() -> None:
    assert answer._flows_between_hosts(between_hosts()) == [
        "up got 19.2 Mbit/s from left1 to right1, limited by congestion, by loss (93 % sure).",
        "down got an unknown rate from right1 to left1.",
        "The run is invalid: see the warnings.",
    ]
    assert answer._flows_between_hosts(between_hosts(group="both"))[1].startswith("both 2 got")
    assert answer._flows_between_hosts(between_hosts(limited_by=None)) == [], "of the simulator"


def test_flows_that_never_meet_are_not_unfair_to_each_other() -> None:
    assert answer._go_both_ways(between_hosts().flows)
    assert not answer._go_both_ways(between_hosts(**{"from": "left1", "to": "right1"}).flows)
    assert not answer._go_both_ways(between_hosts(limited_by=None).flows)
