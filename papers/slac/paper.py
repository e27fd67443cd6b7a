"""SLAC 2004 beside longfat: numbers, tables, claims, figures. `cells.py` says what a cell is, `README.md` what came out."""

from __future__ import annotations

from collections.abc import Callable
from statistics import mean, stdev

import pandas as pd
from longfat import theory
from longfat.paper import Agreement, Answer, Layout, Measured, Row

from . import figures
from .cells import PATHS, SIZES, STACKS, Cells, stability
from .study import FOLDER, PUBLISHED, cells, paper, table1

__all__ = ["figures", "paper"]


# Tables


def _size(row: Row) -> int:
    return int(row["size"])


@paper.number("throughput")
def throughput(measured: Measured, row: Row) -> float:
    """Table 1."""
    return cells(measured).thr(row["path"], _size(row), row["stack"])


@paper.number("throughput_sd")
def throughput_sd(measured: Measured, row: Row) -> float:
    """Table 1, behind the ±."""
    return cells(measured).thr_sd(row["path"], _size(row), row["stack"])


@paper.number("throughput_average")
def throughput_average(measured: Measured, row: Row) -> float:
    """Table 1, over the paths."""
    return cells(measured).average(row["stack"], *map(int, row["size"].split(" and ")))


@paper.number("throughput_sd_average")
def throughput_sd_average(measured: Measured, row: Row) -> Answer:
    """Table 1, last line: of the six cells of windows 2 and 3."""
    published = [value for (_, size, stack), value in table1().items() if stack == row["stack"] and size > 1]
    return Answer(cells(measured).average_sd(row["stack"]), f"the paper's own six cells have {stdev(published):.0f}")


@paper.number("intra_fairness")
def intra_fairness(measured: Measured, row: Row) -> float:
    """Table 2."""
    return cells(measured).fair(row["path"], _size(row), row["stack"])


@paper.number("intra_fairness_average")
def intra_fairness_average(measured: Measured, row: Row) -> float:
    """Table 2, over its nine cells."""
    return mean(cells(measured).fair(p, n, row["stack"]) for p in PATHS for n in SIZES)


@paper.number("intra_fairness_sd")
def intra_fairness_sd(measured: Measured, row: Row) -> float:
    """Table 2, of its nine cells."""
    return stdev(cells(measured).fair(p, n, row["stack"]) for p in PATHS for n in SIZES)


@paper.number("asymmetry")
def asymmetry(measured: Measured, row: Row) -> float:
    """Table 3."""
    return cells(measured).asym(row["stack"], row["path"])


@paper.number("asymmetry_average")
def asymmetry_average(measured: Measured, row: Row) -> float:
    """Table 3, over the paths."""
    return cells(measured).asym(row["stack"])


@paper.number("throughput_with_reverse")
def throughput_with_reverse(measured: Measured, row: Row) -> float:
    """Table 4, the first ten minutes."""
    return cells(measured).reverse(row["stack"])


@paper.number("throughput_without_reverse")
def throughput_without_reverse(measured: Measured, row: Row) -> float:
    """Table 4, the last ten minutes."""
    return cells(measured).no_reverse(row["stack"])


paper.tables += [
    Layout(
        "Table 1",
        "throughput (Mb/s of payload) and its standard deviation over intervals of 5 s",
        {"throughput": "", "throughput_sd": "±", "throughput_average": "average, window", "throughput_sd_average": "deviation, window"},
        rows=("path", "window", "size"),
        columns="stack",
    ),
    Layout(
        "Table 2",
        "fairness of two flows of one stack (Jain's index)",
        {"intra_fairness": "", "intra_fairness_average": "average", "intra_fairness_sd": "deviation"},
        rows=("path", "window"),
        columns="stack",
    ),
    Layout("Table 3", "average asymmetry against all others", {"asymmetry": "", "asymmetry_average": "average"}, ("path",), "stack"),
    Layout(
        "Table 4",
        "throughput to UFL (Mb/s of payload)",
        {"throughput_with_reverse": "with reverse traffic", "throughput_without_reverse": "without"},
        rows=(),
        columns="stack",
    ),
]


paper.agreements += [
    Agreement("Table 1", "throughput", by="path"),
    Agreement("Table 2", "intra_fairness"),
    Agreement("Table 3", "asymmetry", by="path"),
    Agreement("Table 4", "throughput_with_reverse"),
    Agreement("Table 4", "throughput_without_reverse"),
]


# A path that was fitted to half of Table 1's cells (notebook/slac-fitted.md)

HELD_OUT = {
    1: ("FAST", "HS-TCP", "BIC", "HSTCP-LP"),
    2: ("S-TCP", "BIC", "H-TCP", "HSTCP-LP"),
    3: ("FAST", "HS-TCP", "BIC", "H-TCP"),
}
"""Stacks that the first split of `bench/fit/slac.py` holds out, by the size of the window: half of each size."""


def _fitted(path: str, *, held_out: bool) -> list[str]:
    """Ids of the cells of Table 1 that a fitted path knows, or that are held out."""
    rows = [row for row in PUBLISHED if row.quantity == "throughput" and row["path"] == path]
    return [row.id for row in rows if (row["stack"] in HELD_OUT[_size(row)]) == held_out]


paper.fit("fitted/caltech", in_place_of="throughput", known=_fitted("Caltech", held_out=False), held_out=_fitted("Caltech", held_out=True))


# Numbers of the text

paper.not_results(condition="a condition of the test", caption="a figure, drawn in the report")


paper.kind("arithmetic", "theory_window", "theory_interval", "theory_minutes", "bdp")
paper.kind("input", "rtt_min", "sc_udp", "6.2.2-9000-16m", "6.2.2-1500-16m", "6-mtu")
# The cost of a byte and a packet was chosen by these (docs/hosts.md).
paper.kind("calibrated", "mhz_per_mbps", "4.2-cpu-same")
# Averages of cells that stand before them, and their deviations.
paper.kind("repeat", "throughput_average", "throughput_sd_average", "intra_fairness_average", "intra_fairness_sd", "asymmetry_average")
paper.bound("<=", "4.1-rtt-spread-ufl", "4.1-rtt-spread-manchester")
# Two digits behind the point.
paper.printed(intra_fairness=0.005)
# Follow from the windows and the round trips that are given.
paper.kind("arithmetic", "4.1-ptcp-short", "8-ptcp-rtt", "4.1-longer-spread")


@paper.predicts("the window a round trip, at most the link, steady and shared alike")
def ideal(row: Row) -> float | None:
    """What a path would carry on which nothing is ever lost."""
    path = row["path"]
    match row.quantity:
        case "throughput" | "throughput_with_reverse" | "throughput_without_reverse" | "sc_throughput":
            return _ideal(path, row["window"]) if path in RATES else None
        case "intra_fairness":
            return 1.0
        case "intra_share_098":
            return 100.0
        case "reverse_factor":
            return 1.0
        case "rtt_mean":
            return 1e3 * ROUND_TRIPS[path]
        case _:
            # Of deviations, asymmetry, instability and gains there is none.
            return 0.0


def _ideal(path: str, window: str) -> float:
    """Mb/s of payload, in packets of 1500 bytes."""
    link = RATES[path] * 1448 / 1500 / 1e6
    if not window:
        return link
    size, unit = window.split()
    return min(link, float(size) * {"KiB": 2**10, "MiB": 2**20}[unit] * 8 / ROUND_TRIPS[path] / 1e6)


@paper.number("theory_window")
def theory_window(measured: Measured, row: Row) -> float:
    """Section 1: packets in flight at 10 Gb/s, 100 ms, 1500 bytes."""
    return theory.reno_window(10e9, 0.1, 1500)


@paper.number("theory_interval")
def theory_interval(measured: Measured, row: Row) -> float:
    """Section 1: packets for each loss."""
    return theory.reno_interval(theory.reno_window(10e9, 0.1, 1500))


@paper.number("theory_minutes")
def theory_minutes(measured: Measured, row: Row) -> float:
    """Section 1: the same in time."""
    return theory_interval(measured, row) * 1500 * 8 / 10e9 / 60


RATES = {"Caltech": 622e6, "UFL": 467e6, "Manchester": 622e6, "PAIX": 10e9}
ROUND_TRIPS = {"Caltech": 0.010, "UFL": 0.070, "Manchester": 0.170, "PAIX": 0.017}


@paper.number("bdp")
def bdp(measured: Measured, row: Row) -> Answer:
    """Of the stated bottleneck and least round trip, kB of 1000 bytes."""
    path = row["path"]
    assert row.value is not None
    used = 8e3 * row.value / ROUND_TRIPS[path] / 1e6
    return Answer(RATES[path] * ROUND_TRIPS[path] / 8e3, f"of {RATES[path] / 1e6:g} Mb/s; the paper's value is that of {used:.0f} Mb/s")


@paper.number("rtt_min")
def rtt_min(measured: Measured, row: Row) -> float:
    """Section 3."""
    return cells(measured).rtt_min(row["path"])


@paper.number("rtt_mean")
def rtt_mean(measured: Measured, row: Row) -> float:
    """Section 4.1."""
    return cells(measured).rtt(row["path"], _size(row), row["stack"])


@paper.number("rtt_spread")
def rtt_spread(measured: Measured, row: Row) -> float:
    """Section 4.1: a bound."""
    return cells(measured).spread_of_rtt(row["path"])


@paper.number("mhz_per_mbps")
def mhz_per_mbps(measured: Measured, row: Row) -> float:
    """Section 4.2."""
    return cells(measured).mhz(row["stack"] or None)


@paper.number("stability_size")
def stability_size(measured: Measured, row: Row) -> float:
    """Section 4.6, without UDP."""
    return cells(measured).stability_of_size(_size(row))


@paper.number("stability_size_udp")
def stability_size_udp(measured: Measured, row: Row) -> float:
    """Section 4.6, with UDP."""
    return cells(measured).stability_udp_of_size(_size(row))


@paper.number("stability_stack")
def stability_stack(measured: Measured, row: Row) -> float:
    """Section 4.6, windows 2 and 3."""
    return cells(measured).stability_mean(row["stack"])


@paper.number("stability_frequencies")
def stability_frequencies(measured: Measured, row: Row) -> float:
    """Section 4.6: mean over the stacks."""
    c = cells(measured)
    return mean(abs(c.stability_udp_mean(s, 30) - c.stability_udp_mean(s, 60)) for s in STACKS)


@paper.number("udp_gain")
def udp_gain(measured: Measured, row: Row) -> float:
    """Section 4.6."""
    return cells(measured).udp_gain()


@paper.number("intra_share_098")
def intra_share_098(measured: Measured, row: Row) -> float:
    """Section 5.1."""
    return 100 * cells(measured).intra_share(0.98)


@paper.number("reverse_factor")
def reverse_factor(measured: Measured, row: Row) -> float:
    """Section 5.3."""
    c = cells(measured)
    return mean(c.reverse(s) for s in ("BIC", "HSTCP-LP", "H-TCP", "P-TCP", "S-TCP")) / c.reverse("FAST")


JUMBO = {"6.2.2-9000-8m": (9000, 8), "6.2.2-9000-16m": (9000, 16), "6.2.2-1500-16m": (1500, 16), "6.2.2-1500-8m": (1500, 8)}


def _challenge(c: Cells, row: Row, value: Callable[[pd.DataFrame], float]) -> float:
    """Of the rates of a test during the Bandwidth Challenge; the mean over its seeds."""
    if row["path"] == "PAIX":
        test = row.id.removeprefix("6.2.1-").removesuffix("-si").removesuffix("-sum")
        return c.over_seeds("sc2003-paix", lambda one: value(one.paix(test)))
    return c.over_seeds("sc2003-abilene", lambda one: value(one.challenge("sc2003-abilene", (row["path"],))))


@paper.number("sc_throughput")
def sc_throughput(measured: Measured, row: Row) -> float:
    """Section 6."""
    c = cells(measured)
    if row.id in JUMBO:
        return c.sc(*JUMBO[row.id])
    each = row.id == "6.2.1-two-s"
    return _challenge(c, row, lambda rates: float(rates.mean().mean() if each else rates.sum(axis=1).mean()))


@paper.number("sc_stability")
def sc_stability(measured: Measured, row: Row) -> Answer | float:
    """Section 6."""
    c = cells(measured)
    if row.id.startswith("6.2.1"):
        each = row.id == "6.2.1-two-s-si"
        return _challenge(c, row, lambda rates: mean(stability(rates[flow]) for flow in rates) if each else stability(rates.sum(axis=1)))
    mtu = int(row.id.split("-")[1])
    ours = [c.sc_stability(mtu, w, s) for w in (8, 16) for s in ("Reno", "HS-TCP", "S-TCP")]
    return Answer(None, f"a bound; ours are {min(ours):.4f} to {max(ours):.4f}")


@paper.number("sc_udp")
def sc_udp(measured: Measured, row: Row) -> float:
    """Section 6.2.2."""
    return cells(measured).sc_udp(int(row.id.split("-")[-1]))


paper.claims_of(FOLDER / "claims.csv", Cells)
