"""The results that stand behind a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from longfat.errors import LongfatError
from longfat.store import Store

if TYPE_CHECKING:
    from longfat.results import Results

Made = TypeVar("Made")


class MissingResults(LongfatError):
    """An experiment of the paper has no results (yet)."""


class Measured(Mapping[str, "Results"]):
    """The results of a paper's experiments by the stem of their file: `measured["flows-68ms"].runs`.

    An experiment without results raises `MissingResults`, which `compare` turns into "not testable".
    """

    def __init__(self, results: Mapping[str, Results]) -> None:
        self._results = results
        self._made: dict[object, Any] = {}

    def __getitem__(self, stem: str) -> Results:
        """The results of one experiment."""
        try:
            return self._results[stem]
        except KeyError:
            raise MissingResults(f"no results of experiment {stem!r}") from None

    def __iter__(self) -> Iterator[str]:
        """The stems that have results."""
        return iter(self._results)

    def __len__(self) -> int:
        """How many experiments have results."""
        return len(self._results)

    def once(self, make: Callable[[Measured], Made]) -> Made:
        """`make(self)`, the same each time it is asked for."""
        if make not in self._made:
            self._made[make] = make(self)
        return self._made[make]


def load_measured(folder: Path, root: Path) -> Measured:
    """The results under `root` of every experiment in the paper's folder; those without results are left out."""
    stores = {path.stem: Store(root / folder.name / path.stem) for path in sorted(folder.glob("*.toml"))}
    measured = {stem: store.load() for stem, store in stores.items() if store.provenance()}
    if not measured:
        raise LongfatError(f"no results of {folder.name} in {root}: `longfat run {folder.name}` makes them")
    return Measured(measured)
