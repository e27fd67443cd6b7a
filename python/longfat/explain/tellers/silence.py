"""Silence: times in which data was in flight and nothing arrived."""

from __future__ import annotations

from collections.abc import Iterator

from longfat.explain.model import Flow, Sentence, Story
from longfat.explain.words import at, span
from longfat.lazy import np

MOST = 2
"""Sentences."""
LONG = 4.0
"""Round trips without an arrival from which on it is silence."""
LEAST_S = 0.05
IN_FLIGHT = 0.5
"""Share of a silence in which data was in flight, so that it was not the application's."""


def tell(story: Story) -> Iterator[Sentence]:
    """One sentence per stretch, the longest ones. Flows that are silent together are told together."""
    found: dict[tuple[float, float], list[Flow]] = {}
    for flow in story.flows:
        for start, end in _stretches(flow):
            together = next((one for one in found if start < one[1] and end > one[0]), (start, end))
            found.setdefault(together, []).append(flow)
    for (start, end), flows in sorted(found.items(), key=lambda one: one[0][0] - one[0][1])[:MOST]:
        who = flows[0].name if len({one.name for one in flows}) == 1 else f"{len({one.name for one in flows})} flows"
        yield Sentence(
            f"Nothing of {who} arrived from {at(start)} to {at(end)}, {span(end - start)}{_why(story, flows, start, end)}.", start, end
        )


def _stretches(flow: Flow) -> Iterator[tuple[float, float]]:
    """Yields stretches without an arrival while data was in flight."""
    if len(flow.time_s) < 2 or flow.flight_bytes is None:
        return
    grew = np.flatnonzero(np.diff(flow.arrived_bytes) > 0)
    starts, ends = flow.time_s[grew[:-1] + 1], flow.time_s[grew[1:]]
    for long in np.flatnonzero(ends - starts > max(LONG * flow.rtt_min_s, LEAST_S)):
        if (flow.flight_bytes[grew[long] + 1 : grew[long + 1] + 1] > 0).mean() > IN_FLIGHT:
            yield float(starts[long]), float(ends[long])


def _why(story: Story, flows: list[Flow], start: float, end: float) -> str:
    for queue in story.queues:
        for down, up in queue.down:
            if down < end and up > start:
                return f": {queue.name} was down from {at(down)} to {at(up)}"
    timers = [
        one.at_s for flow in flows for one in flow.recoveries if one.kind == "timeout" and start <= one.at_s <= end + LONG * flow.rtt_min_s
    ]
    return f": the retransmission timer expired at {at(max(timers))}" if timers else ""
