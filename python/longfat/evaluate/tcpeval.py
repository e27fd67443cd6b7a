"""Basic scenarios of the Common TCP Evaluation Suite (draft-irtf-iccrg-tcpeval-01, section 4): one line per criterion.

Rates, delays, buffers, loads and durations are those of the draft. Its traffic is replayed from Tmix traces of a campus; here it is
drawn: connections come as a Poisson process, with sizes of a web-search cluster (`docs/evaluate.md` states each difference). Each
criterion is one of the metrics of section 4.5, of one direction of the central link. The draft gives no bounds.
"""

from __future__ import annotations

from longfat.evaluate.criteria import Criterion, Suite
from longfat.evaluate.measures import link_loss, link_queue_mean, link_utilization
from longfat.evaluate.rules import Rule

BESIDE = "the suite gives no bound: beside the standard controls on the same path"
USE = Rule("more", BESIDE, None, 0.02, 1.25)
DROPS = Rule("less", BESIDE, None, 0.005, 1.5)
WAITS = Rule("less", BESIDE, None, 0.005, 1.5)
"""Seconds: 5 ms matter."""

SCENARIOS = (
    ("data-center", "4.4.1", "in a data center"),
    ("access", "4.4.2", "on an access link"),
    ("ocean", "4.4.3", "on a trans-oceanic link"),
    ("satellite", "4.4.4", "on a geostationary downlink"),
    ("uplink", "4.4.4", "on a geostationary uplink"),
    ("wireless", "4.4.5", "on a wireless LAN"),
    ("dial-up", "4.4.6", "on a dial-up link"),
)
"""Name, section and place of each scenario; `uplink` is the other direction of `satellite`."""

UPLINK = "uplink"


def _criteria(name: str, section: str, where: str) -> tuple[Criterion, ...]:
    link, file = ("bottleneck<", "satellite") if name == UPLINK else ("bottleneck>", name)
    return (
        Criterion(f"{name}-use", section, f"utilization {where}", file, "share", USE, link_utilization(link)),
        Criterion(f"{name}-loss", section, f"packets dropped {where}", file, "share", DROPS, link_loss(link)),
        Criterion(f"{name}-delay", section, f"mean queue {where}", file, "s", WAITS, link_queue_mean(link)),
    )


CRITERIA = tuple(criterion for scenario in SCENARIOS for criterion in _criteria(*scenario))

NOT_SHOWN = (
    ("5", "latency: buffer sizes, ramp-up and transients are not run; shallow-loss, late-comer and onset-loss of RFC 9743 are near"),
    ("6", "throughput and fairness: pairs of camps, round trips and several bottlenecks are not run; harm-many and unequal-rtts are near"),
)

TCPEVAL = Suite(
    "control",
    "draft-irtf-iccrg-tcpeval-01",
    "Congestion controls by the Common TCP Evaluation Suite",
    CRITERIA,
    NOT_SHOWN,
    ("reno", "cubic", "bbr3"),
    "tcpeval",
)
