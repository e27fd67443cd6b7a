"""Measured directions as events of `iperf3 --json-stream`, under iperf3's names and in its units."""

# pandas leaves the type of columns open.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import datetime
import itertools
import json
import math
import platform
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from longfat._longfat import __version__, live_port
from longfat.lazy import np

if TYPE_CHECKING:
    from longfat.results import Result

INTERVAL_S = 1.0
"""Length of an interval, iperf3's own default."""
SOCKET = 1
"""Number of the first stream."""
HEADERS = 40
"""IPv4 and TCP without options, bytes: the segment where the kernel tells none."""

KEYS: dict[str, tuple[str, str]] = {
    "socket": ("", "number of the stream: 1; of the flow down beside a flow up, 2"),
    "remote_host": ("", "host that was measured; in `connecting_to`: `host`"),
    "remote_port": ("", "its port; in `connecting_to`: `port`"),
    "version": ("", "longfat and its version"),
    "system_info": ("", "`uname` of this host"),
    "timestamp": ("", "begin of the direction: `time` in GMT, `timesecs` in s since 1970"),
    "tcp_mss_default": ("bytes", "payload of a full segment of the sender"),
    "protocol": ("", "TCP"),
    "num_streams": ("", "1, per direction"),
    "duration": ("s", "duration of the flow"),
    "omit": ("s", "0: slow start counts"),
    "reverse": ("", "1: from the other host to this one"),
    "bidir": (
        "",
        "1: both at once. `sum_bidir_reverse`, `sum_sent_bidir_reverse` and `sum_received_bidir_reverse` are sums of the flow down",
    ),
    "target_bitrate": ("bit/s", "0: no bound"),
    "sock_bufsize": ("bytes", "0: the kernels size their buffers"),
    "tos": ("", "0: octet of DSCP and ECN"),
    "start": ("s", "begin of the interval, from the begin of the flow"),
    "end": ("s", "its end"),
    "seconds": ("s", "its length; the last interval is from 0.5 s to 1.5 s long"),
    "bytes": (
        "bytes",
        "payload that the receiving application read; in the sender's sums, payload sent once. In `test_start`, 0: no volume",
    ),
    "bits_per_second": ("bit/s", "`bytes` over `seconds`"),
    "retransmits": ("segments", "retransmissions"),
    "snd_cwnd": ("bytes", "congestion window at the end of the interval"),
    "snd_wnd": ("bytes", "receiver window at its end"),
    "rtt": ("us", "smoothed round trip at its end"),
    "rttvar": ("us", "mean deviation of round trips at its end"),
    "pmtu": ("bytes", "MTU of the path at its end"),
    "min_rtt": (
        "us",
        "least round trip of the flow so far. iperf3 has no `min_rtt` in intervals, and reports the least smoothed one at the end",
    ),
    "bytes_retrans": ("bytes", "payload retransmitted. Not in iperf3"),
    "busy_time": ("us", "time with data in flight or waiting. Not in iperf3"),
    "rwnd_limited": ("us", "part of the busy time with the receiver window as limit. Not in iperf3"),
    "sndbuf_limited": ("us", "part of the busy time with the send buffer as limit. Not in iperf3"),
    "max_snd_cwnd": ("bytes", "largest congestion window of the samples"),
    "max_snd_wnd": ("bytes", "largest receiver window of the samples"),
    "max_rtt": ("us", "largest smoothed round trip of the samples"),
    "mean_rtt": ("us", "mean of the smoothed round trips"),
    "omitted": ("", "false"),
    "sender": ("", "true: this host sends"),
    "sender_tcp_congestion": ("", "congestion control of the sender"),
}
"""Unit and meaning of every key, but for names of groups."""
GROUPS = (
    "connected",
    "connecting_to",
    "host",
    "port",
    "time",
    "timesecs",
    "test_start",
    "streams",
    "sum",
    "sum_sent",
    "sum_received",
    "sum_bidir_reverse",
    "sum_sent_bidir_reverse",
    "sum_received_bidir_reverse",
    "receiver",
)
"""Groups, and keys that stand in the row of another."""


def lines(results: Mapping[str, Result], host: str, begun: datetime.datetime) -> Iterator[str]:
    """The events of a run to `host` by its directions, one JSON object each: `start`, `interval` per second, `end`.

    Both directions at once are iperf3's `--bidir`: the flow up is stream 1, the flow down stream 2.
    """
    for event, data in events(results, host, begun):
        yield json.dumps({"event": event, "data": data}, allow_nan=False)


def table() -> str:
    """The keys as a table of the documentation."""
    rows = [f"| `{name}` | {unit} | {meaning} |" for name, (unit, meaning) in KEYS.items()]
    return "\n".join(["| key | unit | |", "|---|---|---|", *rows, ""])


def failed(why: str) -> str:
    """The event `error`."""
    return json.dumps({"event": "error", "data": why})


def events(results: Mapping[str, Result], host: str, begun: datetime.datetime) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and data of each event. A value that is not known has no key."""
    flows = [_Flow(number, result, direction) for number, (direction, result) in enumerate(results.items(), SOCKET)]
    first = flows[0]
    yield "start", _start(flows, host, begun)
    length = float(first.result.end_s)
    edges = [*np.arange(0, length - INTERVAL_S / 2 + 1e-9, INTERVAL_S).tolist(), length]
    for start, end in itertools.pairwise(edges):
        streams: list[dict[str, Any]] = []
        sums: dict[str, Any] = {}
        for flow in flows:
            stream, sums[f"sum{flow.suffix}"] = flow.interval(start, end)
            streams.append(stream)
        yield "interval", {"streams": streams, **sums}
    ends = [flow.end(length) for flow in flows]
    both = {
        f"{name}{flow.suffix}": {**end[part], "sender": flow.is_ours}
        for flow, end in zip(flows, ends, strict=True)
        for name, part in (("sum_sent", 0), ("sum_received", 1))
    }
    streams = [flow.ended(*end) for flow, end in zip(flows, ends, strict=True)]
    control = str(first.row["congestion_control"])
    yield "end", {"streams": streams, **both, "sender_tcp_congestion": control}


class _Flow:
    """One flow of a run: a stream of iperf3."""

    def __init__(self, socket: int, result: Result, direction: str) -> None:
        self.socket, self.result, self.is_ours = socket, result, direction == "up"
        self.suffix = "" if socket == SOCKET else "_bidir_reverse"
        self.row = result.flows.iloc[0]
        self.rows = result.tcp_info[result.tcp_info["end"] == "sender"].sort_values("time_s")
        series = result.series.sort_values("time_s")
        self.at, self.arrived = series["time_s"].to_numpy(dtype=float), series["bytes_arrived"].to_numpy(dtype=float)

    def interval(self, start: float, end: float) -> tuple[dict[str, Any], dict[str, Any]]:
        """The stream in an interval, and its sum."""
        # The last sample may lie before the end of the run: nothing arrived after it.
        count = round(float(np.interp(end, self.at, self.arrived) - np.interp(start, self.at, self.arrived))) if len(self.at) else 0
        span = _span(start, end, count)
        rows = self.rows
        said = _sampled(rows[(rows["time_s"] > start) & (rows["time_s"] <= end)], _before(rows, start))
        again = {name: said[name] for name in ("retransmits",) if name in said}
        marks = {"omitted": False, "sender": self.is_ours}
        return {"socket": self.socket, **span, **said, **marks}, {**span, **again, **marks}

    def end(self, length: float) -> tuple[dict[str, Any], dict[str, Any]]:
        """The whole flow as its sender and its receiver count it."""
        sent = round(float(self.row["bytes_sent"]) - float(self.row["bytes_retransmitted"]))
        of_sender = _span(0.0, length, sent) | _some({"retransmits": _last(self.rows, "total_retrans")})
        return of_sender, _span(0.0, length, round(float(self.row["bytes_delivered"])))

    def ended(self, of_sender: dict[str, Any], of_receiver: dict[str, Any]) -> dict[str, Any]:
        """The stream at the end."""
        marks = {"sender": self.is_ours}
        return {
            "sender": {"socket": self.socket, **of_sender, **_extremes(self.rows), **marks},
            "receiver": {"socket": self.socket, **of_receiver, **marks},
        }


def _start(flows: Sequence[_Flow], host: str, begun: datetime.datetime) -> dict[str, Any]:
    name, port = address(host)
    first = flows[0]
    at = begun.astimezone(datetime.UTC)
    return {
        "connected": [{"socket": flow.socket, "remote_host": name, "remote_port": port} for flow in flows],
        "version": f"longfat {__version__}",
        "system_info": " ".join(platform.uname()).strip(),
        "timestamp": {"time": f"{at:%a, %d %b %Y %H:%M:%S} GMT", "timesecs": int(at.timestamp())},
        "connecting_to": {"host": name, "port": port},
        "tcp_mss_default": round(_last(first.rows, "snd_mss")) if len(first.rows) else 1500 - HEADERS,
        "target_bitrate": 0,
        "sock_bufsize": 0,
        "test_start": {
            "protocol": "TCP",
            "num_streams": 1,
            "omit": 0,
            "duration": round(float(first.result.end_s), 6),
            "bytes": 0,
            "reverse": int(not first.is_ours),
            "bidir": int(len(flows) > 1),
            "tos": 0,
            "target_bitrate": 0,
        },
    }


def address(host: str) -> tuple[str, int]:
    """Name and port of `HOST`, `HOST:PORT`, `[IPV6]:PORT` or `IPV6`."""
    name, colon, port = host.rpartition(":")
    if colon and port.isdigit() and (":" not in name or (name.startswith("[") and name.endswith("]"))):
        return name.strip("[]"), int(port)
    return host.strip("[]"), live_port()


def _span(start: float, end: float, count: int) -> dict[str, Any]:
    seconds = end - start
    rate = 8 * count / seconds if seconds > 0 else 0.0
    return {"start": round(start, 6), "end": round(end, 6), "seconds": round(seconds, 6), "bytes": count, "bits_per_second": rate}


def _before(rows: Any, start: float) -> Any:
    """The last sample up to `start`; none of an interval that begins with the flow."""
    return rows[rows["time_s"] <= start].tail(1)


def _sampled(rows: Any, before: Any) -> dict[str, Any]:
    """State at the end of an interval with the samples `rows`, and counts since the sample `before`."""
    if not len(rows):
        return {}
    since = {name: _last(rows, name) - (_last(before, name) if len(before) else 0.0) for name in COUNTED}
    last = {name: _last(rows, name) for name in ("snd_wnd", "rtt", "rttvar", "pmtu", "min_rtt")}
    return _some(
        {
            "retransmits": since["total_retrans"],
            "snd_cwnd": _last(rows, "snd_cwnd") * _last(rows, "snd_mss"),
            **last,
            **{name: since[name] for name in COUNTED[1:]},
        }
    )


COUNTED = ("total_retrans", "bytes_retrans", "busy_time", "rwnd_limited", "sndbuf_limited")
"""Counters of `TCP_INFO` of which an interval has its own part."""


def _extremes(rows: Any) -> dict[str, Any]:
    """Round trips and windows over the run."""
    if not len(rows):
        return {}
    cwnd = rows["snd_cwnd"] * rows["snd_mss"]
    trips = rows["rtt"][rows["rtt"] > 0]
    return _some(
        {
            "max_snd_cwnd": float(cwnd.max()),
            "max_snd_wnd": float(rows["snd_wnd"].max()),
            "max_rtt": float(trips.max()),
            "min_rtt": _last(rows, "min_rtt"),
            "mean_rtt": float(trips.mean()),
        }
    )


def _last(rows: Any, name: str) -> float:
    return float(rows[name].iloc[-1]) if len(rows) else math.nan


def _some(values: dict[str, float]) -> dict[str, int]:
    """Values that are known, as whole numbers: iperf3 has no others here."""
    return {name: round(value) for name, value in values.items() if not math.isnan(value)}
