"""Promises of congestion controls: what a control of one's own claims, the runs that check it, and the mutants that these runs must see."""

from __future__ import annotations

from collections import deque
from typing import Any

import longfat
import pytest
from longfat import LongfatError, Promises


class Copa:
    """Copa in its default mode (Arun and Balakrishnan, NSDI 2018, section 2)."""

    window: longfat.Window
    pacing_rate: float | None = None
    promises: Any = Promises(
        uses=0.9,  # Section 2.2: the queue empties for a moment, once in five round trips.
        queue_segments=(1, 6),  # Section 2.2: between 0 and 2.5 / delta = 5 segments, and one held for a delayed ACK.
        shares=0.9,  # Section 2.1: equal senders get equal rates.
        beside_cubic=(0, 0.5),  # Section 2.3: the default mode gets little beside flows that fill the buffer.
    )

    delta = 0.5

    def __init__(self) -> None:
        self.in_slow_start = True
        self.velocity, self.direction, self.rounds, self.round, self.cwnd_then = 1.0, 0, 0, 0, 0.0
        self.recent: deque[tuple[float, float]] = deque()
        self.all: deque[tuple[float, float]] = deque()

    def on_ack(self, ack: longfat.Ack) -> None:
        """Moves the rate towards 1 / (delta d_q)."""
        if ack.rtt is None:
            return
        self.note(self.recent, ack, ack.srtt / 2)
        self.note(self.all, ack, 10.0)
        standing, mss = self.least(self.recent), self.window.mss
        segments = self.window.cwnd / mss
        grows = self.wants_more(segments / standing, self.target(standing - self.least(self.all)))
        step = min(self.velocity * ack.acked / (self.delta * segments), ack.acked)
        if self.in_slow_start and grows:
            step = ack.acked
        else:
            self.in_slow_start = False
            self.turn(1 if grows else -1, ack.round)
        if not grows:
            self.window.cwnd = max(2 * mss, self.window.cwnd - step)
        elif ack.cwnd_limited:
            self.window.cwnd += step
        self.pacing_rate = self.pace(8 * self.window.cwnd / standing)

    def on_congestion(self, event: longfat.Congestion) -> None:
        """Half, as in its other mode."""
        self.in_slow_start = False
        self.reset()
        self.window.reduce(event, 0.5)

    def turn(self, direction: int, now: int) -> None:
        """Doubles the velocity each round trip once the window has gone one way for three, and resets it when the way changes."""
        if now == self.round:
            return
        self.round, then, self.cwnd_then = now, self.cwnd_then, self.window.cwnd
        went = 1 if self.window.cwnd > then else -1
        if went != self.direction or went != direction:
            self.reset()
        else:
            self.rounds += 1
            self.velocity *= 2 if self.rounds >= 3 else 1
        self.direction = went

    def note(self, rtts: deque[tuple[float, float]], ack: longfat.Ack, span: float) -> None:
        """Keeps what the minimum (or maximum) of the last `span` seconds may be."""
        while rtts and rtts[0][0] < ack.now - span:
            rtts.popleft()
        while rtts and self.least([rtts[-1], (0, ack.rtt)]) == ack.rtt:
            rtts.pop()
        rtts.append((ack.now, ack.rtt or 0.0))

    def least(self, rtts: Any) -> float:
        return min(rtt for _, rtt in rtts)

    def target(self, queueing: float) -> float:
        return 1 / (self.delta * queueing) if queueing > 0 else float("inf")

    def wants_more(self, rate: float, target: float) -> bool:
        return rate <= target

    def reset(self) -> None:
        self.velocity, self.rounds = 1.0, 0

    def pace(self, rate: float) -> float:
        return 2 * rate


class LongCopa(Copa):
    """Copa with delta = 0.1, which has ten segments queued: there a wrong delta shows, whatever a delayed ACK holds."""

    delta = 0.1
    promises = Promises(uses=0.9, queue_segments=(5, 25), shares=0.9)


class SignFlipped(LongCopa):
    def wants_more(self, rate: float, target: float) -> bool:
        return rate > target


class DeltaInverted(LongCopa):
    def target(self, queueing: float) -> float:
        return self.delta / queueing if queueing > 0 else float("inf")


class NeverReset(LongCopa):
    def reset(self) -> None:
        pass


class MaximumForMinimum(LongCopa):
    def least(self, rtts: Any) -> float:
        return max(rtt for _, rtt in rtts)


class PacedAnEighth(LongCopa):
    def pace(self, rate: float) -> float:
        return 2 * rate / 8


def faults(control: type) -> list[str]:
    longfat.congestion_control(name="my_copa")(control)
    return [promise.why for promise in longfat.conformance("my_copa") if not promise.kept]


@pytest.mark.slow
@pytest.mark.parametrize("control", [Copa, LongCopa])
def test_copa_keeps_what_it_promises(control: type) -> None:
    assert faults(control) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mutant", "fault"),
    [
        (SignFlipped, "my_copa used 2.9 % of an empty path, at least 90 % expected"),
        (DeltaInverted, "my_copa alone kept a mean queue of "),
        (NeverReset, "my_copa used "),
        (MaximumForMinimum, "my_copa alone kept a mean queue of "),
        (PacedAnEighth, "my_copa used "),
    ],
)
def test_each_mutant_of_copa_breaks_a_promise(mutant: type, fault: str) -> None:
    assert [why for why in faults(mutant) if why.startswith(fault)]


@pytest.mark.slow
def test_a_control_that_promises_nothing_uses_half_of_an_empty_path_all_the_same() -> None:
    class Modest(SignFlipped):
        promises = Promises()

    assert "my_copa used 2.9 % of an empty path, at least 50 % expected" in faults(Modest)


@pytest.mark.slow
def test_what_a_run_shows_is_told_whether_or_not_it_was_promised() -> None:
    shown = {promise.name: promise.measured for promise in longfat.conformance("vegas")}
    assert shown["alone keeps a mean queue of 2 to 6 segments"].endswith(" BDP)")
    assert shown["promises nothing of how it shares with itself"].endswith(" %")
    assert shown["does the same again"] == ""


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ({"uses": 0.1}, r"Promises: uses = 0.1: expected a share from 0.5 to 1"),
        ({"uses": "all"}, r"Promises: uses = 'all': expected a share"),
        ({"uses": (0.5, 0.9)}, r"expected a share from 0.5 to 1"),
        ({"queue_segments": (6, 2)}, r"queue_segments = \(6, 2\): expected two numbers of segments, the smaller first"),
        ({"queue_segments": 4}, r"queue_segments = 4: expected two numbers of segments"),
        ({"queue_bdp": (0, 2)}, r"queue_bdp = \(0, 2\): expected two numbers from 0 to 1"),
        ({"shares": float("nan")}, r"shares = nan: expected an index from 0.5 to 1"),
        ({"beside_cubic": (0.2, 0.4, 0.6)}, r"expected two shares from 0 to 1"),
    ],
)
def test_a_claim_that_makes_no_sense_is_refused(claim: dict[str, Any], message: str) -> None:
    with pytest.raises(LongfatError, match=message):
        Promises(**claim)


def test_promises_of_another_type_are_refused() -> None:
    class Wrong(Copa):
        promises = "all"

    with pytest.raises(LongfatError, match=r"Wrong.promises = 'all': expected longfat.Promises\(...\)"):
        longfat.congestion_control(name="my_copa")(Wrong)
