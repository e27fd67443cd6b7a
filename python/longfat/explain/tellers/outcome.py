"""The outcome: data, time, rate, and how much of the bottleneck that is."""

from __future__ import annotations

from collections.abc import Iterator

from longfat.explain.model import Sentence, Story
from longfat.explain.words import rate, share, size, span
from longfat.text import count


def tell(story: Story) -> Iterator[Sentence]:
    """One sentence; another for a run in the kernel that cannot be trusted."""
    flows = story.flows
    if not flows:
        yield Sentence("No TCP flow carried data, so there is nothing to explain.")
        return
    start, end = min(flow.start_s for flow in flows), max(flow.end_s for flow in flows)
    payload = sum(flow.delivered_bytes for flow in flows)
    controls = sorted({flow.control for flow in flows if flow.control})
    who = f"{flows[0].name}" if len(flows) == 1 else count(len(flows), "flow")
    by = f" ({', '.join(controls)})" if controls else ""
    trips = sorted(flow.rtt_min_s for flow in flows if flow.rtt_min_s > 0)
    over = f" over a round trip of {span(trips[0])}" if trips and trips[-1] < 1.1 * trips[0] else ""
    over = over or (f" over round trips of {span(trips[0])} to {span(trips[-1])}" if trips else "")
    goodput = payload * 8 / (end - start) if end > start else 0.0
    yield Sentence(f"{who}{by} delivered {size(payload)} in {span(end - start)}{over}: {rate(goodput)}{_of_the_link(story, goodput)}.")
    if story.kind == "kernel" and story.verdict:
        yield Sentence(f"The testbed calls this run {story.verdict}.")


def _of_the_link(story: Story, goodput: float) -> str:
    if len(story.queues) != 1 or not story.queues[0].rate_bps > 0:
        return ""
    link = story.queues[0]
    return f", {share(goodput / link.rate_bps)} of the {rate(link.rate_bps)} of {link.name}"
