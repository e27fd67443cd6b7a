"""A run that is stepped: advanced, looked at, steered, finished."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import Enum
from numbers import Real
from typing import TYPE_CHECKING

from longfat import _longfat
from longfat._longfat import Run, quantity
from longfat.errors import ExperimentError, LongfatError
from longfat.results.result import Result, changed, from_trace

if TYPE_CHECKING:
    from longfat._longfat import FlowEntry, QueueEntry
    from longfat.experiment import Experiment


class _Unsaid(Enum):
    UNSAID = "not said"


UNSAID = _Unsaid.UNSAID


@dataclass(frozen=True)
class Observation:
    """A simulation at one instant."""

    now: float
    """Virtual time in seconds."""
    flows: list[FlowEntry]
    """State of each flow's sender, as in `tcp_info`."""
    queues: list[QueueEntry]
    """The queue in front of each one-way link, and totals of that link so far."""


class Simulation:
    """A run in virtual time, stepped by hand.

        sim = longfat.Simulation(longfat.load("my-path.toml"))
        while not sim.done:
            sim.advance(sim.now + 0.1)
            print(sim.now, sim.observe().flows[0]["cwnd"])
        result = sim.finish()

    However it is stepped, it gives what `run()` gives, as long as nothing is set. It stays in the thread that made it.
    Raises ExperimentError for an experiment of several runs, or of another backend than `sim`.
    """

    def __init__(self, run: Experiment | Run) -> None:
        self._title = "" if isinstance(run, Run) else run.title
        self._run = run if isinstance(run, Run) else _only(run)
        self._wall, self._cpu = time.perf_counter(), time.thread_time()
        self._native = _longfat.Simulation(self._run)

    @property
    def now(self) -> float:
        """Virtual time in seconds."""
        return self._native.now

    @property
    def done(self) -> bool:
        """True if the run has come to its end."""
        return self._native.done

    @property
    def flows(self) -> range:
        """The numbers of the flows, as in the table of flows."""
        return range(self._native.flow_count)

    def advance(self, until: float | str) -> None:
        """Goes on up to and including `until`, in seconds or as a quantity ("1.5 s"); not beyond the end of the run. Ctrl-C works.

        Raises what a congestion control in Python raises.
        """
        self._native.advance(_number("until", until, "s", 1e6))

    def observe(self) -> Observation:
        """Returns the state of flows and queues now. Looking changes nothing."""
        return Observation(self.now, self._native.flows(), self._native.queues())

    def set(
        self,
        flow: int,
        *,
        cwnd: float | str | _Unsaid | None = UNSAID,
        pacing_rate: float | str | _Unsaid | None = UNSAID,
    ) -> None:
        """Holds a flow's congestion window (bytes, or "64 KiB") or pacing rate (bits per second, or "10 Mbit/s") where it is told.

        A held value stays until it is set again, in recovery, too; `None` gives it back to the flow's congestion control, which has heard
        of everything meanwhile. It counts from the next segment sent. Raises LongfatError for a flow that is not there or not TCP.
        """
        if flow not in self.flows:
            raise LongfatError(f"there is no flow {flow}: expected 0 to {len(self.flows) - 1}")
        told = True
        if not isinstance(cwnd, _Unsaid):
            told = self._native.hold_cwnd(flow, None if cwnd is None else int(_number("cwnd", cwnd, "bytes", 1 << 30, 1)))
        if not isinstance(pacing_rate, _Unsaid):
            told = self._native.hold_pacing_rate(
                flow, None if pacing_rate is None else int(_number("pacing_rate", pacing_rate, "bps", 1e14, 1))
            )
        if not told:
            raise LongfatError(f"flow {flow} is not TCP: it has no congestion window")

    def finish(self) -> Result:
        """Runs to the end, and gives what the run left. A run of which something was set has no hash: `run` is empty."""
        steered = self._native.was_steered
        trace = self._native.finish()
        result = from_trace(self._run, self._title, trace, time.perf_counter() - self._wall, time.thread_time() - self._cpu)
        return changed(result, run="") if steered else result


def _only(experiment: Experiment) -> Run:
    if experiment.run_count != 1:
        raise ExperimentError(f"{experiment.name} is a sweep of {experiment.run_count} runs: choose one with resolve(index)")
    return experiment.resolve(0)


def _number(name: str, value: float | str, unit: str, most: float, least: float = 0) -> float:
    """A plain number of `unit`, or a quantity of it."""
    if isinstance(value, str):
        read = quantity(value)
        if read is None or read[1] != unit:
            raise LongfatError(
                f"{name} = {value!r}: expected {'a time' if unit == 's' else 'a size' if unit == 'bytes' else 'a rate'} with its unit"
            )
        value = read[0]
    if not (isinstance(value, Real) and least <= value <= most):
        raise LongfatError(f"{name} = {value!r}: expected a number from {least} to {most:g}, or a quantity")
    return float(value)
