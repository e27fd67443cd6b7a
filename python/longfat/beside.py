"""A capture beside the simulation of what it shows, and what else might have been on the same path."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from longfat.experiment import Experiment
from longfat.retold import experiment

CONTROLS = ("reno", "cubic", "htcp", "bbr")
WINDOWS = ("receive window", "closing window", "send buffer")


@dataclass(frozen=True)
class Row:
    """What a flow reached, captured or simulated. Rates are of payload; None is what cannot be told."""

    name: str
    goodput_bps: float | None
    rtt_min_s: float | None
    rtt_mean_s: float | None
    segments: int
    retransmitted: int
    flight_max_bytes: float | None

    @property
    def lost_share(self) -> float:
        """Segments sent again over all."""
        return self.retransmitted / max(self.segments, 1)


def beside(connection: dict[str, Any], *, tick: Callable[[float], object] = lambda _: None) -> list[Row]:
    """The connection as captured, as simulated, and as it would be with a larger window, with pacing and with other controls.

    The simulation is of the experiment that `longfat.trace.write_experiment` writes. `tick` hears the share that is run. CaptureError where
    the capture shows too little for one.
    """
    text = experiment(connection)
    variants = list(_variants(connection))
    rows = [_captured(connection)]
    for done, (name, changes) in enumerate(variants):
        changed = Experiment(text, name="captured")
        for path, value in changes.items():
            changed.set(path, value)
        rows.append(_simulated(name, changed))
        tick((done + 1) / len(variants))
    return rows


def _variants(connection: dict[str, Any]) -> list[tuple[str, dict[str, str]]]:
    """Their names, and what each changes in the experiment."""
    own = connection["control"]["name"]
    variants: list[tuple[str, dict[str, str]]] = [("simulated, as captured", {})]
    if connection["verdict"]["cause"] in WINDOWS:
        wide = {"flow[0].receive_buffer": '"1 GiB"', "flow[0].send_buffer": '"1 GiB"'}
        if connection["verdict"]["cause"] == "closing window":
            wide["flow[0].read_rate"] = '"100 Tbit/s"'
        variants.append(("a window without limit", wide))
    variants.append(("paced", {"flow[0].pacing": '"on"'}))
    variants += [(f"with {name}", {"flow[0].congestion_control": f'"{name}"'}) for name in CONTROLS if name != own]
    return variants


def _captured(connection: dict[str, Any]) -> Row:
    data, rtt = connection["data"], connection["rtt"] or {}
    again = data["retransmitted"]["segments"]
    return Row(
        "captured", data["goodput_bps"], rtt.get("min_s"), rtt.get("mean_s"), data["segments"], again, data["flight_max_bytes"] or None
    )


def _simulated(name: str, changed: Experiment) -> Row:
    flow = changed.run().flows.iloc[0]
    return Row(
        name,
        float(flow["goodput_bps"]),
        float(flow["rtt_min_s"]),
        float(flow["rtt_mean_s"]),
        int(flow["segments_sent"]),
        int(flow["segments_retransmitted"]),
        float(flow["in_flight_max_bytes"]),
    )
