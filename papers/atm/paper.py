"""ATM 1995 beside longfat: numbers, claims, figures. `cells.py` says what is measured, `README.md` what came out.

The text we have of the paper has the captions of its figures and no curves: the figures here are drawn from our runs, with the numbers of
the text as lines across them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, median

from longfat.paper import Answer, Measured, Paper, Row
from longfat.plot import Axis, Plot, Rule, Series
from longfat.results.repeats import spread

from .cells import BUFFERS, COUNTS, LINK_MBPS, PARTS, POLICIES, RATES, SIZES, SOME_BUFFERS, WINDOWS, Cells

FOLDER = Path(__file__).parent

paper = Paper(
    title="Dynamics of TCP Traffic over ATM Networks",
    citation="A. Romanow and S. Floyd: Dynamics of TCP Traffic over ATM Networks. IEEE Journal on Selected Areas in Communications, 1995",
)
cells = Cells.of


# Numbers

paper.not_results(condition="a condition of the simulations", caption="a figure, drawn in the report from our runs")


# Constants of the links, and what follows from them alone.
paper.kind("arithmetic", "cell_time", "bdp_cells", "transfer", "rate_min", "rate_max", "packet_time")
paper.bound(">=", "3-packet-min")
paper.bound("<", "a-telnet-share")
paper.kind("arithmetic", "2-cell-time", "2-transfer", "a-integer", "2-four-cells", "3.1-packet-none")


@paper.predicts("nothing is ever lost")
def ideal(row: Row) -> float | None:
    """The effective throughput is all of the link, the link is never idle, and no excess is needed."""
    return {"eff_min": 100.0, "telnet_share": None, "excess_needed": 1.0}.get(row.quantity, 0.0)


@paper.number("cell_time")
def cell_time(measured: Measured, row: Row) -> float:
    """Section 2: of 53 bytes."""
    return 53 * 8 / LINK_MBPS


@paper.number("bdp_cells")
def bdp_cells(measured: Measured, row: Row) -> float:
    """Section 2."""
    return cells(measured).base_rtt_us() / (53 * 8 / LINK_MBPS)


@paper.number("transfer")
def transfer(measured: Measured, row: Row) -> Answer:
    """Section 2: in 15 s, MB of 10^6 bytes."""
    return Answer(LINK_MBPS * 15 / 8, f"of cells; {LINK_MBPS * 15 / 8 * 48 / 53:.0f} MB without their headers")


@paper.number("eff_min")
def eff_min(measured: Measured, row: Row) -> Answer | float:
    """Section 3."""
    c = cells(measured)
    if row["policy"] == "packet":
        least = min((c.eff("packet", s, b, n, w), s, b, n, w) for s in SIZES for b in BUFFERS for n in COUNTS for w in WINDOWS)
        return Answer(100 * least[0], f"our least is {_case(least)}")
    shown = [(s, b) for s in SIZES for b in BUFFERS if (s, b) != (9180, 256)]
    least = min((c.eff("plain", s, b, n, w), s, b, n, w) for s, b in shown for n in COUNTS for w in WINDOWS)
    return Answer(100 * least[0], f"ours with {_case(least)}; footnote 5 leaves 9180 bytes with 256 cells out")


def _case(found: tuple[float, int, int, int, int]) -> str:
    value, size, buffer, n, window = found
    return f"{100 * value:.1f} % ({size} bytes, {buffer} cells, {n} connections, {window} kB)"


@paper.number("idle_max")
def idle_max(measured: Measured, row: Row) -> Answer:
    """Section 3.1."""
    c = cells(measured)
    most = max((c.split("plain", "idle", s, b, n, w), s, b, n, w) for s in SIZES for b in BUFFERS for n in COUNTS for w in WINDOWS)
    return Answer(100 * most[0], f"ours: {_case(most)}")


@paper.number("idle_median")
def idle_median(measured: Measured, row: Row) -> float:
    """Section 3.1."""
    c = cells(measured)
    return 100 * median(c.split("plain", "idle", s, b) for s in SIZES for b in BUFFERS)


@paper.number("excess_needed")
def excess_needed(measured: Measured, row: Row) -> Answer:
    """Section 5.1: packets of excess from which on every size has 90 %."""
    c = cells(measured)
    enough = [k for k in (1, 2, 3, 4, 5) if all(c.excess(s, j) >= 0.9 for s in SIZES for j in range(k, 6))]
    return Answer(float(min(enough)) if enough else None, "" if enough else "no excess of up to 5 packets is enough for every size")


@paper.number("rate_min")
def rate_min(measured: Measured, row: Row) -> float:
    """Appendix A."""
    return min(RATES.values())


@paper.number("rate_max")
def rate_max(measured: Measured, row: Row) -> float:
    """Appendix A."""
    return max(RATES.values())


@paper.number("packet_time")
def packet_time(measured: Measured, row: Row) -> float:
    """Appendix A: on the links of Packet TCP."""
    size = int(row["size"])
    return size * 8 / RATES[size]


@paper.number("telnet_share")
def telnet_share(measured: Measured, row: Row) -> Answer:
    """Appendix A."""
    c = cells(measured)
    return Answer(100 * max(c.telnet_share(p) for p in POLICIES), "the most of the policies")


paper.claims_of(FOLDER / "claims.csv", Cells)


# Figures: a colour and a marker a packet size.

BUFFER = Axis("switch buffer (cells of 53 bytes)", start=0)
EFFECTIVE = Axis("effective throughput, of the most possible", start=0, end=1.02)
RETRANSMITTED = Axis("retransmitted / distinct packets (%)", start=0)
BARS = "Bars: 95 % confidence intervals of the mean of five seeds."
TEN = f"Ten connections with windows of 64 kB. {BARS}"
LEAST = Rule("34 %: the least of plain ATM in the paper", y=0.34)
NINETY = Rule("90 %", y=0.9)


def _line(name: str, x: Sequence[float], seeds: Sequence[Sequence[float]], look: int, dash: int = 0) -> Series:
    """The means of seeds, with the 95 % confidence intervals of the means."""
    return Series(name, x, [mean(runs) for runs in seeds], error=[spread(runs) for runs in seeds], colour=look, marker=look, dash=dash)


def _sizes(seeds: Callable[[int, int], list[float]]) -> list[Series]:
    return [_line(f"{size} bytes", BUFFERS, [seeds(size, b) for b in BUFFERS], i) for i, size in enumerate(SIZES)]


def _throughput(id: str, where: str, title: str, policy: str, n: int, window: int, rule: Rule, caption: str = "") -> None:
    @paper.figure(where=where)
    def figure(measured: Measured) -> Plot:
        c = cells(measured)
        series = _sizes(lambda s, b: c.of_seeds("eff", policy, s, b, n, window))
        return Plot(id, f"{title}: {n} connections, {window} kB", BUFFER, EFFECTIVE, series, f"{caption} {BARS}".strip(), [rule])


_throughput("figure2a", "Figure 2", "TCP over plain ATM", "plain", 5, 64, LEAST)
_throughput("figure2b", "Figure 2", "TCP over plain ATM", "plain", 10, 64, LEAST)
_throughput("figure2c", "Figure 2", "TCP over plain ATM", "plain", 10, 8, LEAST)
_throughput("figure3", "Figure 3", "Packet TCP", "packet", 10, 64, NINETY, "The queue holds as many bytes as the cells.")
_throughput("figure4", "Figure 4", "PPD", "partial", 10, 64, LEAST)
_throughput("figure5", "Figure 5", "EPD", "early", 10, 64, NINETY, "The threshold is half of the buffer.")


@paper.figure(where="Figure 6")
def figure6(measured: Measured) -> Plot:
    """Solid for 1000 cells, dashed for 2000."""
    c = cells(measured)
    packets = (1, 2, 3, 4, 5)
    series = [
        _line(f"{size} bytes, {t} cells", packets, [c.excess_of_seeds(size, k, t) for k in packets], i, dash)
        for dash, t in enumerate((1000, 2000))
        for i, size in enumerate(SIZES)
    ]
    return Plot(
        "figure6",
        "EPD: room above the threshold",
        Axis("buffer above the threshold (packets)", start=0.8, end=5.2),
        Axis("effective throughput, of the most possible", start=0.85, end=1.0),
        series,
        caption="Ten connections, 64 kB. Lines are packet sizes and thresholds; where they lie on each other, every packet arrives. "
        + BARS,
        rules=[NINETY],
    )


@paper.figure(where="Figure 7")
def figure7(measured: Measured) -> Plot:
    """Of cells."""
    c = cells(measured)
    dropped = Axis("cells dropped / cells come (%)", start=0)
    return Plot("figure7", "Cells dropped, plain ATM", BUFFER, dropped, _sizes(lambda s, b: c.of_seeds("loss", "plain", s, b)), TEN)


def _retransmissions(id: str, where: str, title: str, policy: str) -> None:
    @paper.figure(where=where)
    def figure(measured: Measured) -> Plot:
        c = cells(measured)
        series = _sizes(lambda s, b: c.of_seeds("retransmissions", policy, s, b))
        return Plot(id, f"Packets retransmitted, {title}", BUFFER, RETRANSMITTED, series, TEN)


_retransmissions("figure8", "Figure 8", "plain ATM", "plain")
_retransmissions("figure9", "Figure 9", "EPD", "early")
_retransmissions("figure10", "Figure 10", "Packet TCP", "packet")


# Section 3.1's causes, stacked: the buffers of one packet size beside each other, a gap between the sizes.

PLACES = {(size, buffer): i * (len(BUFFERS) + 1) + j for i, size in enumerate(SIZES) for j, buffer in enumerate(BUFFERS)}
NAMED = {
    "good": ("new data", 2),
    "duplicate": ("data that had arrived", 4),
    "dead": ("cells of packets that lost one", 1),
    "idle": ("idle", 3),
}


def _place_names() -> list[str]:
    # Every other buffer has room for its name.
    short = {256: "256", 1000: "", 2000: "2k", 5000: "", 8000: "8k"}
    names = [""] * (max(PLACES.values()) + 1)
    for (size, buffer), place in PLACES.items():
        names[place] = f"{short[buffer]}\n{size} bytes" if buffer == 2000 else short[buffer]
    return names


def _split(id: str, title: str, policy: str) -> None:
    @paper.figure(where="section 3.1")
    def figure(measured: Measured) -> Plot:
        c = cells(measured)
        series = [
            Series(NAMED[part][0], list(PLACES.values()), [c.split(policy, part, s, b) for s, b in PLACES], bar=True, colour=NAMED[part][1])
            for part in PARTS
        ]
        names = _place_names()
        return Plot(
            id,
            f"The link's time: {title}",
            Axis("switch buffer (256, 1000, 2000, 5000, 8000 cells) and packet size", start=-0.8, end=len(names) - 0.2, names=names),
            Axis("share of the link's time", start=0, end=1),
            series,
            caption="Ten connections with windows of 64 kB. New data includes headers, acknowledgments and telnet.",
        )


_split("causes-plain", "plain ATM", "plain")
_split("causes-partial", "PPD", "partial")
_split("causes-early", "EPD", "early")
_split("causes-packet", "Packet TCP", "packet")


# Appendix C's measures, of which the paper has no figure: a colour and a marker a policy.

SWITCHES = {"plain": "plain ATM", "partial": "PPD", "early": "EPD", "packet": "Packet TCP"}


def _measures(name: str, where: str, title: str, axis: Axis, value: Callable[[Cells, str, int, int], float], caption: str) -> None:
    for size in SIZES:

        @paper.figure(where=where)
        def figure(measured: Measured, size: int = size) -> Plot:
            c = cells(measured)
            series = [
                Series(called, SOME_BUFFERS, [value(c, policy, size, b) for b in SOME_BUFFERS], colour=i, marker=i)
                for i, (policy, called) in enumerate(SWITCHES.items())
            ]
            return Plot(f"{name}-{size}", f"{title}, {size} bytes", BUFFER, axis, series, caption)


_measures(
    "transfers",
    "appendix C",
    "The time of a transfer of 5 MB",
    Axis("time (s)", start=0),
    lambda c, policy, size, buffer: c.transfer(policy, size, buffer),
    "Ten connections with windows of 64 kB at once; mean over them and five seeds.",
)
_measures(
    "telnet",
    "appendix C",
    "What telnet waits for",
    Axis("from a byte's being typed until it is acknowledged (ms)", start=0),
    lambda c, policy, size, buffer: c.telnet_delay(policy, size, buffer),
    "Beside ten connections with windows of 64 kB; mean over five seeds.",
)
_measures(
    "synchronization",
    "sections 3.1 and 5",
    "Whether windows move together",
    Axis("mean correlation of two windows (1: in phase)"),
    lambda c, policy, size, buffer: c.sync(policy, size, buffer),
    "Ten connections with windows of 64 kB, looked at every 10 ms; mean over five seeds.",
)
