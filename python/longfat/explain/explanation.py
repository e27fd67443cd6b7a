"""A story told: its sentences in order, numbered as in its figure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longfat.explain.figure import plots_of
from longfat.explain.model import Sentence, Story
from longfat.explain.tellers import REGISTRY
from longfat.extras import need_to_draw

if TYPE_CHECKING:
    from longfat.plot import Plot


@dataclass(frozen=True)
class Told:
    """A sentence, with its number in the figure; None without a time."""

    number: int | None
    sentence: Sentence

    def __str__(self) -> str:
        return f"[{self.number}] {self.sentence.text}" if self.number else self.sentence.text


@dataclass(frozen=True)
class Explanation:
    """The story of a run or a connection: events and their causes."""

    story: Story
    told: tuple[Told, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.told))

    @property
    def plots(self) -> list[Plot]:
        """Panels over one time, with the moments of the numbered sentences."""
        return plots_of(self.story, self.told)

    def save(self, file: str | Path) -> Path:
        """Writes the figure as SVG, PDF or PNG, by the ending of the name. LongfatError for another one."""
        need_to_draw()
        from longfat.plot.print import write_panels

        return write_panels(self.plots, Path(file))

    def as_json(self) -> dict[str, Any]:
        """Title, sentences with number and times in seconds, notes."""
        sentences = [{"number": one.number, **asdict(one.sentence)} for one in self.told]
        return {"title": self.story.title, "kind": self.story.kind, "sentences": sentences, "notes": list(self.story.notes)}


def explain_story(story: Story) -> Explanation:
    """Asks every teller: the first sentence, then those with a time in their order, then the others."""
    found = [sentence for tell in REGISTRY for sentence in tell(story)]
    timed = sorted((one for one in found[1:] if one.at_s is not None), key=lambda one: one.at_s or 0.0)
    told = [Told(None, one) for one in found[:1]]
    told += [Told(number, one) for number, one in enumerate(timed, 1)]
    told += [Told(None, one) for one in found[1:] if one.at_s is None]
    return Explanation(story, tuple(told))
