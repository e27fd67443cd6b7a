"""The figures of the paper, and of what it says in words.

A colour a queue; dynamic flows whole, static ones dashed; what was published
in black.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from longfat.paper import Measured, load_published
from longfat.plot import Axis, Plot, Rule, Series
from longfat.results.repeats import spread

from .cells import FAST, FIGURES, MIXES, PACKET, QUEUES, SECONDS, SENSITIVE, SLOW, WINDOWS, WINDOWS_1G, net
from .study import FOLDER, cells, paper

MAXWND = Axis("maxwnd (packets)", start=0)
INK = 6
BARS = "Bars: 95 % confidence intervals of the mean of five seeds, where they differ."
COLOURS = {100: 1, 500: 0, 1000: 4, 5000: 3, 16384: 2, 163840: 5}


def _thousands(seconds: float, end: float | None = None) -> Axis:
    return Axis(f"thousand packets in {seconds:g} s", start=0, end=end)


def _of(measured: Measured, figure: str, end: float | None = None) -> Axis:
    return _thousands(cells(measured).seconds(FIGURES[figure][0], net(figure)), end)


PUBLISHED = {row.id: row.value for row in load_published(FOLDER) if row.value is not None}
TABLE_1 = {kind: [PUBLISHED[f"table1-{kind}-{flow}"] for flow in range(1, 6)] for kind in ("static", "dynamic")}


def _published(name: str, points: dict[float, float], marker: int) -> Series:
    return Series(f"{name}, published", list(points), list(points.values()), line=False, published=True, colour=INK, marker=marker)


def _lines(
    measured: Measured, figure: str, queues: tuple[int, ...], kinds: tuple[str, ...] = ("dynamic", "static"), windows: Sequence[int] = ()
) -> list[Series]:
    c = cells(measured)
    windows = windows or (WINDOWS_1G if net(figure) is FAST else WINDOWS)

    def line(kind: str, q: int) -> Series:
        seeds = [[packets / 1e3 for packets in c.of_seeds(figure, q, w, kind)] for w in windows]
        return Series(
            f"{kind}, queue {q:,}",
            windows,
            [mean(runs) for runs in seeds],
            error=[spread(runs) for runs in seeds],
            colour=COLOURS[q],
            dash=0 if kind == "dynamic" else 1,
            marker=COLOURS[q],
        )

    return [line(kind, q) for kind in kinds for q in queues]


@paper.figure(where="Figure 2")
def figure2(measured: Measured) -> Plot:
    """A static flow's share of what is available; the published values in black."""
    c = cells(measured)
    series: list[Series] = []
    networks = (("figure2", "100 Mb/s, 60 ms", "4a-static-100m"), ("figure2-1g", "1 Gb/s, 96 ms", "4a-static-1g"))
    for i, (figure, name, id) in enumerate(networks):
        share = [100 * c.acked(figure, q, 0, "static") / c.capacity(figure) for q in QUEUES]
        series.append(Series(name, QUEUES, share, colour=i, marker=i))
        series.append(_published(name, {100: 100 * PUBLISHED[id] * 8 * PACKET / (net(figure).rate * SECONDS)}, 6 - i))
    return Plot(
        "figure2",
        "A static flow of 64 KB, alone",
        Axis("queue (packets)", log=True),
        Axis("share of what is available (%)", start=0, end=10),
        series,
        caption="The paper draws it against maxwnd, on which it does not depend, with packets on the y-axis.",
    )


@paper.figure(where="Figure 3")
def figure3(measured: Measured) -> Plot:
    """One static and one dynamic flow."""
    cells(measured).check_whole("figure3")
    published = _published("dynamic, queue 500", {700: PUBLISHED["4b-500-rate"] / 100 * SLOW.rate * SECONDS / (8 * PACKET) / 1e3}, 5)
    return Plot(
        "figure3",
        "One static flow, one dynamic flow",
        MAXWND,
        _of(measured, "figure3"),
        [*_lines(measured, "figure3", (100, 500)), published],
        rules=[Rule("650", x=650)],
        caption=BARS,
    )


@paper.figure(where="Figure 4")
def figure4(measured: Measured) -> Plot:
    """Both windows, at each round trip."""
    c = cells(measured)
    series = [
        Series(kind, c.cwnd(kind)["time_s"], c.cwnd(kind)["cwnd"], markers=False, step=True, colour=i)
        for i, kind in enumerate(("dynamic", "static"))
    ]
    return Plot(
        "figure4",
        "cwnd over time: queue 100, maxwnd 650",
        Axis("time (s)", start=0, end=200),
        Axis("cwnd (packets)", start=0),
        series,
        caption="Above 650: fast recovery, which adds a packet for each duplicate ACK.",
    )


@paper.figure(where="Figure 5")
def figure5(measured: Measured) -> Plot:
    """Ten static flows and a dynamic one."""
    return Plot(
        "figure5",
        "Ten static flows, one dynamic flow",
        MAXWND,
        _of(measured, "figure5"),
        _lines(measured, "figure5", QUEUES),
        caption=f"Static: mean of ten. {BARS}",
    )


@paper.figure(where="Figure 6")
def figure6(measured: Measured) -> Plot:
    """Five and five."""
    cells(measured).check_whole("figure6")
    series = [
        *_lines(measured, "figure6", QUEUES),
        _published("dynamic, queue 16,384", {700: PUBLISHED["4d-dynamic-packets"] / 1e3}, 5),
        _published("static, queue 16,384", {700: PUBLISHED["4d-static-packets"] / 1e3}, 6),
        _published("dynamic, queue 100", {650: mean(TABLE_1["dynamic"])}, 3),
        _published("static, queue 100", {650: mean(TABLE_1["static"])}, 1),
    ]
    return Plot(
        "figure6",
        "Five static flows, five dynamic flows",
        MAXWND,
        _of(measured, "figure6"),
        series,
        caption=f"Means of five; those published at 650 are Table I's. {BARS}",
    )


@paper.figure(where="Table I")
def table1(measured: Measured) -> Plot:
    """Each flow at maxwnd 650, queue 100."""
    c = cells(measured)
    c.check_whole("figure6")
    series: list[Series] = []
    for i, kind in enumerate(("dynamic", "static")):
        flows = [[n / 1e3 for n in runs] for runs in zip(*c.each("figure6", 100, 650, kind), strict=True)]
        left, right = ([flow + shift for flow in range(1, 6)] for shift in (0.3 * i - 0.21, 0.3 * i - 0.09))
        series += [
            Series(kind, left, [mean(runs) for runs in flows], line=False, error=[spread(runs) for runs in flows], colour=1 - i, marker=i),
            Series(f"{kind}, published", right, TABLE_1[kind], line=False, published=True, colour=INK, marker=5 + i),
        ]
    return Plot(
        "table1", "Each of five and five, queue 100, maxwnd 650", Axis("flow", start=0.5, end=5.5), _of(measured, "figure6"), series, BARS
    )


@paper.figure(where="Figure 7")
def figure7(measured: Measured) -> Plot:
    """Five and five at 1 Gb/s."""
    return Plot(
        "figure7",
        "Five static flows, five dynamic flows at 1 Gb/s",
        MAXWND,
        _of(measured, "figure7"),
        _lines(measured, "figure7", (100, 16384)),
        caption="Means of five.",
    )


@paper.figure(where="Figure 8")
def figure8(measured: Measured) -> Plot:
    """Ten dynamic flows."""
    return Plot(
        "figure8",
        "Ten dynamic flows",
        MAXWND,
        _of(measured, "figure8", end=180),
        _lines(measured, "figure8", QUEUES, ("dynamic",)),
        caption=f"Means of ten. {BARS}",
    )


def _traffic(measured: Measured, mix: str, name: str, title: str) -> Plot:
    c = cells(measured)
    series = [
        Series(
            f"{what}, queue {q:,}",
            SENSITIVE,
            [c.traffic(source, mix, q, w, "dynamic") / 1e3 for w in SENSITIVE],
            colour=COLOURS[q],
            dash=dash,
            marker=COLOURS[q],
        )
        for dash, (source, what) in enumerate((("bulk", "one way"), ("reverse", "reverse traffic"), ("red", "RED")))
        for q in QUEUES
    ]
    caption = "One way: constant, Poisson and Pareto sources, all the same to the packet."
    return Plot(f"traffic-{name}", title, MAXWND, _thousands(c.seconds("traffic")), series, caption=caption)


@paper.figure(where="section III")
def traffic_one(measured: Measured) -> Plot:
    """The dynamic flow of one and one, with other traffic and other queues."""
    return _traffic(measured, "1+1", "one", "One and one, with other traffic and RED")


@paper.figure(where="section III")
def traffic_five(measured: Measured) -> Plot:
    """The dynamic flows of five and five."""
    return _traffic(measured, "5+5", "five", "Five and five, with other traffic and RED")


@paper.figure(where="section IV-B, at 1 Gb/s")
def figure3_1g(measured: Measured) -> Plot:
    """Figure 3's flows, not in the paper."""
    return Plot(
        "figure3-1g",
        "One static flow, one dynamic flow at 1 Gb/s",
        MAXWND,
        _of(measured, "figure3-1g"),
        _lines(measured, "figure3-1g", (100,)),
    )


@paper.figure(where="section IV-C, at 1 Gb/s")
def figure5_1g(measured: Measured) -> Plot:
    """Figure 5's flows, not in the paper."""
    return Plot(
        "figure5-1g",
        "Ten static flows, one dynamic flow at 1 Gb/s",
        MAXWND,
        _of(measured, "figure5-1g"),
        _lines(measured, "figure5-1g", (1000, 163840)),
        caption="No window fills the path: the queues are the same, to the packet.",
    )


@paper.figure(where="section II-A")
def fairness(measured: Measured) -> Plot:
    """Bandwidth in proportion to memory."""
    c = cells(measured)
    series = [
        Series(
            f"{name}, queue {q:,}",
            WINDOWS,
            [c.memory_proportion(figure, q, w) for w in WINDOWS],
            colour=COLOURS[q],
            dash=d,
            marker=COLOURS[q],
        )
        for d, (figure, name) in enumerate((("figure5", "ten and one"), ("figure6", "five and five")))
        for q in QUEUES
    ]
    return Plot(
        "fairness",
        "Dynamic flows: bandwidth for their memory",
        MAXWND,
        Axis("part of the bandwidth / of the memory", start=0, end=1.2),
        series,
        rules=[Rule("", y=1)],
        caption="1 is in proportion.",
    )


@paper.figure(where="section IV-B, remedies")
def remedies(measured: Measured) -> Plot:
    """The dynamic flow of one and one, queue 100, with each remedy."""
    c = cells(measured)
    shown = ("none", "restart off", "backoff 3/8", "backoff 1/4", "backoff 1/8", "heuristic")
    windows = [w for w in WINDOWS if w >= 400]
    series = [Series(name, windows, [c.remedy(name, 100, w) / 1e3 for w in windows]) for name in shown]
    series.append(Series("queue 500", windows, [c.remedy("none", 500, w) / 1e3 for w in windows]))
    return Plot(
        "remedies",
        "The dynamic flow beside a static one, queue 100",
        Axis("maxwnd (packets)"),
        _thousands(c.seconds("remedies")),
        series,
        caption="Without slow-start restart it is as without a remedy, to the packet.",
    )


@paper.figure(where="section V")
def vegas(measured: Measured) -> Plot:
    """What all flows carry, by queue, with Reno and with Vegas; side by side where they are the same."""
    c = cells(measured)
    full = c.capacity_of("vegas") / 100
    series = [
        Series(
            control,
            [x + (i - 1.5) * 0.14 for x in range(len(MIXES) * len(QUEUES))],
            [c.vegas(control, m, q, 700) / full for m in MIXES for q in QUEUES],
            line=False,
            colour=colour,
            marker=colour,
        )
        for i, (control, colour) in enumerate((("reno", 6), ("vegas 1-3", 1), ("vegas 10-20", 0), ("vegas 1-3 spaced", 2)))
    ]
    names = [f"{m}\n{q:,}" for m in MIXES for q in QUEUES]
    x = Axis("static + dynamic flows, queue (packets)", start=-0.5, end=len(names) - 0.5, names=names)
    return Plot("vegas", "Reno and Vegas, maxwnd 700", x, Axis("utilization (%)", start=70, end=101), series)
