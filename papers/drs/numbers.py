"""The numbers of the paper, from our results or by its own arithmetic."""

from __future__ import annotations

from statistics import mean

from longfat import theory
from longfat.paper import Answer, Measured, Row

from .cells import FIGURES, PACKET, SECONDS, SLOW, STATIC_WINDOW, WINDOWS_1G, net, used
from .study import cells, paper


def _queue(row: Row) -> int:
    return int(row["queue"])


def _window(row: Row) -> int:
    return int(row["maxwnd"] or 0)


# Arithmetic of the text

paper.kind(
    "arithmetic",
    *("theory_bdp", "theory_used", "theory_convergence", "capacity", "window", "bdp", "bound", "memory_kib", "memory_ratio"),
    *("queue_per_flow", "allocated", "rate_per_kib", "fair_rate", "fair_packets", "fair_share", "fair_bdp"),
)
paper.kind("input", "rtt_min")
paper.bound(">", "4c-rtt", "4c-utilization", "4b-dynamic-rate")
paper.bound("<", "4d-ten-static")


@paper.predicts("the window a round trip of propagation, at most an equal part of the link")
def ideal(row: Row) -> float | None:
    """What flows would get on a link on which nothing is ever lost or queued."""
    if not row["figure"]:
        return None
    path, (_, mix) = net(row["figure"]), FIGURES[row["figure"]]
    flows = sum(map(int, mix.split("+"))) if mix else 1
    maxwnd = row["maxwnd"]
    wanted = STATIC_WINDOW if row["kind"] == "static" or not maxwnd.isdigit() else int(maxwnd)
    # Packets in flight of one flow, of those that fill the path.
    mine = path.bdp / flows if maxwnd == "best" and row["kind"] == "dynamic" else min(wanted, path.bdp / flows)
    packets = mine / path.bdp * path.rate / (8 * PACKET) * SECONDS
    match row.quantity:
        case "acked":
            return packets
        case "acked_thousand":
            return packets / 1e3
        case "share":
            return 100 * mine / path.bdp
        case "rate":
            return mine / path.bdp * path.rate / 1e6
        case "ratio":
            return min(wanted, path.bdp / flows) / min(STATIC_WINDOW, path.bdp / flows)
        case "full" | "optimum":
            return path.bdp
        case "utilization" | "utilization_least":
            return 100.0
        case "rtt":
            return 1e3 * path.rtt
        case "ten_static":
            return 100 * min(1.0, 10 * STATIC_WINDOW / path.bdp)
        case _:
            return 0.0


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
    each = cells(measured).each(row["figure"], _queue(row), _window(row), row["kind"])
    return mean(run[int(row["flow"]) - 1] for run in each) / 1e3


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
    shorter = {name: 100 * c.loss_peak(s) for name, s in (("a round trip of 60 ms", 0.06), ("10 s", 10))}
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
def rtt(measured: Measured, row: Row) -> float:
    """Section IV-C: a bound."""
    return cells(measured).rtt(row["figure"], _queue(row), _window(row))


@paper.number("ten_static")
def ten_static(measured: Measured, row: Row) -> float:
    """Section IV-D: a bound, in percent of the link."""
    return 1000 * cells(measured).acked(row["figure"], _queue(row), 0, "static") / cells(measured).capacity(row["figure"])
