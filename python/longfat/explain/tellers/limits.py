"""Limits: what a sender waited for, in which share of its time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from longfat.explain.model import Flow, Sentence, Story
from longfat.explain.words import listed, rate, share, size, span
from longfat.lazy import np

MOST = 3
"""Flows told one by one."""
LEAST = 0.01
"""Share of the time from which on a cause is named."""
THE = {"cwnd": "cwnd", "pacing": "pacing", "host": "the interface of its host"}


def tell(story: Story) -> Iterator[Sentence]:
    """One sentence per flow; of many flows one for their mean."""
    if story.kind == "capture" and story.verdict:
        yield Sentence(f"The capture says what limited it: {story.verdict}.")
    known = [flow for flow in story.flows if flow.limits]
    if len(known) > MOST:
        causes = {cause: float(np.mean([flow.limits.get(cause, 0.0) for flow in known])) for cause in known[0].limits}
        yield Sentence(f"The {len(known)} flows waited on average {_waited(causes, 'their')}.")
        return
    for flow in known:
        yield Sentence(f"{flow.name} waited {_waited(flow.limits)}{_meaning(flow)}.")


def _waited(limits: Mapping[str, float], whose: str = "its") -> str:
    """The causes with their shares, the greatest first."""
    causes = sorted(((part, cause) for cause, part in limits.items() if part >= LEAST), reverse=True)
    of = [f" of {whose} time", *[""] * len(causes)]
    said = [f"{THE.get(cause, f'the {cause}')} in {share(part)}{rest}" for (part, cause), rest in zip(causes, of, strict=False)]
    return f"for {listed(said)}" if said else "for nothing"


def _meaning(flow: Flow) -> str:
    """Words on what the first cause allows."""
    cause = max(flow.limits, key=lambda one: flow.limits[one])
    if cause in ("receiver window", "send buffer") and flow.rtt_min_s > 0:
        allowed = flow.flight_max_bytes * 8 / flow.rtt_min_s
        return f": {size(flow.flight_max_bytes)} in flight per {span(flow.rtt_min_s)} allow {rate(allowed)}"
    if cause == "application":
        return ": it had written no more"
    if cause in ("cwnd", "pacing"):
        return ": its congestion control set its rate"
    return ""
