"""The rate that a Linux host as it comes would reach where the hosts of an experiment are tuned: a line under `longfat show`."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from typing import Any

from longfat._longfat import quantity, registries
from longfat.plot.units import with_unit
from longfat.results.results import Results

LESS_THAN = 0.5
"""The share of a flow's goodput under which the line is printed."""
UNBOUNDED = "1 GiB"
"""The buffer that bounds nothing, as a resolved experiment has it."""
MOST = 20
"""Flows that are looked at: those that are farthest above."""


def line(results: Results) -> str:
    """Says what an untouched Linux host would get in place of the flow that is farthest above it; empty where there is nothing to say."""
    flows = results.flows
    if flows.empty or not {"goodput_bps", "rtt_min_s", "group"} <= set(flows):
        return ""
    # A sender has at most its buffer in flight, once a round trip. The receiver of such a host has room for more: tcp_rmem of 32 MiB.
    ceilings = 8 * send_buffer() / flows["rtt_min_s"].where(flows["rtt_min_s"] > 0, math.nan)
    shares = (ceilings / flows["goodput_bps"].where(flows["goodput_bps"] > 0, math.nan)).dropna()
    shares = shares[shares < LESS_THAN].sort_values()
    for place in shares.index[:MOST]:
        run, group = str(flows.loc[place, "run"]), str(flows.loc[place, "group"])
        resolved = json.loads(results[int((results.runs["run"] == run).to_numpy().argmax())].resolved)
        if any(flow["name"] == group and is_tuned(flow) for flow in resolved["flow"]):
            goodput = with_unit(float(flows["goodput_bps"].loc[place]), "bit/s")
            rtt = with_unit(float(flows["rtt_min_s"].loc[place]), "s")
            most, ceiling = with_unit(send_buffer(), "iB"), with_unit(float(ceilings.loc[place]), "bit/s")
            return (
                f"hosts are tuned: buffers of {UNBOUNDED} bound nothing. An untouched Linux host has at most {most} in flight (tcp_wmem): "
                f"at most {ceiling} over {rtt}, where {group} has {goodput}. "
                'For such hosts: window_sizing = "linux" (docs/window-sizing/linux.md)'
            )
    return ""


def is_tuned(flow: Mapping[str, Any]) -> bool:
    """Returns true if the buffers of a flow of a resolved experiment bound nothing, from its start on."""
    receiver = {**flow, **flow.get("receiver", {})}
    return flow["window_sizing"]["kind"] == "static" and (flow["send_buffer"], receiver["receive_buffer"]) == (UNBOUNDED, UNBOUNDED)


@cache
def send_buffer() -> float:
    """The most that the send buffer of an untouched host grows to, in bytes."""
    linux = next(entry for entry in registries()["window_sizings"] if entry["name"] == "linux")
    number = quantity(next(param["default"] for param in linux["params"] if param["name"] == "wmem_max"))
    assert number is not None
    return number[0]
