"""An experiment in Python: load it, change it, run it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import TypeAlias

from longfat._longfat import Document, Run, Trace, read_text
from longfat.cores import default_jobs
from longfat.errors import DamagedError, ExperimentError, LongfatError, StorageError
from longfat.executors import coordinate
from longfat.executors.chunks import Task
from longfat.executors.plans import Plans, left
from longfat.locate import sources
from longfat.results.provenance import provenance, spans
from longfat.results.result import Result, from_trace
from longfat.results.results import Results
from longfat.results.warning import ASKED, DECLARED, RunWarning, merged
from longfat.store import Location, Store, finished_in, labelled, location
from longfat.sweep.adaptive import Wanted
from longfat.sweep.plan import Items, Plan
from longfat.sweep.summary import SweepSummary
from longfat.sweep.work import Work, execute, perform, share_of
from longfat.text import count, encodable

Values: TypeAlias = "Sequence[Value] | Mapping[str, Value]"
"""Values of an axis, or each by its label."""
Value: TypeAlias = "str | float | bool | list[Value] | dict[str, Value]"
"""A value that can be set in an experiment."""


class Experiment:
    """An experiment file, parsed and checked; see `longfat.load`.

    `experiment["flow[0].window"] = "64 KiB"` changes a value: strings are quantities and words as in the file, numbers
    and booleans stand for themselves, a mapping is a table, a list is a sweep. Raises `ExperimentError`, and then changes nothing.
    """

    def __init__(self, text: str, file: str = "<string>", name: str = "experiment") -> None:
        self.name = name
        """Name of its results."""
        self.file = str(Path(file).resolve()) if Path(file).is_file() else ""
        """Path of its file; empty where it came from no file."""
        self.changes: dict[str, str] = {}
        """Values set since, as TOML."""
        self._shown = encodable(file)
        self._document = Document(text, self._shown)
        self.plans = Plans(self._document, name)
        """Plans of the runs, all, by shard, or missing from a folder: for the command line and executors."""
        self.text: str = self._document.text
        """The TOML as it was given; of a file with a `base`, the one file that both come to."""

    def __repr__(self) -> str:
        runs = "1 run" if self.run_count == 1 else f"{self.run_count:,} runs"
        return f"<longfat.Experiment {self.name!r}: {self.title!r}, {runs}>"

    @property
    def title(self) -> str:
        """The title of the file."""
        return self._document.title

    @property
    def changed_text(self) -> str:
        """The TOML with the values set since, to write to a file and run again."""
        return self._document.text

    @property
    def repeats(self) -> int:
        """Runs of each combination of the sweep."""
        return self._document.repeats

    @property
    def axes(self) -> dict[str, list[str]]:
        """Name and values of each axis of the sweep; the last turns fastest."""
        return dict(self._document.axes)

    @property
    def expected(self) -> dict[str, str]:
        """Names of warnings that are not printed, each with the reason: `expect` names them, or an axis varies what they judge."""
        return dict.fromkeys(self._document.asked, ASKED) | dict.fromkeys(self._document.expected, DECLARED)

    def __setitem__(self, path: str, value: Value) -> None:
        """Sets the value at `path`."""
        self.set(path, toml_value(value, path.rpartition(".")[2]))

    def set(self, path: str, text: str) -> None:
        """Sets the value at `path` to TOML, a bare word or a quantity: `e.set("flow[0].window", "64 KiB")`."""
        self._document.set(path, text)
        self.changes[path] = text
        self.plans = Plans(self._document, self.name)

    def vary(self, what: str | Mapping[str, Values], values: Values | None = None, *, name: str | None = None) -> Experiment:
        """Makes a sweep of values, with names where one likes; gives the experiment back.

        `vary("flow.window", ["1 MiB", "4 MiB"])` is an axis; a mapping in place of the list gives each value its label. `name` is what the
        axis is called. `vary({"path.rtt": [...], "flow.window": [...]}, name="path")` is one axis too, whose values change together (a
        zip); its labels are those of the first. Raises ExperimentError, and then changes nothing.
        """
        together = {what: values} if isinstance(what, str) else dict(what)
        lists: dict[str, list[tuple[str | None, Value]]] = {}
        for path, some in together.items():
            if not some:
                raise ExperimentError(f"vary {path}: expected a list of values, or a mapping of labels to values")
            lists[path] = list(some.items()) if isinstance(some, Mapping) else [(None, value) for value in some]
        lengths = {path: len(some) for path, some in lists.items()}
        if len(set(lengths.values())) > 1:
            raise ExperimentError(f"values that change together are as many: {', '.join(f'{path} has {n}' for path, n in lengths.items())}")
        if not lists:
            raise ExperimentError("vary: expected at least one value to change")
        zipped = (name or next(iter(lists))) if len(lists) > 1 else None
        labels = _labels(next(iter(lists.values()))) if zipped else None
        before, changes = self._document.text, dict(self.changes)
        try:
            for path, some in lists.items():
                head = "".join(f"{key} = {json.dumps(word)}, " for key, word in (("name", zipped or name), ("zip", zipped)) if word)
                items = [labelled_value(labels[i] if labels else label, value) for i, (label, value) in enumerate(some)]
                self.set(path, f"{{ {head}sweep = [{', '.join(items)}] }}")
        except ExperimentError:
            self._document, self.changes = Document(before, self._shown), changes
            self.plans = Plans(self._document, self.name)
            raise
        return self

    def _repr_html_(self) -> str:
        from longfat.report.notebook import of_experiment

        return of_experiment(self)

    def quicken(self) -> None:
        """Changes what the file says under `quick`. Raises `ExperimentError` where it says nothing."""
        quick = self._document.quick()
        if quick is None:
            raise ExperimentError(f"{self.name} has no quick form: its file has no table [quick]")
        self._document, self.plans = quick, Plans(quick, self.name)
        self.changes["quick"] = "true"

    @property
    def run_count(self) -> int:
        """Number of runs: the combinations of the axes, times the repeats. Upper bound for adaptive sweeps."""
        return self._document.run_count

    def resolve(self, index: int) -> Run:
        """Run `index` of `run_count`: its labels, hash and resolved JSON. Runs nothing."""
        return self._document.run(index)

    def resolve_all(self) -> list[Run]:
        """Every run, in order."""
        return [self.resolve(index) for index in range(self.run_count)]

    @property
    def warnings(self) -> list[RunWarning]:
        """Warnings that can be given before anything is run (`docs/warnings.md`)."""
        return list(self.plans.plan().warnings)

    def run(self) -> Result:
        """Runs an experiment of one run. Ctrl-C works.

        Raises `ExperimentError` where there are more: then `sweep` is meant. `LostError` where the far host of a run between real hosts was
        lost: its `result` is of the time until then.
        """
        if self.run_count != 1:
            raise ExperimentError(f"{self.name} is a sweep of {self.run_count} runs: use sweep() or choose one value of each axis")
        return execute(self._document.run(0), self.title)[0]

    def sweep(
        self,
        folder: str | Location | None = None,
        *,
        jobs: int | None = None,
        executor: Executor | None = None,
        tick: Callable[[Work], object] = lambda _: None,
        wanted: Wanted | None = None,
    ) -> Results:
        """Runs every run on `jobs` cores (all, by default). Ctrl-C works.

        With `folder` (a path, or a URL as `longfat run --results` takes it), results are kept there, each run as it finishes: the same
        sweep again runs only what is missing.
        Without, they are in memory alone. `tick` is called ten times a second with the state of the work.

        With `executor`, any of `concurrent.futures`, its workers run them, in chunks, and write to `folder`, which all of them must see
        (`docs/cluster.md`). `jobs` is then how many chunks run at once, for an executor that does not say.

        With `wanted`, only some are run: it is given a function from the hash of a run to its `Result` (None while it is not finished) and
        says the numbers of the runs that are wanted, those before among them. It is asked again when these are finished, until it wants no
        more.
        Raises `StorageError` where the folder cannot be written, `LongfatError` where a worker cannot do what is asked.
        """
        if folder is None:
            if executor:
                raise LongfatError("sweep(executor=...) needs a folder, one that all workers see: their results go there")
            return self._sweep_in_memory(jobs or default_jobs(), tick, wanted)
        where = location(folder)
        store = Store(where.resolve() if isinstance(where, Path) and executor else where)
        work = Work(self.title)
        said = jobs or (0 if executor else default_jobs())
        with store.writing(lambda: _kept(work)):
            store.check_source(self.file)
            with store.writer(lambda: _kept(work)):
                pass  # what was left behind is cleared away, or sent

            def do(plan: Plan) -> None:
                work.begin(left(plan, store))
                if executor and work.items.alone.any():
                    raise LongfatError("a run in real time has its machine to itself: run it without an executor")
                if not len(work.items):
                    return
                self.plans.check(work.items)
                store.begin(self.title, list(self.axes), self.text, self._facts(plan, SweepSummary(), said))
                if executor:
                    coordinate.perform(work, Task(str(store.folder), self.title, self._document.text), executor, jobs, tick)
                else:
                    with store.writer(lambda: _kept(work)) as writer:
                        perform(work, self.resolve, writer.keep, said, tick, self.repeats)

            plan = self.plans.rounds(partial(finished_in, store), wanted, do)

            def told(share: float) -> None:
                work.tables = share
                tick(work)

            return self._combine(store, plan, said, told)

    def _sweep_in_memory(self, jobs: int, tick: Callable[[Work], object], wanted: Wanted | None) -> Results:
        kept: dict[str, Result] = {}
        work = Work(self.title)

        def keep(run: Run, title: str, trace: Trace, wall_s: float, cpu_s: float) -> None:
            kept[run.hash] = from_trace(run, title, trace, wall_s, cpu_s)

        def simulate(plan: Plan) -> None:
            work.begin(plan.items.without(kept.keys()))
            self.plans.check(work.items)
            perform(work, self.resolve, keep, jobs, tick, self.repeats)

        plan = self.plans.rounds(kept.get, wanted, simulate)
        results = [labelled(kept[run.hash], run) for run in plan.named]
        summary = SweepSummary()
        summary.add(results)
        return Results.of(self.title, list(self.axes), results, self._facts(plan, summary, jobs))

    def missing(self, folder: str | Location) -> Items:
        """The runs that are not finished in `folder`."""
        return self.plans.missing(Store(folder))

    def sweep_shard(
        self,
        folder: str | Location,
        shard: int,
        of: int,
        *,
        jobs: int | None = None,
        tick: Callable[[Work], object] = lambda _: None,
    ) -> int:
        """Runs the runs of shard `shard` (from 1) `of` so many; those that are finished in `folder` are not run again. How many it ran.

        Which they are follows from the experiment alone. Shards can run at once, on machines that share `folder`; `gather` puts the tables
        together. Raises as `sweep` does; LongfatError where the sweep decides by what its runs give: shards know nothing of each other.
        """
        store = Store(folder)
        plan = self.plans.shard(shard, of)
        work = Work(self.title)
        store.check_source(self.file)
        with store.writer(lambda: _kept(work)) as writer:
            work.begin(left(plan, store))
            self.plans.check(work.items)
            store.begin(self.title, list(self.axes), self.text, self._facts(plan, SweepSummary(), jobs or default_jobs()))
            perform(work, self.resolve, writer.keep, jobs or default_jobs(), tick, self.repeats)
        return work.done

    def gather(self, folder: str | Location) -> Results:
        """Makes the tables of the runs in `folder`, wherever they ran, and runs none. Raises `StorageError` where a run is missing."""
        store = Store(folder)
        with store.writing():
            store.check_source(self.file)
            plan = self.plans.plan(store)
            missing = len(plan.items.without(store.finished()))
            try:
                if not missing:
                    return self._combine(store, plan, 0)
            except DamagedError:  # what is damaged is put aside by now
                missing = len(plan.items.without(store.finished()))
            raise StorageError(f"{missing:,} of the {len(plan.items):,} runs are missing in {folder}")

    def _decision(self) -> dict[str, object]:
        facts: dict[str, object] = {}
        if search := self._document.search:
            names = ("metric", "bound", "is_floor")
            facts["search"] = {"axis": list(self.axes)[search[0]]} | dict(zip(names, search[1:], strict=True))
        if precision := self._document.precision:
            names = ("metric", "within", "relative", "least")
            facts["precision"] = dict(zip(names, precision, strict=True)) | {"most": self._document.repeats}
        return facts

    def _combine(self, store: Store, plan: Plan, jobs: int, tick: Callable[[float], object] = lambda _: None) -> Results:
        facts: Callable[[SweepSummary], dict[str, object]] = lambda summary: self._facts(plan, summary, jobs)  # noqa: E731
        return store.combine(self.title, list(self.axes), plan.named, self.text, facts, self._document, share_of(len(plan.every), tick))

    def _facts(self, plan: Plan, summary: SweepSummary, jobs: int) -> dict[str, object]:
        return provenance(
            backends=plan.backends,
            experiment=self.name,
            file=self.file,
            changes=self.changes,
            seeds=spans(plan.seeds),
            jobs=jobs,
            runs=len(plan.every) if self.plans.is_adaptive else self.run_count,
            wall_s=summary.wall_s,
            cpu_s=summary.cpu_s,
            cost=summary.cost,
            **self._decision(),
            expected=self.expected,
            warnings=[warning.as_facts() for warning in summary.warnings],
        )


def _kept(work: Work) -> str:
    return f" (kept: {count(work.done, 'finished run')})" if work.done else ""


def before(runs: Iterable[Run]) -> list[RunWarning]:
    """Returns the warnings of these runs that can be given before they are run."""
    return merged(one for run in runs for one in _of(run))


def _of(run: Run) -> Iterator[RunWarning]:
    return (RunWarning(one["name"], one["text"], one["count"], (run.hash,)) for one in run.warnings)


def load(what: str | Path) -> Experiment:
    """The experiment in a file, or by name (`longfat list experiments`).

    Raises `LongfatError` where there is none or several (a folder), `ExperimentError` where it is not valid.
    """
    found = sources(str(what))
    if len(found) > 1:
        raise LongfatError(f"{what} is {len(found)} experiments: choose one of {', '.join(source.name for source in found)}")
    file = found[0].file
    try:
        text = read_text(file)
    except OSError as error:
        raise LongfatError(f"cannot read {file}: {error}") from error
    return Experiment(text, str(file), found[0].name)


def load_results(folder: str | Location, tick: Callable[[float], object] = lambda _: None) -> Results:
    """The results in a folder or at a URL that `longfat run` or `Experiment.sweep` wrote.

    If the sweep is under way or was stopped, only its finished runs are loaded: `Results.so_far` says so. `tick` is told the share of them
    that is read. Raises `StorageError`.
    """
    return Store(folder).load_so_far(tick)


def _labels(values: Sequence[tuple[str | None, Value]]) -> list[str]:
    """Names the values of an axis: by label, or as they are written."""
    return [label or _word(value) for label, value in values]


def _word(value: Value) -> str:
    if isinstance(value, dict):
        return str(next((value[key] for key in ("label", "kind", "preset", "type") if key in value), toml_value(value)))
    return value if isinstance(value, str) else toml_value(value)


def labelled_value(label: str | None, value: Value) -> str:
    """A value of a sweep as TOML, with its label where it has one."""
    if label is None:
        return toml_value(value)
    return toml_value({"label": label} | value if isinstance(value, dict) else {"label": label, "value": value})


LISTS = {"between", "down", "values"}
"""Keys whose value is a list, so that a list there is no sweep."""


def toml_value(value: Value, key: str = "") -> str:
    """`value` as TOML; a list is a sweep but for the `LISTS`, a mapping an inline table."""
    if isinstance(value, list):
        items = f"[{', '.join(toml_value(item) for item in value)}]"
        return items if key in LISTS else f"{{ sweep = {items} }}"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{json.dumps(name)} = {toml_value(item, name)}' for name, item in value.items())} }}"
    return json.dumps(value)  # a TOML basic string, number or boolean is written as in JSON
