"""Measured directions as events of `iperf3 --json-stream`, under iperf3's names and in its units."""

# pandas leaves the type of columns open.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import datetime
import json
import math
import platform
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from longfat._longfat import __version__, live_port

if TYPE_CHECKING:
    from longfat.results import Result

INTERVAL_S = 1.0
"""Length of an interval, iperf3's own default."""
SOCKET = 1
"""Number of the first stream."""
HEADERS = 40
"""IPv4 and TCP without options, bytes: the segment where the kernel tells none."""
STATE = ("snd_wnd", "rtt", "rttvar", "pmtu", "min_rtt")
"""Fields of `TCP_INFO` at the end of an interval."""
COUNTED = {
    "retransmits": "total_retrans",
    "bytes_retrans": "bytes_retrans",
    "busy_time": "busy_time",
    "rwnd_limited": "rwnd_limited",
    "sndbuf_limited": "sndbuf_limited",
}
"""Counters of `TCP_INFO` of which an interval has its own part."""
End = tuple[int, bool, int, dict[str, int]]
"""End of a flow at this host: number, whether this host sends, bytes, `TCP_INFO`."""
Heard = tuple[float, list[End]]
"""The flows at a time of the run."""

KEYS: dict[str, tuple[str, str]] = {
    "socket": ("", "number of the stream: 1; of the flow down beside a flow up, 2"),
    "remote_host": ("", "host that was measured; in `connecting_to`: `host`"),
    "remote_port": ("", "its port; in `connecting_to`: `port`"),
    "version": ("", "longfat and its version"),
    "system_info": ("", "`uname` of this host"),
    "timestamp": ("", "begin of the direction: `time` in GMT, `timesecs` in s since 1970"),
    "tcp_mss_default": ("bytes", "payload of a full segment, at this host"),
    "protocol": ("", "TCP"),
    "num_streams": ("", "1, per direction"),
    "duration": ("s", "planned duration of the flow"),
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
    "seconds": ("s", "its length: 1 s, and up to 0.2 s more on an idle host. The last interval may be shorter"),
    "bytes": (
        "bytes",
        "payload. In intervals: acknowledged to this host, or read by it. At the end: sent once by the sender, and read by the receiver. "
        "In `test_start`, 0: no volume",
    ),
    "bits_per_second": ("bit/s", "`bytes` over `seconds`"),
    "retransmits": (
        "segments",
        "retransmissions. Intervals of a flow down lack them, and windows and round trips: its sender tells at the end",
    ),
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


def table() -> str:
    """The keys as a table of the documentation."""
    rows = [f"| `{name}` | {unit} | {meaning} |" for name, (unit, meaning) in KEYS.items()]
    return "\n".join(["| key | unit | |", "|---|---|---|", *rows, ""])


def failed(why: str) -> str:
    """The event `error`."""
    return json.dumps({"event": "error", "data": why})


class Events:
    """Events of one run, each told as a line when it happens: `start`, `interval` per second, `end`.

    Both directions at once are iperf3's `--bidir`: the flow up is stream 1, the flow down stream 2. A value that is not known has no key.
    """

    def __init__(
        self, host: str, directions: Sequence[str], seconds: float, begun: datetime.datetime, tell: Callable[[str], object]
    ) -> None:
        self.host, self.directions, self.seconds, self.begun, self.tell = host, directions, seconds, begun, tell
        self.has_started = False
        self.due = min(INTERVAL_S, seconds)
        """Time at which the next interval ends, if it is looked at then."""
        self.edge: Heard | None = None
        """The flows at the end of the last interval."""
        self.last: Heard | None = None

    def hear(self, time_s: float, ends: list[End]) -> None:
        """Takes in the flows at a time of the run (`Run.execute`)."""
        if not ends:
            return
        self.last = (time_s, ends)
        if not self.has_started:
            self._start(ends)
        # A connection stands, and its probes cross the path, before its flow begins.
        if self.edge is None or time_s <= 0:
            self.edge = self.last
        elif self.edge[0] < self.due <= time_s:
            self.due = min(INTERVAL_S * (math.floor(time_s / INTERVAL_S) + 1), self.seconds)
            self._interval(self.last)

    def end(self, results: Mapping[str, Result]) -> None:
        """Ends with the results of both hosts. The rest of a run that was cut is an interval."""
        if not self.has_started:
            self._start([])
        if self.edge and self.last and self.last[0] > self.edge[0]:
            self._interval(self.last)
        flows = [_Flow(number, result, direction) for number, (direction, result) in enumerate(results.items(), SOCKET)]
        length = float(flows[0].result.end_s)
        ends = [flow.end(length) for flow in flows]
        both = {
            f"{name}{_suffix(flow.socket)}": {**end[part], "sender": flow.is_ours}
            for flow, end in zip(flows, ends, strict=True)
            for name, part in (("sum_sent", 0), ("sum_received", 1))
        }
        streams = [flow.ended(*end) for flow, end in zip(flows, ends, strict=True)]
        self._tell("end", {"streams": streams, **both, "sender_tcp_congestion": str(flows[0].row["congestion_control"])})

    def _start(self, ends: list[End]) -> None:
        self.has_started = True
        name, port = address(self.host)
        at = self.begun.astimezone(datetime.UTC)
        start = {
            "connected": [{"socket": number, "remote_host": name, "remote_port": port} for number, _ in enumerate(self.directions, SOCKET)],
            "version": f"longfat {__version__}",
            "system_info": " ".join(platform.uname()).strip(),
            "timestamp": {"time": f"{at:%a, %d %b %Y %H:%M:%S} GMT", "timesecs": int(at.timestamp())},
            "connecting_to": {"host": name, "port": port},
            "tcp_mss_default": next((info["snd_mss"] for *_, info in ends if "snd_mss" in info), 1500 - HEADERS),
            "target_bitrate": 0,
            "sock_bufsize": 0,
            "test_start": {
                "protocol": "TCP",
                "num_streams": 1,
                "omit": 0,
                "duration": round(self.seconds, 6),
                "bytes": 0,
                "reverse": int(self.directions[0] == "down"),
                "bidir": int(len(self.directions) > 1),
                "tos": 0,
                "target_bitrate": 0,
            },
        }
        self._tell("start", start)

    def _interval(self, until: Heard) -> None:
        (start, before), (end, after) = self.edge or until, until
        self.edge = until
        was = {number: (count, info) for number, _, count, info in before}
        streams: list[dict[str, Any]] = []
        sums: dict[str, Any] = {}
        for number, sends, count, info in after:
            earlier_count, earlier = was.get(number, (0, {}))
            span = _span(start, end, max(0, count - earlier_count))
            told = _told(info, earlier) if sends else {}
            marks = {"omitted": False, "sender": sends}
            streams.append({"socket": number + SOCKET, **span, **told, **marks})
            again = {name: told[name] for name in ("retransmits",) if name in told}
            sums[f"sum{_suffix(number + SOCKET)}"] = {**span, **again, **marks}
        self._tell("interval", {"streams": streams, **sums})

    def _tell(self, event: str, data: dict[str, Any]) -> None:
        self.tell(json.dumps({"event": event, "data": data}, allow_nan=False))


def _suffix(socket: int) -> str:
    return "" if socket == SOCKET else "_bidir_reverse"


def _told(info: Mapping[str, int], earlier: Mapping[str, int]) -> dict[str, int]:
    """The sender at the end of an interval, and its counts since its begin. Fields that the kernel does not tell are left out."""
    state = {name: info[name] for name in STATE if name in info}
    counts = {name: info[field] - earlier.get(field, 0) for name, field in COUNTED.items() if field in info}
    cwnd = {"snd_cwnd": info["snd_cwnd"] * info["snd_mss"]} if {"snd_cwnd", "snd_mss"} <= info.keys() else {}
    return {**cwnd, **state, **counts}


class _Flow:
    """One flow of a run: a stream of iperf3."""

    def __init__(self, socket: int, result: Result, direction: str) -> None:
        self.socket, self.result, self.is_ours = socket, result, direction == "up"
        self.row = result.flows.iloc[0]
        self.rows = result.tcp_info[result.tcp_info["end"] == "sender"].sort_values("time_s")

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
