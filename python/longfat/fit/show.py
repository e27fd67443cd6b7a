"""The fit in words: for the terminal, as JSON, and as comments of the experiment that it writes."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any

from longfat.fit import judge
from longfat.fit.data import FLOOR, is_share, value_of
from longfat.fit.path import Fit, finite, summary
from longfat.plot.units import with_unit

if TYPE_CHECKING:
    from rich.console import Console

MOST_ROWS = 12
"""Numbers shown in the terminal: those furthest from the model."""


def said(observable: str, value: float) -> str:
    """A value with its unit."""
    if math.isnan(value):
        return ""
    if observable.endswith("_bps"):
        return with_unit(value, "bit/s")
    return with_unit(value, "s") if observable.endswith("_s") else f"{value:.3g}"


def unknowns(fit: Fit) -> tuple[list[str], list[list[str]]]:
    """Titles and rows: each unknown of the best model."""
    rows: list[list[str]] = []
    for one in fit.best.intervals:
        word = one.unknown.said
        rows.append(
            [
                one.unknown.name,
                word(one.middle),
                f"{word(one.low)} to {word(one.high)}",
                f"{word(one.unknown.low)} to {word(one.unknown.high)}",
                one.verdict,
            ]
        )
    return ["unknown", "median", "95 % interval", "asked", "verdict"], rows


def ranking(fit: Fit) -> tuple[list[str], list[list[str]]]:
    """Titles and rows: each model, by how well it predicts what was held out."""
    rows: list[list[str]] = []
    for one in fit.models:
        behind = "first" if one is fit.best else f"{fit.best.score - one.score:.1f} behind"
        chance = "explains" if one.explains else "refused"
        error = one.error(fit.data)
        rows.append([one.name, behind, "" if math.isnan(error) else f"{100 * error:.0f} %", chance, str(len(one.searched.runs.places))])
    return ["model", "log score", "held-out error", "numbers", "points run"], rows


def numbers(fit: Fit) -> tuple[list[str], list[list[str]]]:
    """Titles and rows: each number, what the model gives, and what it predicts where it did not know it."""
    best, data = fit.best, fit.data
    held = {one.number: one for one in best.held_out}
    nearest = best.searched.outputs[int(best.searched.misfits.argmin())]
    away = best.searched.deviations[int(best.searched.misfits.argmin())]
    rows: list[list[str]] = []
    for number, one in enumerate(data.observed):
        cell = ""
        if number in held:
            predicted = held[number]
            low, high = predicted.predicted - 1.96 * predicted.deviation, predicted.predicted + 1.96 * predicted.deviation
            cell = f"{said(one.observable, value_of(one.observable, low))} to {said(one.observable, value_of(one.observable, high))}"
        setting = data.measurements[one.setting].name
        shown = said(one.observable, value_of(one.observable, float(nearest[number])))
        rows.append(
            [
                f"{setting}: {one.observable.rpartition('.')[2]}",
                said(one.observable, one.value),
                shown,
                f"{round(float(away[number]), 1) + 0.0:+.1f}",
                cell,
            ]
        )
    return ["number", "measured", "nearest run", "sigma", "held out: 95 % interval"], rows


def notes(fit: Fit) -> list[str]:
    """Sentences on how sure it is, and what was assumed."""
    best, data = fit.best, fit.data
    made = list(fit.notes)
    errors = fit.errors
    if not math.isnan(errors["fit"]):
        nulls = [
            f"{100 * errors[name]:.0f} % by {word}"
            for name, word in (("mean", "the mean of the others"), ("window", "window per round trip"))
            if not math.isnan(errors[name])
        ]
        made.append(f"Held-out goodput: median error {100 * errors['fit']:.0f} %; {', '.join(nulls)}.")
        covered = [abs(one.predicted - data.observed[one.number].log) <= 1.96 * one.deviation for one in best.held_out]
        made.append(f"95 % intervals of held-out numbers contain {sum(covered)} of {len(covered)}.")
    if len(fit.models) > 1 and not fit.decided:
        made.append("The data do not decide between the models: the best leads by less than two standard errors.")
    for first, second, shared in fit.trades:
        way = "together" if shared > 0 else "against each other"
        made.append(f"{first} and {second} trade off: they move {way} (rank correlation {shared:.2f}).")
    if fit.losses:
        made.append(str(fit.losses))
    if best.searched.sure > 1:
        made.append(f"The emulator adds {best.searched.sure:.1f} times the spread of the worst number: --waves adds runs.")
    if any(is_share(one.observable) and not one.relative for one in data.observed):
        made.append(f"Shares without a stated spread are compared as logarithms of the share plus {FLOOR:g}.")
    return made


def print_fit(console: Console, fit: Fit) -> None:
    """Prints the answer, each unknown, the models, the numbers, and how sure it is."""
    from longfat.report.columns import Column, print_columns
    from longfat.report.terminal import clean, escape

    def say(text: str, style: str = "") -> None:
        shown = escape(clean(text))
        console.print(f"[{style}]{shown}[/]" if style else shown, soft_wrap=True)

    def table(titles: list[str], rows: list[list[str]]) -> None:
        columns = [Column(escape(title), [escape(clean(row[at])) for row in rows], left=at == 0) for at, title in enumerate(titles)]
        print_columns(console, columns[:1], columns[1:])

    say(summary(fit), "bold")
    if fit.best.intervals:
        say("\nUnknowns", "bold")
        table(*unknowns(fit))
    if len(fit.models) > 1:
        say("\nModels, by what was held out" if fit.best.held_out else "\nModels", "bold")
        table(*ranking(fit))
    titles, rows = numbers(fit)
    order = sorted(range(len(rows)), key=lambda at: -abs(float(rows[at][3])))[:MOST_ROWS]
    say("\nNumbers" if len(rows) <= MOST_ROWS else f"\nNumbers: the {MOST_ROWS} furthest from the model, of {len(rows)}", "bold")
    table(titles, [rows[at] for at in sorted(order)])
    if fit.next:
        say("\nMeasure next", "bold")
        for one in fit.next:
            say(f"  {one}")
    say("\nHow sure", "bold")
    for sentence in notes(fit):
        say(f"  {sentence}")


def text(fit: Fit) -> str:
    """Returns the text that `longfat fit` prints."""
    from longfat.report.terminal import ENDLESS, Terminal

    file = io.StringIO()
    print_fit(Terminal(file=file, width=ENDLESS, highlight=False), fit)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def comments(fit: Fit) -> str:
    """Comments at the top of the experiment: what is known of each value."""
    lines = [f"# {summary(fit)}", *(f"# {one.unknown.name}: {one}" for one in fit.best.intervals)]
    return "".join(f"{' '.join(line.splitlines())}\n" for line in lines)


def as_json(fit: Fit) -> dict[str, Any]:
    """Values in the unit of their names; None where there is no value."""
    data = fit.data

    def model(one: Any) -> dict[str, Any]:
        return {
            "choices": one.searched.runs.model.choices,
            "explains": one.explains,
            "chance": one.chance,
            "score": finite(one.score),
            "held_out_error": finite(one.error(data)),
            "points": len(one.searched.runs.places),
            "unknowns": [
                {
                    "name": each.unknown.name,
                    "path": each.unknown.path,
                    "unit": each.unknown.unit,
                    "low": each.low,
                    "median": each.middle,
                    "high": each.high,
                    "verdict": each.verdict,
                }
                for each in one.intervals
            ],
        }

    return {
        "answer": summary(fit),
        "explains": fit.explains,
        "decided": fit.decided,
        "level": judge.LEVEL,
        "models": [model(one) for one in fit.models],
        "numbers": [
            {"setting": data.measurements[one.setting].setting, "observable": one.observable, "measured": one.value, "sigma_log": one.sigma}
            for one in data.observed
        ],
        "held_out": [
            {
                "number": one.number,
                "predicted": value_of(data.observed[one.number].observable, one.predicted),
                "low": value_of(data.observed[one.number].observable, one.predicted - 1.96 * one.deviation),
                "high": value_of(data.observed[one.number].observable, one.predicted + 1.96 * one.deviation),
            }
            for one in fit.best.held_out
        ],
        "errors": {name: finite(value) for name, value in fit.errors.items()},
        "trades": [list(pair) for pair in fit.trades],
        "next": [{"changes": one.changes, "narrows": one.narrows, "to": one.to, "gain_nats": one.gain} for one in fit.next],
        "random_losses": fit.losses and {"random": fit.losses.random, "retransmitted": fit.losses.retransmitted, "tells": fit.losses.tells},
        "notes": notes(fit),
        "experiment": fit.experiment.text,
    }
