"""Measures: the number that a run gives for a criterion.

Groups of flows whose name begins with `subject` have the control that is judged.
"""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from longfat.results import convergence

if TYPE_CHECKING:
    import pandas as pd

    from longfat.results.result import Result


@dataclass(frozen=True)
class Seen:
    """One run of a sweep, out of the sweep's tables: opening each run takes longer."""

    run: dict[str, Any]
    """Its row of `runs`."""
    flows: pd.DataFrame
    links: pd.DataFrame
    open: Callable[[], Result]
    """The whole run, with its series."""


Measure = Callable[[Seen], float]
RTT_S = 0.04
"""Round trip of the paths whose measures are in round trips."""
PACKET_BYTES = 1500
"""A full packet on all paths."""


def subject(seen: Seen) -> pd.DataFrame:
    """Flows of the control that is judged."""
    return seen.flows[seen.flows["group"].str.startswith("subject")]


def group(seen: Seen, name: str) -> pd.DataFrame:
    """Flows of the group of this name."""
    return seen.flows[seen.flows["group"] == name]


def packets_sent(seen: Seen) -> float:
    """Full packets that the senders put on their links in the measured span, retransmissions included."""
    links = seen.links[seen.links["from"].str.startswith("left")]
    return float((links["busy_s"] * links["rate_bps"]).sum()) / 8 / PACKET_BYTES


def packets_per_rtt(seen: Seen) -> float:
    """Full packets sent per base round trip in the measured span."""
    edge = seen.links[seen.links["from"].str.startswith("left")].iloc[0]
    return packets_sent(seen) * RTT_S * float(edge["utilization"]) / float(edge["busy_s"]) if edge["busy_s"] else 0.0


def queue_in_rtts(seen: Seen) -> float:
    """Mean wait at the bottleneck, in base round trips."""
    return float(seen.run["bottleneck_queue_delay_mean_s"]) / RTT_S


def queue_p95(seen: Seen) -> float:
    """Wait at the bottleneck that 95 of 100 packets did not exceed, in seconds."""
    return float(seen.run["bottleneck_queue_delay_p95_s"])


def bottleneck_loss(seen: Seen) -> float:
    """Share of the packets that came to the bottleneck that were dropped there."""
    return float(seen.links.loc[seen.links["name"] == "bottleneck>", "loss_share"].iloc[0])


def dropped(seen: Seen) -> float:
    """Packets that did not fit into the bottleneck's queue, in the whole run."""
    return float(seen.links.loc[seen.links["name"] == "bottleneck>", "drops_overflow"].iloc[0])


def goodput(seen: Seen) -> float:
    """Payload of the judged flows, bit/s."""
    return float(subject(seen)["goodput_bps"].sum())


def goodput_of(*names: str) -> Measure:
    """Payload of the groups of these names, bit/s."""
    return lambda seen: float(seen.flows.loc[seen.flows["group"].isin(names), "goodput_bps"].sum())


def jain(seen: Seen) -> float:
    """Jain's index of the judged flows' goodput."""
    return float(seen.run["jain_index"])


def part_of(name: str) -> Measure:
    """Goodput of one flow of group `name`, over an equal share of what all get."""

    def measure(seen: Seen) -> float:
        total = float(seen.flows["goodput_bps"].sum())
        return float(group(seen, name)["goodput_bps"].mean()) * len(seen.flows) / total if total > 0 else math.nan

    return measure


def mean_of(name: str, column: str) -> Measure:
    """Mean of a column over the flows of group `name`."""
    return lambda seen: float(group(seen, name)[column].mean())


def dropped_of(name: str) -> Measure:
    """Share of the packets of group `name` that were dropped, in the whole run."""

    def measure(seen: Seen) -> float:
        flows = group(seen, name)
        return float(flows["packets_dropped"].sum()) / float(flows["segments_sent"].sum())

    return measure


def loss_ratio(seen: Seen) -> float:
    """Share of the packets of group `large` that were dropped, over that of group `small`, in the whole run; NaN where nothing was."""
    small = dropped_of("small")(seen)
    return dropped_of("large")(seen) / small if small > 0 else math.nan


def converges(seen: Seen) -> float:
    """Delta-fair convergence time of the judged flows, in seconds; where they did not converge, the time that they had."""
    found = convergence.of_run(seen.open(), list(dict.fromkeys(subject(seen)["group"])))
    return found.left_s if math.isnan(found.time_s) else found.time_s


def excess_rtt_p95(seen: Seen) -> float:
    """Round trip beyond the least that 95 of 100 samples did not exceed, in seconds: the mean over the flows (RFC 7928 section 2.7)."""
    return float((seen.flows["rtt_p95_s"] - seen.flows["rtt_min_s"]).mean())


def _of_link(name: str, column: str) -> Measure:
    return lambda seen: float(seen.links.loc[seen.links["name"] == name, column].iloc[0])


def link_utilization(name: str) -> Measure:
    """Share of the measured span in which the link transmitted."""
    return _of_link(name, "utilization")


def link_loss(name: str) -> Measure:
    """Share of the packets offered to the link that were dropped."""
    return _of_link(name, "loss_share")


def link_queue_mean(name: str) -> Measure:
    """Mean wait in front of the link, in seconds."""
    return _of_link(name, "queue_delay_mean_s")
