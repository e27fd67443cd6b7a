"""A first look, whether the control sends at all."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from types import MappingProxyType

from longfat.errors import LongfatError
from longfat.evaluate.stuck import Stuck, watched
from longfat.experiment import Experiment
from longfat.simulation import Simulation

PATIENCE_S = 30.0
"""Seconds on the clock that the probe may take. A control of longfat takes milliseconds, one in Python less than a second."""
PROBE = """
title = "Does it send at all?"
[path]
preset = "dumbbell"
rtt = "40 ms"
bottleneck = { rate = "10 Mbit/s", loss = LOSS, reverse = { loss = "none" } }
edge = { rate = "1 Gbit/s" }
[[flow]]
congestion_control = "NAME"
[measure]
duration = "DURATION"
"""


EMPTY = {"LOSS": '"none"', "DURATION": "5 s"}
LOSSY = {"LOSS": '{ kind = "bernoulli", probability = 0.3 }', "DURATION": "120 s"}
"""Three tenths of the packets are lost, so that the hook of losses and timeouts is called often."""


def probe_of(name: str, path: Mapping[str, str] = MappingProxyType(EMPTY)) -> Experiment:
    """The experiment of the first look. Raises ExperimentError for a control that there is not."""
    text = PROBE.replace('"NAME"', json.dumps(name))
    for key, value in path.items():
        text = text.replace(key, value)
    return Experiment(text)


def fault(name: str, patience_s: float = PATIENCE_S) -> str:
    """A sentence that says why this control cannot be evaluated; empty where it can.

    It has an empty path of 10 Mbit/s and 40 ms for 5 s. It must not raise, must deliver more than its initial window, and must not take
    longer than `patience_s` seconds on the clock, nor may one hook. Then it has a path that loses much, where it must not take longer
    either. Errors that it raises there are left to the criteria.
    """
    try:
        arrived = _arrived(name, EMPTY, patience_s)
    except _Slow as slow:
        return str(slow)
    except Stuck as stuck:
        return f"{name} cannot be evaluated: {stuck} within {patience_s:.0f} s"
    except LongfatError as error:
        return f"{name} set what cannot be: {one_line(error)}"
    except (Exception, SystemExit) as error:  # whatever a hook raises
        return f"{name} raised {one_line(error)}"
    if arrived < MOST_AT_FIRST:
        return f"{name} does not send: {arrived:,} bytes arrived in 5 s over an empty path of 10 Mbit/s"
    try:
        _arrived(name, LOSSY, patience_s)
    except _Slow as slow:
        return f"{slow} that loses 30 %"
    except Stuck as stuck:
        return f"{name} cannot be evaluated: {stuck} within {patience_s:.0f} s over a path that loses 30 %"
    except (Exception, SystemExit):
        pass
    return ""


class _Slow(Exception):
    """The probe took longer than it may."""


def _arrived(name: str, path: Mapping[str, str], patience_s: float) -> int:
    """Bytes that arrive over a path. Raises _Slow, and what a hook raises."""
    began = time.monotonic()
    simulation = Simulation(probe_of(name, path))
    with watched(name, max(patience_s, 0.1)) as watch:
        while not simulation.done:
            simulation.advance(simulation.now + 0.01)
            watch.tell(simulation.now)
            if (spent := time.monotonic() - began) > patience_s:
                done = f"{spent:.0f} s on the clock for {simulation.now:.2f} s of one flow over 10 Mbit/s"
                raise _Slow(f"{name} is too slow to evaluate: {done}")
    return int(simulation.finish().flows["bytes_arrived"].iloc[0])


def one_line(error: BaseException) -> str:
    """An error that a hook raised, on one line; of LongfatError and Stuck their text alone."""
    text = " ".join(str(error).split())
    if isinstance(error, LongfatError | Stuck):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


MOST_AT_FIRST = 20_000
"""Bytes: more than the initial window of ten segments (RFC 6928)."""
