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
from longfat.plot.style import COLOURS

from .cells import BY_MARKS, LOSS_BASED, MARKED, PERIODS, RATIOS, RTO, RTT, THEORY, WITH_DELAY, Cells

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
    return Answer(None if math.isnan(value) else value, "" if value == value else "not run")


# Claims: within 5 % where the assumptions hold. The theory has a loss cost no time; ours costs one round trip of fast recovery in
# which the window does not grow (RFC 6675, RFC 6937), so that a cycle must have 20 round trips for this to be 5 %. CUBIC beyond its
# Reno-friendly region needs 80: its window follows the curve an RTT behind (RFC 9438 section 4.4) and is back at W_max, which is flat,
# 3 round trips late.

ROUNDS = 20
# Scalable at 1e-2 and YeAH at 1e-3 are in the windows where they grow as Reno: cycles of at most 11 round trips.
# Compound at 1e-8 has gamma, 30 segments, in 5 us of queue, as much as its own growth makes of a link of 400 Gb/s.
EXCEPT = {("cubic", "1e-4"), ("compound", "1e-8"), ("scalable", "1e-2"), ("yeah", "1e-2"), ("yeah", "1e-3")}
# Growth that is a share of the window makes cycles of one length at any p (13.4 round trips for Scalable), so that recovery is always 7 %.
WITH_RECOVERY: Mapping[str, Callable[[float], float]] = {
    "scalable": lambda p: theory.scalable(p, recovery=1),
    "yeah": lambda p: theory.yeah(p, recovery=1),
}


def _within(what: str, p: str, of: Callable[[float], float], says: str) -> None:
    @paper.claim(f"response-{what}-{p}", where="response functions", says=f"{what} at {p}: {says}", inequality="off by less than 5 %")
    def claim(measured: Measured) -> Check | Answer:
        off = cells(measured).off(what, p, of)
        return Answer(None, "not run") if math.isnan(off) else Check(abs(off), "<", WITHIN)


for _what in THEORY:
    for _p in PERIODS:
        if (_what, _p) in EXCEPT:
            continue
        if _what in WITH_RECOVERY:
            _within(_what, _p, WITH_RECOVERY[_what], "the window of the response function with a round trip of recovery")
        elif Cells.rounds(_what, _p) >= ROUNDS:
            _within(_what, _p, THEORY[_what], "the window of the response function")


def _of_marks(what: str) -> None:
    @paper.claim(
        f"response-marks-{what}", where="response functions", says=f"{what}: RFC 8257's rules balance", inequality="off by less than 10 %"
    )
    def claim(measured: Measured) -> list[Check]:
        # The theory's p is constant. RED's marks are even, and so are the cycles: they lock into each other, at a p a few percent off.
        flows = cells(measured).marked().query("control == @what")
        return [Check(abs(row.window / MARKED[what](row.p) - 1), "<", 2 * WITHIN) for row in flows.itertuples()]


for _what in MARKED:
    _of_marks(_what)

paper.claims_of(FOLDER / "claims.csv", Cells)


# Figures

PUBLISHED = {"reno": "Reno", "scalable": "Scalable", "highspeed": "HighSpeed", "cubic": "CUBIC, 100 ms", "cubic-10ms": "CUBIC, 10 ms"}
DERIVED = {"compound": "Compound", "hybla": "Hybla", "illinois": "Illinois", "yeah": "YeAH", "bic": "BIC", "htcp": "H-TCP"}
LOSS = Axis("loss rate p (one loss for each 1/p packets)", log=True)


def _line(name: str, points: Iterable[tuple[float, float]], colour: int, *, line: bool, dash: int = 0) -> Series:
    x, y = zip(*points, strict=True)
    return Series(name, x, y, line=line, markers=not line, colour=colour, marker=colour, dash=dash)


def _response(id: str, title: str, shown: Mapping[str, str]) -> None:
    """Dots are ours, dashed lines are theory's."""

    @paper.figure(where="response functions")
    def windows(measured: Measured) -> Plot:
        series = list[Series]()
        for colour, (what, name) in enumerate(shown.items()):
            found = cells(measured).windows(what)
            series.append(_line(name, [(float(p), w) for p, w in found.items()], colour, line=False))
            # The RFC's tables go through powers of ten; between them the larger of two regions has a corner.
            ps = [10 ** (-2 - step / 10) for step in range(61)]
            series.append(_line(f"{name}, theory", [(p, THEORY[what](p)) for p in ps], colour, line=True, dash=1))
        return Plot(id, title, LOSS, Axis("average window (segments)", log=True), series)


_response("response", "Average window against loss", PUBLISHED)
_response("response-others", "Average window against loss: others", {"reno": "Reno"} | DERIVED)


def _deviation(id: str, title: str, shown: Mapping[str, str], start: float) -> None:
    @paper.figure(where="response functions")
    def off(measured: Measured) -> Plot:
        series = list[Series]()
        for colour, (what, name) in enumerate(shown.items()):
            # At 1e-2 Scalable is within its legacy window, Reno's, and BIC about the border of it.
            points = [
                (float(p), 100 * cells(measured).off(what, p))
                for p in cells(measured).windows(what)
                if (what, p) not in {("scalable", "1e-2"), ("bic", "1e-2")}
            ]
            x, y = zip(*points, strict=True)
            series.append(Series(name, x, y, colour=colour, marker=colour))
        rules = [Rule("+5 %", y=5), Rule("−5 %", y=-5)]
        return Plot(id, title, LOSS, Axis("ours − theory (% of theory)", start=start, end=10), series, rules=rules)


_deviation("deviation", "Distance from the response function", PUBLISHED | {"aimd": "AIMD(1, 1/8)"}, -20)
_deviation("deviation-others", "Distance from the response function: others", DERIVED, -40)


@paper.figure(where="response functions")
def random_loss(measured: Measured) -> Plot:
    """Reno where losses have no period."""
    table = cells(measured).random()
    series = [
        _line(f"recovery {name}", zip(part["p"], part["sent"], strict=True), colour, line=False)
        for colour, (name, part) in enumerate(table.groupby("recovery"))
    ]
    ps = [10 ** (-0.5 - step / 10) for step in range(46)]
    series.append(_line("PFTK, rto 1 s", [(p, theory.pftk_full(p, RTT, RTO, 1)) for p in ps], 3, line=True, dash=1))
    series.append(_line("PFTK, short form", [(p, theory.pftk(p, RTT, RTO, 1)) for p in ps], 4, line=True, dash=2))
    series.append(_line("Mathis", [(p, theory.mathis(p)) for p in ps], 5, line=True, dash=3))
    x = Axis("loss rate p (each packet alone)", log=True)
    return Plot("random", "Reno under random loss", x, Axis("sent a round trip (segments)", log=True), series)


@paper.figure(where="response functions")
def lossy(measured: Measured) -> Plot:
    """Who keeps the rate of a path that loses at random."""
    table = 100 * cells(measured).lossy_share()
    ps = [float(p) for p in table.columns]
    series = [Series(name, ps, table.loc[name].tolist(), colour=i, marker=i) for i, name in enumerate(table.index)]
    series.append(_line("1 - p", [(p, 100 * (1 - p)) for p in ps], len(series), line=True, dash=1))
    x = Axis("loss rate p (each packet alone)", log=True)
    return Plot("random-loss", "100 Mb/s under random loss", x, Axis("payload / rate of the link (%)", start=0, end=105), series)


@paper.figure(where="response functions")
def marked(measured: Measured) -> Plot:
    """What goes by marks, against the marks it gets."""
    table = cells(measured).marked()
    series = list[Series]()
    for colour, (name, window) in enumerate(MARKED.items()):
        part = table[table["control"] == name]
        series.append(_line(name, zip(part["p"], part["window"], strict=True), colour, line=False))
        ps = [10 ** (-0.8 - step / 10) for step in range(15)]
        series.append(_line(f"{name}, theory", [(p, window(p)) for p in ps], colour, line=True, dash=1 + colour))
    x = Axis("share of packets that are marked, p", log=True)
    return Plot("response-marking", "Average window against marks", x, Axis("average window (segments)", log=True), series)


@paper.figure(where="convergence")
def convergence(measured: Measured) -> Plot:
    """Two dots a control; the second is missing where the index is under 0.95 at the end of the run."""
    found = cells(measured).convergence()
    order = sorted(found, key=lambda name: (found[name][1] != found[name][1], found[name][1]))
    heights = list(range(len(order)))
    dots = [Series(label, [found[name][i] for name in order], heights, line=False) for i, label in enumerate(("first", "for good"))]
    x = Axis("Jain's index over 0.95, from the second flow's start (s)", start=-5)
    return Plot("convergence", "Convergence of two flows", x, Axis("", start=-1, end=len(order), names=order), dots)


Table = Callable[[Measured], pd.DataFrame]


def _of_controls(
    id: str, title: str, x: Axis, y: Axis, table: Table, marked: Table, rules: tuple[Rule, ...], marks: Axis | None = None
) -> None:
    """Three figures, of ten lines at most: of the controls that go by loss, by delay too, and by marks; Reno is in the first two."""

    def part(suffix: str, who: str, x: Axis, table: Table, controls: tuple[str, ...]) -> None:
        @paper.figure(where=title)
        def figure(measured: Measured) -> Plot:
            rows = table(measured)
            columns = [float(column) for column in rows.columns]
            names = [name for name in rows.index if name.split()[0] in controls]
            names.sort(key=lambda name: controls.index(name.split()[0]))
            # The second round of colours has other markers, too.
            markers = [index + 3 * (index // len(COLOURS)) for index in range(len(names))]
            series = [Series(name, columns, rows.loc[name].tolist(), marker=m) for name, m in zip(names, markers, strict=True)]
            return Plot(f"{id}-{suffix}", f"{title}: {who}", x, y, series, rules=rules)

    part("loss", "by loss", x, table, LOSS_BASED)
    part("delay", "by delay or a model", x, table, WITH_DELAY)
    part("marking", "by marks", marks or x, marked, BY_MARKS)


_of_controls(
    "rtt-unfairness",
    "RTT unfairness",
    Axis("ratio of the round trips (the shorter is 20 ms)", start=0.5),
    Axis("rate of the shorter / of the longer", log=True, start=0.1, end=50),
    lambda measured: cells(measured).rtt_ratio()[list(RATIOS)],
    lambda measured: cells(measured).rtt_ratio("-marking")[list(RATIOS)],
    (Rule("equal", y=1),),
)
_of_controls(
    "friendliness",
    "Friendliness to Reno",
    Axis("capacity (bit/s, frames)", log=True, start=3e5),
    Axis("Reno's rate / of two Renos (%)", start=0, end=200),
    lambda measured: 100 * cells(measured).reno_share(),
    lambda measured: 100 * cells(measured).marked_reno_share(),
    (Rule("even", y=100),),
)
_of_controls(
    "utilization",
    "Utilization against buffer or threshold",
    Axis("buffer (bandwidth-delay products)", log=True),
    Axis("utilization of the bottleneck (% of time)", start=15, end=105),
    lambda measured: 100 * cells(measured).utilization(),
    lambda measured: 100 * cells(measured).utilization("-marking"),
    (),
    Axis("threshold of the marks (bandwidth-delay products)", log=True),
)
