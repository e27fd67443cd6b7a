"""The results that stand behind a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from longfat.errors import LongfatError, NoResultsError
from longfat.locate import how_to_run
from longfat.store import Location, Store

if TYPE_CHECKING:
    from longfat.results.results import Results

Made = TypeVar("Made")


class MissingResults(LongfatError):
    """An experiment of the paper has no results (yet), or not all that is asked of it."""


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
        """Number of experiments with results."""
        return len(self._results)

    @property
    def short(self) -> str:
        """One line for where results are shown that are of the short form; empty where none are."""
        quick = [stem for stem, results in self._results.items() if results.quick]
        if not quick:
            return ""
        which = "" if len(quick) == len(self) else f" ({len(quick)} of {len(self)} experiments: {', '.join(quick)})"
        return f"Short form (--quick){which}: what differs here is no result of the paper's experiments, which run without --quick."

    @property
    def made_by(self) -> str:
        """One line: which version of results they are of; experiments that are of another are named."""
        versions: dict[int, list[str]] = {}
        for stem, results in self._results.items():
            versions.setdefault(int(results.provenance.get("results_version", 0)), []).append(stem)
        most = max(versions, key=lambda version: (len(versions[version]), version))
        others = [f"version {v or 'unknown'}: {', '.join(stems)}" for v, stems in sorted(versions.items()) if v != most]
        return f"results of version {most or 'unknown'}" + (f" ({'; '.join(others)})" if others else "")

    @property
    def so_far(self) -> str:
        """A line for each experiment whose sweep is under way or was stopped: how much of it is shown; empty where all are whole."""
        return "\n".join(f"{stem}: {results.so_far}" for stem, results in self._results.items() if results.so_far)

    def ask(self, question: Callable[[Measured], Made]) -> Made:
        """`question(self)`. While runs are missing, one that fails over them raises `MissingResults`."""
        try:
            return question(self)
        except (LookupError, ValueError, ArithmeticError) as error:
            if not self.so_far:
                raise
            raise MissingResults("the runs that this needs are not finished") from error

    def once(self, make: Callable[[Measured], Made]) -> Made:
        """`make(self)`, the same each time it is asked for."""
        if make not in self._made:
            self._made[make] = make(self)
        return self._made[make]


def load_measured(folder: Path, root: Location) -> Measured:
    """The results under `root` of every experiment in the paper's folder, and in folders in it; those without results are left out.

    Only the finished runs of a sweep that is under way or was stopped are loaded. LongfatError where no experiment has any.
    """
    names = [path.relative_to(folder).with_suffix("").as_posix() for path in sorted(folder.rglob("*.toml"))]
    measured: dict[str, Results] = {}
    for name in names:
        with suppress(NoResultsError):
            measured[name] = Store(root / folder.name / name).load_so_far()
    if not measured:
        raise LongfatError(f"no results of {folder.name} in {root}: {how_to_run(folder.name, root)} makes them")
    return Measured(measured)
