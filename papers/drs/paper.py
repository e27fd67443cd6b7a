"""Dynamic right-sizing 2001 beside longfat: numbers, tables, claims, figures.

`cells.py` says what is counted, `README.md` what came out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from longfat import theory
from longfat.paper import Answer, Layout, Measured, Paper, Row, load_published
from longfat.plot import Axis, Plot, Rule, Series

from .cells import FAST, FIGURES, MIXES, PACKET, QUEUES, SECONDS, SLOW, STATIC_WINDOW, WINDOWS, WINDOWS_1G, Cells, net, used

FOLDER = Path(__file__).parent

paper = Paper(
    title="Dynamic Right-Sizing in TCP: A Simulation Study",
    citation="E. H. Weigle and W. Feng: Dynamic Right-Sizing in TCP: A Simulation Study. Tenth IEEE International Conference on Computer "
    "Communications and Networks, 2001 (LA-UR-01-5062)",
)
cells = Cells.of


def _queue(row: Row) -> int:
    return int(row["queue"])


def _window(row: Row) -> int:
    return int(row["maxwnd"] or 0)


# Arithmetic of the text

MEMORY_KIB = {"static": 64, "dynamic": 1024}
ALLOCATED_KIB = 5 * 64 + 5 * 1024


@paper.number("theory_bdp")
def theory_bdp(measured: Measured, row: Row) -> float | Answer:
    """Section I-B."""
    if row.unit == "MB":
        return 622.08e6 * 0.100 / 8e6
    return Answer(56e3 * 0.005 / 8, "with kb of 1024 bits 35.84")


@paper.number("theory_used")
def theory_used(measured: Measured, row: Row) -> float:
    """Section I-B: 64 KB are 65,536 bytes."""
    return 100 * used(56e3, 0.005) if row.id == "1b-share-small" else 100 * 64 / (7.8 * 1024)


@paper.number("theory_convergence")
def theory_convergence(measured: Measured, row: Row) -> Answer:
    """Footnote 2."""
    return Answer(
        theory.recovery_time(8e6, 1500, 0.100),
        f"MB of 10^6; its own formula, of 1024^2, makes {theory.recovery_time(8 * 2**20, 1500, 0.100):.1f}",
    )


@paper.number("convergence")
def convergence(measured: Measured, row: Row) -> Answer:
    """Footnote 2 as a run: from the end of slow start at half the window until all of it is reached."""
    seconds = {}
    for result in measured["convergence"]:
        label = result.labels["window"]
        half = float(label.split()[0]) / 2 * (2**20 if "MiB" in label else 1e6)
        series = result.flow_series

        def reached(window: float, series=series) -> float:
            return float(series.loc[series["cwnd_bytes"] >= window, "time_s"].min())

        seconds[label] = reached(2 * half) - reached(half)
    return Answer(seconds["8 MB"], f"MB of 10^6; of 2^20 {seconds['8 MiB']:.1f}")


@paper.number("capacity")
def capacity(measured: Measured, row: Row) -> float:
    """Section IV-A: packets of 1500 bytes in 200 s."""
    cells(measured).check_whole(row["figure"])
    return cells(measured).capacity(row["figure"])


@paper.number("window")
def window(measured: Measured, row: Row) -> float:
    """Section IV-A: what a flow with 64 KiB had in flight."""
    flows = cells(measured).flows("figure2", 100, 0, "static")
    return float(flows["in_flight_max_bytes"].max()) / 1460


@paper.number("bdp")
def bdp(measured: Measured, row: Row) -> float:
    """Section IV-A: propagation alone."""
    return net(row["figure"]).bdp


@paper.number("bound")
def bound(measured: Measured, row: Row) -> float:
    """Section IV-A: the static window over that."""
    return 100 * STATIC_WINDOW / net(row["figure"]).bdp


@paper.number("memory_kib")
def memory_kib(measured: Measured, row: Row) -> float:
    """Section IV-B."""
    return _window(row) * PACKET / 1024


@paper.number("memory_ratio")
def memory_ratio(measured: Measured, row: Row) -> float:
    """Section IV-C."""
    return _window(row) / STATIC_WINDOW


@paper.number("queue_per_flow")
def queue_per_flow(measured: Measured, row: Row) -> float:
    """Section IV-C: of eleven."""
    return _queue(row) / 11


@paper.number("allocated")
def allocated(measured: Measured, row: Row) -> float:
    """Section IV-D."""
    return ALLOCATED_KIB


@paper.number("rate_per_kib")
def rate_per_kib(measured: Measured, row: Row) -> float:
    """Section IV-D."""
    return theory.proportion(1, ALLOCATED_KIB, 100e6) / 1e3


@paper.number("fair_rate")
def fair_rate(measured: Measured, row: Row) -> float:
    """Section IV-D."""
    return theory.proportion(MEMORY_KIB[row["kind"]], ALLOCATED_KIB, 100e6) / 1e3


@paper.number("fair_packets")
def fair_packets(measured: Measured, row: Row) -> float:
    """Section IV-D."""
    return fair_rate(measured, row) * 1e3 * SECONDS / (8 * PACKET)


@paper.number("fair_share")
def fair_share(measured: Measured, row: Row) -> float:
    """Section IV-E."""
    return SLOW.rate / 10 / 1e6


@paper.number("fair_bdp")
def fair_bdp(measured: Measured, row: Row) -> float:
    """Section IV-E: a tenth of the rate over 60 ms, and over twice that."""
    return SLOW.bdp / 10 * (1 if row["queue"] == "0" else 2)


# What was simulated


@paper.number("rtt_min")
def rtt_min(measured: Measured, row: Row) -> Answer:
    """Section III: propagation; ours is the least measured, with the transmission of a packet and its ACK."""
    flows = cells(measured).flows(row["figure"], _queue(row), 0)
    return Answer(1000 * float(flows["rtt_min_s"].min()), f"propagation alone {6e3 * net(row['figure']).delay:g}")


@paper.number("acked")
def acked(measured: Measured, row: Row) -> float:
    """Packets acknowledged in 200 s."""
    return cells(measured).total_acked(row["figure"], _queue(row), _window(row), row["kind"])


@paper.number("acked_thousand")
def acked_thousand(measured: Measured, row: Row) -> float:
    """Table I, of one flow."""
    cells(measured).check_whole(row["figure"])
    return cells(measured).each(row["figure"], _queue(row), _window(row), row["kind"])[int(row["flow"]) - 1] / 1e3


@paper.number("share")
def share(measured: Measured, row: Row) -> float:
    """Of what is available."""
    c = cells(measured)
    return 100 * c.acked(row["figure"], _queue(row), _window(row), row["kind"]) / c.capacity(row["figure"])


@paper.number("rate")
def rate(measured: Measured, row: Row) -> float | Answer:
    """Mb/s of IP packets."""
    c = cells(measured)
    if row["maxwnd"] != "best":
        return c.mbps(row["figure"], _queue(row), _window(row), row["kind"])
    at = {q: c.best(row["figure"], q) for q in (100, 500)}
    rates = {q: c.mbps(row["figure"], q, w, row["kind"]) for q, w in at.items()}
    note = ", ".join(f"queue {q}: {rates[q]:.2f} at {at[q]} packets" for q in at)
    return Answer(rates[100], f"of the smaller queue; {note}")


@paper.number("full")
def full(measured: Measured, row: Row) -> Answer:
    """Section IV-B."""
    full = cells(measured).full(row["figure"], _queue(row))
    return Answer(
        full,
        f"path and queue, of which the static flow has {STATIC_WINDOW}: the dynamic one overflows it from {full - STATIC_WINDOW:.0f} on",
    )


@paper.number("loss_peak")
def loss_peak(measured: Measured, row: Row) -> Answer:
    """Section IV-B."""
    c = cells(measured)
    shorter = {name: 100 * float(c.loss_over(s).max()) for name, s in (("a round trip of 60 ms", 0.06), ("10 s", 10))}
    note = ", ".join(f"of {name} {value:.2g}" for name, value in shorter.items())
    return Answer(100 * c.loss_peak(), f"{note}; of the whole run {100 * c.loss('figure4', 100, 650):.2g}")


@paper.number("optimum")
def optimum(measured: Measured, row: Row) -> float:
    """Section IV-B."""
    return cells(measured).best(row["figure"], _queue(row))


@paper.number("ratio")
def ratio(measured: Measured, row: Row) -> float:
    """Dynamic over static."""
    return cells(measured).ratio(row["figure"], _queue(row), _window(row))


@paper.number("utilization")
def utilization(measured: Measured, row: Row) -> float:
    """Of the bottleneck, by packets acknowledged."""
    return 100 * cells(measured).utilization(row["figure"], _queue(row), _window(row))


@paper.number("utilization_least")
def utilization_least(measured: Measured, row: Row) -> float:
    """Section IV-D: of windows of 2000 packets and more."""
    return 100 * min(cells(measured).utilization(row["figure"], _queue(row), w) for w in WINDOWS_1G if w >= 2000)


@paper.number("rtt")
def rtt(measured: Measured, row: Row) -> Answer:
    """Section IV-C: a bound."""
    ours = cells(measured).rtt(row["figure"], _queue(row), _window(row))
    return Answer(None, f"a bound; ours is {ours:.1f}")


@paper.number("ten_static")
def ten_static(measured: Measured, row: Row) -> Answer:
    """Section IV-D: a bound."""
    ours = 1000 * cells(measured).acked(row["figure"], _queue(row), 0, "static") / cells(measured).capacity(row["figure"])
    return Answer(None, f"a bound; ours is {ours:.2f}")


paper.not_results(caption="a figure, drawn in the report")


paper.tables.append(
    Layout("Table I", "thousand packets acknowledged, queue 100, maxwnd 650", {"acked_thousand": ""}, rows=("kind",), columns="flow")
)

paper.claims_of(FOLDER / "claims.csv", Cells)


# Figures: a colour a queue; dynamic flows whole, static ones dashed; what was published in black.

MAXWND = Axis("maxwnd (packets)", start=0)
INK = 6
COLOURS = {100: 1, 500: 0, 1000: 4, 5000: 3, 16384: 2, 163840: 5}


def _thousands(seconds: float, end: float | None = None) -> Axis:
    return Axis(f"thousand packets in {seconds:g} s", start=0, end=end)


def _of(measured: Measured, figure: str, end: float | None = None) -> Axis:
    return _thousands(cells(measured).seconds(FIGURES[figure][0], net(figure)), end)


PUBLISHED = {row.id: row.value for row in load_published(FOLDER) if row.value is not None}
TABLE_1 = {kind: [PUBLISHED[f"table1-{kind}-{flow}"] for flow in range(1, 6)] for kind in ("static", "dynamic")}


def _published(name: str, points: dict[float, float], marker: int) -> Series:
    return Series(f"{name}, published", list(points), list(points.values()), line=False, colour=INK, marker=marker)


def _lines(
    measured: Measured, figure: str, queues: tuple[int, ...], kinds: tuple[str, ...] = ("dynamic", "static"), windows: Sequence[int] = ()
) -> list[Series]:
    c = cells(measured)
    windows = windows or (WINDOWS_1G if net(figure) is FAST else WINDOWS)
    return [
        Series(
            f"{kind}, queue {q:,}",
            windows,
            [c.acked(figure, q, w, kind) / 1e3 for w in windows],
            colour=COLOURS[q],
            dash=0 if kind == "dynamic" else 1,
            marker=COLOURS[q],
        )
        for kind in kinds
        for q in queues
    ]


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
        caption="Static: mean of ten.",
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
        caption="Means of five; those published at 650 are Table I's.",
    )


@paper.figure(where="Table I")
def table1(measured: Measured) -> Plot:
    """Each flow at maxwnd 650, queue 100."""
    c = cells(measured)
    c.check_whole("figure6")
    series: list[Series] = []
    for i, kind in enumerate(("dynamic", "static")):
        ours = [n / 1e3 for n in c.each("figure6", 100, 650, kind)]
        left, right = ([flow + shift for flow in range(1, 6)] for shift in (0.3 * i - 0.21, 0.3 * i - 0.09))
        series += [
            Series(kind, left, ours, line=False, colour=1 - i, marker=i),
            Series(f"{kind}, published", right, TABLE_1[kind], line=False, colour=INK, marker=5 + i),
        ]
    return Plot(
        "table1", "Each of five and five, queue 100, maxwnd 650", Axis("flow", start=0.5, end=5.5), _of(measured, "figure6"), series
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
        caption="Means of ten.",
    )


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
