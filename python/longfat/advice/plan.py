"""The experiment: every candidate in every case, as one file that runs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from longfat.advice import candidates, cases
from longfat.advice.candidates import Candidate
from longfat.advice.cases import Case
from longfat.advice.question import Question

PACKETS = 50e6
"""Packets that all runs together may send up to 10 Gbit/s; above, in proportion to the rate, up to `MOST`. What they do send is less: who
does not fill the path is cheap, and of who is behind most runs are not made (`rounds`). Packets and not seconds, so that the same question
is the same experiment on any machine."""
MOST = 400e6
THOROUGH = 8.0
"""Times as many, where one asks for it."""
START, ROUNDS_OF_START = 2.0, 20
"""Seconds and round trips that are left out: slow start."""
SHORTEST, ROUNDS = 10.0, 60
"""Seconds and round trips that count, at least: BBR drains its queue every ten seconds, and looks for a new rate every 62 round trips."""
LONGEST = 60.0
"""Seconds of a run where the packets would allow more."""
PARTS = 5
"""Parts into which the rest is cut for an interval of confidence (batch means: Law and Kelton 2000, section 9.5.3)."""
WINDOW_LIMIT = 1 << 30
"""RFC 7323 section 2.3."""
MIB = 1 << 20


@dataclass(frozen=True)
class Plan:
    """Candidates and cases to run, for how long and with how many seeds."""

    question: Question
    candidates: list[Candidate]
    cases: list[Case]
    duration: float
    seeds: int

    @property
    def warmup(self) -> float:
        """Seconds that do not count."""
        return min(_start(self.question), self.duration / 2)

    @property
    def interval(self) -> float:
        """Seconds of each part."""
        return math.floor((self.duration - self.warmup) / PARTS * 1e3) / 1e3

    def window(self, candidate: Candidate) -> int:
        """The window of each stream of a candidate, in bytes; see `window_of`."""
        return window_of(self.question, candidate.streams)


def plan(question: Question) -> Plan:
    """Every candidate in every case, in runs as long as the packets allow."""
    every, states = candidates.asked(question), cases.of(question)
    seeds = cases.SEEDS if question.thorough else 1
    runs = sum(seeds if case.loss else 1 for case in states)
    budget = min(MOST, PACKETS * max(1.0, question.rate / 10e9)) * (THOROUGH if question.thorough else 1.0)
    each = question.rate / (8 * question.mtu) * runs
    least = _start(question) + max(SHORTEST, ROUNDS * question.rtt)
    fitting = min(max(LONGEST, least), budget / (len(every) * each))
    length = question.duration or float(math.ceil(max(least, fitting)))
    return Plan(question, every, states, length, seeds)


def _start(question: Question) -> float:
    return round(max(START, ROUNDS_OF_START * question.rtt), 3)


def window_of(question: Question, streams: int) -> int:
    """Bytes in flight that a stream must be able to have, in whole MiB.

    All streams together: two bandwidth-delay products, or one and the buffer where that is more. A control that goes by losses fills path
    and buffer, BBR has up to two in flight. Of several streams each may have twice its share, since they are never equal. At most 1 GiB.
    """
    buffer = _buffer_bytes(question)
    together = max(2 * question.bdp, question.bdp + buffer)
    each = together if streams == 1 else min(together, 2 * together / streams)
    return min(WINDOW_LIMIT, max(1, math.ceil(each / MIB)) * MIB)


def _buffer_bytes(question: Question) -> float:
    from longfat._longfat import quantity

    found = quantity(question.buffer) if question.buffer else None
    if found is None:
        return question.bdp
    value, unit = found
    return value * {"bdp": question.bdp, "packets": question.mtu}.get(unit, 1.0)


def to_toml(plan: Plan) -> str:
    """The experiment as TOML. Its axes are `candidate` and `case`, and `seed` where packets are lost at random."""
    question, named = plan.question, [one.name for one in plan.candidates]
    states = [case.name for case in plan.cases]

    def by_candidate(value: Callable[[Candidate], object]) -> str:
        return _axis("candidate", named, [value(one) for one in plan.candidates])

    def by_case(value: Callable[[Case], object]) -> str:
        return _axis("case", states, [value(one) for one in plan.cases])

    exact = [case.name for case in plan.cases if not case.loss]
    seeds = list(range(1, plan.seeds + 1))
    repeated = plan.seeds > 1 and len(exact) < len(states)
    most = max((one.streams for one in plan.candidates if one.maxrate is not None), default=1)
    senders = [f"left{number}" for number in range(1, most + 1)]

    def of_stream(candidate: Candidate) -> list[str]:
        return senders[: candidate.streams if candidate.maxrate is not None else 1]

    lines = [
        f'title = "What to set for {_rate(question.rate)} over {_time(question.rtt)}"',
        'description = "Settings of a sending host (candidate) by what is not known of its path (case). Written by `longfat advise`."',
        f"seed = {{ sweep = [{', '.join(map(str, seeds))}] }}" if repeated else "seed = 1",
        "",
        "[path]",
        'preset = "dumbbell"',
        f'rtt = "{_time(question.rtt)}"',
        f"pairs = {most + 1}",
        "",
        "[path.bottleneck]",
        f'rate = "{_rate(question.rate)}"',
        f'mtu = "{question.mtu} bytes"',
        f'queue = {{ kind = "droptail", limit = {by_case(lambda case: case.buffer)} }}',
        f"loss = {by_case(lambda case: {'kind': 'bernoulli', 'probability': case.loss} if case.loss else {'kind': 'none'})}",
        'reverse = { loss = "none" }',
        "",
        "[path.edge]",
        f'rate = "{_rate(question.edge)}"',
        f'mtu = "{question.mtu} bytes"',
        "",
        "# The transmit queue of a host holds TCP back, as Linux's does. `fq maxrate` is of each flow: so each flow has a host of its own,",
        "# whose interface has that rate and a queue of about a millisecond.",
        "[[host]]",
        f"name = {json.dumps(senders)}",
        f"txqueuelen = {by_candidate(lambda one: f'{_txqueuelen(question, one)} packets')}",
        'on_full = "wait"',
        f"shape_rate = {by_candidate(lambda one: _rate(_maxrate(question, one) or question.edge))}",
        "",
        "[[host]]",
        f'name = "left{most + 1}"',
        'txqueuelen = "1000 packets"',
        'on_full = "wait"',
        "",
        "[[flow]]",
        'name = "candidate"',
        f"from = {by_candidate(of_stream)}",
        f"to = {by_candidate(lambda one: [host.replace('left', 'right') for host in of_stream(one)])}",
        'stack = "linux"',
        f"congestion_control = {by_candidate(lambda one: {'kind': one.control})}",
        f"count = {by_candidate(lambda one: one.streams if one.maxrate is not None else 1)}",
        f"streams = {by_candidate(lambda one: 1 if one.maxrate is not None else one.streams)}",
        f"pacing = {by_candidate(lambda one: 'on' if one.paced else 'auto')}",
        f"window = {by_candidate(lambda one: '6 MiB' if one.untouched else _size(plan.window(one)))}",
        f"window_sizing = {by_candidate(lambda one: {'kind': 'linux', 'rmem_max': '6 MiB'} if one.untouched else {'kind': 'static'})}",
        "",
        "[[flow]]",
        'name = "rival"',
        f'from = "left{most + 1}"',
        f'to = "right{most + 1}"',
        'stack = "linux"',
        f'congestion_control = "{max(plan.cases, key=lambda case: case.rivals).control}"',
        f'window = "{_size(window_of(question, 1))}"',
        f"count = {by_case(lambda case: case.rivals)}",
        "",
        "[measure]",
        f'duration = "{_time(plan.duration)}"',
        f'warmup = "{_time(plan.warmup)}"',
        f'interval = "{_time(plan.interval)}"',
    ]
    if repeated and exact:
        lines += ["", "# Where nothing is random, one seed is enough.", "[[skip]]"]
        lines += [f"case = {json.dumps(exact)}", f"seed = {json.dumps(seeds[1:])}"]
    return "\n".join(lines) + "\n"


def _maxrate(question: Question, candidate: Candidate) -> float:
    """Rate limit of each stream, bit/s; 0 where it has none."""
    return (candidate.maxrate or 0.0) * question.rate / candidate.streams


def _txqueuelen(question: Question, candidate: Candidate) -> int:
    rate = _maxrate(question, candidate)
    return max(16, math.ceil(rate * 1e-3 / 8 / question.mtu)) if rate else 1000


def _axis(name: str, labels: Sequence[str], values: Sequence[object]) -> str:
    """One axis, whose values are called by `labels`; the value alone where all are one."""
    if len(values) == 1:
        return _toml(values[0])
    tables: list[dict[str, object]] = [
        {"label": label} | (cast("dict[str, object]", value) if isinstance(value, dict) else {"value": value})
        for label, value in zip(labels, values, strict=True)
    ]
    rows = "".join(f"    {_toml(table)},\n" for table in tables)
    return f'{{ name = "{name}", zip = "{name}", sweep = [\n{rows}] }}'


def _toml(value: object) -> str:
    if isinstance(value, dict):
        table = cast("dict[str, object]", value)
        return f"{{ {', '.join(f'{key} = {_toml(item)}' for key, item in table.items())} }}"
    # A tiny probability has an exponent, which TOML reads as JSON does.
    return json.dumps(value, ensure_ascii=False)


def _rate(rate: float) -> str:
    return _exact(rate, (("Tbit/s", 1e12), ("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0)))


def _time(seconds: float) -> str:
    return _exact(seconds * 1e6, (("s", 1e6), ("ms", 1e3), ("us", 1.0)))


def _size(size: float) -> str:
    return _exact(size, (("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("bytes", 1.0)))


def _exact(value: float, units: Sequence[tuple[str, float]]) -> str:
    whole = round(value)
    word, size = next((one for one in units if whole >= one[1]), units[-1])
    return f"{f'{whole / size:.9f}'.rstrip('0').rstrip('.')} {word}"
