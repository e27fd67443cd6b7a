"""Displays of an experiment and of results in notebooks."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from longfat.report.answer import answer
from longfat.report.drawing import path_drawing
from longfat.results.warning import told
from longfat.text import clean

if TYPE_CHECKING:
    from longfat.experiment import Experiment
    from longfat.results.results import Results
    from longfat.results.warning import RunWarning

MOST_RUNS = 200
"""Runs that are looked at, to draw the path with what changes in it and to warn."""
DRAWING = Markup(
    "<style>.longfat svg.path{max-width:100%;height:auto}.longfat svg.path rect{fill:Canvas;stroke:GrayText}"
    ".longfat svg.path text{fill:CanvasText;font:12px sans-serif;text-anchor:middle}.longfat svg.path .small{font-size:11px}"
    ".longfat svg.path line{stroke:GrayText}.longfat svg.path .bottleneck{stroke:#0072B2;stroke-width:5}</style>"
)


def of_experiment(experiment: Experiment) -> str:
    """Title of an experiment, its path drawn, its axes, and what is to be told before a run."""
    from longfat.experiment import before

    resolved = [experiment.resolve(index) for index in range(min(experiment.run_count, MOST_RUNS))]
    runs: list[dict[str, Any]] = [json.loads(run.resolved) for run in resolved]
    axes = [[axis, ", ".join(values)] for axis, values in experiment.axes.items()]
    runs_said = "1 run" if experiment.run_count == 1 else f"{experiment.run_count:,} runs"
    parts = [
        Markup("<h4>{}</h4><p>{}: {}</p>").format(clean(experiment.title or experiment.name), clean(experiment.name), runs_said),
        DRAWING,
        path_drawing(runs),
        _table(["axis", "values"], axes) if axes else Markup(""),
        _warnings(told(before(resolved), experiment.expected)),
    ]
    return _whole(parts)


def of_results(results: Results) -> str:
    """Title of results, the answer in words, the best and the worst settings, and the warnings."""
    found = answer(results)
    rows = list(found.rows)
    if found.left_out:
        rows.insert(found.cut, [f"… {found.left_out} more"] + [""] * (len(found.columns) - 1))
    parts = [
        Markup("<h4>{}</h4>").format(clean(results.title)),
        *(Markup("<p>{}</p>").format(clean(sentence)) for sentence in found.sentences),
        _table(found.columns, rows),
        _warnings(told(results.warnings, results.expected)),
    ]
    return _whole(parts)


def _whole(parts: Sequence[Markup]) -> str:
    return str(Markup('<div class="longfat">{}</div>').format(Markup("").join(parts)))


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    head = Markup("").join(Markup("<th>{}</th>").format(clean(title)) for title in titles)
    body = Markup("").join(
        Markup("<tr>{}</tr>").format(Markup("").join(Markup("<td>{}</td>").format(clean(cell)) for cell in row)) for row in rows
    )
    return Markup("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>").format(head, body)


def _warnings(warnings: Sequence[RunWarning]) -> Markup:
    items = Markup("").join(Markup("<li>{} ({})</li>").format(clean(one.text), one.name) for one in warnings)
    return Markup("<p>Warnings</p><ul>{}</ul>").format(items) if warnings else Markup("")
