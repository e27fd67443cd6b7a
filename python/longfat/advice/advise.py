"""`longfat.advise`: asks, runs, and says."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longfat.advice import linux, show
from longfat.advice.cells import Cell, delay_of
from longfat.advice.linux import Line
from longfat.advice.plan import Plan, plan, to_toml
from longfat.advice.question import read
from longfat.advice.rounds import Rounds
from longfat.advice.sources import Source, read_source
from longfat.advice.verdict import Verdict, so_far, verdict
from longfat.cores import default_jobs
from longfat.errors import LongfatError
from longfat.experiment import Experiment
from longfat.results.results import Results

if TYPE_CHECKING:
    import pandas as pd


ASKED = "question.json"
"""File beside the results that says what was asked."""
NOT_ASKED = ("folder", "jobs", "tick", "first")


@dataclass(frozen=True)
class Advice:
    """Settings for a path, and the runs behind them."""

    plan: Plan
    """The question, the candidates and the cases."""
    experiment: Experiment
    """The experiment that was run; its `text` is the file."""
    results: Results
    """Results of the experiment."""
    cells: Mapping[tuple[str, str], Cell]
    """Cells by candidate and case, without those on which the answer does not depend."""
    delay: str
    """Name of the delay that the cells have: `p95 RTT` or `mean RTT`."""
    found: Verdict
    """Candidate to set, with the reasons."""
    copied: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Cells for which no run was needed: the cell with the next smaller buffer dropped nothing."""
    warnings: list[str] = field(default_factory=list[str])
    """Traps of this path."""

    @property
    def best(self) -> str:
        """The name of the candidate to set."""
        return self.found.best.name

    @property
    def verdict(self) -> str:
        """Best candidate, its lead, what would change the choice, and how sure it is."""
        return " ".join(self.found.sentences)

    @property
    def lines(self) -> list[Line]:
        """Commands that set it on Linux, each with its reason and its source."""
        return linux.lines(self.plan, self.found.best)

    @property
    def table(self) -> pd.DataFrame:
        """One row per candidate: goodput in each case, the worst, delay, and what a flow beside it gets."""
        return show.table(self)

    def save(self, file: str | Path) -> None:
        """Writes the experiment, to change and run again."""
        Path(file).write_text(self.experiment.text, encoding="utf-8")

    def as_json(self) -> dict[str, Any]:
        """Returns the whole advice as a JSON object."""
        return show.as_json(self)

    def __str__(self) -> str:
        return show.text(self)

    def _repr_html_(self) -> str:
        return show.html(self)


def advise(
    rate: str | None = None,
    rtt: str | None = None,
    *,
    file: str | Path | None = None,
    mtu: int | str | None = None,
    buffer: str | None = None,
    loss: float | str | None = None,
    streams: int | None = None,
    competing: str | None = None,
    load: float | str | None = None,
    policer: str | None = None,
    burst: str | None = None,
    transfer: str | None = None,
    within: str | None = None,
    edge: str | None = None,
    duration: str | None = None,
    thorough: bool = False,
    everything: bool = False,
    folder: str | Path | None = None,
    jobs: int | None = None,
    tick: Callable[[float], object] = lambda _: None,
    first: Callable[[str], object] = lambda _: None,
) -> Advice:
    """Which control, window, streams and pacing for a path: runs candidates in the cases of what is not known.

    `rate` is of IP packets. `rtt` may be several, with commas: sites that share the bottleneck. `file` is an experiment, a capture or the
    output of `iperf3 --json`, and knows what is not given otherwise. `mtu` is 1500 unless a file says more.

    `buffer` is the bottleneck's (`64MiB`, `0.5 bdp`), `loss` the probability that the path loses a packet of itself (several with commas,
    with words before them that say when: `0,at night 1e-4`), `competing` what else crosses it (`none`, `cubic`, `4 cubic`); `unknown`,
    their default, varies them. `load` is the share of the bottleneck that short transfers of others use. `policer` and `burst` are rate
    and bucket of a token bucket on the path. `transfer` and `within` are a target: a size and the time in which it must arrive.

    `edge` is the rate of the hosts' interfaces: by default the next Ethernet above the path's. A candidate that is behind in one case is
    not run in the others, since it cannot win; with `everything` it is. With `folder`, runs are kept there and not run twice. `tick` is
    called ten times a second with the share of all runs that is done. `first` is called once it is known what to set, with a sentence that
    says so, if there are runs left that complete the tables. Raises LongfatError.
    """
    asked = {name: value for name, value in locals().items() if name not in NOT_ASKED and value is not None}
    if file is not None:
        asked["file"] = str(Path(file).resolve())
    given = {
        "rate": rate,
        "rtt": rtt,
        "mtu": mtu,
        "buffer": buffer,
        "loss": loss,
        "streams": streams,
        "competing": competing,
        "load": load,
        "policer": policer,
        "burst": burst,
        "transfer": transfer,
        "within": within,
        "edge": edge,
        "duration": duration,
    }
    words: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    source = read_source(file, words) if file is not None else Source()
    words = source.words | words
    if missing := [key for key in ("rate", "rtt") if key not in words]:
        raise LongfatError(f"advice needs the path's {' and '.join(missing)}: longfat advise --rate 10Gbit/s --rtt 150ms, or a file")
    made = plan(read(**words, thorough=thorough, told=source.told))
    experiment = Experiment(to_toml(made), name="advice")
    rounds = Rounds(
        made,
        experiment,
        everything=everything,
        jobs=jobs or default_jobs(),
        settled=lambda cells: first(so_far(made, cells)),
    )
    most = max(1.0, experiment.plans.whole().items.cost)
    results = experiment.sweep(folder, jobs=jobs, tick=lambda work: tick(work.current_cost / most), wanted=rounds.wanted)
    if folder is not None:
        (Path(folder) / ASKED).write_text(json.dumps(asked, default=str), encoding="utf-8")
    delay = delay_of(results.open(results.runs["run"].iloc[0]))[1]
    return Advice(
        made, experiment, results, rounds.cells, delay, verdict(made, rounds.cells, delay), rounds.copied, show.traps(made, results)
    )


def kept(folder: str | Path, tick: Callable[[float], object] = lambda _: None) -> Advice:
    """The advice whose runs are in `folder`; only runs that are missing are made. Raises LongfatError."""
    try:
        asked = json.loads((Path(folder) / ASKED).read_text(encoding="utf-8"))
        return advise(**asked, folder=folder, tick=tick)
    except (OSError, ValueError, TypeError) as error:
        raise LongfatError(f"{folder} does not say what was asked: {error}; ask `longfat advise` once more") from error
