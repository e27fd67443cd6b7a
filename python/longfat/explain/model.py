"""One run or one connection of a capture as the tellers see it. Bytes are payload unless a name says otherwise; times are in seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from longfat.lazy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Loss:
    """A packet of a flow that did not arrive."""

    at_s: float
    reason: str
    """Kind of the event, as in the table `events`: `dropped_overflow`; `lost` where a capture does not say why."""
    where: str
    """Name of the link; empty where it is unknown."""


@dataclass(frozen=True)
class Recovery:
    """One event of a sender's loss recovery."""

    at_s: float
    kind: Literal["fast_retransmit", "timeout", "recovery_end", "recovery_undone", "gave_up"]


@dataclass(frozen=True)
class Episode:
    """Losses that one recovery repairs, and their cost."""

    start_s: float
    """First loss; where none was recorded, the last arrival before the sender acted."""
    told_s: float
    """Time at which the sender noticed."""
    end_s: float
    """End of the recovery, or of the run."""
    by: Literal["fast", "timeout", "spurious"]
    """`timeout` where the retransmission timer expired within it; `spurious` where nothing was lost."""
    losses: Sequence[Loss]
    cost_bytes: float
    """Payload that did not arrive in `[start_s, until_s]`, against the rate before the losses."""
    until_s: float
    """Time at which the rate was back, the next episode began, or the run ended."""
    is_back: bool
    """True if the rate was back at `until_s`."""

    @property
    def reason(self) -> tuple[str, str]:
        """Most frequent reason of its losses and where; empty words without a loss."""
        found = [(one.reason, one.where) for one in self.losses]
        return max(found, key=found.count) if found else ("", "")


@dataclass(frozen=True)
class Flow:
    """One sender of data over TCP."""

    name: str
    control: str
    """Congestion control; empty where it is unknown."""
    slow_start: str
    """Slow start of its stack, as in an experiment file; empty where it is unknown."""
    start_s: float
    end_s: float
    rtt_min_s: float
    rtt_max_s: float
    mss_bytes: float
    delivered_bytes: float
    goodput_bps: float
    retransmitted_bytes: float
    flight_max_bytes: float
    limits: Mapping[str, float]
    """Share of its time per cause (`cwnd`, `receiver window`, `send buffer`, `pacing`, `host`, `application`); empty where unknown."""
    time_s: Floats
    arrived_bytes: Floats
    """Payload that has arrived for the first time by then."""
    retransmitted_so_far: Floats
    """Payload retransmitted by then."""
    cwnd_bytes: Floats | None = None
    ssthresh_bytes: Floats | None = None
    flight_bytes: Floats | None = None
    losses: Sequence[Loss] = ()
    recoveries: Sequence[Recovery] = ()
    marks_s: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def window_bytes(self) -> Floats | None:
        """Congestion window, or what is in flight where that is unknown."""
        return self.flight_bytes if self.cwnd_bytes is None else self.cwnd_bytes

    def arrived(self, at_s: float) -> float:
        """Payload that has arrived by `at_s`."""
        return float(np.interp(at_s, self.time_s, self.arrived_bytes)) if len(self.time_s) else 0.0

    def rate(self, start_s: float, end_s: float) -> float:
        """Payload per second that arrived in this time, in bytes."""
        return (self.arrived(end_s) - self.arrived(start_s)) / (end_s - start_s) if end_s > start_s else 0.0

    def window_at(self, at_s: float) -> float | None:
        """Last recorded window before `at_s`."""
        place = int(np.searchsorted(self.time_s, at_s)) - 1
        return float(self.window_bytes[place]) if self.window_bytes is not None and place >= 0 else None

    @cached_property
    def episodes(self) -> list[Episode]:
        """Its loss episodes, in order."""
        from longfat.explain.episodes import episodes

        return episodes(self)


@dataclass(frozen=True)
class Queue:
    """The queue of a bottleneck over time."""

    name: str
    kind: str
    rate_bps: float
    time_s: Floats
    wait_s: Floats
    """Time that a packet arriving then would wait."""
    packets: Floats | None
    busy_share: float
    """Share of the time in which its link transmitted; NaN where it is unknown."""
    drops: int
    """Packets that the queue dropped."""
    marks: int
    policed_bps: float = float("nan")
    """Rate that it enforces, of a policer."""
    down: Sequence[tuple[float, float]] = ()
    """Outages of its link."""


@dataclass(frozen=True)
class Story:
    """All that is known of a run or a connection."""

    title: str
    kind: Literal["simulation", "kernel", "capture"]
    end_s: float
    flows: Sequence[Flow]
    queues: Sequence[Queue]
    has_series: bool
    has_events: bool
    verdict: str = ""
    """Verdict on what limited a capture, or how exact a run in the kernel is; empty without one."""
    notes: Sequence[str] = ()
    """How it was recorded, and what is missing."""

    @property
    def interval_s(self) -> float:
        """Spacing of the series."""
        times = next((flow.time_s for flow in self.flows if len(flow.time_s) > 1), None)
        return float(times[1] - times[0]) if times is not None else 0.0


@dataclass(frozen=True)
class Sentence:
    """One sentence. With `at_s` it is marked in the figure, by its number."""

    text: str
    at_s: float | None = None
    until_s: float | None = None
    """End of what it tells, where that lasts."""
    more_s: tuple[float, ...] = ()
    """Later moments of the same kind, which have the same number in the figure."""
