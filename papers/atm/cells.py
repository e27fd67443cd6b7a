"""What `claims.csv` and the figures speak of, from our results.

Effective throughput, cell loss and shares of the link's time are fractions; retransmission and cell loss rates of Figures 7 to 10 are
percent. Packet sizes are those of whole IP packets in bytes, buffers are in cells, windows in kB. Without more said: ten connections
with windows of 64 kB. There are five seeds of everything; a statistic is of each run, and their mean counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from math import nan
from statistics import mean
from typing import Any

import longfat.paper
import pandas as pd
from longfat._longfat import quantity
from longfat.paper import rank_correlation as correlation

# "packet" is Packet TCP.
POLICIES = ("plain", "partial", "early")
SIZES = (512, 1500, 4352, 9180)
BUFFERS = (256, 1000, 2000, 5000, 8000)
# Those of transfers and of telnet.
SOME_BUFFERS = (256, 1000, 8000)
WINDOWS = (8, 16, 32, 64)
COUNTS = (5, 10)
# Without window scaling 65,535 bytes is the most.
LABELS = {8: "8 KiB", 16: "16 KiB", 32: "32 KiB", 64: "65535 bytes"}
# Section 2: 53 bytes in 3 us.
LINK_MBPS = 141.333333
# AAL5: the packet and a trailer of 8 bytes, in payloads of 48.
CELLS = {size: -(-(size + 8) // 48) for size in SIZES}
# Appendix A gives the first and the last time, and the least and the greatest rate.
PACKET_US = {512: 29, 1500: 85, 4352: 246, 9180: 520}
RATES = {size: size * 8 / PACKET_US[size] for size in SIZES}
# Where the link's time goes: section 3.1.
PARTS = ("good", "duplicate", "dead", "idle")
# What is asked of each run of a case: the table it is in, its column, and how many of the unit of the column are one of ours.
MEASURES = {
    "eff": ("runs", "effective_throughput", 1),
    "retransmissions": ("runs", "retransmission_rate", 100),
    "loss": ("links", "cell_loss_share", 100),
    **{part: ("links", f"{part}_share", 1) for part in PARTS},
}


def falls(values: Sequence[float]) -> float:
    """How steadily `values` fall: minus Spearman's rank correlation with their order. 1 where each is below the one before."""
    return -correlation(range(len(values)), values)


def share(cases: Iterable[bool]) -> float:
    """Of the cases, those in which it is so."""
    return mean(float(case) for case in cases)


class Cells(longfat.paper.Cells):
    """Runs under a policy, with packets of a size and a buffer of so many cells."""

    # Tables

    def flows(self, stem: str, **where: Any) -> pd.DataFrame:
        """The flows of an experiment in which the axes have these labels."""
        return self.rows(stem, "flows", **where)

    def bottleneck(self, stem: str, **where: Any) -> pd.DataFrame:
        """The same of the congested link."""
        return self.rows(stem, "links", bottleneck=1, **where)

    def _grid(self, size: int, buffer: int, n: int, window: int) -> dict[str, Any]:
        return {"size": f"{size} bytes", "buffer": f"{buffer} cells", "connections": str(n), "window": LABELS[window]}

    # Sections 3 to 5 and appendix C: the grid

    def of_seeds(self, measure: str, policy: str, size: int, buffer: int, n: int = 10, window: int = 64) -> list[float]:
        """One of `MEASURES` of each run."""
        table, column, times = MEASURES[measure]
        read = self.bottleneck if table == "links" else self.rows
        return (times * read(policy, **self._grid(size, buffer, n, window))[column]).tolist()

    def excess_of_seeds(self, size: int, packets: int, threshold: int = 1000) -> list[float]:
        """As `excess`, of each run."""
        return self.rows(f"excess-{threshold}", case=f"{size} bytes, {packets} packets")["effective_throughput"].tolist()

    def eff(self, policy: str, size: int, buffer: int, n: int = 10, window: int = 64) -> float:
        """Effective throughput, of the most that is possible."""
        return mean(self.of_seeds("eff", policy, size, buffer, n, window))

    def mean_eff(self, policy: str) -> float:
        """Over the sizes and buffers of ten connections with 64 kB."""
        return mean(self.eff(policy, s, b) for s in SIZES for b in BUFFERS)

    def split(self, policy: str, part: str, size: int, buffer: int, n: int = 10, window: int = 64) -> float:
        """The share of the link's time that is `good`, `duplicate`, `dead` or `idle`."""
        return mean(self.of_seeds(part, policy, size, buffer, n, window))

    def mean_split(self, policy: str, part: str) -> float:
        """The same over the sizes and buffers of ten connections with 64 kB."""
        return mean(self.split(policy, part, s, b) for s in SIZES for b in BUFFERS)

    def segregated(self, policy: str, size: int, buffer: int, n: int = 10, window: int = 64) -> float:
        """Connections that get nothing."""
        return float(self.rows(policy, **self._grid(size, buffer, n, window))["starved_flows"].mean())

    def retransmissions(self, policy: str, size: int, buffer: int, n: int = 10, window: int = 64) -> float:
        """Retransmitted packets for each hundred distinct ones."""
        return mean(self.of_seeds("retransmissions", policy, size, buffer, n, window))

    def loss(self, policy: str, size: int, buffer: int, n: int = 10, window: int = 64) -> float:
        """Cells dropped at the congested port, percent of those that came."""
        return mean(self.of_seeds("loss", policy, size, buffer, n, window))

    def rtt(self, policy: str, size: int, buffer: int) -> float:
        """Mean round trip of the bulk connections, in s."""
        flows = self.flows(policy, **self._grid(size, buffer, 10, 64))
        return float(flows[flows["group"] == "bulk"]["rtt_mean_s"].mean())

    def waste(self, size: int, buffer: int) -> float:
        """Cells that plain ATM carries for nothing, for each packet of which it drops some."""
        link = self.bottleneck("plain", **self._grid(size, buffer, 10, 64)).sum(numeric_only=True)
        lost = link["packets_partial_in_span"] + link["packets_merged_in_span"] + link["packets_dropped_whole_in_span"]
        return float(link["cells_dead_in_span"] / lost)

    def overflows(self, size: int, buffer: int) -> float:
        """Cells that found the buffer full in spite of Early Packet Discard."""
        return float(self.bottleneck("early", **self._grid(size, buffer, 10, 64))["cells_dropped_overflow_in_span"].mean())

    def base_rtt_us(self) -> float:
        """Propagation there and back, of what was run: over the edge of a sender and the congested link."""
        results = self.measured["plain"]
        links = json.loads(results.open(str(results.runs["run"].iloc[0])).resolved)["path"]["link"]
        delays = {link["name"]: quantity(link["delay"]) for link in links}
        return sum(2e6 * seconds for name in ("left1-switch1", "bottleneck") for seconds, _ in [delays[name] or (nan, "")])

    def telnet_share(self, policy: str) -> float:
        """The most of the link's time that telnet takes, in any run: two cells a segment."""
        flows = self.measured[policy].flows
        telnet = flows[flows["group"] == "telnet"]
        return float((telnet["segments_sent"] * 2 * 3e-6 / 16).max())

    # Sections 3.1 and 5

    def alone(self, size: int) -> float:
        """Utilization of the link by one connection with 8 kB."""
        return float(self.rows("alone", size=f"{size} bytes")["bottleneck_utilization"].mean())

    def crowd(self, size: int, buffer: int, n: int, window: int) -> float:
        """Effective throughput of plain ATM with more connections."""
        assert (size, window) == (512, 8), "what the experiment has"
        return float(self.rows("crowd", buffer=f"{buffer} cells", connections=str(n))["effective_throughput"].mean())

    def excess(self, size: int, packets: int, threshold: int = 1000) -> float:
        """Effective throughput with so many packets of buffer above the threshold."""
        return mean(self.excess_of_seeds(size, packets, threshold))

    def udp(self, policy: str) -> float:
        """Effective throughput of UDP at twice the rate of the link."""
        return float(self.rows("udp", policy=policy)["effective_throughput"].mean())

    def share_of(self, stem: str, policy: str, group: str) -> float:
        """Mean goodput of the flows of `group`, as a share of that of all measured flows together."""
        flows = self.flows(stem, policy=policy)
        flows = flows[flows["group"] != "telnet"]
        total = flows.groupby("run")["goodput_bps"].sum()
        return float(flows[flows["group"].str.startswith(group)].groupby("run")["goodput_bps"].mean().div(total).mean())

    # Section 6

    def policy_eff(self, policy: str, size: int) -> float:
        """Effective throughput under a policy of section 6."""
        return float(self.rows("policies", policy=policy, size=f"{size} bytes")["effective_throughput"].mean())

    def policy_jain(self, policy: str) -> float:
        """Jain's index, mean over the sizes."""
        return float(self.rows("policies", policy=policy)["jain_index"].mean())

    def policy_retransmissions(self, policy: str) -> float:
        """Packet retransmission rate in percent, mean over the sizes."""
        return 100 * float(self.rows("policies", policy=policy)["retransmission_rate"].mean())

    def policy_overflow(self, policy: str) -> float:
        """The share of cells that found the buffer full, over all sizes."""
        links = self.bottleneck("policies", policy=policy)
        return float(links["cells_dropped_overflow_in_span"].sum() / links["cells_in_in_span"].sum())

    def average_queue(self, policy: str) -> float:
        """Mean queue in cells, over the sizes."""
        return float(self.bottleneck("policies", policy=policy)["queue_mean_packets"].mean())

    # Section 2, buffers at the inputs

    def at_inputs(self, policy: str, size: int, buffers: str) -> float:
        """Effective throughput where every input has a buffer: `256 cells each`, `1000 cells each`, or `8000 cells in all`."""
        return float(self.rows("input-buffered", port=f"{policy}, {buffers}", size=f"{size} bytes")["effective_throughput"].mean())

    # Section 4, the switch that does not know of frames

    def together(self, cells: int, size: int, buffer: int) -> float:
        """Effective throughput where so many cells of a channel are dropped together."""
        return float(self.rows("drop-cells", port=f"{cells} together, {buffer} cells", size=f"{size} bytes")["effective_throughput"].mean())

    # Appendix C's measures, and synchronization: ten connections, 64 kB

    def _beside(self, stem: str, table: str, policy: str, size: int, buffer: int) -> pd.DataFrame:
        """The rows of transfers or of telnet under a policy, or of Packet TCP."""
        if policy == "packet":
            return self.rows(f"{stem}-packet", table, size=f"{size} bytes", buffer=f"{buffer} cells")
        return self.rows(stem, table, size=f"{size} bytes", port=f"{policy}, {buffer} cells")

    def transfer(self, policy: str, size: int, buffer: int) -> float:
        """The time of a transfer of 5 MB in s, mean over the connections."""
        flows = self._beside("transfers", "flows", policy, size, buffer)
        return float(flows["completion_s"].mean())

    def last_transfer(self, policy: str, size: int, buffer: int) -> float:
        """That of the last connection to be done."""
        flows = self._beside("transfers", "flows", policy, size, buffer)
        return float(flows.groupby("run")["completion_s"].max().mean())

    def telnet_delay(self, policy: str, size: int, buffer: int) -> float:
        """From a byte's being typed until it is acknowledged, in ms."""
        flows = self._beside("interactive", "flows", policy, size, buffer)
        return 1000 * float(flows["write_delay_mean_s"].mean())

    def sync(self, policy: str, size: int, buffer: int) -> float:
        """How much the windows move together: 1 in phase, 0 independent."""
        return float(self._beside("interactive", "runs", policy, size, buffer)["cwnd_correlation"].mean())

    def mean_sync(self, policy: str) -> float:
        """Over the sizes and buffers."""
        return mean(self.sync(policy, s, b) for s in SIZES for b in SOME_BUFFERS)

    def depends(self, measure: str, on: str) -> float:
        """How far `transfer` or `telnet_delay` goes by a value of the same runs: rank correlation without its sign.

        Over the policies of the switch, sizes and buffers.
        """
        cases = [(policy, size, buffer) for policy in POLICIES for size in SIZES for buffer in SOME_BUFFERS]
        stem = {"transfer": "transfers", "telnet_delay": "interactive"}[measure]
        table = "links" if on in ("cell_loss_share", "queue_mean_packets") else "runs"
        values = []
        for case in cases:
            rows = self._beside(stem, table, *case)
            values.append(float((rows[rows["bottleneck"] == 1] if table == "links" else rows)[on].mean()))
        return abs(correlation([getattr(self, measure)(*case) for case in cases], values))

    # Appendix B

    def _clock(self, clock: str, congestion: str) -> pd.DataFrame:
        n, buffers = {"mild": (5, (5000, 8000)), "severe": (10, (256, 1000))}[congestion]
        return pd.concat([self.rows("clock", clock=clock, connections=str(n), buffer=f"{b} cells") for b in buffers])

    def clock_eff(self, clock: str, congestion: str) -> float:
        """Effective throughput of Early Packet Discard with this clock, mean over sizes and buffers."""
        return float(self._clock(clock, congestion)["effective_throughput"].mean())

    def clock_jain(self, clock: str, congestion: str) -> float:
        """The least of Jain's indices, of the cases."""
        return float(self._clock(clock, congestion).groupby(["size", "connections", "buffer"], observed=True)["jain_index"].mean().min())

    def clock_duplicates(self, clock: str) -> float:
        """Packets that arrived though they were there already, of all cases with this clock, once each."""
        return self._bulk("clock", "duplicates_received", clock=clock)

    def timeouts(self, stack: str) -> float:
        """Expiries of the retransmission timer, over all policies and sizes, once each."""
        return self._bulk("recovery", "timeouts", stack={"one": "one duplicate"}.get(stack, stack))

    def _bulk(self, stem: str, column: str, **where: str) -> float:
        """A sum over the bulk flows of all cases, mean of the repeats."""
        flows = self.flows(stem, **where)
        repeat = flows["run"].map(self.measured[stem].runs.set_index("run")["repeat"])
        return float(flows[flows["group"] == "bulk"].groupby(repeat)[column].sum().mean())

    def stack_eff(self, stack: str) -> float:
        """Effective throughput, mean over all policies and sizes."""
        return float(self.rows("recovery", stack={"one": "one duplicate"}.get(stack, stack))["effective_throughput"].mean())
