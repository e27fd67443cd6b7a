"""Marks of ECN: how many, by which queue."""

from __future__ import annotations

from collections.abc import Iterator

from longfat.explain.model import Sentence, Story
from longfat.explain.words import at
from longfat.text import count


def tell(story: Story) -> Iterator[Sentence]:
    """One sentence per queue that marked."""
    firsts = [float(flow.marks_s[0]) for flow in story.flows if len(flow.marks_s)]
    for queue in story.queues:
        if queue.marks:
            since = f" from {at(min(firsts))} on" if firsts else ""
            yield Sentence(
                f"{queue.name} marked {count(queue.marks, 'packet')} CE instead of dropping them{since}.", min(firsts, default=None)
            )
