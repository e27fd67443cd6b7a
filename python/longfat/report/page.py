"""The report: one HTML page that needs nothing else, and on request its figures as PNG and SVG."""

# jinja2 has no complete types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from longfat.errors import DamagedError, StorageError
from longfat.extras import need
from longfat.locate import paper_folder, results_folder
from longfat.paper import (
    Comparison,
    Measured,
    MissingResults,
    Paper,
    Row,
    compare,
    grids,
    load_measured,
    load_paper,
    load_published,
    null,
    uncounted,
)
from longfat.plot import Axis, Plot, Rule, Series, figure_of, pack, save
from longfat.plot.defaults import runs_to_show, sweep_plots, time_plots
from longfat.report import believed
from longfat.report.answer import answer
from longfat.report.comparison import difference, summary
from longfat.report.drawing import path_drawing
from longfat.report.runs import runs_of
from longfat.report.tables import host_table, run_table
from longfat.report.terminal import number, short
from longfat.results.results import Results
from longfat.results.warning import RunWarning, kinds, told
from longfat.store import Location, Store
from longfat.text import count, duration

if TYPE_CHECKING:
    from jinja2 import Template

MOST_ROWS = 500
"""Runs listed in a page; the rest are in runs.parquet."""


FOLDED = 12
"""Rows from which on a table is folded."""


LEAST_NUMBERS = 5
"""Published numbers that a figure of them needs."""


@dataclass(frozen=True)
class Shown:
    """A plot in the page."""

    plot: Plot
    where: str
    """The figure of the paper it stands beside; empty for our own."""

    @property
    def wide(self) -> bool:
        """True if it takes the whole width, as a time-sequence graph does."""
        return any(series.low is not None for series in self.plot.series)

    @property
    def packed(self) -> str:
        """The plot for the page."""
        return pack(figure_of(self.plot))


@dataclass(frozen=True)
class Missing:
    """A figure of the paper that is not in the page."""

    where: str
    why: str


@dataclass(frozen=True)
class Page:
    """A page, and the plots that go beside it as files."""

    html: str
    plots: Iterable[Plot]
    """Plots, once: those over time are made when they are asked for."""
    missing: list[Missing]


@dataclass(frozen=True)
class Report:
    """A report that was written."""

    page: Path
    missing: list[Missing]


PAGE = "report.html"
"""Name of the page in the folder of a report."""


def write_report(
    what: str, results: Location, reports: Path, tick: Callable[[float], object] = lambda _: None, *, figures: bool = False
) -> Report:
    """Writes the report of a results folder, by path or name, or of a paper; with `figures`, each figure beside it as PNG and SVG.

    Raises `LongfatError` where `what` is neither or a library is missing, `StorageError` where the report cannot be written.
    """
    need("report", "a report")
    kept = results_folder(what, results)
    if kept:
        store = Store(kept)
        results_so_far = store.load_so_far()
        store.finished()  # which runs there are is held, so that each is found without reading an index
        return _write(reports / store.folder.name, results_page(results_so_far, store.text_so_far(), tick), figures=figures)
    folder = paper_folder(what)
    measured = load_measured(folder, results)
    return _write(reports / folder.name, paper_page(load_paper(folder), load_published(folder), measured), figures=figures)


def results_page(results: Results, text: str = "", tick: Callable[[float], object] = lambda _: None) -> Page:
    """The page of one experiment, whose file says `text`, and its plots. `tick` is told the share of the runs that is read.

    Runs that are damaged are in the tables, and a warning says which; DamagedError where all are.
    """
    runs = runs_of(results, tick)
    if runs.damaged and len(runs.damaged) == results.runs["run"].nunique():
        raise DamagedError(next(iter(runs.damaged.values())))
    damaged = [RunWarning("", f"a run cannot be read, and has no figures: {why}", 1, (run,)) for run, why in runs.damaged.items()]
    every, results = results, results.without(runs.damaged)
    sweep = list(sweep_plots(results))
    page = render(
        title=results.title or results.provenance.get("experiment") or "longfat",
        description=_description(text),
        drawing=path_drawing(runs.resolved) + path_drawing(runs.resolved, tall=True),
        answer=answer(results),
        warnings=kinds([*told(results.warnings, results.expected), *damaged]),
        run_count=len(every),
        form=" ".join(part for part in ("Short form (--quick) of the experiment." if results.quick else "", results.so_far) if part),
        runs=runs if runs.recorded else None,
        facts=to_json(runs.facts),
        plots=[Shown(plot, "") for plot in sweep],
        outcome={believed.TITLE: _believed(every, text), "Runs": _cut(*run_table(every)), "Hosts": _cut(*host_table(every))},
        experiments={results.provenance.get("experiment", ""): results},
        text=text,
    )
    return Page(page, chain(sweep, _over_time(results)), [])


def _over_time(results: Results) -> Iterator[Plot]:
    for label, result in runs_to_show(results):
        yield from time_plots(result, label)


def _description(text: str) -> str:
    """Returns the description in the experiment's file."""
    try:
        said = tomllib.loads(text).get("description", "")
    except tomllib.TOMLDecodeError:
        return ""
    return said.strip() if isinstance(said, str) else ""


def paper_page(paper: Paper, rows: Sequence[Row], measured: Measured) -> Page:
    """The page of a paper: its published `rows`, tables and claims beside ours, its figures, its experiments; and the plots."""
    lines = compare(paper, rows, measured)
    numbers = _by_place([line for line in lines if not isinstance(line.published, str)])
    shown = [Shown(plot, "") for plot in agreement_plots(numbers)]
    missing: list[Missing] = []
    for figure in paper.figures:
        try:
            shown.append(Shown(measured.ask(figure.draw), figure.where))
        except MissingResults as reason:
            missing.append(Missing(figure.where, str(reason)))
    made, unmade = paper.made_tables(measured)
    missing += [Missing(f"{where}, a table", why) for where, why in unmade]
    page = render(
        title=paper.title,
        citation=paper.citation,
        measured_tables=made,
        tables=grids(paper, rows, lines),
        numbers=numbers,
        null=null(paper, rows, lines),
        claims=[line for line in lines if isinstance(line.published, str)],
        form=" ".join(part for part in (measured.short, *measured.so_far.splitlines()) if part),
        plots=shown,
        missing=missing,
        experiments=measured,
    )
    return Page(page, [one.plot for one in shown], missing)


def agreement_plots(numbers: Mapping[str, Sequence[Comparison]]) -> Iterator[Plot]:
    """Every published number that can be compared, by its place in the paper: ours over theirs. 1 is the same."""
    places: list[str] = []
    points: dict[str, list[tuple[float, float]]] = {"holds": [], "differs": [], "not judged": []}
    for where, lines in numbers.items():
        for line in lines:
            if line.verdict in points and isinstance(line.published, float) and isinstance(line.ours, float):
                ratio = line.ours / line.published if line.published else 0.0
                if ratio > 0:
                    places += [where] if where not in places else []
                    points[line.verdict].append((float(places.index(where)), ratio))
    made = [
        Series(verdict, [x for x, _ in some], [y for _, y in some], line=False, colour=colour, marker=marker)
        for (verdict, some), colour, marker in zip(points.items(), (2, 1, 5), (0, 6, 3), strict=True)
        if some
    ]
    if sum(len(some) for some in points.values()) < LEAST_NUMBERS:
        return
    yield Plot(
        "agreement",
        "Ours over the published number",
        Axis("", names=places),
        Axis("ours / published", log=True),
        made,
        caption="Each published number that is not zero and that our results can answer, by its place in the paper.",
        rules=[Rule("the same", y=1.0)],
    )


def figures_page(title: str, plots: Sequence[Plot], form: str = "") -> Page:
    """A page of figures alone: of what is neither a sweep nor a paper."""
    page = render(title=title, form=form, plots=shown_plots(plots))
    return Page(page, list(plots), [])


def shown_plots(plots: Sequence[Plot]) -> list[Shown]:
    """Plots of our own."""
    return [Shown(plot, "") for plot in plots]


NOTHING: Mapping[str, Any] = {
    "citation": "",
    "description": "",
    "drawing": "",
    "answer": None,
    "warnings": [],
    "run_count": 0,
    "form": "",
    "runs": None,
    "facts": "",
    "plots": [],
    "missing": [],
    "tables": [],
    "measured_tables": [],
    "numbers": {},
    "null": None,
    "claims": [],
    "outcome": {},
    "experiments": {},
    "text": "",
    "alone": False,
}
"""A page without content."""


def template(name: str) -> Template:
    """Returns a template of the package, which escapes what it is given. LongfatError without jinja2."""
    need("report", "a report")
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("longfat"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = _code
    return environment.get_template(name)


def _code(text: str) -> Markup:
    """A sentence as HTML; what stands in backticks is code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def render(*, title: str, **content: Any) -> str:
    """The template with its content: the keys of `NOTHING`. LongfatError without jinja2."""
    words = {
        "number": number,
        "short": short,
        "difference": difference,
        "summary": summary,
        "uncounted": uncounted,
        "duration": duration,
        "count": count,
    }
    content = {**NOTHING, **content}
    return template("report.html.jinja").render(
        title=title, groups=_groups(content["plots"]), scripts=_scripts(), style=_inside("vendor/uplot/uPlot.min.css"), **words, **content
    )


def _groups(plots: Sequence[Shown]) -> list[tuple[bool, list[Shown]]]:
    """The plots in their order: those that are small multiples, `NAME-1`, `NAME-2`..., and others together."""
    groups = [(name, list(some)) for name, some in groupby(plots, lambda one: _family(one.plot.id))]
    return [(name != "", some) for name, some in groups]


def _family(id: str) -> str:
    match = re.fullmatch(r"(.+)-\d+", id)
    return match[1] if match else ""


def _inside(name: str) -> str:
    return files("longfat").joinpath(name).read_text(encoding="utf-8")


def _scripts() -> str:
    return "\n".join(
        _inside(name) for name in ("vendor/uplot/uPlot.iife.min.js", "templates/plots.js", "templates/marks.js", "templates/report.js")
    )


def to_json(value: object) -> str:
    """JSON that can stand in a script element: no `</`, whatever the names of series are."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _by_place(lines: Sequence[Comparison]) -> dict[str, list[Comparison]]:
    """Numbers by where they stand: the paper's tables first, then the rest, each in the order of its file."""
    groups: dict[str, list[Comparison]] = {}
    for line in sorted(lines, key=lambda line: not line.where.startswith("Table")):
        groups.setdefault(line.where, []).append(line)
    return groups


def _cut(columns: list[str], rows: list[list[str]]) -> dict[str, Any]:
    return {"columns": columns, "rows": rows[:MOST_ROWS], "left_out": max(0, len(rows) - MOST_ROWS), "long": len(rows) > FOLDED}


def _believed(results: Results, text: str) -> dict[str, Any]:
    return {**_cut(*believed.believed_table(results, text)), "words": ("",), "file": "runs.parquet", "note": believed.NOTE}


def _write(folder: Path, made: Page, *, figures: bool) -> Report:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if figures:
            (folder / "figures").mkdir(exist_ok=True)
        for plot in made.plots if figures else ():
            save(plot, folder / "figures")
        path = folder / PAGE
        unfinished = path.with_name(".unfinished-report.html")
        unfinished.write_text(made.html, encoding="utf-8", errors="replace")
        return Report(unfinished.replace(path), made.missing)
    except OSError as error:
        raise StorageError(f"cannot write the report to {folder}: {error.strerror or error}") from error
