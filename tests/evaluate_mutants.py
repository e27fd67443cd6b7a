"""Wrong congestion controls and queues, each with the criterion that is about its fault.

    python tests/evaluate_mutants.py controls [--criteria NAME,NAME] [--names NAME,NAME]
    python tests/evaluate_mutants.py queues

makes a table of which criteria fail each, by default all those that are about a fault. Runs are kept in results/quick/mutants.
"""

from __future__ import annotations

import sys
from pathlib import Path

import longfat
from longfat.evaluate.card import Card
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


WRONG_QUEUES = {
    "holds 16 BDP": ("droptail", {"limit": "16 bdp"}, "delay"),
    "drops from the front of 16 BDP": ("pfifo_head_drop", {"limit": "16 bdp"}, "mix-ping"),
    "holds two packets": ("droptail", {"limit": "2 packets"}, "use"),
    "never signals": ("pie", {"alpha": "0.0", "beta": "0.0", "limit": "8 bdp"}, "mix-ping"),
    "signals at once": ("red", {"min_threshold": "1 packets", "max_threshold": "2 packets", "max_p": "1.0", "wq": "1.0"}, "use"),
    "waits half a second": ("codel", {"target": "500 ms", "interval": "5 s"}, "mix-ping"),
    "sends half of the rate": ("tbf", {"rate": "10 Mbit/s"}, "use"),
    "drops large packets sooner": ("red", {"byte_mode": "true"}, "large-loss"),
    "drops what comes at once": ("policer", {"burst": "3 packets", "limit": "3 packets"}, "burst-loss"),
}
"""Wrong queues: kind, settings, and the criterion that must fail them."""


FOLDER = Path(__file__).parents[1] / "results" / "quick" / "mutants"


def control_row(mutant: type, asked: list[str]) -> str:
    """Row of a wrong control."""
    card = longfat.evaluate_control(mutant, against=["reno", "cubic"], criteria=asked, quick=True, folder=FOLDER, jobs=1)
    return row(mutant.__name__, MUTANTS[mutant], card)


def queue_row(wrong: str, asked: list[str]) -> str:
    """Row of a wrong queue."""
    queue, settings, its = WRONG_QUEUES[wrong]
    card = longfat.evaluate_queue(queue, settings, against=["droptail", "pie"], criteria=asked, quick=True, folder=FOLDER, jobs=1)
    return row(wrong, its, card)


def row(name: str, its: str, card: Card) -> str:
    """Row of a card: whether its own criterion fails it, the others that do, and those that ask to judge."""
    fails, judge = ([one.criterion.name for one in card.answers if one.verdict == word] for word in (FAILS, JUDGE))
    own = its if its in fails else f"{its} (not failed)"
    return f"| {name} | {own} | {', '.join(one for one in fails if one != its)} | {', '.join(judge)} |"


def table(kind: str, criteria: list[str], names: list[str]) -> None:
    """Prints a row per wrong control or queue, as soon as it is judged."""
    print("| wrong | its criterion | fails too | judge yourself |\n|---|---|---|---|")
    every = {mutant.__name__: its for mutant, its in MUTANTS.items()} if kind == "controls" else {k: v[2] for k, v in WRONG_QUEUES.items()}
    by_name = {mutant.__name__: mutant for mutant in MUTANTS}
    for name in names or every:
        asked = list(dict.fromkeys([*(criteria or every.values()), every[name]]))
        print(control_row(by_name[name], asked) if kind == "controls" else queue_row(name, asked), flush=True)


if __name__ == "__main__":
    given = dict(zip(sys.argv[2::2], sys.argv[3::2], strict=True))
    chosen = [given.get(key, "").split(",") if key in given else [] for key in ("--criteria", "--names")]
    table(sys.argv[1], *chosen)
