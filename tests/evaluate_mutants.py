"""Wrong congestion controls, each with the criterion that is about its fault.

    python tests/evaluate_mutants.py NAME,NAME

makes a table of which of these criteria fail each, by default all those of the wrong controls. Runs are kept in results/quick/mutants.
"""

from __future__ import annotations

import sys
from pathlib import Path

import longfat
from longfat.evaluate.rules import FAILS, JUDGE


class Right:
    """Reno as RFC 5681 has it: what the wrong ones are derived from."""

    window: longfat.Window

    def on_ack(self, ack: longfat.Ack) -> None:
        """Slow start, then a segment per round trip."""
        if ack.cwnd_limited and not self.window.slow_start(ack):
            self.window.increase(ack, 1.0)

    def on_congestion(self, event: longfat.Congestion) -> None:
        """Halves."""
        self.window.reduce(event, 0.5)


class IgnoresLoss(Right):
    """Takes no loss for congestion, and repairs at the rate at which it sent."""

    steers_itself = True

    def on_congestion(self, event: longfat.Congestion) -> None:
        """Does nothing."""


class NeverHalves(Right):
    """Gives up a hundredth where it should give up a half."""

    def on_congestion(self, event: longfat.Congestion) -> None:
        """Takes a hundredth."""
        self.window.reduce(event, 0.5 if event.kind.startswith("timeout") else 0.99)


class TenTimesTooFast(Right):
    """Grows by ten segments per round trip."""

    def on_ack(self, ack: longfat.Ack) -> None:
        """Grows too fast."""
        if ack.cwnd_limited and not self.window.slow_start(ack):
            self.window.increase(ack, 10.0)


class SendsOnInOutage(Right):
    """Holds its window through timeouts, so that each sends all of it."""

    steers_itself = True

    def on_congestion(self, event: longfat.Congestion) -> None:
        """Halves, but not for a timeout."""
        if event.kind.startswith("timeout"):
            self.window.cwnd = max(self.window.cwnd, 100 * self.window.mss)
        else:
            self.window.reduce(event, 0.5)


class StarvesLateComers(Right):
    """Holds the window that it found when it had the path to itself."""

    steers_itself = True

    def __init__(self) -> None:
        self.held = 0.0

    def on_ack(self, ack: longfat.Ack) -> None:
        """Keeps what it once had, if it came first."""
        if self.held:
            self.window.cwnd = self.held
        elif not self.window.slow_start(ack) and ack.cwnd_limited:
            self.window.increase(ack, 1.0)

    def on_congestion(self, event: longfat.Congestion) -> None:
        """Holds the window of the first one, if that is early."""
        if event.now < 10.0 and not self.held:
            self.window.reduce(event, 0.95)
            self.held = self.window.cwnd
        elif not self.held:
            self.window.reduce(event, 0.5)


class IgnoresMarks(Right):
    """Takes marks for nothing."""

    def on_congestion(self, event: longfat.Congestion) -> None:
        """Halves for losses alone."""
        if event.kind != "ecn":
            self.window.reduce(event, 0.5)


class KeepsFourBdp(Right):
    """Keeps five paths full in flight, four of them in the queue."""

    def on_ack(self, ack: longfat.Ack) -> None:
        """Goes for a round trip of five times the least."""
        if ack.rtt is not None and ack.rtt_min > 0 and ack.srtt < 4.9 * ack.rtt_min:
            if not self.window.slow_start(ack):
                self.window.increase(ack, 4.0)
        elif ack.srtt > 5.1 * ack.rtt_min:
            self.window.grow(-self.window.mss)


class FailsBelowTwo(Right):
    """Never has less than eight segments, timeouts included."""

    steers_itself = True

    def on_ack(self, ack: longfat.Ack) -> None:
        """Reno, with a floor."""
        super().on_ack(ack)
        self.window.cwnd = max(self.window.cwnd, 8 * self.window.mss)

    def on_congestion(self, event: longfat.Congestion) -> None:
        """Reno, with a floor."""
        super().on_congestion(event)
        self.window.cwnd = max(self.window.cwnd, 8 * self.window.mss)


class BurstsAfterIdle(Right):
    """Begins after idleness with a window that nothing has ever shown to fit."""

    def on_restart(self, idle: float) -> None:
        """Takes 500 segments."""
        self.window.cwnd = 500 * self.window.mss


class StopsAtDelay(Right):
    """Takes a longer round trip for congestion, however little."""

    def on_ack(self, ack: longfat.Ack) -> None:
        """Goes down to two segments when the round trip is 2 ms over its least."""
        if ack.rtt is not None and ack.rtt > ack.rtt_min + 0.002:
            self.window.cwnd = 2 * self.window.mss
        else:
            super().on_ack(ack)


class NeverComesBack(Right):
    """Stays at one segment after a timeout."""

    def __init__(self) -> None:
        self.stopped = False

    def on_ack(self, ack: longfat.Ack) -> None:
        """Grows until the first timeout."""
        if not self.stopped:
            super().on_ack(ack)

    def on_congestion(self, event: longfat.Congestion) -> None:
        """Halves, or stops for good."""
        self.stopped = self.stopped or event.kind.startswith("timeout")
        self.window.reduce(event, 0.5)


class FavoursShortPaths(Right):
    """Grows with the inverse cube of the round trip."""

    def on_ack(self, ack: longfat.Ack) -> None:
        """Grows the faster, the shorter the path."""
        if ack.cwnd_limited and not self.window.slow_start(ack):
            self.window.increase(ack, min(20.0, (0.06 / max(ack.srtt, 0.001)) ** 3))


MUTANTS = {
    IgnoresLoss: "heavy-loss",
    NeverHalves: "harm-one",
    TenTimesTooFast: "harm-one",
    SendsOnInOutage: "dead-path",
    StarvesLateComers: "late-comer",
    IgnoresMarks: "ecn-delay",
    KeepsFourBdp: "bufferbloat",
    FailsBelowTwo: "crowd-loss",
    BurstsAfterIdle: "idle-loss",
    StopsAtDelay: "delay-use",
    NeverComesBack: "outage",
    FavoursShortPaths: "unequal-rtts",
}
"""Each wrong control, and the criterion that must fail it."""

for _mutant in (Right, *MUTANTS):
    longfat.congestion_control(_mutant)


def table(criteria: list[str]) -> None:
    """Prints a row per wrong control, as soon as it is judged: the criteria that fail it, and that ask to judge."""
    folder = Path(__file__).parents[1] / "results" / "quick" / "mutants"
    print("| control | its criterion | fails too | judge yourself |\n|---|---|---|---|")
    for mutant, its in MUTANTS.items():
        asked = [*criteria, *({its} - set(criteria))]
        card = longfat.evaluate_control(mutant, against=["reno", "cubic"], criteria=asked, quick=True, folder=folder, jobs=1)
        cells = [[one.criterion.name for one in card.answers if one.verdict == word] for word in (FAILS, JUDGE)]
        fault = its if its in cells[0] else f"{its} (passed)"
        print(f"| {mutant.__name__} | {fault} | {', '.join(one for one in cells[0] if one != its)} | {', '.join(cells[1])} |", flush=True)


if __name__ == "__main__":
    table(sys.argv[1].split(",") if sys.argv[1:] else list(dict.fromkeys(MUTANTS.values())))
