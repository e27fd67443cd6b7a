"""Turns a capture into an experiment: the path and the flow that it shows, as a file that runs."""

from __future__ import annotations

import json

from longfat._longfat import Connection
from longfat.errors import CaptureError, ExperimentError
from longfat.experiment import Experiment
from longfat.results.repeats import share_interval

# Causes that mean that the flow's path is full.
FULL = ("congestion, by loss", "congestion, by ECN", "active queue management", "bursts over a small buffer", "a full path")
SMALLEST_MTU = 1500
"""Smallest MTU of the simulated hosts, bytes: a queue takes some of their packets."""
LEAST_TRAINS = 50
"""Trains that say what the bottleneck passes."""
TEMPLATE = """\
# {who}
# {verdict}
# {rate_note}
# {control_note}
{loss_note}title = {title}

[path]
preset = "dumbbell"
rtt = "{rtt} us"
bottleneck = {{ rate = "{rate} bit/s", queue = {queue}{loss} }}
edge = {{ rate = "{edge} bit/s" }}

[[flow]]
stack = "linux"
traffic = {traffic}
{flow}
[measure]
duration = "{duration} s"
interval = "100 ms"
"""


def experiment(connection: Connection) -> str:
    """An experiment of one connection that `longfat.capture.read` found: its rate, base round trip, buffer, loss, windows and volume.

    CaptureError where the capture does not show enough: it needs both ways, and data.
    """
    data, receiver, verdict = connection.data, connection.receiver, connection.verdict
    base, mean, goodput = _needed(connection)
    cause: str = verdict.cause
    mss: int = connection.options.mss_bytes
    of_ip = (mss + 52) / mss
    rate, rate_note = _rate(connection, base, goodput, of_ip)
    loss = loss_note = ""
    flow: list[str] = []
    if cause == "random loss":
        share, low, high = lost(connection)
        loss = f', loss = {{ kind = "bernoulli", probability = {share:.3g} }}'
        loss_note = f"# The loss is between {low:.3g} and {high:.3g} (95 %, Wilson's interval of independent losses).\n"
    if receiver.window_is_scaled and receiver.window_max_bytes:
        flow.append(f'receive_buffer = "{receiver.window_max_bytes} bytes"')
    if cause == "closing window":
        flow.append(f'read_rate = "{round(goodput)} bit/s"')
    if cause == "send buffer":
        flow.append(f'send_buffer = "{data.flight_max_bytes} bytes"')
    if cause == "congestion, by ECN":
        flow.append('ecn = "classic"')
    control: str | None = connection.control.name
    if control:
        flow.append(f'congestion_control = "{control}"')
    traffic = f'{{ kind = "ttcp", volume = "{data.bytes_acked} bytes" }}'
    if cause == "application":
        traffic = f'{{ kind = "writes", rate = "{round(goodput)} bit/s", size = "{10 * mss} bytes" }}'
    if cause == "Nagle and delayed ACKs":
        size = max(1, round(data.bytes_acked / data.segments))
        traffic = f'{{ kind = "writes", rate = "{round(goodput)} bit/s", size = "{size} bytes" }}'
    text = TEMPLATE.format(
        who=f"{connection.source} to {connection.destination}, captured at: {connection.capture_point}",
        verdict=f"what limited it: {cause} ({100 * verdict.confidence:.0f} %)",
        rate_note=rate_note,
        control_note=f"Its control looks like {control}; the rest is today's Linux."
        if control
        else "Its control is not known: this is today's Linux.",
        loss_note=loss_note,
        title=json.dumps(f"As captured: {connection.source} to {connection.destination}"),
        rtt=round(1e6 * base),
        rate=round(rate),
        queue=_queue(connection, (base, mean, goodput), rate, of_ip),
        loss=loss,
        edge=round(max(10 * rate, 1e9)),
        traffic=traffic,
        flow="".join(f"{line}\n" for line in flow),
        duration=max(1, round(3 * connection.duration_s + 10)),
    )
    try:
        Experiment(text, name="captured")
    except ExperimentError as error:
        what = str(error).splitlines()[0]
        raise CaptureError(f"connection {connection.number} cannot become an experiment: what it shows makes none: {what}") from error
    return text


def lost(connection: Connection) -> tuple[float, float, float]:
    """Share of segments lost, and the ends of its 95 % interval, by `longfat.results.repeats.share_interval`."""
    data = connection.data
    again = data.retransmitted
    count = max(again.segments - again.needless, 0)
    low, high = share_interval(count, data.segments)
    return max(count, 1) / data.segments, low, high


def _needed(connection: Connection) -> tuple[float, float, float]:
    """Least and mean round trip in s and goodput in bit/s, without which nothing can be simulated. CaptureError where one is missing."""
    rtt, goodput = connection.rtt, connection.data.goodput_bps
    missing = "that needs data acknowledged over a round trip or longer"
    if connection.captured != "both ways":
        missing = "that needs data and its acknowledgments"
    elif not rtt or not rtt.min_s or round(1e6 * rtt.min_s) < 1:
        missing = "that needs a round trip of 1 us or more, which its clock can tell"
    elif goodput:
        return rtt.min_s, rtt.mean_s or rtt.min_s, goodput
    raise CaptureError(f"connection {connection.number} cannot become an experiment: {missing}")


def _rate(connection: Connection, base: float, goodput: float, of_ip: float) -> tuple[float, str]:
    """Rate of IP packets in bit/s, and how it is known."""
    passed = peak(connection, base, goodput) * of_ip
    bottleneck = connection.bottleneck
    if connection.verdict.cause in FULL:
        return passed, "The path was full: its rate is what passed."
    if bottleneck and bottleneck.trains >= LEAST_TRAINS and bottleneck.rate_bps > passed:
        least = "at least " if bottleneck.is_lower_bound else ""
        return bottleneck.rate_bps, f"The path was not full: its rate is {least}that at which trains of packets left it."
    return passed, "The path was never full: its rate is at least what passed."


def _queue(connection: Connection, known: tuple[float, float, float], rate: float, of_ip: float) -> str:
    """The queue in front of the bottleneck. `known` is what `_needed` gave."""
    base, mean, goodput = known
    least = 4 * max(connection.options.mss_bytes + 52, SMALLEST_MTU)
    trips = [trip for trip in connection.series.rtt_mean_s if trip is not None]
    stretch = max(sorted(trips)[int(0.95 * (len(trips) - 1))] - base, 0.0) if trips else 0.0
    held, bdp = round(max(rate / 8 * stretch, least)), round(rate / 8 * base)
    cause = connection.verdict.cause
    if cause == "policer":
        own = round(goodput * of_ip)
        # Only one thing is known of its bucket: some packets passed at once.
        burst = max(round(own / 8 * base), 10 * 1500)
        return f'{{ kind = "policer", rate = "{own} bit/s", burst = "{burst} bytes", limit = "{max(bdp, least)} bytes" }}'
    if cause == "congestion, by ECN":
        return f'{{ kind = "step", limit = "{4 * held} bytes", threshold = "{held} bytes" }}'
    if cause == "active queue management":
        # The kind of AQM is not known. CoDel is used, with what packets waited on average as its target (RFC 8289 section 4.2).
        waited = max(mean - base, 1e-3)
        return f'{{ kind = "codel", target = "{round(1e6 * waited)} us" }}'
    if cause not in FULL:
        # Nothing was lost in it, or not for its size.
        return f'{{ kind = "droptail", limit = "{max(held, bdp)} bytes" }}'
    return f'{{ kind = "droptail", limit = "{held} bytes" }}'


def peak(connection: Connection, base: float, goodput: float) -> float:
    """The most payload acknowledged in a round trip and more, in bit/s: what the path has passed."""
    series = connection.series
    width = series.width_s
    rates: list[float] = []
    begin, total = None, 0
    for time, acked in zip(series.time_s, series.acked_bytes, strict=True):
        begin = time if begin is None else begin
        total += acked
        if time + width - begin >= max(4 * base, width):
            rates.append(8 * total / (time + width - begin))
            begin, total = None, 0
    # The highest of all may be acknowledgments that came late, together.
    highest = sorted(rates)[int(0.95 * (len(rates) - 1))] if rates else 0.0
    return max(highest, goodput)
