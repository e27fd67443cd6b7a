"""The controls beside their theory: response functions, convergence, RTT unfairness, friendliness, utilization.

A folder of experiments kept as a paper is, so that `longfat run`, `compare` and `report` do for theory what they do for a paper:
the tables of the RFCs are its published numbers, the sentences of theory its claims. `docs/validation.md` says what came out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pandas as pd
from longfat import theory
from longfat.paper import Answer, Check, Measured, Paper, Row
from longfat.plot import Axis, Plot, Rule, Series

from .cells import LOSS_BASED, PERIODS, RATIOS, THEORY, WITH_DELAY, Cells

FOLDER = Path(__file__).parent
WITHIN = 0.05

paper = Paper(
    title="The congestion controls beside their theory",
    citation="RFC 3649, RFC 9438, and the papers named at each claim",
)
cells = Cells.of


# Numbers: the tables of the RFCs.


@paper.number("window")
def window(measured: Measured, row: Row) -> Answer:
    """An average window."""
    what = f"{row['control']}-10ms" if row["rtt"] == "10 ms" else row["control"]
    value = cells(measured).window(what, row["p"])
    return Answer(None if math.isnan(value) else value, "" if value == value else "not in the short form")


# Claims: within 5 % where the assumptions hold. The theory has a loss cost no time; ours costs one round trip of fast recovery in which
# the window does not grow (RFC 6675, RFC 6937), so that a cycle must have 20 round trips for this to be 5 %. CUBIC needs 80: its window
# follows the curve an RTT behind (RFC 9438 section 4.4) and is back at W_max, which is flat, 3 round trips late.

HOLDS: Mapping[str, tuple[str, ...]] = {
    "reno": PERIODS[1:],
    "aimd": PERIODS[2:],
    "highspeed": PERIODS[1:],
    "cubic": ("1e-3", *PERIODS[3:]),
    "cubic-10ms": PERIODS[1:],
}


def _within(what: str, p: str, of: Callable[[float], float], says: str) -> None:
    @paper.claim(f"response-{what}-{p}", where="response functions", says=f"{what} at {p}: {says}", inequality="off by less than 5 %")
    def claim(measured: Measured) -> Check | Answer:
        off = cells(measured).off(what, p, of)
        return Answer(None, "not in the short form") if math.isnan(off) else Check(abs(off), "<", WITHIN)


for _what, _periods in HOLDS.items():
    for _p in _periods:
        _within(_what, _p, THEORY[_what], "the window of the response function")
for _p in PERIODS[1:]:
    # A cycle of Scalable has 13.4 round trips at any p, so that the one of recovery is 7 %.
    _within("scalable", _p, lambda p: theory.scalable(p, recovery=1), "the window of the response function with a round trip of recovery")

paper.claims_of(FOLDER / "claims.csv", Cells)


# Figures

SHOWN = {"reno": "Reno", "scalable": "Scalable", "highspeed": "HighSpeed", "cubic": "CUBIC, 100 ms", "cubic-10ms": "CUBIC, 10 ms"}
LOSS = Axis("loss rate p (one loss for each 1/p packets)", log=True)


def _line(name: str, points: Iterable[tuple[float, float]], colour: int, *, line: bool, dash: int = 0) -> Series:
    x, y = zip(*points, strict=True)
    return Series(name, x, y, line=line, markers=not line or dash > 0, colour=colour, marker=colour, dash=dash)


@paper.figure(where="response functions")
def response(measured: Measured) -> Plot:
    """Windows."""
    series = list[Series]()
    for colour, (what, name) in enumerate(SHOWN.items()):
        found = cells(measured).windows(what)
        series.append(_line(name, [(float(p), w) for p, w in found.items()], colour, line=False))
        # The RFC's tables go through powers of ten; between them the larger of two regions has a corner.
        ps = [10 ** (-2 - step / 10) for step in range(61)]
        series.append(_line(f"{name}, theory", [(p, THEORY[what](p)) for p in ps], colour, line=True))
    return Plot("response", "Average window against loss", LOSS, Axis("average window (segments)", log=True), series)


@paper.figure(where="response functions")
def deviation(measured: Measured) -> Plot:
    """The same as a difference."""
    series = list[Series]()
    for colour, (what, name) in enumerate((SHOWN | {"aimd": "AIMD(1, 1/8)"}).items()):
        # At 1e-2 Scalable is within its legacy window: Reno.
        points = [
            (float(p), 100 * cells(measured).off(what, p)) for p in cells(measured).windows(what) if (what, p) != ("scalable", "1e-2")
        ]
        series.append(_line(name, points, colour, line=True, dash=1))
    rules = [Rule("+5 %", y=5), Rule("−5 %", y=-5)]
    return Plot(
        "deviation",
        "Distance from the response function",
        LOSS,
        Axis("ours − theory (% of theory)", start=-20, end=10),
        series,
        rules=rules,
    )


@paper.figure(where="response functions")
def random_loss(measured: Measured) -> Plot:
    """Reno where losses have no period."""
    table = cells(measured).random()
    series = [
        _line(f"Reno, {name}", zip(part["p"], part["window"], strict=True), colour, line=False)
        for colour, (name, part) in enumerate(table.groupby("recovery"))
    ]
    ps = [10 ** (-1 - step / 10) for step in range(31)]
    series.append(_line("PFTK, rto 1 s", [(p, theory.pftk(p, 0.1, 1.0, 1)) for p in ps], 2, line=True))
    series.append(_line("Mathis", [(p, theory.mathis(p)) for p in ps], 3, line=True))
    x = Axis("loss rate p (each packet alone)", log=True)
    return Plot("random", "Reno under random loss", x, Axis("delivered a round trip (segments)", log=True), series)


@paper.figure(where="convergence")
def convergence(measured: Measured) -> Plot:
    """Two dots a control; the second is missing where the index is under 0.95 at the end of the run."""
    found = cells(measured).convergence()
    order = sorted(found, key=lambda name: (found[name][1] != found[name][1], found[name][1]))
    heights = list(range(len(order)))
    dots = [Series(label, [found[name][i] for name in order], heights, line=False) for i, label in enumerate(("first", "for good"))]
    x = Axis("Jain's index over 0.95, from the second flow's start (s)", start=-5)
    return Plot("convergence", "Convergence of two flows", x, Axis("", start=-1, end=len(order), names=order), dots)


def _of_controls(id: str, title: str, x: Axis, y: Axis, table: Callable[[Measured], pd.DataFrame], rules: tuple[Rule, ...]) -> None:
    """Two figures, of ten lines at most: the controls that go by loss, and those that go by delay too, with Reno in both."""

    def half(suffix: str, who: str, controls: tuple[str, ...]) -> None:
        @paper.figure(where=title)
        def figure(measured: Measured) -> Plot:
            rows = table(measured)
            columns = [float(column) for column in rows.columns]
            series = [Series(name, columns, rows.loc[name].tolist()) for name in controls if name in rows.index]
            return Plot(f"{id}-{suffix}", f"{title}: {who}", x, y, series, rules=rules)

    half("loss", "by loss", LOSS_BASED)
    half("delay", "by delay or a model", WITH_DELAY)


_of_controls(
    "rtt-unfairness",
    "RTT unfairness",
    Axis("ratio of the round trips (the shorter is 20 ms)", start=0.5),
    Axis("rate of the shorter / of the longer", log=True, start=0.1, end=300),
    lambda measured: cells(measured).rtt_ratio()[list(RATIOS)],
    (Rule("equal", y=1),),
)
_of_controls(
    "friendliness",
    "Friendliness to Reno",
    Axis("capacity (bit/s, frames)", log=True, start=3e5),
    Axis("Reno's rate / beside another Reno (%)", start=0, end=200),
    lambda measured: 100 * cells(measured).reno_share(),
    (Rule("as beside Reno", y=100),),
)
_of_controls(
    "utilization",
    "Utilization against buffer",
    Axis("buffer (bandwidth-delay products)", log=True),
    Axis("utilization of the bottleneck (% of time)", start=0, end=105),
    lambda measured: 100 * cells(measured).utilization(),
    (),
)


@paper.figure(where="Utilization against marks")
def marking(measured: Measured) -> Plot:
    """Controls that need exact feedback."""
    table = 100 * cells(measured).marking()
    columns = [float(column) for column in table.columns]
    series = [Series(str(name), columns, table.loc[name].tolist()) for name in table.index]
    x = Axis("threshold of the marks (bandwidth-delay products)", log=True)
    return Plot("marking", "Utilization against marks", x, Axis("utilization of the bottleneck (% of time)", start=0, end=105), series)
