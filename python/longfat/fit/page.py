"""The fit as a page that needs nothing else, with its figures."""

# jinja2 has no complete types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportMissingTypeStubs=false

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from longfat.errors import LongfatError
from longfat.fit import show
from longfat.fit.path import summary
from longfat.lazy import np
from longfat.plot import Axis, Plot, Rule, Series
from longfat.plot.units import with_unit
from longfat.report.page import template
from longfat.report.pdf import browser, write_pdf

if TYPE_CHECKING:
    from longfat.fit.path import Fit

ENDINGS = (".html", ".pdf")
BINS = 40
"""Steps of a density."""
MOST_DOTS = 400
"""Draws shown of a pair."""
UNITS: dict[str, Literal["bit/s", "s", "B"]] = {"bps": "bit/s", "s": "s", "bytes": "B"}


def check(file: Path) -> None:
    """Raises LongfatError where no page can be written to `file`."""
    if file.suffix not in ENDINGS:
        raise LongfatError(f"--page {file}: expected a name that ends in .html or .pdf")
    if not file.absolute().parent.is_dir():
        raise LongfatError(f"--page {file}: there is no folder {file.parent}")
    if file.suffix == ".pdf":
        browser()


def write_page(fit: Fit, file: Path) -> None:
    """Writes the page. Raises LongfatError as `check`, or where it cannot be written."""
    check(file)
    if file.suffix == ".pdf":
        write_pdf(html(fit), file)
        return
    try:
        file.write_text(html(fit), encoding="utf-8")
    except OSError as error:
        raise LongfatError(f"{file} cannot be written: {error.strerror}") from error


def html(fit: Fit) -> str:
    """The answer, each unknown, the figures, the models, each number, and how sure it is."""
    from longfat.plot.print import to_svg

    return template("fit.html.jinja").render(
        title="The path behind the numbers",
        explains=fit.explains,
        answer=summary(fit),
        unknowns=show.unknowns(fit),
        ranking=show.ranking(fit) if len(fit.models) > 1 else None,
        numbers=show.numbers(fit),
        pictures=[(plot.title, plot.caption, to_svg(plot)) for plot in plots(fit)],
        further=[str(one) for one in fit.next],
        notes=show.notes(fit),
        experiment=fit.experiment.text,
    )


def plots(fit: Fit) -> list[Plot]:
    """Figures of a fit: how likely each value is, pairs that trade off, and what is predicted beside what was measured."""
    unknowns = [posterior(fit)] if fit.best.intervals else []
    return [*unknowns, *(pair(fit, first, second) for first, second, _ in fit.trades[:2]), measured(fit)]


def posterior(fit: Fit) -> Plot:
    """How likely each value of an unknown is: a line each, over its range. A flat line is an unknown that the data do not decide."""
    searched = fit.best.searched
    edges = np.linspace(0, 1, BINS + 1)
    series: list[Series] = []
    for number, unknown in enumerate(searched.runs.model.unknowns):
        heights, _ = np.histogram(searched.draws[:, number], edges)
        heights = heights / max(1, heights.max())
        series.append(Series(unknown.name, edges[:-1].tolist(), heights.tolist(), markers=False, step=True))
    return Plot(
        "posterior",
        "How likely each value is",
        Axis("place in the range that was asked (0: its least, 1: its greatest)", start=0.0, end=1.0),
        Axis("density, over its highest", start=0.0),
        series,
        caption="A narrow peak is a value that the data decide. A flat line is one that they do not.",
    )


def pair(fit: Fit, first: str, second: str) -> Plot:
    """Draws of two unknowns that trade off."""
    draws = fit.posterior
    names = {one.name: one for one in fit.best.searched.runs.model.unknowns}
    some = draws.iloc[:: max(1, len(draws) // MOST_DOTS)]
    axes: list[Axis] = []
    columns: list[Any] = []
    for name in (first, second):
        size, unit = _scale(names[name].unit, float(draws[name].median()))
        axes.append(Axis(f"{name} ({unit})" if unit else name, log=names[name].scale == "log"))
        columns.append(some[name] / size)
    dots = Series("draws", columns[0], columns[1], line=False, colour=0)
    place = "".join(letter if letter.isalnum() else "-" for letter in f"{first}-{second}")
    return Plot(f"pair-{place}", f"{first} and {second} trade off", axes[0], axes[1], [dots], caption="Each dot explains the numbers.")


def measured(fit: Fit) -> Plot:
    """Goodputs predicted, with 95 % intervals, over those measured. Held out where there are enough settings."""
    held = {one.number: one for one in fit.best.held_out}
    searched = fit.best.searched
    means, deviations = searched.emulators.logs(searched.draws)
    x: list[float] = []
    y: list[float] = []
    half: list[float] = []
    for number, one in enumerate(fit.data.observed):
        if not one.observable.endswith("_bps"):
            continue
        log = held[number].predicted if number in held else float(means[:, number].mean())
        deviation = held[number].deviation if number in held else float(deviations[:, number].mean())
        x.append(one.value)
        y.append(float(np.exp(log)))
        half.append(float(np.exp(log) * np.sinh(1.96 * deviation)))
    size, unit = _scale("bps", max(x, default=1.0))
    top = 1.1 * max([*x, *y], default=1.0) / size
    return Plot(
        "measured",
        "Predicted without knowing it, and measured" if held else "Explained, and measured",
        Axis(f"measured goodput ({unit}, payload)", start=0.0, end=top),
        Axis(f"predicted goodput ({unit}, payload)", start=0.0),
        [
            Series("equal", [0.0, top], [0.0, top], markers=False, colour=1),
            Series("predicted", np.array(x) / size, np.array(y) / size, error=np.array(half) / size, line=False, colour=0),  # type: ignore[arg-type]
        ],
        caption="On the line, prediction and measurement are equal. Bars: 95 % intervals.",
        rules=[Rule("", y=0.0)] if not x else [],
    )


def _scale(unit: str, value: float) -> tuple[float, str]:
    """A unit in which a value is short to write, and how many of the base unit it is."""
    if unit not in ("bps", "s", "bytes"):
        return 1.0, "" if unit == "number" else unit
    word = with_unit(value, UNITS[unit]).split(" ")[1]
    size = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "m": 1e-3, "u": 1e-6, "µ": 1e-6}.get(
        word[0] if len(word) > 1 and word != "bit/s" else "", 1.0
    )
    return size, word
