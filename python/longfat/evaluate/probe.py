"""A first look, whether the control sends at all."""

from __future__ import annotations

import json
import time

from longfat.errors import LongfatError
from longfat.experiment import Experiment
from longfat.simulation import Simulation

PATIENCE_S = 30.0
"""Seconds on the clock that the probe may take. A control of longfat takes milliseconds, one in Python less than a second."""
PROBE = """
title = "Does it send at all?"
[path]
preset = "dumbbell"
rtt = "40 ms"
bottleneck = { rate = "10 Mbit/s" }
edge = { rate = "1 Gbit/s" }
[[flow]]
congestion_control = "NAME"
[measure]
duration = "5 s"
"""


def probe_of(name: str) -> Experiment:
    """The experiment of the first look. Raises ExperimentError for a control that there is not."""
    return Experiment(PROBE.replace('"NAME"', json.dumps(name)))


def fault(name: str, patience_s: float = PATIENCE_S) -> str:
    """A sentence that says why this control cannot be evaluated; empty where it can.

    It has an empty path of 10 Mbit/s and 40 ms for 5 s. It must not raise, must deliver more than its initial window, and must not take
    longer than `patience_s` seconds on the clock.
    """
    began = time.monotonic()
    simulation = Simulation(probe_of(name))
    try:
        while not simulation.done:
            simulation.advance(simulation.now + 0.01)
            if (spent := time.monotonic() - began) > patience_s:
                return f"{name} is too slow to evaluate: {spent:.0f} s on the clock for {simulation.now:.2f} s of one flow over 10 Mbit/s"
        arrived = int(simulation.finish().flows["bytes_arrived"].iloc[0])
    except LongfatError as error:
        return f"{name} set what cannot be: {error}"
    except Exception as error:  # whatever a hook raises
        return f"{name} raised {type(error).__name__}: {error}"
    if arrived < MOST_AT_FIRST:
        return f"{name} does not send: {arrived:,} bytes arrived in 5 s over an empty path of 10 Mbit/s"
    return ""


MOST_AT_FIRST = 20_000
"""Bytes: more than the initial window of ten segments (RFC 6928)."""
