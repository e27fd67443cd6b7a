"""A capture beside the simulation of what it shows, and what else might have been on the same path."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from longfat._longfat import Connection
from longfat.capture.experiment import experiment
from longfat.experiment import Experiment
from longfat.results.repeats import half_width, share_interval

CONTROLS = ("reno", "cubic", "htcp", "bbr")
WINDOWS = ("receive window", "closing window", "send buffer")


REPEATS = 5
"""Runs of each simulation, each with a seed of its own."""


@dataclass(frozen=True)
class Row:
    """One flow's metrics, captured or simulated. Rates are of payload; None is what cannot be told.

    For a simulation, values are means over its repeats; `..._half` is half of a 95 % interval by Student's t, None for fewer than two
    repeats. `gain` is the increase of its goodput over the simulation as captured, repeat by repeat with the same seeds (common random
    numbers: Law and Kelton, Simulation Modeling and Analysis, 2000, section 11.2).
    """

    name: str
    goodput_bps: float | None
    rtt_min_s: float | None
    rtt_mean_s: float | None
    segments: int
    retransmitted: int
    flight_max_bytes: float | None
    repeats: int = 1
    goodput_bps_half: float | None = None
    gain: float | None = None
    gain_half: float | None = None

    @property
    def lost_share(self) -> float:
        """Retransmitted segments over all."""
        return self.retransmitted / max(self.segments, 1)

    @property
    def lost_interval(self) -> tuple[float, float]:
        """Ends of the 95 % interval of that share, over all repeats: `longfat.results.repeats.share_interval`."""
        return share_interval(self.retransmitted * self.repeats, self.segments * self.repeats)

    @property
    def differs(self) -> bool | None:
        """True if the interval of `gain` leaves zero out; None where there is none."""
        return None if self.gain is None or self.gain_half is None else abs(self.gain) > self.gain_half


def comparison(connection: Connection, *, repeats: int = REPEATS, tick: Callable[[float], object] = lambda _: None) -> list[Row]:
    """The connection as captured, as simulated, and as it would be with a larger window, with pacing and with other controls.

    The simulation is of the experiment that `longfat.capture.write_experiment` writes, run `repeats` times. `tick` hears the share that is
    run. CaptureError where the capture shows too little for one.
    """
    text = experiment(connection)
    variants = list(_variants(connection))
    rows = [_captured(connection)]
    own: list[float] = []
    for done, (name, changes) in enumerate(variants):
        flows: list[dict[Hashable, Any]] = []
        for seed in range(1, repeats + 1):
            changed = Experiment(text, name="captured")
            for path, value in {**changes, "seed": str(seed)}.items():
                changed.set(path, value)
            flows.append(changed.run().flows.iloc[0].to_dict())
            tick((done * repeats + seed) / (len(variants) * repeats))
        rows.append(_simulated(name, flows, own))
        own = own or [float(flow["goodput_bps"]) for flow in flows]
    return rows


def _variants(connection: Connection) -> list[tuple[str, dict[str, str]]]:
    """Their names, and what each changes in the experiment."""
    own = connection.control.name
    variants: list[tuple[str, dict[str, str]]] = [("simulated, as captured", {})]
    if connection.verdict.cause in WINDOWS:
        wide = {"flow[0].receive_buffer": '"1 GiB"', "flow[0].send_buffer": '"1 GiB"'}
        if connection.verdict.cause == "closing window":
            wide["flow[0].read_rate"] = '"100 Tbit/s"'
        variants.append(("a window without limit", wide))
    variants.append(("paced", {"flow[0].pacing": '"on"'}))
    variants += [(f"with {name}", {"flow[0].congestion_control": f'"{name}"'}) for name in CONTROLS if name != own]
    return variants


def _captured(connection: Connection) -> Row:
    data, rtt = connection.data, connection.rtt
    again = data.retransmitted.segments
    return Row(
        "captured",
        data.goodput_bps,
        rtt and rtt.min_s,
        rtt and rtt.mean_s,
        data.segments,
        again,
        data.flight_max_bytes or None,
    )


def _simulated(name: str, flows: list[dict[Hashable, Any]], own: list[float]) -> Row:
    """The means of `flows`, beside the goodput `own` of each repeat of the simulation as captured; empty for that one."""

    def mean(column: str) -> float:
        return fmean(float(flow[column]) for flow in flows)

    rates = [float(flow["goodput_bps"]) for flow in flows]
    gains = [rate / other - 1 for rate, other in zip(rates, own, strict=False) if other > 0]
    return Row(
        name,
        fmean(rates),
        mean("rtt_min_s"),
        mean("rtt_mean_s"),
        round(mean("segments_sent")),
        round(mean("segments_retransmitted")),
        mean("in_flight_max_bytes"),
        repeats=len(flows),
        goodput_bps_half=_half(rates),
        gain=fmean(gains) if gains else None,
        gain_half=_half(gains),
    )


def _half(values: list[float]) -> float | None:
    """Half of the 95 % interval of the mean of values; None for fewer than two."""
    half = half_width(values)
    return None if math.isnan(half) else half
