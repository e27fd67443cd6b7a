"""ProbeRTT of BBR: it lets the queue drain to measure the path's round trip, and sends little meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

from longfat.explain.model import Flow, Sentence, Story
from longfat.explain.words import size, span, times
from longfat.lazy import np

MOST = 3
SEGMENTS = 4.5
"""Segments: BBR keeps 4 in flight in ProbeRTT (draft-cardwell-iccrg-bbr-congestion-control-00, section 4.3.5)."""
HALF = 0.6
"""Share of its usual window: BBR 3 keeps half of its estimate in flight (draft-cardwell-ccwg-bbr, ProbeRTT)."""
LASTS_S = (0.1, 0.6)
"""Least and most time: both drafts have 200 ms and a round trip."""


def tell(story: Story) -> Iterator[Sentence]:
    """One sentence per flow of BBR."""
    told = 0
    for flow in story.flows:
        found = list(_stretches(flow)) if flow.control in ("bbr", "bbr3") else []
        if found and told < MOST:
            told += 1
            lasted, low = np.mean([end - start for start, end, _ in found]), min(window for *_, window in found)
            starts = [start for start, *_ in found]
            cost = sum(_cost(flow, start, end) for start, end, _ in found)
            yield Sentence(
                f"ProbeRTT cut the window of {flow.name} to {size(low)} for {span(float(lasted))} {times(starts)}, to measure the path"
                f" without a queue. It cost {size(cost)}.",
                starts[0],
                found[0][1],
            )


def _stretches(flow: Flow) -> Iterator[tuple[float, float, float]]:
    """Yields stretches of a small window, no loss recovery: start, end, window."""
    if flow.cwnd_bytes is None or len(flow.time_s) < 2:
        return
    usual = float(np.median(flow.cwnd_bytes))
    below = SEGMENTS * flow.mss_bytes if flow.control == "bbr" else HALF * usual
    small = (flow.cwnd_bytes <= below) & (below < usual)
    edges = np.diff(np.concatenate([[0], small.astype(int), [0]]))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    for first, last in zip(starts, ends, strict=True):
        start, end = float(flow.time_s[first]), float(flow.time_s[min(last, len(flow.time_s) - 1)])
        recovering = any(one.told_s <= end and one.end_s >= start for one in flow.episodes)
        if first and LASTS_S[0] <= end - start <= LASTS_S[1] + 2 * flow.rtt_min_s and not recovering:
            yield start, end, float(flow.cwnd_bytes[first:last].min())


def _cost(flow: Flow, start: float, end: float) -> float:
    """Payload that did not arrive, against the second before."""
    until = end + flow.rtt_min_s
    return max(0.0, flow.rate(max(flow.start_s, start - 1.0), start) * (until - start) - (flow.arrived(until) - flow.arrived(start)))
