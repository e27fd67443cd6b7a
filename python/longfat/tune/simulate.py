"""The gain of each change: the path, simulated with all changes, and with all but one."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from longfat.advice import lengths
from longfat.advice.linux import stack_kernel
from longfat.advice.question import Question, probability, spoken
from longfat.cores import default_jobs
from longfat.errors import LongfatError
from longfat.experiment import Experiment
from longfat.results.repeats import half_width
from longfat.tune.check import Row

FOLDED = 0.02
"""Relative gain below which a line is folded."""
SEEDS = 5
"""Runs of a path that loses packets at random; one is enough where every seed gives the same."""
PAUSE = 1.0
"""Seconds for which a program pauses, in the run that shows the idle restart."""
BULK, PAUSING = "bulk", "pausing"
MOST = (1 << 31) - 1


@dataclass(frozen=True)
class Knob:
    """Something that the simulator can change, in the direction that it works on."""

    sends: bool
    """True if this host sends, in the run that shows it."""
    traffic: str = BULK


KNOBS: dict[str, Knob] = {
    "receive buffer": Knob(sends=False),
    "send buffer": Knob(sends=True),
    "control": Knob(sends=True),
    "qdisc": Knob(sends=True),
    "idle restart": Knob(sends=True, traffic=PAUSING),
}
"""Knobs of the simulator, by the names that checks have."""


@dataclass(frozen=True)
class Gain:
    """Goodput of a flow without and with a change, payload in bit/s."""

    without: float
    with_: float
    half: float
    """Half of the 95 % interval of the relative gain; 0 where every seed gives the same run."""
    sends: bool

    @property
    def relative(self) -> float:
        """Relative gain: 0.5 is half as much again."""
        return self.with_ / self.without - 1 if self.without > 0 else math.inf


@dataclass(frozen=True)
class Simulated:
    """Gains by the name of their check, and of all changes together by direction."""

    gains: Mapping[str, Gain]
    together: Sequence[Gain]
    told: Sequence[str]
    """Sentences on what was simulated."""


def simulate(question: Question, rows: Sequence[Row], tick: Callable[[float], object], jobs: int | None = None) -> Simulated:
    """The gain of every row that changes something the simulator knows."""
    knobs = {row.check.knob: row.found.knob for row in rows if row.check.knob in KNOBS and row.found.knob}
    names = {row.check.knob: row.check.name for row in rows if row.check.knob}
    wanted = {knob: values[1] for knob, values in knobs.items()}
    now = {knob: values[0] for knob, values in knobs.items()}
    control = next((row.found.now.split()[0] for row in rows if row.check.knob == "control" and row.found.now), "cubic")
    kernel = stack_kernel(next((row.found.now for row in rows if row.check.name == "kernel"), "")) or "6.18"
    known = {"control": control, "kernel": kernel, **wanted}

    cases: dict[tuple[str, bool, str], Mapping[str, float | str]] = {}
    for knob in knobs:
        own = KNOBS[knob]
        cases["all", own.sends, own.traffic] = known
        cases[knob, own.sends, own.traffic] = {**known, knob: now[knob]}
    for sends in sorted({KNOBS[knob].sends for knob in knobs if KNOBS[knob].traffic == BULK}):
        cases["none", sends, BULK] = {**known, **now}

    length = _length(question, reduces="control" in knobs)
    period = _period(question)
    if short := "control" in knobs and period > length.duration - length.warmup:
        # Slow start and what follows it say nothing of how a control goes on.
        cases = {case: values for case, values in cases.items() if case[0] != "control"}
    seeds = SEEDS if question.losses and question.losses[0][1] else 1
    texts = [
        to_toml(question, values, length, seed, sends=case[1], traffic=case[2])
        for case, values in cases.items()
        for seed in range(1, seeds + 1)
    ]
    done: list[float] = []
    # A run holds no lock of Python, so threads use all cores.
    with ThreadPoolExecutor(jobs or default_jobs()) as pool:
        for goodput in pool.map(_goodput, texts):
            done.append(goodput)
            tick(len(done) / len(texts))
    ran = {case: done[number * seeds : (number + 1) * seeds] for number, case in enumerate(cases)}

    def gain(case: tuple[str, bool, str]) -> Gain:
        return _gain(ran[case], ran["all", case[1], case[2]], sends=case[1])

    return Simulated(
        {names[case[0]]: gain(case) for case in cases if case[0] not in ("all", "none")},
        [gain(case) for case in cases if case[0] == "none"],
        _told(question, length, seeds, {case[2] for case in cases}, period if short else 0.0),
    )


def _gain(without: Sequence[float], with_: Sequence[float], *, sends: bool) -> Gain:
    half = 0.0
    if len(without) > 1 and min(without) > 0:
        half = half_width([after / before for before, after in zip(without, with_, strict=True)])
    return Gain(sum(without) / len(without), sum(with_) / len(with_), half, sends)


def _length(question: Question, *, reduces: bool) -> lengths.Length:
    """Length of each run: whole periods of the controls where these decide, else as long as a steady rate needs."""
    if question.losses and question.losses[0][1]:
        return lengths.lossy(question, [question.losses[0][1]], question.bdp)
    return lengths.clean(question, question.bdp) if reduces else lengths.rate_based(question)


def _period(question: Question) -> float:
    """Seconds from one reduction of Reno to the next, by losses of the path or by its full buffer."""
    loss = question.losses[0][1] if question.losses else 0.0
    full = lengths.reno_period(question, question.bdp)
    return min(full, lengths.loss_period(question, loss)) if loss else full


def to_toml(question: Question, values: Mapping[str, float | str], length: lengths.Length, seed: int, *, sends: bool, traffic: str) -> str:
    """One run: this host at one end with `values`, and a host whose buffers are ample at the other."""
    buffer = question.buffers[0] if question.buffers else "1 bdp"
    loss = question.losses[0][1] if question.losses else 0.0
    ample = float(MOST)
    receive = values.get("receive buffer", ample) if not sends else ample
    send = values.get("send buffer", ample) if sends else ample
    control = values.get("control", "cubic") if sends else "cubic"
    paced = "on" if sends and values.get("qdisc") == "on" else "auto"
    # RFC 2861 is what Linux has by default (ip-sysctl, tcp_slow_start_after_idle).
    idle = "off" if values.get("idle restart") == 0 else "rfc2861"
    apart = (
        f'{{ kind = "web", size = "{max(65536, round(2 * question.bdp))} bytes", shape = 100, think = "{PAUSE:g} s", think_shape = 100 }}'
    )
    lost = f'{{ kind = "bernoulli", probability = {loss!r} }}' if loss else '"none"'
    return f"""
title = "One flow, as a host is set"
seed = {seed}
[path]
preset = "dumbbell"
rtt = "{question.rtt * 1e6:.0f} us"
[path.bottleneck]
rate = "{question.rate:.0f} bit/s"
mtu = "{question.mtu} bytes"
queue = {{ kind = "droptail", limit = {json.dumps(buffer)} }}
loss = {lost}
reverse = {{ loss = "none" }}
[path.edge]
rate = "{question.edge:.0f} bit/s"
mtu = "{question.mtu} bytes"
[[flow]]
name = "flow"
stack = "linux"
kernel = "{values.get("kernel", "6.18")}"
congestion_control = {json.dumps(control)}
pacing = "{paced}"
cwnd_validation = "{idle}"
window_sizing = {{ kind = "linux", rmem_max = "{int(receive)} bytes", wmem_max = "{int(send)} bytes" }}
traffic = {apart if traffic == PAUSING else '"bulk"'}
[measure]
duration = "{length.duration:g} s"
warmup = "{length.warmup:g} s"
"""


def _goodput(text: str) -> float:
    return float(Experiment(text, name="tune").run().flows["goodput_bps"].iloc[0])


def _told(question: Question, length: lengths.Length, seeds: int, traffics: set[str], period: float) -> list[str]:
    buffer = question.buffers[0] if question.buffers else "1 bdp (not known)"
    loss = f"loss {probability(question.losses[0][1])}" if question.losses else "no loss of its own (not known)"
    made = [
        f"Simulated: one flow over this path, its bottleneck with a buffer of {buffer} and {loss}; the other host has ample buffers.",
        "Gain of a line: all changes beside all but this one."
        + (f" Mean of {seeds} seeds, ± half of the 95 % interval." if seeds > 1 else "")
        + f" Runs are {length.duration:g} s long.",
    ]
    if PAUSING in traffics:
        made.append(f"Idle restart: a program that sends two BDP, pauses {PAUSE:g} s, and again; pauses count.")
    if period:
        made.append(f"Control: no gain, since Reno takes {spoken(period)} from loss to loss here, longer than a run; see `longfat advise`.")
    return made


def check_one(question: Question) -> Question:
    """The question, if it has one buffer and one loss at most. LongfatError otherwise."""
    if len(question.buffers or ()) > 1 or len(question.losses or ()) > 1:
        raise LongfatError("--buffer and --loss: expected one value each")
    return question
