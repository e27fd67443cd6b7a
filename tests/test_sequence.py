"""The time-sequence graph: what it says of packets that are written down here by hand, and of a run's."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ONE
from longfat import Experiment, Result
from longfat.plot import Plot, Series, save, sequence_series, speed, time_sequence, window_scale
from longfat.plot.thin import merge

MISSING = float("nan")


def packets(*rows: tuple[float, str, str, float, int, float, int]) -> pd.DataFrame:
    """A table of (time, event, direction, link, offset, ACK, length)."""
    names = ["time_s", "event", "direction", "link", "seq_bytes", "ack_bytes", "len_bytes"]
    table = pd.DataFrame(rows, columns=names)
    return table.assign(flow=0, ip_bytes=table["len_bytes"] + 40, flags=".", ecn="not_ect", window=10)


# Four segments of 100 bytes; the second is lost, and sent again when the ACKs of the third and fourth tell.
BY_HAND = packets(
    (0.0, "sent", "forward", MISSING, 0, 0, 100),
    (0.0, "sent", "forward", MISSING, 100, 0, 100),
    (0.1, "dropped_overflow", "forward", 3, 100, 0, 100),
    (0.1, "sent", "forward", MISSING, 200, 0, 100),
    (0.1, "sent", "forward", MISSING, 300, 0, 100),
    (0.2, "delivered", "back", MISSING, 0, 100, 0),
    (0.3, "delivered", "back", MISSING, 0, 100, 0),
    (0.4, "sent", "forward", MISSING, 100, 0, 100),
    (0.5, "delivered", "back", MISSING, 0, 400, 0),
)
BY_HAND.loc[6, ["sack1_from_bytes", "sack1_until_bytes"]] = [200, 400]


def named(series: list[Series]) -> dict[str, Series]:
    return {one.name: one for one in series}


def test_what_is_drawn_of_a_loss() -> None:
    series = named(sequence_series(BY_HAND, window_scale=2))
    assert list(series) == ["window allows", "segment", "SACK", "retransmission", "acknowledged", "dropped at link 3: overflow"]
    segment, again, sack = series["segment"], series["retransmission"], series["SACK"]
    assert segment.low is not None
    assert [*zip(segment.x, segment.low, segment.y, strict=True)] == [(0, 0, 100), (0, 100, 200), (0.1, 200, 300), (0.1, 300, 400)]
    assert again.low is not None
    assert [*zip(again.x, again.low, again.y, strict=True)] == [(0.4, 100, 200)]
    assert sack.low is not None
    assert [*zip(sack.x, sack.low, sack.y, strict=True)] == [(0.3, 200, 400)]
    assert list(series["acknowledged"].y) == [100, 100, 400]
    # A field of 10, scaled by 2 bits.
    assert list(series["window allows"].y) == [140, 140, 440]
    lost = series["dropped at link 3: overflow"]
    assert (list(lost.x), list(lost.y)) == ([0.1], [100])


def test_an_overtaken_ack_takes_nothing_back() -> None:
    swapped = BY_HAND.assign(ack_bytes=[0, 0, 0, 0, 0, 300, 100, 0, 400])
    assert list(named(sequence_series(swapped))["acknowledged"].y) == [300, 300, 400]


def test_the_window_of_a_syn_is_not_scaled() -> None:
    syn = BY_HAND.assign(flags=["."] * 5 + ["S."] + ["."] * 3)
    assert list(named(sequence_series(syn, window_scale=2))["window allows"].y) == [110, 140, 440]


def test_without_a_scale_there_is_no_window_and_the_caption_says_so() -> None:
    plot = time_sequence(BY_HAND)
    assert "window allows" not in named(list(plot.series))
    assert "scale" in plot.caption


def test_where_nothing_was_seen_is_said() -> None:
    with pytest.raises(ValueError, match="no data of flow 7 was seen at the sender"):
        time_sequence(BY_HAND, flow=7)
    with pytest.raises(ValueError, match="nothing is called 'wan'"):
        time_sequence(BY_HAND, at="wan")


def test_a_part_of_the_time() -> None:
    plot = named(list(time_sequence(BY_HAND, start=0.05, end=0.25).series))
    assert list(plot["segment"].x) == [0.1, 0.1]
    # A line goes to the next point outside.
    assert list(plot["acknowledged"].x) == [0.2, 0.3]
    assert "retransmission" not in plot


def test_speed_is_bits_over_time() -> None:
    (line,) = speed(BY_HAND, over_s=0.1).series
    # Two packets of 140 bytes in the first two tenths of a second, one in the fifth.
    assert [*zip(np.round(line.x, 3), np.round(line.y, 6), strict=True)][:2] == [(0, 22.4), (0.1, 22.4)]
    assert sum(line.y) * 0.1 == pytest.approx(5 * 140 * 8 / 1e3)
    with pytest.raises(ValueError, match="more than 200,000 intervals"):
        speed(BY_HAND, over_s=1e-9)


@pytest.fixture(scope="module")
def result() -> Result:
    text = ONE.replace("count = 2", "count = 1").replace("events = true", 'events = true\npackets = "all"')
    return Experiment(text).run()


def test_a_run_says_what_its_counters_say(result: Result) -> None:
    series = named(sequence_series(result))
    flow = result.flows.iloc[0]
    assert len(series["segment"].x) + len(series["retransmission"].x) == flow["segments_sent"]
    assert len(series["retransmission"].x) == flow["segments_retransmitted"]
    assert max(series["acknowledged"].y) >= flow["bytes_delivered"]
    dropped = [one for one in series.values() if one.name.startswith("dropped at bottleneck>")]
    assert sum(len(one.x) for one in dropped) == flow["packets_dropped"]


def test_the_scale_of_a_window_is_that_of_its_buffer(result: Result) -> None:
    # 64 KiB is one byte more than the field holds.
    assert window_scale(result) == 1
    text = ONE.replace("count = 2", 'count = 1\nstack = "linux"').replace('"64 KiB"', '"1 MiB"')
    run = Experiment(text.replace("events = true", 'packets = "all"')).run()
    assert window_scale(run) == 5
    window = named(sequence_series(run))["window allows"]
    acks = named(sequence_series(run))["acknowledged"]
    ahead = max(w - a for w, a in zip(window.y, acks.y, strict=True))
    assert (1 << 20) - 32 <= ahead <= 1 << 20
    # From the series, where no buffer says it.
    unsaid = dataclasses.replace(run, resolved=run.resolved.replace('"static"', '"drs"'))
    assert window_scale(unsaid) == 5


def test_places(result: Result) -> None:
    before = time_sequence(result, at="bottleneck>")
    assert before.title == "Time-sequence graph at the queue of bottleneck>"
    assert "retransmission, or overtaken" in named(list(before.series))
    after = named(sequence_series(result, at="receiver"))
    assert sum(len(after[name].x) for name in ("segment", "retransmission, or overtaken")) < result.flows["segments_sent"].iloc[0]


def test_bars_that_touch_are_one() -> None:
    low = np.array([0.0, 10.0, 40.0, 0.0])
    x, least, most = merge(np.array([0.1, 0.2, 0.3, 1.5]), low, low + 10, 1.0, 1.0)
    assert [*zip(x, least, most, strict=True)] == [(0.5, 0, 20), (0.5, 40, 50), (1.5, 0, 10)]


def long(count: int) -> Plot:
    at = np.arange(count) * 1e-5
    table = pd.DataFrame({"time_s": at, "event": "sent", "direction": "forward", "link": MISSING, "seq_bytes": np.arange(count) * 1448})
    table = table.assign(ack_bytes=0.0, len_bytes=1448, flow=0, ip_bytes=1500, flags=".", window=0, ecn="not_ect")
    return time_sequence(table)


@pytest.mark.slow
def test_a_million_segments_on_paper(tmp_path: Path) -> None:
    plot = long(1_000_000)
    began = time.monotonic()
    svg = save(plot, tmp_path)[1]
    assert svg.stat().st_size < 1_000_000
    assert time.monotonic() - began < 60
