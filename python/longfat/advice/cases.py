"""Cases: the middle of what is not known of the path, and from there each unknown to its ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from longfat.advice.question import Question, probability

BUFFERS = ("0.5 bdp", "0.1 bdp", "1 bdp")
"""Bottleneck buffers to try where the question gives none; the first is the middle."""
LOSSES = (0.0, 1e-6, 1e-5)
"""Probabilities of loss on the path to try where the question gives none."""


@dataclass(frozen=True)
class Case:
    """One state of the path."""

    buffer: str
    loss: float
    rivals: int
    """Number of flows from another host."""
    control: str = "cubic"
    """Congestion control of the rivals."""
    when: str = ""
    """When the path is in this state, in the words of the question."""
    policed: bool = False
    """True where a policer drops before the buffer fills, so that its size does not matter: the name leaves it out."""

    @property
    def name(self) -> str:
        """Name of the case in tables."""
        lost = f"loss {probability(self.loss)}" if self.loss else "no loss"
        lost += f" ({self.when})" if self.when else ""
        beside = f", beside {f'{self.rivals} ' if self.rivals > 1 else ''}{self.control}" if self.rivals else ""
        return f"{'' if self.policed else f'{self.buffer}, '}{lost}{beside}"


def size_of(case: Case) -> float:
    """Buffer of the case in bandwidth-delay products if it is one of `BUFFERS`; 0 if it is known, and so the same in all cases."""
    return float(case.buffer.removesuffix(" bdp")) if case.buffer in BUFFERS else 0.0


def smaller(among: Sequence[Case], case: Case) -> Case | None:
    """The case that differs in nothing but that its buffer is the next smaller one."""
    same = [one for one in among if replace(one, buffer=case.buffer) == case and size_of(one) < size_of(case)]
    return max(same, key=size_of, default=None)


def of(question: Question) -> list[Case]:
    """The middle first."""
    count, control = question.rivals or (0, "cubic")
    # A policer drops before a queue grows behind it: the buffer does not matter.
    buffers = question.buffers or (BUFFERS[:1] if question.policer else BUFFERS)
    losses = question.losses or tuple(("", loss) for loss in LOSSES)
    (when, loss), *others = losses
    middle = Case(buffers[0], loss, count, control, when, policed=question.policer is not None and question.buffers is None)
    made = [middle, *(replace(middle, buffer=buffer) for buffer in buffers[1:])]
    made += [replace(middle, loss=loss, when=when) for when, loss in others]
    if question.rivals is None:
        made.append(replace(middle, rivals=1))
    return made
