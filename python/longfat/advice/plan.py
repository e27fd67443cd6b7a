"""The experiment: every candidate in every case, as one file that runs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from longfat._longfat import quantity
from longfat.advice import candidates, cases, lengths
from longfat.advice.candidates import Candidate
from longfat.advice.cases import Case
from longfat.advice.lengths import Length
from longfat.advice.question import Question

SEEDS = (1, 6)
"""Least and most seeds of a cell in which something is random. More than the least are run where they decide (`rounds`)."""
SEEDS_OF_LOSS = 3
"""Least seeds of what people ask about where it goes by losses and the path loses packets: there it varies most, and sends least."""
SEEDS_THOROUGH = (5, 12)
STAGGER = "20 ms"
"""Most time from one start to the next, which is random. It is short: on a long path the first to start keeps its lead for minutes."""
OTHERS = "others"
"""Name of the group of short transfers of others."""
WINDOW_LIMIT = 1 << 30
"""RFC 7323 section 2.3."""
MIB = 1 << 20


@dataclass(frozen=True)
class Plan:
    """Candidates and cases to run, for how long and with how many seeds."""

    question: Question
    candidates: list[Candidate]
    cases: list[Case]
    lengths: list[Length]
    """Lengths of runs, each once."""

    def length(self, candidate: Candidate, case: Case) -> Length:
        """Length of the runs of a cell."""
        if len(self.lengths) == 1:
            return self.lengths[0]
        name = "by rate" if candidate.by_rate else "with loss" if case.loss else "without loss"
        return next(one for one in self.lengths if one.name == name)

    def length_of(self, candidate: str, case: str) -> Length:
        """Length of the runs of a cell, by the names of its candidate and case."""
        one = next(one for one in self.candidates if one.name == candidate)
        return self.length(one, next(state for state in self.cases if state.name == case))

    def seeds(self, candidate: Candidate, case: Case) -> tuple[int, int]:
        """Least and most seeds of a cell; one where every seed gives the same run."""
        question = self.question
        streams = candidate.streams * len(question.rtts)
        if not (candidate.by_rate or case.loss or case.rivals or question.load or streams > 1):
            return 1, 1
        least, most = SEEDS_THOROUGH if question.thorough else SEEDS
        return (max(least, SEEDS_OF_LOSS) if candidate.usual and case.loss and not candidate.by_rate else least), most

    @property
    def repeats(self) -> int:
        """Most seeds of any cell."""
        return max(self.seeds(one, case)[1] for one in self.candidates for case in self.cases)

    def window(self, candidate: Candidate) -> int:
        """The window of each stream of a candidate, in bytes; see `window_of`."""
        return window_of(self.question, candidate.streams)


def plan(question: Question) -> Plan:
    """Every candidate in every case, in runs as long as controls and losses need and the packets allow."""
    every, states = candidates.asked(question), cases.of(question)
    if question.duration:
        warmup = min(lengths.rate_based(question).warmup, question.duration / 2)
        return Plan(question, every, states, [Length("as asked", question.duration, warmup, "as asked (--duration)")])
    buffer = max(_bytes(question, case.buffer) for case in states)
    made = [lengths.rate_based(question)]
    made += [lengths.clean(question, buffer)] if any(not case.loss for case in states) else []
    losses = {case.loss for case in states} - {0.0}
    made += [lengths.lossy(question, list(losses), buffer)] if losses else []
    return Plan(question, every, states, made)


def window_of(question: Question, streams: int) -> int:
    """Bytes in flight that a stream must be able to have, in whole MiB.

    All streams together: two bandwidth-delay products, or one and the buffer where that is more. A control that goes by losses fills path
    and buffer, BBR has up to two in flight. Each of several streams may have twice its share, since they are never equal. At most 1 GiB.
    """
    buffer = _buffer_bytes(question)
    together = max(2 * question.bdp, question.bdp + buffer)
    each = together if streams == 1 else min(together, 2 * together / streams)
    return min(WINDOW_LIMIT, max(1, math.ceil(each / MIB)) * MIB)


def _buffer_bytes(question: Question) -> float:
    return max((_bytes(question, buffer) for buffer in question.buffers), default=0.0) if question.buffers else question.bdp


def _bytes(question: Question, buffer: str) -> float:
    """A buffer of the experiment file in bytes; a product is of what the path carries and its longest round trip."""
    found = quantity(buffer)
    assert found is not None
    value, unit = found
    return value * {"bdp": question.bdp, "packets": question.mtu}.get(unit, 1.0)


def _limit(question: Question, buffer: str) -> str:
    """A buffer as the file has it: in bytes where the file's own product would be another."""
    same = len(question.rtts) == 1 and not question.policer
    return buffer if same or not buffer.endswith("bdp") else f"{max(question.mtu, round(_bytes(question, buffer)))} bytes"


def to_toml(plan: Plan) -> str:
    """The experiment as TOML. Its axes are `candidate` and `case`, and `length` where not all runs have the same."""
    question, named = plan.question, [one.name for one in plan.candidates]
    states = [case.name for case in plan.cases]

    def by_candidate(value: Callable[[Candidate], object]) -> str:
        return _axis("candidate", named, [value(one) for one in plan.candidates])

    def by_case(value: Callable[[Case], object]) -> str:
        return _axis("case", states, [value(one) for one in plan.cases])

    def by_length(value: Callable[[Length], object]) -> str:
        return _axis("length", [one.name for one in plan.lengths], [value(one) for one in plan.lengths])

    def queue(limit: str) -> str:
        if not question.policer:
            return f'{{ kind = "droptail", limit = {limit} }}'
        rate, burst = question.policer
        return f'{{ kind = "policer", rate = "{_rate(rate)}", burst = "{round(burst)} bytes", limit = {limit} }}'

    most = max((one.streams for one in plan.candidates if one.maxrate is not None), default=1)
    pairs = most * len(question.rtts) + 1
    last = f"left{pairs}"
    trips = [rtt for rtt in question.rtts for _ in range(most)] + [question.rtts[0]]
    rtt = json.dumps([_time(one) for one in trips]) if len(question.rtts) > 1 else f'"{_time(question.rtt)}"'
    held = [f"left{number}" for number in range(1, pairs)]

    def of_stream(candidate: Candidate, site: int) -> list[str]:
        return held[site * most :][: candidate.streams if candidate.maxrate is not None else 1]

    lines = [
        f'title = "What to set for {_rate(question.rate)} over {" and ".join(_time(one) for one in question.rtts)}"',
        'description = "Settings of a sending host (candidate) by what is not known of its path (case). Written by `longfat advise`."',
        f"repeats = {plan.repeats}",
        "",
        "[path]",
        'preset = "dumbbell"',
        f"rtt = {rtt}",
        f"pairs = {pairs}",
        "",
        "[path.bottleneck]",
        f'rate = "{_rate(question.rate)}"',
        f'mtu = "{question.mtu} bytes"',
        f"queue = {queue(by_case(lambda case: _limit(question, case.buffer)))}",
        f"loss = {by_case(lambda case: {'kind': 'bernoulli', 'probability': case.loss} if case.loss else {'kind': 'none'})}",
        'reverse = { loss = "none" }',
        "",
        "[path.edge]",
        f'rate = "{_rate(question.edge)}"',
        f'mtu = "{question.mtu} bytes"',
        "",
    ]
    # Interfaces that are faster than the path never have a queue, so their hosts need no transmit queue that holds TCP back.
    slow = question.edge <= question.rate
    if most > 1 or slow or any(one.maxrate is not None for one in plan.candidates):
        lines += [
            "# `fq maxrate` is of each flow: so each flow has a host of its own, whose interface has that rate and a queue of about a",
            "# millisecond, which holds TCP back as Linux's does.",
            "[[host]]",
            f"name = {json.dumps(held)}",
            f"txqueuelen = {by_candidate(lambda one: f'{_txqueuelen(question, one)} packets')}",
            'on_full = "wait"',
            f"shape_rate = {by_candidate(lambda one: _rate(maxrate(question, one) or question.edge))}",
            "",
        ]
    if slow:
        lines += ["[[host]]", f'name = "{last}"', 'txqueuelen = "1000 packets"', 'on_full = "wait"', ""]
    for site in range(len(question.rtts)):
        lines += [
            "[[flow]]",
            f'name = "{group_of(site)}"',
            f"from = {by_candidate(lambda one, site=site: of_stream(one, site))}",
            f"to = {by_candidate(lambda one, site=site: [host.replace('left', 'right') for host in of_stream(one, site)])}",
            *([f'start = {{ random = "uniform 0 s..{STAGGER}" }}'] if site else []),
            'stack = "linux"',
            f"congestion_control = {by_candidate(lambda one: {'kind': one.control})}",
            f"count = {by_candidate(lambda one: one.streams)}",
            f'stagger = {{ random = "uniform 0 s..{STAGGER}" }}',
            f"pacing = {by_candidate(lambda one: 'on' if one.paced else 'auto')}",
            f"window = {by_candidate(lambda one: '6 MiB' if one.untouched else _size(plan.window(one)))}",
            f"window_sizing = {by_candidate(lambda one: {'kind': 'linux', 'rmem_max': '6 MiB'} if one.untouched else {'kind': 'static'})}",
            "",
        ]
    if any(case.rivals for case in plan.cases):
        lines += [
            "[[flow]]",
            'name = "rival"',
            f'from = "{last}"',
            f'to = "{last.replace("left", "right")}"',
            f'start = {{ random = "uniform 0 s..{STAGGER}" }}',
            'stack = "linux"',
            f'congestion_control = "{max(plan.cases, key=lambda case: case.rivals).control}"',
            f'window = "{_size(window_of(question, 1))}"',
            f"count = {by_case(lambda case: case.rivals)}",
            "",
        ]
    if question.load:
        load = question.load * question.carried / question.rate
        lines += [
            "[[flow]]",
            f'name = "{OTHERS}"',
            f'from = "{last}"',
            f'to = "{last.replace("left", "right")}"',
            f"stop = {by_length(lambda one: _time(one.duration - question.rtt))}",
            'stack = "linux"',
            f'traffic = {{ kind = "flows", sizes = "web-search", load = {load:g} }}',
            "",
        ]
    lines += [
        "[measure]",
        f"duration = {by_length(lambda one: _time(one.duration))}",
        f"warmup = {by_length(lambda one: _time(one.warmup))}",
    ]
    return "\n".join([*lines, *_skips(plan)]) + "\n"


def group_of(site: int) -> str:
    """Name of the group of flows of a site, from 0."""
    return f"candidate{site + 1}" if site else "candidate"


def _skips(plan: Plan) -> list[str]:
    """Rules that leave each cell with one length."""
    lines: list[str] = []
    for length in plan.lengths if len(plan.lengths) > 1 else []:
        for by_rate in (True, False):
            some = [one for one in plan.candidates if one.by_rate == by_rate]
            wrong = [case.name for case in plan.cases if some and plan.length(some[0], case) is not length]
            if wrong:
                lines += ["", "[[skip]]", f"length = {json.dumps(length.name)}", f"candidate = {json.dumps([one.name for one in some])}"]
                lines += [f"case = {json.dumps(wrong, ensure_ascii=False)}"] if len(plan.cases) > 1 else []
    return lines


def maxrate(question: Question, candidate: Candidate) -> float:
    """Rate limit of each stream, bit/s; 0 where it has none."""
    return (candidate.maxrate or 0.0) * question.carried / candidate.streams / len(question.rtts)


def _txqueuelen(question: Question, candidate: Candidate) -> int:
    rate = maxrate(question, candidate)
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
