"""Tellers of a run: each file here is one, and one line in `REGISTRY`.

A teller is a function `tell` from a story to its sentences. A sentence with a time gets a number in the figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from longfat.explain.model import Sentence, Story
from longfat.explain.tellers import limits, losses, marks, outcome, probe_rtt, queues, sharing, silence, slow_start

REGISTRY: tuple[Callable[[Story], Iterator[Sentence]], ...] = (
    outcome.tell,
    slow_start.tell,
    losses.tell,
    marks.tell,
    silence.tell,
    probe_rtt.tell,
    limits.tell,
    sharing.tell,
    queues.tell,
)
"""Tellers, in the order in which sentences without a time follow each other."""
