"""Measures: the number that a run gives for a criterion.

Groups of flows whose name begins with `subject` have the control that is judged.
"""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from longfat.results.result import Result

if TYPE_CHECKING:
    import pandas as pd

Measure = Callable[[Result], float]
RTT_S = 0.04
"""Round trip of the paths whose measures are in round trips."""
PACKET_BYTES = 1500
"""A full packet on all paths."""


def subject(run: Result) -> pd.DataFrame:
    """Flows of the control that is judged."""
    return run.flows[run.flows["group"].str.startswith("subject")]


def group(run: Result, name: str) -> pd.DataFrame:
    """Flows of the group of this name."""
    return run.flows[run.flows["group"] == name]


def packets_sent(run: Result) -> float:
    """Full packets that the senders put on their links in the measured span, retransmissions included."""
    links = run.links[run.links["from"].str.startswith("left")]
    return float((links["busy_s"] * links["rate_bps"]).sum()) / 8 / PACKET_BYTES


def packets_per_rtt(run: Result) -> float:
    """Full packets sent per base round trip in the measured span."""
    edge = run.links[run.links["from"].str.startswith("left")].iloc[0]
    return packets_sent(run) * RTT_S * float(edge["utilization"]) / float(edge["busy_s"]) if edge["busy_s"] else 0.0


def queue_in_rtts(run: Result) -> float:
    """Mean wait at the bottleneck, in base round trips."""
    return float(run.metrics["bottleneck_queue_delay_mean_s"]) / RTT_S


def queue_p95(run: Result) -> float:
    """Wait at the bottleneck that 95 of 100 packets did not exceed, in seconds."""
    return float(run.metrics["bottleneck_queue_delay_p95_s"])


def bottleneck_loss(run: Result) -> float:
    """Share of the packets that came to the bottleneck that were dropped there."""
    return float(run.links.loc[run.links["name"] == "bottleneck>", "loss_share"].iloc[0])


def goodput(run: Result) -> float:
    """Payload of the judged flows, bit/s."""
    return float(subject(run)["goodput_bps"].sum())


def retransmitted(run: Result) -> float:
    """Share of payload that the judged flows retransmitted."""
    return float(subject(run)["retransmit_share"].mean())


def jain(run: Result) -> float:
    """Jain's index of the judged flows' goodput."""
    return float(run.metrics["jain_index"])


def part_of(name: str) -> Measure:
    """Goodput of one flow of group `name`, over an equal share of what all get."""

    def measure(run: Result) -> float:
        total = float(run.flows["goodput_bps"].sum())
        return float(group(run, name)["goodput_bps"].mean()) * len(run.flows) / total if total > 0 else math.nan

    return measure


def mean_of(name: str, column: str) -> Measure:
    """Mean of a column over the flows of group `name`."""
    return lambda run: float(group(run, name)[column].mean())


def dropped_of(name: str) -> Measure:
    """Share of the packets of group `name` that were dropped, in the whole run."""

    def measure(run: Result) -> float:
        flows = group(run, name)
        return float(flows["packets_dropped"].sum()) / float(flows["segments_sent"].sum())

    return measure
