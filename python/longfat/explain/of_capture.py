"""A connection of a capture as its story."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from longfat.explain.model import Flow, Loss, Queue, Recovery, Story
from longfat.lazy import np

if TYPE_CHECKING:
    from longfat._longfat import Connection
    from longfat.lazy import pd

LIMITS: dict[str, str] = {"ack_wait": "cwnd", "receive_window_wait": "receiver window", "silent": "application"}
"""Features of a connection that are shares of its time."""
APART = 1.5
"""Round trips without a retransmission after which the next one is another episode."""
LEAST_TIMER_S = 0.2
"""Least retransmission timeout of the stacks in use (RFC 6298 has 1 s; Linux has 0.2 s)."""


def story_of_capture(connection: Connection, packets: pd.DataFrame) -> Story:
    """The story of a connection of `longfat.capture.read`, from its `longfat.capture.packets`.

    The congestion window cannot be seen, so its place takes what is in flight. Losses are seen by their retransmissions alone.
    """
    start, end = connection.start_s, connection.start_s + connection.duration_s
    least = (connection.rtt.min_s if connection.rtt else None) or 0.0
    mean = (connection.rtt.mean_s if connection.rtt else None) or least
    columns = _walk(packets)
    verdict, control, data = connection.verdict, connection.control, connection.data
    known = {cause: connection.features.get(name) for name, cause in LIMITS.items()}
    losses, recoveries = _recoveries(columns, max(mean, 1e-4))
    flow = Flow(
        name=f"connection {connection.number}",
        control=control.name or "",
        slow_start="",
        start_s=start,
        end_s=end,
        rtt_min_s=least,
        rtt_max_s=connection.rtt.max_s if connection.rtt else least,
        mss_bytes=float(connection.options.mss_bytes),
        delivered_bytes=float(data.bytes_acked),
        goodput_bps=data.goodput_bps or 0.0,
        retransmitted_bytes=float(data.retransmitted.bytes),
        flight_max_bytes=float(data.flight_max_bytes),
        limits={cause: part for cause, part in known.items() if part is not None},
        time_s=columns["time_s"],
        arrived_bytes=columns["acked"],
        retransmitted_so_far=columns["again"],
        flight_bytes=columns["flight"],
        losses=losses,
        recoveries=recoveries,
    )
    share = f"{verdict.cause} ({100 * verdict.confidence:.0f} %): {verdict.why}"
    return Story(
        title=f"{connection.source} to {connection.destination}",
        kind="capture",
        end_s=end,
        flows=[flow],
        queues=[_queue(connection, least)] if connection.rtt and least else [],
        has_series=len(columns["time_s"]) > 1,
        has_events=True,
        verdict=share,
        notes=["a capture does not show the congestion window: data in flight stand for it, and ACKs for arrivals", *verdict.limits],
    )


def _walk(packets: pd.DataFrame) -> dict[str, Any]:
    """Data acknowledged, in flight and retransmitted after each packet."""
    forward = (packets["direction"] == "forward").to_numpy()
    time, seq, length = (packets[name].to_numpy(np.float64) for name in ("time_s", "seq_bytes", "len_bytes"))
    data = forward & (length > 0)
    high = np.maximum.accumulate(np.where(data, seq + length, 0.0))
    before = np.concatenate([[0.0], high[:-1]])
    again = data & (seq + length <= before)
    acked = np.maximum.accumulate(np.where(forward, 0.0, np.nan_to_num(packets["ack_bytes"].to_numpy(np.float64))))
    # A FIN takes a byte of the sequence, and no payload.
    acked = np.minimum(acked, high)
    return {
        "time_s": time,
        "acked": acked,
        "flight": high - acked,
        "again": np.cumsum(np.where(again, length, 0.0)),
        "is_again": again,
        "is_data": data,
    }


def _recoveries(columns: dict[str, Any], trip_s: float) -> tuple[list[Loss], list[Recovery]]:
    """Losses and recoveries by retransmissions: those a round trip apart are one episode, by the timer where nothing was sent before."""
    losses: list[Loss] = []
    recoveries: list[Recovery] = []
    for start, end, waited, number in _clusters(columns, trip_s):
        losses += [Loss(start, "lost", "")] * number
        recoveries.append(Recovery(start, "timeout" if waited > max(LEAST_TIMER_S, 2 * trip_s) else "fast_retransmit"))
        recoveries.append(Recovery(end + trip_s, "recovery_end"))
    return losses, recoveries


def _clusters(columns: dict[str, Any], trip_s: float) -> Iterator[tuple[float, float, float, int]]:
    """Yields the first and last retransmission of an episode, the time since data was sent before it, and the number."""
    sent, again = columns["time_s"][columns["is_data"]], columns["is_again"][columns["is_data"]]
    places = np.flatnonzero(again)
    for part in np.split(places, np.flatnonzero(np.diff(sent[places]) > APART * trip_s) + 1) if len(places) else []:
        first = int(part[0])
        yield float(sent[first]), float(sent[part[-1]]), float(sent[first] - sent[first - 1]) if first else 0.0, len(part)


def _queue(connection: Connection, least_s: float) -> Queue:
    series = connection.series
    known = [(time, mean - least_s) for time, mean in zip(series.time_s, series.rtt_mean_s, strict=True) if mean is not None]
    time, wait = np.array(known).reshape(-1, 2).T
    bottleneck = connection.bottleneck
    return Queue(
        name="the path",
        kind="",
        rate_bps=bottleneck.rate_bps if bottleneck and not bottleneck.is_lower_bound else 0.0,
        time_s=time + connection.start_s,
        wait_s=wait,
        packets=None,
        busy_share=math.nan,
        drops=0,
        marks=0,
    )
