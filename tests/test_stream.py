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


def result(samples: bool = True, end_s: float = 2.5) -> Result:
    """The end of `heard()`: 5,000,000 bytes sent once, of which 4.9e6 were read."""
    row = {"snd_mss": 1448.0, "snd_wnd": 9e6, "min_rtt": 4e4}
    rows = [
        row | {"time_s": step / 10, "end": end, "rtt": 40_000.0 + 1000 * step, "snd_cwnd": 29.0 + step, "total_retrans": 3.0}
        for end in ("sender", "receiver")
        for step in range(1, 26)
    ]
    flow = {"bytes_sent": 5_004_344.0, "bytes_retransmitted": 4344.0, "bytes_delivered": 4.9e6, "congestion_control": "cubic"}
    tcp_info = pd.DataFrame(rows if samples else [], columns=list(rows[0]))
    return cast("Result", SimpleNamespace(end_s=end_s, flows=pd.DataFrame([flow]), tcp_info=tcp_info))


def end(number: int, time: float, sends: bool, samples: bool) -> stream.End:
    """One end: 10 Mbit/s in the first second, 20 Mbit/s then; 3 retransmissions in the second one. 100 bytes opened the connection."""
    count = 100 + round(1.25e6 * min(time, 1) + 2.5e6 * max(time - 1, 0))
    info = {
        "snd_mss": 1448,
        "snd_cwnd": 29 + round(10 * time),
        "snd_wnd": 9_000_000,
        "rtt": 40_000 + round(10_000 * time),
        "rttvar": 900,
        "pmtu": 1500,
        "min_rtt": 40_000,
        "total_retrans": 3 if time > 1.5 else 0,
        "bytes_retrans": 0,
        "busy_time": round(1e6 * time),
        "rwnd_limited": round(4e5 * time),
        "sndbuf_limited": 0,
    }
    return (number, sends, count, info if samples else {})


def lines(*directions: str, host: str = "dtn.example.org", samples: bool = True, until_s: float = 2.5) -> list[str]:
    """Lines of a run of 2.5 s that is looked at every 0.1 s, and that was cut at `until_s`."""
    told: list[str] = []
    run = stream.Events(host, directions, 2.5, BEGUN, told.append)
    run.hear(0.0, [])
    for step in [0, 0, *range(round(10 * until_s) + 1), *([25, 25] if until_s == 2.5 else [])]:
        run.hear(step / 10, [end(number, step / 10, direction == "up", samples) for number, direction in enumerate(directions)])
    run.hear(until_s, [])
    run.end({direction: result(samples, until_s) for direction in directions})
    return told


def told(*directions: str, **more: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(*(directions or ("up",)), **more)]


def test_events_come_in_iperf3s_order_and_units() -> None:
    first, *intervals, last = told()
    assert [one["event"] for one in (first, *intervals, last)] == ["start", "interval", "interval", "interval", "end"]
    start = first["data"]
    assert start["timestamp"] == {"time": "Sat, 28 Nov 2026 03:00:07 GMT", "timesecs": 1795834807}
    assert start["connecting_to"] == {"host": "dtn.example.org", "port": 5277}
    assert (start["tcp_mss_default"], start["test_start"]["duration"], start["test_start"]["reverse"]) == (1448, 2.5, 0)
    sums = [one["data"]["sum"] for one in intervals]
    assert [(one["start"], one["end"]) for one in sums] == [(0, 1), (1, 2), (2, 2.5)]
    assert [one["bytes"] for one in sums] == [1_250_000, 2_500_000, 1_250_000], "without those that opened the connection"
    assert [one["bits_per_second"] for one in sums] == pytest.approx([10e6, 20e6, 20e6])
    assert [one["retransmits"] for one in sums] == [0, 3, 0]
    (second,) = intervals[1]["data"]["streams"]
    assert (second["snd_cwnd"], second["rtt"], second["min_rtt"]) == ((29 + 20) * 1448, 60_000, 40_000)
    assert (second["busy_time"], second["rwnd_limited"], second["sender"]) == (1_000_000, 400_000, True)
    ended = last["data"]
    assert ended["sum_sent"]["bytes"] == 5_000_000
    assert ended["sum_sent"]["retransmits"] == 3
    assert ended["sum_received"]["bits_per_second"] == pytest.approx(8 * 4.9e6 / 2.5)
    (one,) = ended["streams"]
    assert (one["sender"]["min_rtt"], one["sender"]["mean_rtt"], one["sender"]["max_rtt"]) == (40_000, 53_000, 65_000)
    assert ended["sender_tcp_congestion"] == "cubic"


def test_an_interval_is_told_when_it_ends_whenever_it_is_looked_at() -> None:
    heard: list[str] = []
    run = stream.Events("dtn", ["up"], 4, BEGUN, heard.append)
    for time, count in [(0.0, 1), (0.4, 1), (1.13, 2), (1.9, 2), (3.6, 3), (3.9, 3), (4.0, 4), (4.0, 4)]:
        run.hear(time, [end(0, time, sends=True, samples=True)])
        assert len(heard) == count, time
    spans = [(one["start"], one["end"]) for one in (json.loads(line)["data"]["sum"] for line in heard[1:])]
    assert spans == [(0, 1.13), (1.13, 3.6), (3.6, 4)]


def test_a_run_that_is_cut_ends_with_the_rest_and_its_end() -> None:
    first, *intervals, last = told(until_s=1.7)
    assert (first["data"]["test_start"]["duration"], last["event"]) == (2.5, "end")
    assert [(one["data"]["sum"]["start"], one["data"]["sum"]["end"]) for one in intervals] == [(0, 1), (1, 1.7)]
    assert last["data"]["sum_sent"]["seconds"] == 1.7
    heard: list[str] = []
    stream.Events("dtn", ["down"], 4, BEGUN, heard.append).end({"down": result()})
    assert [json.loads(line)["event"] for line in heard] == ["start", "end"], "nothing was heard of its flow"


PAGE = ROOT / "docs" / "live-measure.md"
TABLE = re.compile(r"(?<=<!-- table stream -->\n).*?(?=<!-- end -->)", re.DOTALL)


def keys(value: object) -> set[str]:
    """All keys of an object and of those within it."""
    if isinstance(value, dict):
        inside = cast("dict[str, object]", value)
        return set(inside).union(*map(keys, inside.values()))
    return set[str]().union(*map(keys, cast("list[object]", value))) if isinstance(value, list) else set()


def test_every_key_is_documented_with_its_unit() -> None:
    both = [one["data"] for one in told("up", "down")]
    assert {name for data in both for name in keys(data)} == {*stream.KEYS, *stream.GROUPS}
    assert TABLE.findall(PAGE.read_text(encoding="utf-8")) == [stream.table()], "`python tests/test_stream.py` writes it"


def test_values_that_are_not_known_have_no_key() -> None:
    first, interval, *_, last = told(samples=False)
    assert first["data"]["tcp_mss_default"] == 1460
    assert "rtt" not in interval["data"]["streams"][0]
    assert "rtt" not in told("down")[1]["data"]["streams"][0], "its sender is at the far host"
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
    once = "".join(line + "\n" for line in lines(direction))
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
    both = lines("up", "down")
    start, interval, *_, ended = [json.loads(line)["data"] for line in both]
    assert (start["test_start"]["bidir"], start["test_start"]["reverse"], len(start["connected"])) == (1, 0, 2)
    assert [(one["socket"], one["sender"]) for one in interval["streams"]] == [(1, True), (2, False)]
    assert (interval["sum"]["sender"], interval["sum_bidir_reverse"]["sender"]) == (True, False)
    assert interval["sum_bidir_reverse"]["bits_per_second"] == pytest.approx(10e6)
    assert [one["sender"]["sender"] for one in ended["streams"]] == [True, False]
    assert ended["sum_sent_bidir_reverse"]["retransmits"] == 3
    assert ended["sum_received_bidir_reverse"]["bytes"] == ended["sum_received"]["bytes"] == 4_900_000
    file = tmp_path / "seen.jsonl"
    # iperf3 3.12 has no `bidir` in its JSON.
    old = [line.replace('"bidir": 1', '"bidir": 0') for line in both]
    for text in (both, old):
        file.write_text("\n".join(text))
        with pytest.raises(LongfatError, match="holds tests of both directions"):
            read([file])


def test_two_directions_are_two_paths(tmp_path: Path) -> None:
    file = tmp_path / "seen.jsonl"
    file.write_text("\n".join([*lines("up"), *lines("down")]))
    for reads in (lambda: read([file]), lambda: sources.read_source(file)):
        with pytest.raises(LongfatError, match="holds tests of both directions"):
            reads()
    file.write_text(stream.failed("dtn: no such host"))
    with pytest.raises(LongfatError, match="iperf3 failed: dtn: no such host"):
        read([file])


if __name__ == "__main__":
    PAGE.write_text(TABLE.sub(lambda _: stream.table(), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
