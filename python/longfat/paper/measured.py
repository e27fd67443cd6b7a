"""The results that stand behind a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from longfat.errors import LongfatError
from longfat.locate import how_to_run
from longfat.store import Location, Store

if TYPE_CHECKING:
    from longfat.results import Results

Made = TypeVar("Made")


class MissingResults(LongfatError):
    """An experiment of the paper has no results (yet)."""


class Measured(Mapping[str, "Results"]):
    """The results of a paper's experiments by their place in its folder: `measured["flows-68ms"].runs`, `measured["beyond/server"]`.

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

    @property
    def short(self) -> str:
        """One line for where results are shown that are of the short form; empty where none are."""
        quick = [stem for stem, results in self._results.items() if results.quick]
        if not quick:
            return ""
        which = "" if len(quick) == len(self) else f" ({len(quick)} of {len(self)} experiments: {', '.join(quick)})"
        return f"Short form (--quick){which}: what differs here is no result of the paper's experiments, which run without --quick."

    def once(self, make: Callable[[Measured], Made]) -> Made:
        """`make(self)`, the same each time it is asked for."""
        if make not in self._made:
            self._made[make] = make(self)
        return self._made[make]


def load_measured(folder: Path, root: Location) -> Measured:
    """The results under `root` of every experiment in the paper's folder, and in folders in it; those without results are left out.

    LongfatError where none has any.
    """
    names = [path.relative_to(folder).with_suffix("").as_posix() for path in sorted(folder.rglob("*.toml"))]
    stores = {name: Store(root / folder.name / name) for name in names}
    measured = {stem: store.load() for stem, store in stores.items() if store.provenance()}
    if not measured:
        raise LongfatError(f"no results of {folder.name} in {root}: {how_to_run(folder.name, root)} makes them")
    return Measured(measured)
