"""Random losses behind the numbers: their count limits how well any method can know their rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from longfat.fit.runs import Runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from longfat.fit.data import Measurement

WANTED = 40
"""Random losses of which a rate within 30 % can be read in 9 of 10 measurements (Poisson)."""
MOSTLY = 0.5
"""Share of random losses among all retransmissions from which the retransmissions tell of them."""


@dataclass(frozen=True)
class Losses:
    """Random losses in runs at the likeliest point, one run per setting."""

    unknown: str
    """Name of the unknown rate of loss."""
    random: int
    """Packets that the links lost at random, in the direction with most bytes."""
    retransmitted: int
    """Segments retransmitted, for whatever cause."""

    @property
    def tells(self) -> bool:
        """True where the numbers hold enough random losses, and little else is retransmitted."""
        return self.random >= WANTED and self.random >= MOSTLY * self.retransmitted

    def __str__(self) -> str:
        count = f"{self.unknown}: the likeliest path loses {self.random} packets at random and retransmits {self.retransmitted}"
        if self.tells:
            return f"{count}."
        if self.random >= WANTED:
            return f"{count}: other losses hide them; measure with a window that does not fill the buffer."
        return f"{count}: {WANTED} tell the rate within 30 %; measure longer."


def losses(runs: Runs, place: Sequence[float], measurements: Sequence[Measurement]) -> Losses | None:
    """Counts random losses at a point; None where no rate of loss is unknown."""
    unknown = next((one.name for one in runs.model.unknowns if one.path.endswith("loss.probability")), None)
    if unknown is None:
        return None
    results = runs.sweep([place], measurements, "likeliest")
    lost = {">": (0.0, 0.0), "<": (0.0, 0.0)}
    links = results.links
    for name, carried, dropped in zip(links["name"], links["ip_bytes"], links["drops_loss"], strict=True):
        sums = lost.get(str(name)[-1], (0.0, 0.0))
        lost[str(name)[-1]] = (sums[0] + float(carried), sums[1] + float(dropped))
    _, random = max(lost.values())
    return Losses(unknown, int(random), int(results.flows["segments_retransmitted"].sum()))
