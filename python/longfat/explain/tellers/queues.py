"""Queues of the bottlenecks: how long they were, when they stood, when the link was idle."""

from __future__ import annotations

import math
from collections.abc import Iterator

from longfat.explain.model import Queue, Sentence, Story
from longfat.explain.words import at, rate, share, span
from longfat.lazy import np
from longfat.text import count

MOST = 2
"""Queues told."""
STANDS = 0.2
"""Share of the time at the end of a run in which a queue never empties, so that it stands."""
BUILT = 0.1
"""Part of that time in which the queue builds up."""
EMPTY_S = 1e-9


def tell(story: Story) -> Iterator[Sentence]:
    """One sentence per bottleneck; another where its queue stood until the end."""
    for queue in sorted(story.queues, key=lambda one: -one.drops)[:MOST]:
        if queue.kind == "policer":
            of = f" of {rate(queue.policed_bps)}" if not math.isnan(queue.policed_bps) else ""
            yield Sentence(
                f"{queue.name} polices at a rate{of}: it has no queue, and dropped {count(queue.drops, 'packet')}{_busy(queue)}."
            )
        elif len(queue.time_s) > 1:
            yield from _of(queue)


def _of(queue: Queue) -> Iterator[Sentence]:
    wait = queue.wait_s[np.isfinite(queue.wait_s)]
    if not len(wait):
        return
    longest = float(wait.max())
    if longest <= EMPTY_S:
        yield Sentence(f"The queue of {queue.name} was empty at every sample{_busy(queue)}.")
        return
    if queue.packets is None:
        yield Sentence(f"Round trips were {span(float(wait.mean()))} above the least on average, and {span(longest)} at most.")
        return
    packets = f" ({np.mean(queue.packets):.3g} packets)"
    empty = float(np.mean(wait <= EMPTY_S))
    kind = f" ({queue.kind})" if queue.kind else ""
    yield Sentence(
        f"The queue of {queue.name}{kind} made packets wait {span(float(wait.mean()))}{packets} on average and {span(longest)} at most."
        f" It was empty for {share(empty)} of the time{_busy(queue)}."
    )
    last = np.flatnonzero(queue.wait_s <= EMPTY_S)
    since = float(queue.time_s[last[-1]]) if len(last) else float(queue.time_s[0])
    end = float(queue.time_s[-1])
    if end - since > STANDS * end:
        least = float(queue.wait_s[queue.time_s >= since + BUILT * (end - since)].min())
        yield Sentence(f"From {at(since)} on the queue of {queue.name} never emptied: it stood at {span(least)} or more.", since)


def _busy(queue: Queue) -> str:
    return "" if math.isnan(queue.busy_share) else f", and the link was busy for {share(queue.busy_share)} of the time"
