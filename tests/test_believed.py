"""The path as a file between two hosts has it, beside what its runs showed: worked out by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
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
