"""Transatlantic lambdas 2003 beside longfat: numbers, the table of cures, claims, figures.

`cells.py` says what is counted, `README.md` what came out.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan
from pathlib import Path

import pandas as pd
from longfat import theory
from longfat.paper import Answer, Measured, Paper, Row, Table
from longfat.plot import Axis, Plot, Series, speed, time_sequence
from longfat.plot.sequence import PARTS
from longfat.results.result import Result

from .cells import MEMORY, RECEIVERS, SENDERS, SENT, Cells

FOLDER = Path(__file__).parent

paper = Paper(
    title="Microscopic Examination of TCP Flows over Transatlantic Links",
    citation="A. Antony, J. Blom, C. de Laat, J. Lee, W. Sjouw: Microscopic Examination of TCP Flows over Transatlantic Links. Future "
    "Generation Computer Systems 19(6), 2003",
)
cells = Cells.of

paper.not_results(condition="what was given, not what came out")

# The cures of section 5, and what TCP has learned since, in the order of the table.
CURES = {
    "nothing": "stream",
    "sender: a slower host (section 4)": "cure-slow-host",
    "sender: an interface that paces": "cure-nic",
    "sender: a leaky bucket, 64 KiB at once": "cure-leaky-bucket",
    "sender: TCP paces": "cure-paced",
    "sender: a transmit queue of 100 packets that stalls": "cure-stall",
    "sender: limited slow start": "cure-limited",
    "sender: HyStart": "cure-hystart",
    "sender: HyStart++": "cure-hystart-pp",
    "network: RED": "cure-red",
    "network: WRED": "cure-wred",
    "network: PAUSE": "cure-pause",
    "network: PAUSE, and TCP waits at the sender's queue": "cure-pause-queue",
    "network: the memory of Equation 3, 2.94 MB": "cure-memory",
    "network: a memory of one BDP, 7.2 MB": "cure-bdp",
    "today: Linux, CUBIC": "cure-linux",
    "today: Linux, CUBIC, paced": "cure-linux-paced",
    "today: BBR": "cure-bbr",
    "today: BBR version 3": "cure-bbr3",
}
SUSPECTS = {
    "none": "free",
    "transmit queue": "stall",
    "kept ssthresh": "cached",
    "small window": "window",
    "slow receiver": "receiver",
    "reordering": "reordered",
    "reordering, undone": "undone",
    "delay spike": "delayed",
}


paper.kind("arithmetic", "memory_needed")
# The switch of the experiment is given this memory; the probe finds it again.
paper.kind("input", "memory")


@paper.predicts("the link is full and nothing is lost")
def ideal(row: Row) -> float | None:
    """Of rates the channel's, of windows what slow start from two segments makes of each round."""
    match row.quantity:
        case "back_to_back" | "one_stream" | "slow_start_rate" | "rate_without_loss":
            return 622.0
        case "window_at_round":
            return 2.0 ** int(row["condition"].split()[0])
        case "burst_time":
            return 512 * 1500 * 8 / 622e6 * 1e3
        case _:
            return 0.0


@paper.number("back_to_back")
def back_to_back(measured: Measured, row: Row) -> Answer:
    """One flow where there is hardly a round trip."""
    return Answer(cells(measured).stream(0), "payload; the paper's is the channel's rate")


@paper.number("one_stream")
def one_stream(measured: Measured, row: Row) -> float:
    """One flow from Amsterdam to Chicago."""
    return cells(measured).stream(96)


@paper.number("first_loss")
def first_loss(measured: Measured, row: Row) -> float:
    """Packets of the burst before the first that is lost."""
    return cells(measured).first_loss("0 us")


@paper.number("share_lost")
def share_lost(measured: Measured, row: Row) -> float:
    """Of those after it, lost in the switch."""
    return 100 * cells(measured).share_lost("0 us")


@paper.number("block")
def block(measured: Measured, row: Row) -> float:
    """The longest row of packets that the receiver lost."""
    return cells(measured).probe_block("0 us")


@paper.number("memory")
def memory(measured: Measured, row: Row) -> Answer:
    """Of the switch, as the burst tells it."""
    return Answer(cells(measured).probe_memory("0 us") / 1e6, "from the burst alone, IP; the experiment has 0.5")


@paper.number("memory_needed")
def memory_needed(measured: Measured, row: Row) -> Answer:
    """For 622 Mb/s over 100 ms."""
    return Answer(theory.slow_start_memory(1e9, 622e6, 0.1) / 1e6, "arithmetic: Equation 3; 3.1 is its greatest value, at 500 Mb/s")


@paper.number("slow_start_rate")
def slow_start_rate(measured: Measured, row: Row) -> Answer:
    """One flow from Amsterdam to California."""
    return Answer(cells(measured).stream(150), "the flow's rate over a minute, as iperf has it")


@paper.number("round_of_loss")
def round_of_loss(measured: Measured, row: Row) -> float:
    """The round of which a packet is lost first."""
    lost = cells(measured).rounds("dropped")
    return float(lost.index[0]) if len(lost) else inf


@paper.number("window_at_round")
def window_at_round(measured: Measured, row: Row) -> float:
    """Packets that leave in this round."""
    return cells(measured).window(int(row["condition"].split()[0]))


@paper.number("burst_time")
def burst_time(measured: Measured, row: Row) -> Answer:
    """From the first to the last packet of round 9."""
    times = cells(measured).departures(9)
    return Answer(1e3 * (times[-1] - times[0]), f"{len(times)} packets of 1500 bytes, as they come to the switch")


@paper.number("gap_without_loss")
def gap_without_loss(measured: Measured, row: Row) -> float:
    """The least gap of Figure 9 with which nothing is lost."""
    return min((gap for gap in (0, 12, 15) if cells(measured).lost(f"{gap} us") == 0), default=inf)


@paper.number("rate_without_loss")
def rate_without_loss(measured: Measured, row: Row) -> float:
    """Payload that comes with this gap."""
    return cells(measured).rate(row["condition"])


@paper.table(where="Section 5, the cures")
def cures(measured: Measured) -> Table:
    """What the paper proposes, and what TCP has learned since."""
    return Table(
        title="What each cure gives: one flow over 96 ms, a minute",
        columns=("goodput (Mb/s)", "of the channel (%)", "packets dropped", "held or stalled (s)"),
        rows={name: cells(measured).cure(stem) for name, stem in CURES.items()},
    )


@paper.table(where="Section 3.1, the puzzle")
def puzzle(measured: Measured) -> Table:
    """What ended slow start without a loss."""
    return Table(
        title="What can end slow start on the upgraded channel",
        columns=("goodput (Mb/s)", "packets dropped", "retransmitted", "send stalls", "cwnd after 2.5 s (packets)"),
        rows={name: cells(measured).suspect(stem) for name, stem in SUSPECTS.items()},
    )


@paper.figure(where="Figure 2")
def figure_2(measured: Measured) -> Plot:
    """Arrivals of the burst through the switch."""

    def line(receiver: str) -> Series:
        return _arrivals(f"{receiver} receiver", cells(measured).arrivals("0 us", receiver))

    return Plot(
        id="figure-2",
        title="Arrivals of a burst of 5000 packets of UDP",
        x=Axis("packet number", start=0, end=SENT),
        y=Axis("time since the first arrival (ms)", start=0),
        series=[line("slow"), line("fast")],
        caption="From the first loss on, where the lines bend, two packets of five do not come; the slow receiver then loses a block.",
    )


@paper.figure(where="Figure 3")
def figure_3(measured: Measured) -> Plot:
    """Equation 3."""
    rates = list(range(10, 1000, 10))
    needed = [theory.slow_start_memory(1e9, s * 1e6, 0.1) / 1e6 for s in rates]
    return Plot(
        id="figure-3",
        title="Memory that slow start needs",
        x=Axis("rate out (Mb/s)", start=0, end=1000),
        y=Axis("memory (MB)", start=0),
        series=[
            Series("Equation 3", rates, needed, markers=False),
            Series("the paper's text, 622 Mb/s", [622], [3.1], line=False, published=True),
        ],
    )


@paper.figure(where="Figure 4")
def figure_4(measured: Measured) -> Plot:
    """The forbidden area, and our runs."""
    rtts = [16.01, *(16 + 2 * i for i in range(1, 93))]
    roots = [theory.forbidden_rates(1e9, MEMORY, r / 1e3) or (500e6, 500e6) for r in rtts]
    edge = [(r, low) for r, (low, _) in zip(rtts[::-1], roots[::-1], strict=True)] + [
        (r, high) for r, (_, high) in zip(rtts, roots, strict=True)
    ]
    grid = cells(measured).grid()

    def points(name: str, lossy: bool) -> Series:
        chosen = [cell for cell in grid if (cell["reached"] < cell["s"]) == lossy]
        return Series(name, [1e3 * cell["R"] for cell in chosen], [cell["s"] / 1e6 for cell in chosen], line=False)

    return Plot(
        id="figure-4",
        title="Where slow start loses packets",
        x=Axis("round trip (ms)", start=0, end=210),
        y=Axis("rate out (Mb/s)", start=0, end=1000),
        series=[
            Series("Equation 3", [r for r, _ in edge], [rate / 1e6 for _, rate in edge], markers=False),
            points("packets lost before the path is full", lossy=True),
            points("none lost before", lossy=False),
        ],
        caption="0.5 MB, 1 Gb/s in. Right of the line is the paper's forbidden area; the points are runs of ours.",
    )


@paper.figure(where="Figure 5")
def figure_5(measured: Measured) -> Plot:
    """Slow start, and the round in which the switch overflows."""
    run = cells(measured).run("slow-start", send_packet=SENDERS["fast"])
    parts = tuple(part for part in PARTS if part != "window")
    plot = time_sequence(run, id="figure-5", title="Slow start into the switch", parts=parts, start=0.9, end=1.35)
    return replace(plot, caption="At the sender. 512 packets leave in the ninth round and pass; of the 1024 of the tenth some are lost.")


@paper.figure(where="Figure 6")
def figure_6(measured: Measured) -> Plot:
    """Slow start that ends without a loss."""
    runs = {name: cells(measured).run(f"figure6-{stem}") for name, stem in SUSPECTS.items() if stem != "receiver"}
    return Plot(
        id="figure-6",
        title="Slow start on the upgraded channel",
        x=Axis("time (s)", start=0),
        y=Axis("offset in the stream (kB)", start=0, end=6000),
        series=[_offsets(name, run, "sent", 6000) for name, run in runs.items()],
        caption="Nothing is lost in any of them. The highest offset sent, by what may have ended slow start.",
    )


@paper.figure(where="Figure 7")
def figure_7(measured: Measured) -> Plot:
    """How fast packets of slow start leave."""
    run = cells(measured).run("slow-start", send_packet=SENDERS["fast"])
    plot = speed(run, at="bottleneck>", id="figure-7", title="Instantaneous speed of slow start", start=0.7, end=1.2)
    return replace(plot, caption="As packets come to the switch: each round at the line rate of the host.")


@paper.figure(where="Figure 8")
def figure_8(measured: Measured) -> Plot:
    """Slow start of a fast and of a slow host."""
    runs = {name: cells(measured).run("slow-start", send_packet=packet) for name, packet in SENDERS.items()}
    return Plot(
        id="figure-8",
        title="Slow start of a fast and a slow host, at the receiver",
        x=Axis("time (s)", start=0.8, end=1.2),
        y=Axis("offset in the stream (kB)", start=0, end=3000),
        series=[_offsets(f"{name} host", run, "delivered", 3000) for name, run in runs.items()],
        caption="The slow host needs 24 us for a packet, so its rounds come at 500 Mb/s.",
    )


def _offsets(name: str, run: Result, event: str, until_kb: float) -> Series:
    packets = run.packets
    data = packets[(packets["event"] == event) & (packets["direction"] == "forward") & (packets["len_bytes"] > 0)]
    highest = data["seq_bytes"].cummax() / 1e3
    shown = highest <= until_kb
    return Series(name, data["time_s"][shown].to_list(), highest[shown].to_list(), markers=False, step=True)


@paper.figure(where="Figure 9")
def figure_9(measured: Measured) -> Plot:
    """Bursts with gaps."""
    gaps = {f"gap {gap}": gap for gap in ("0 us", "12 us", "15 us")}
    return _bursts(measured, "figure-9", "Bursts with gaps, 1 Gb/s from end to end", gaps)


@paper.figure(where="Figure 10")
def figure_10(measured: Measured) -> Plot:
    """Bursts to a slower and to a faster host."""
    return _bursts(measured, "figure-10", "The same burst in both directions", {f"to the {host} host": f"to {host}" for host in RECEIVERS})


def _arrivals(name: str, came: pd.DataFrame) -> Series:
    """A line over the packets that came, broken where more than three in a row did not."""
    numbers, times = came["number"].to_list(), (1e3 * (came["time_s"] - came["time_s"].iloc[0])).to_list()
    x, y = numbers[:1], times[:1]
    for before, number, time in zip(numbers, numbers[1:], times[1:], strict=False):
        if number - before > 4:
            x.append((before + number) / 2)
            y.append(nan)
        x.append(number)
        y.append(time)
    return Series(name, x, y, markers=False)


def _bursts(measured: Measured, id: str, title: str, gaps: dict[str, str]) -> Plot:
    return Plot(
        id=id,
        title=title,
        x=Axis("packet number", start=0, end=SENT),
        y=Axis("time since the first arrival (ms)", start=0),
        series=[_arrivals(name, cells(measured).arrivals(gap, stem="gaps")) for name, gap in gaps.items()],
    )


paper.claims_of(FOLDER / "claims.csv", Cells)
