"""Events of `measure --json-stream`: worked out by hand, and read by our own readers of iperf3's output."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
import pytest
from conftest import ROOT
from longfat.advice import sources
from longfat.errors import LongfatError
from longfat.fit.readers import read
from longfat.live import stream
from longfat.results import Result

BEGUN = datetime.datetime(2026, 11, 28, 3, 0, 7, tzinfo=datetime.UTC)


def result(samples: bool = True) -> Result:
    """2.5 s of a flow: 10 Mbit/s in the first second, 20 Mbit/s then; 3 retransmissions in the second one."""
    times = [step / 10 for step in range(26)]
    arrived = [1.25e6 * min(time, 1) + 2.5e6 * max(time - 1, 0) for time in times]
    row = {"rttvar": 900.0, "pmtu": 1500.0, "snd_mss": 1448.0, "snd_wnd": 9e6, "sndbuf_limited": 0.0, "bytes_retrans": 0.0, "min_rtt": 4e4}
    rows = [
        row
        | {
            "time_s": time,
            "end": end,
            "rtt": 41_000.0 + 1000 * step,
            "snd_cwnd": 30.0 + step,
            "total_retrans": 3.0 if time > 1.5 else 0.0,
            "busy_time": 1e6 * time,
            "rwnd_limited": 4e5 * time,
        }
        for end in ("sender", "receiver")
        for step, time in enumerate(times[1:])
    ]
    flow = {"bytes_sent": 5_004_344.0, "bytes_retransmitted": 4344.0, "bytes_delivered": 4.9e6, "congestion_control": "cubic"}
    made = SimpleNamespace(
        end_s=2.5,
        flows=pd.DataFrame([flow]),
        series=pd.DataFrame({"time_s": times, "bytes_arrived": arrived}).sample(frac=1, random_state=1),
        tcp_info=pd.DataFrame(rows if samples else [], columns=list(rows[0])),
    )
    return cast("Result", made)


def told(direction: str = "up", host: str = "dtn.example.org", **more: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.lines({direction: result(**more)}, host, BEGUN)]


def test_events_come_in_iperf3s_order_and_units() -> None:
    first, *intervals, last = told()
    # 2.5 s: the rest beyond whole seconds is its own interval where it is half a second or more.
    assert [one["event"] for one in (first, *intervals, last)] == ["start", "interval", "interval", "interval", "end"]
    start = first["data"]
    assert start["timestamp"] == {"time": "Sat, 28 Nov 2026 03:00:07 GMT", "timesecs": 1795834807}
    assert start["connecting_to"] == {"host": "dtn.example.org", "port": 5277}
    assert (start["tcp_mss_default"], start["test_start"]["duration"], start["test_start"]["reverse"]) == (1448, 2.5, 0)
    sums = [one["data"]["sum"] for one in intervals]
    assert [(one["start"], one["end"]) for one in sums] == [(0, 1), (1, 2), (2, 2.5)]
    assert [one["bits_per_second"] for one in sums] == pytest.approx([10e6, 20e6, 20e6])
    assert [one["retransmits"] for one in sums] == [0, 3, 0]
    (second,) = intervals[1]["data"]["streams"]
    assert (second["snd_cwnd"], second["rtt"], second["min_rtt"]) == ((30 + 19) * 1448, 60_000, 40_000)
    assert (second["busy_time"], second["rwnd_limited"], second["sender"]) == (1_000_000, 400_000, True)
    end = last["data"]
    assert end["sum_sent"]["bytes"] == 5_000_000
    assert end["sum_sent"]["retransmits"] == 3
    assert end["sum_received"]["bits_per_second"] == pytest.approx(8 * 4.9e6 / 2.5)
    (one,) = end["streams"]
    assert (one["sender"]["min_rtt"], one["sender"]["mean_rtt"], one["sender"]["max_rtt"]) == (40_000, 53_000, 65_000)
    assert end["sender_tcp_congestion"] == "cubic"


PAGE = ROOT / "docs" / "live-measure.md"
TABLE = re.compile(r"(?<=<!-- table stream -->\n).*?(?=<!-- end -->)", re.DOTALL)


def keys(value: object) -> set[str]:
    """All keys of an object and of those within it."""
    if isinstance(value, dict):
        inside = cast("dict[str, object]", value)
        return set(inside).union(*map(keys, inside.values()))
    return set[str]().union(*map(keys, cast("list[object]", value))) if isinstance(value, list) else set()


def test_every_key_is_documented_with_its_unit() -> None:
    both = [json.loads(line)["data"] for line in stream.lines({"up": result(), "down": result()}, "dtn", BEGUN)]
    assert {name for data in both for name in keys(data)} == {*stream.KEYS, *stream.GROUPS}
    assert TABLE.findall(PAGE.read_text(encoding="utf-8")) == [stream.table()], "`python tests/test_stream.py` writes it"


def test_values_that_are_not_known_have_no_key() -> None:
    first, interval, *_, last = told(samples=False)
    assert first["data"]["tcp_mss_default"] == 1460
    assert "rtt" not in interval["data"]["streams"][0]
    assert "retransmits" not in interval["data"]["sum"]
    assert "min_rtt" not in last["data"]["streams"][0]["sender"]


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("dtn", ("dtn", 5277)),
        ("dtn:7000", ("dtn", 7000)),
        ("[2001:db8::1]:7000", ("2001:db8::1", 7000)),
        ("2001:db8::1", ("2001:db8::1", 5277)),
        ("[2001:db8::1]", ("2001:db8::1", 5277)),
    ],
)
def test_hosts_have_names_and_ports(host: str, expected: tuple[str, int]) -> None:
    assert stream.address(host) == expected


@pytest.mark.parametrize("direction", ["up", "down"])
def test_fit_and_advise_read_it(tmp_path: Path, direction: str) -> None:
    file = tmp_path / "seen.jsonl"
    once = "".join(line + "\n" for line in stream.lines({direction: result()}, "dtn", BEGUN))
    file.write_text(once)
    (found,) = read([file])
    assert found.setting["flow.congestion_control"] == '"cubic"'
    assert found.setting["measure.duration"] == '"2.5 s"'
    assert found.values["measured.goodput_bps"] == pytest.approx(8 * 4.9e6 / 2.5)
    assert found.values["measured.rtt_min_s"] == pytest.approx(0.040)
    assert found.values["measured.rtt_mean_s"] == pytest.approx(0.053)
    source = sources.read_source(file)
    assert source.words == {"rate": f"{round(20e6 * 1500 / 1448)} bit/s", "rtt": "40000 us", "mtu": 1500}
    file.write_text(2 * once)
    assert len(read([file])) == 2
    with pytest.raises(LongfatError, match="holds 2 tests: expected one"):
        sources.read_source(file)


def test_both_directions_at_once_are_iperf3s_bidir(tmp_path: Path) -> None:
    lines = list(stream.lines({"up": result(), "down": result()}, "dtn", BEGUN))
    start, interval, *_, end = [json.loads(line)["data"] for line in lines]
    assert (start["test_start"]["bidir"], start["test_start"]["reverse"], len(start["connected"])) == (1, 0, 2)
    assert [(one["socket"], one["sender"]) for one in interval["streams"]] == [(1, True), (2, False)]
    assert (interval["sum"]["sender"], interval["sum_bidir_reverse"]["sender"]) == (True, False)
    assert interval["sum_bidir_reverse"]["bits_per_second"] == pytest.approx(10e6)
    assert [one["sender"]["sender"] for one in end["streams"]] == [True, False]
    assert end["sum_sent_bidir_reverse"]["retransmits"] == 3
    assert end["sum_received_bidir_reverse"]["bytes"] == end["sum_received"]["bytes"] == 4_900_000
    file = tmp_path / "seen.jsonl"
    file.write_text("\n".join(lines))
    # iperf3 3.12 has no `bidir` in its JSON.
    old = [line.replace('"bidir": 1', '"bidir": 0') for line in lines]
    for text in (lines, old):
        file.write_text("\n".join(text))
        with pytest.raises(LongfatError, match="holds tests of both directions"):
            read([file])


def test_two_directions_are_two_paths(tmp_path: Path) -> None:
    file = tmp_path / "seen.jsonl"
    file.write_text("\n".join([*stream.lines({"up": result()}, "dtn", BEGUN), *stream.lines({"down": result()}, "dtn", BEGUN)]))
    for reads in (lambda: read([file]), lambda: sources.read_source(file)):
        with pytest.raises(LongfatError, match="holds tests of both directions"):
            reads()
    file.write_text(stream.failed("dtn: no such host"))
    with pytest.raises(LongfatError, match="iperf3 failed: dtn: no such host"):
        read([file])


if __name__ == "__main__":
    PAGE.write_text(TABLE.sub(lambda _: stream.table(), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
