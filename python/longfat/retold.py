"""From a capture to an experiment: the path and the flow that it shows, as a file that runs."""

from __future__ import annotations

import json
from typing import Any

from longfat.errors import CaptureError

# What a flow meets where its path is full.
FULL = ("congestion, by loss", "congestion, by ECN", "bursts over a small buffer")
TEMPLATE = """\
# {who}
# {verdict}
# {rate_note}
# Which congestion control and stack it was is not known: these are Linux's of today.
title = {title}

[path]
preset = "dumbbell"
rtt = "{rtt} us"
bottleneck = {{ rate = "{rate} bit/s", queue = {{ kind = "droptail", limit = "{queue} bytes" }}{loss} }}
edge = {{ rate = "{edge} bit/s" }}

[[flow]]
stack = "linux"
traffic = {traffic}
{flow}
[measure]
duration = "{duration} s"
interval = "100 ms"
"""


def experiment(connection: dict[str, Any]) -> str:
    """An experiment of one connection that `longfat.trace.read` found: its rate, base round trip, buffer, loss, windows and volume.

    CaptureError where the capture does not show enough: it needs both ways, and data.
    """
    data, receiver, verdict = connection["data"], connection["receiver"], connection["verdict"]
    if connection["captured"] != "both ways" or not connection["rtt"] or not data["goodput_bps"]:
        raise CaptureError(f"connection {connection['number']} cannot become an experiment: that needs data and its acknowledgments")
    cause: str = verdict["cause"]
    base: float = connection["rtt"]["min_s"]
    mss: int = connection["options"]["mss_bytes"]
    payload = peak(connection, base)
    rate = payload * (mss + 52) / mss
    trips = [trip for trip in connection["series"]["rtt_mean_s"] if trip is not None]
    stretch = max(sorted(trips)[int(0.95 * (len(trips) - 1))] - base, 0.0) if trips else 0.0
    queue = max(rate / 8 * stretch, 4 * (mss + 52))
    loss = ""
    flow: list[str] = []
    if cause == "random loss":
        again = data["retransmitted"]
        share = max(again["segments"] - again["needless"], 1) / data["segments"]
        loss = f', loss = {{ kind = "bernoulli", probability = {share:.3g} }}'
    if receiver["window_is_scaled"] and receiver["window_max_bytes"]:
        flow.append(f'receive_buffer = "{receiver["window_max_bytes"]} bytes"')
    if cause == "send buffer":
        flow.append(f'send_buffer = "{data["flight_max_bytes"]} bytes"')
    traffic = f'{{ kind = "ttcp", volume = "{data["bytes_acked"]} bytes" }}'
    if cause == "application":
        traffic = f'{{ kind = "writes", rate = "{round(data["goodput_bps"])} bit/s", size = "{10 * mss} bytes" }}'
    known = cause in FULL
    return TEMPLATE.format(
        who=f"{connection['from']} to {connection['to']}, captured at: {connection['capture_point']}",
        verdict=f"what limited it: {cause} ({100 * verdict['confidence']:.0f} %)",
        rate_note="The path was full: its rate is what passed." if known else "The path was never full: its rate is at least what passed.",
        title=json.dumps(f"As captured: {connection['from']} to {connection['to']}"),
        rtt=round(1e6 * base),
        rate=round(rate),
        queue=round(queue),
        loss=loss,
        edge=round(max(10 * rate, 1e9)),
        traffic=traffic,
        flow="".join(f"{line}\n" for line in flow),
        duration=max(1, round(3 * connection["duration_s"] + 10)),
    )


def peak(connection: dict[str, Any], base: float) -> float:
    """The most payload acknowledged in a round trip and more, in bit/s: what the path has passed."""
    series = connection["series"]
    width = series["width_s"]
    rates: list[float] = []
    begin, total = None, 0
    for time, acked in zip(series["time_s"], series["acked_bytes"], strict=True):
        begin = time if begin is None else begin
        total += acked
        if time + width - begin >= max(4 * base, width):
            rates.append(8 * total / (time + width - begin))
            begin, total = None, 0
    # The highest of all may be acknowledgments that came late, together.
    return sorted(rates)[int(0.95 * (len(rates) - 1))] if rates else float(connection["data"]["goodput_bps"])
