"""Sharing: which flow had how much while all were there, and who starved whom."""

from __future__ import annotations

from collections.abc import Iterator

from longfat.explain.model import Flow, Sentence, Story
from longfat.explain.words import at, listed, rate, share, span
from longfat.lazy import np
from longfat.text import count

MOST = 5
"""Flows told one by one."""
STARVED = 1 / 3
"""Part of an equal share below which a flow starves."""
IDLE = 0.5
"""Share of the time for which the application limits a flow from which on it takes no more by its own will."""


def tell(story: Story) -> Iterator[Sentence]:
    """One sentence for the time in which all flows were there; one per flow that starved."""
    flows = [flow for flow in story.flows if len(flow.time_s) > 1 and flow.limits.get("application", 0.0) < IDLE]
    if len(flows) < 2:
        return
    start, end = max(flow.start_s for flow in flows), min(flow.end_s for flow in flows)
    if end - start <= 10 * max(flow.rtt_min_s for flow in flows):
        return
    rates = np.array([flow.rate(start, end) * 8 for flow in flows])
    total = float(rates.sum())
    if total <= 0:
        return
    parts, fair = rates / total, 1 / len(flows)
    jain = total**2 / (len(flows) * float((rates**2).sum()))
    when = f"From {at(start)} to {at(end)}"
    if len(flows) <= MOST:
        said = listed([f"{flow.name} had {share(float(part))}" for flow, part in zip(flows, parts, strict=True)])
    else:
        said = f"{len(flows)} flows had from {share(float(parts.min()))} to {share(float(parts.max()))} each"
    yield Sentence(f"{when} {said} of {rate(total)} (Jain's index {jain:.2f}).")
    most = flows[int(parts.argmax())]
    starved = [flow for flow, part in zip(flows, parts, strict=True) if part < STARVED * fair]
    if len(starved) > MOST:
        yield Sentence(f"{len(starved)} flows had less than a third of an equal share: they were starved, most of all by {most.name}.")
        return
    for flow in starved:
        yield Sentence(f"{flow.name} was starved by {most.name}{_differs(flow, most)}.", flow.start_s)


def _differs(flow: Flow, other: Flow) -> str:
    """Differences between two flows that may be why."""
    found: list[str] = []
    if flow.start_s - other.start_s > 10 * other.rtt_min_s:
        found.append(f"began {span(flow.start_s - other.start_s)} later")
    if flow.control != other.control:
        found.append(f"runs {flow.control} beside {other.control}")
    if flow.rtt_min_s > 1.1 * other.rtt_min_s > 0:
        found.append(f"never saw a round trip below {span(flow.rtt_min_s)}, where {other.name} saw {span(other.rtt_min_s)}")
    if len(flow.losses) > len(other.losses):
        found.append(f"lost {count(len(flow.losses), 'packet')}, where {other.name} lost {len(other.losses)}")
    return f": it {listed(found)}" if found else ""
