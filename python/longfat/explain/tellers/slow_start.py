"""Slow start: until when it lasted, how large the window became, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator

from longfat.explain.model import Flow, Sentence, Story
from longfat.explain.words import at, listed, share, size
from longfat.lazy import np

MOST = 3
"""Flows told one by one."""
BY_MODEL = ("bbr", "bbr3")
"""Controls without a slow start threshold: their Startup ends when the rate stops growing (draft-cardwell-iccrg-bbr-congestion-control)."""
FULL = 0.9
"""Share of the rate that follows at which the rate has stopped growing."""


def tell(story: Story) -> Iterator[Sentence]:
    """One sentence per flow; of many flows one for all."""
    if not story.has_series:
        return
    ends = [(flow, *_end(flow, story)) for flow in story.flows if len(flow.time_s) > 1]
    if len(ends) > MOST:
        ended = sorted(time for _, time, _, _ in ends if time is not None)
        how = [word for _, time, word, _ in ends if time is not None]
        kinds = [f"{how.count(word)} {word}" for word in dict.fromkeys(how)]
        stayed = len(ends) - len(ended)
        if ended:
            more = f" {stayed} never left it." if stayed else ""
            first = f"from {at(ended[0])} to {at(ended[-1])}"
            yield Sentence(f"Slow start ended {first} for {len(ended)} of {len(ends)} flows: {listed(kinds)}.{more}", ended[0], ended[-1])
        else:
            yield Sentence(f"None of {len(ends)} flows left slow start.")
        return
    for flow, time, how, why in ends:
        if time is None:
            largest = f", {_with(flow, float(np.max(flow.window_bytes)))} at most" if flow.window_bytes is not None else ""
            yield Sentence(f"{flow.name} never left slow start{largest}: {why}.")
            continue
        window = flow.window_at(time)
        grown = f" {_with(flow, window)}" if window else ""
        if flow.control in BY_MODEL:
            yield Sentence(f"Startup of {flow.name} filled the path by {at(time)}{grown}: its rate stopped growing.", time)
            continue
        yield Sentence(f"Slow start of {flow.name} ended at {at(time)}{grown}, {how}{f': {why}' if why else ''}.", time)


def _end(flow: Flow, story: Story) -> tuple[float | None, str, str]:
    """Its end, how it came about, and more words on that; no time where it never ended."""
    if flow.control in BY_MODEL and flow.cwnd_bytes is not None:
        return _startup(flow)
    # A retransmission is the first a sender does about a loss; ssthresh is set then, or before by delay or marks.
    noticed = next((one for one in flow.recoveries if one.kind in ("fast_retransmit", "timeout")), None)
    left = _left(flow)
    step = story.interval_s
    if noticed is not None and (left is None or left >= noticed.at_s - step):
        lost = next((one for one in flow.episodes), None)
        how = "by a timeout" if noticed.kind == "timeout" else "by loss"
        number = len(lost.losses) if lost else 0
        return noticed.at_s, how, f"{number:,} of its packets were lost" if number > 1 else "one packet was lost" if number else ""
    if left is None:
        return None, "", _held(flow)
    if len(flow.marks_s) and flow.marks_s[0] <= left:
        return left, "by marks (ECN)", "nothing was lost"
    given = flow.ssthresh_bytes is not None and np.isfinite(flow.ssthresh_bytes[0])
    if given:
        return left, "at the threshold it began with", ""
    if flow.slow_start.startswith("hystart"):
        name = "HyStart++" if flow.slow_start.endswith("++") else "HyStart"
        return left, f"by {name}", "the round trip grew, and nothing was lost"
    return left, f"by {flow.control}" if flow.control else "without a loss", "nothing was lost"


def _with(flow: Flow, window_bytes: float) -> str:
    return f"with a window of {size(window_bytes)}" if flow.cwnd_bytes is not None else f"with {size(window_bytes)} in flight"


def _left(flow: Flow) -> float | None:
    """First time at which the window had reached a threshold."""
    if flow.ssthresh_bytes is None or flow.cwnd_bytes is None:
        return None
    over = np.flatnonzero(np.isfinite(flow.ssthresh_bytes) & (flow.cwnd_bytes >= flow.ssthresh_bytes))
    return float(flow.time_s[over[0]]) if len(over) else None


def _startup(flow: Flow) -> tuple[float | None, str, str]:
    over = max(flow.rtt_min_s, 1e-6)
    rates = (
        np.interp(flow.time_s + over, flow.time_s, flow.arrived_bytes) - np.interp(flow.time_s, flow.time_s, flow.arrived_bytes)
    ) / over
    ten = flow.time_s + 10 * over <= flow.end_s
    later = (np.interp(flow.time_s + 10 * over, flow.time_s, flow.arrived_bytes) - flow.arrived_bytes) / (10 * over)
    full = np.flatnonzero(ten & (rates > 0) & (rates >= FULL * later))
    if not len(full):
        return None, "", "its rate still grew"
    time = float(flow.time_s[full[0]])
    return time, "at the full rate", ""


def _held(flow: Flow) -> str:
    """Words on why slow start need not end."""
    if not flow.limits:
        return "nothing was lost"
    cause = max(flow.limits, key=lambda one: flow.limits[one])
    if cause == "cwnd":
        return "nothing was lost"
    return f"{'' if cause == 'pacing' else 'the '}{cause} limited it for {share(flow.limits[cause])} of its time"
