"""Accuracy of `longfat trace` on the kind of retransmission, on simulated captures whose record says which kind each was.

    python bench/kinds.py [--split train|test] [--seed N] [--runs N] [--details]

Each run draws a path, a control, a recovery, a stack and a pattern of loss or reordering, and is captured at the sender, in between and
at the receiver. The record of the run holds every transmission, and when its sender entered fast recovery or timed out. Rules are made with
`train`; `test` draws other numbers, and is there to be judged by.

Agreement of a kind is what both sides count in each capture, summed, over what either counts.
"""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import longfat
import longfat.capture
from longfat.capture import write_capture

POINTS = {"left1": "sender", "bottleneck": "between", "right1": "receiver"}
KINDS = ("fast", "timeout", "tail_probe", "unknown")
PATTERNS = ("queue", "random", "bursts", "outages", "heavy", "reordered", "slightly reordered", "jitter")
EXPERIMENT = """\
title = "kinds"
seed = {seed}

[path]
preset = "dumbbell"
rtt = "{rtt:.3f} ms"
bottleneck = {{ rate = "{rate:.2f} Mbit/s", queue = {{ kind = "droptail", limit = "{limit} packets" }}{pattern} }}
edge = {{ rate = "1 Gbit/s" }}

[[flow]]
name = "main"
stack = "{stack}"
congestion_control = "{control}"
recovery = "{recovery}"
timestamps = {timestamps}
delayed_ack = "{delayed}"
traffic = {traffic}

[measure]
duration = "{seconds} s"
events = true
packets = "all"
"""


def text(rng: random.Random) -> tuple[str, dict[str, Any]]:
    """An experiment, and the words that group it."""
    rtt, rate = 10 ** rng.uniform(0, 2.3), 10 ** rng.uniform(0.3, 1.7)
    packets = rate * rtt * 1e3 / 8 / 1500
    pattern = rng.choice(PATTERNS)
    loss = 10 ** rng.uniform(-3, -1.5)
    late = rtt * rng.uniform(0.1, 0.9)
    line = {
        "queue": "",
        "random": f', loss = {{ kind = "bernoulli", probability = {loss:.4f} }}',
        "bursts": f', loss = {{ kind = "gilbert_elliott", p = {loss / 4:.5f}, r = {rng.uniform(0.1, 0.6):.2f} }}',
        "outages": f', loss = {{ kind = "gilbert_elliott_time", good_for = "2 s", bad_for = "{rng.uniform(20, 400):.0f} ms" }}',
        "heavy": f', loss = {{ kind = "bernoulli", probability = {rng.uniform(0.05, 0.25):.3f} }}',
        "reordered": f', reorder = {{ probability = {loss:.4f}, by = "{late:.3f} ms" }}',
        "slightly reordered": f', reorder = {{ probability = {loss:.4f}, by = "{rng.uniform(2, 48):.1f} us" }}',
        "jitter": f', loss = {{ kind = "bernoulli", probability = {loss:.4f} }}, '
        f'jitter = {{ most = "{rtt * rng.uniform(0.2, 2):.3f} ms" }}',
    }[pattern]
    if pattern == "slightly reordered":
        # A packet must take less time than it is late by.
        rate = rng.uniform(400, 1000)
    recovery = rng.choice(("newreno", "sack", "rack", "rack"))
    stack = rng.choice(("rfc", "linux", "linux"))
    chosen = {
        "rtt": rtt,
        "rate": rate,
        "limit": max(4, round(packets * rng.uniform(0.2, 1.5))) if pattern in ("queue",) else max(2000, round(4 * packets)),
        "pattern": line,
        "stack": stack,
        "control": rng.choice(("reno", "cubic", "cubic", "bbr", "htcp")),
        "recovery": recovery,
        "timestamps": "true" if rng.random() < 0.7 else "false",
        "delayed": rng.choice(("timer", "off")),
        "traffic": '"bulk"'
        if rng.random() < 0.7
        else f'{{ kind = "telnet", interval = "{rng.choice((50, 300))} ms", size = "{rng.choice((5, 40))} kB" }}',
        "seconds": 1 if pattern == "slightly reordered" else 10,
        "seed": rng.randrange(1, 1 << 20),
    }
    return EXPERIMENT.format(**chosen), {"pattern": pattern, "recovery": recovery}


def sent(packets: Any, events: Any) -> list[tuple[float, int, float, str]]:
    """Every transmission of data in order: time, start, TSval, and its kind, empty for a first one."""
    times = [(time, kind) for time, kind in zip(events["time_s"], events["kind"], strict=True)]
    packets = packets.assign(ts_val=packets.get("ts_val", math.nan))
    own = packets[(packets["event"] == "sent") & (packets["direction"] == "forward") & (packets["len_bytes"] > 0)]
    back = packets[(packets["event"] == "delivered") & (packets["direction"] == "back")]
    acks = list(zip(back["time_s"], back["ack_bytes"].fillna(0), strict=True))
    made: list[tuple[float, int, float, str]] = []
    most, acked, place, at = 0, 0.0, 0, 0
    by_timer = by_acks = -1
    for time, start, length, stamp in zip(own["time_s"], own["seq_bytes"], own["len_bytes"], own["ts_val"], strict=True):
        while at < len(acks) and acks[at][0] <= time:
            acked = max(acked, acks[at][1])
            at += 1
        while place < len(times) and times[place][0] <= time:
            if times[place][1] == "timeout":
                by_timer = most
            elif times[place][1] == "fast_retransmit":
                by_acks = most
            place += 1
        kind = ""
        if start < most:
            kind = "timeout" if by_timer > acked else "fast" if by_acks > acked else "tail_probe"
        made.append((time, int(start), float(stamp), kind))
        most = max(most, int(start + length))
    return made


def truth(packets: Any, events: Any, point: str) -> Counter[str]:
    """Kinds of the retransmissions that pass at `point`, and of which it shows that they are such."""
    made = sent(packets, events)
    forward = (packets["direction"] == "forward") & (packets["len_bytes"] > 0)
    packets = packets.assign(ts_val=packets.get("ts_val", math.nan))
    came = packets[forward & (packets["event"] == "delivered")]
    by_start: dict[int, list[tuple[float, float, str, int]]] = defaultdict(list)
    for place, (time, start, stamp, kind) in enumerate(made):
        by_start[start].append((time, stamp, kind, place))
    found: Counter[str] = Counter()
    # No delay is shorter than that of what was sent once.
    alone = {start: sent for start, [sent, *more] in by_start.items() if not more}
    delays = [time - alone[start][0] for time, start in zip(came["time_s"], came["seq_bytes"], strict=True) if start in alone]
    least = min(delays, default=0.0)
    most, newest = 0, -1
    for time, start, length, stamp in zip(came["time_s"], came["seq_bytes"], came["len_bytes"], came["ts_val"], strict=True):
        # (Where nothing sent later has passed, either, nothing there shows that it was sent before.)
        is_seen, most = start < most, max(most, start + length)
        before = [one for one in by_start[int(start)] if one[0] + least <= time + 1e-9 and (one[1] == stamp or math.isnan(stamp))]
        if before:
            by_start[int(start)].remove(before[-1])
            found[before[-1][2]] += int(is_seen)
            # (A first transmission. Not every tool tells it from its retransmission where there is one.)
            found["overtaken"] += int(before[-1][3] < newest and not before[-1][2])
            newest = max(newest, before[-1][3])
    # All that is sent comes to the queue: nothing is lost before it, and nothing overtaken there.
    if point != "receiver":
        found = Counter(kind for *_, kind in made if kind) | Counter(overtaken=found["overtaken"])
    del found[""]
    return found


def main() -> None:
    """Command line; the module's docstring describes it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--split", choices=("train", "test"), default="train")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--details", action="store_true")
    asked = parser.parse_args()
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    with tempfile.TemporaryDirectory() as name:
        folder = asked.keep or Path(name)
        for number in range(asked.runs):
            experiment, words = text(random.Random(f"{asked.split} {asked.seed} {number}"))
            file = folder / f"{asked.split}-{asked.seed}-{number}.toml"
            results = file.with_suffix("")
            files = {point: folder / f"{file.stem}-{point}.pcapng" for point in POINTS.values()}
            if not all(capture.with_suffix(".json").exists() for capture in files.values()):
                file.write_text(experiment, encoding="utf-8")
                [run] = longfat.load(str(file)).sweep(results, jobs=1)
                for at, point in POINTS.items():
                    write_capture(results, at, files[point], snap=128)
                    files[point].with_suffix(".json").write_text(json.dumps(truth(run.packets, run.events, point)), encoding="utf-8")
                shutil.rmtree(results)
            for point, capture in files.items():
                known = Counter(json.loads(capture.with_suffix(".json").read_text(encoding="utf-8")))
                one = max(longfat.capture.read(capture).connections, key=lambda other: other.data.bytes)
                said, moved = one.data.retransmitted, one.data.reordered.before_capture + one.data.reordered.behind_capture
                for group in ("all", f"at {point}", words["pattern"], words["recovery"]):
                    for kind in KINDS:
                        groups[group][f"{kind} true"] += known[kind]
                        groups[group][f"{kind} said"] += getattr(said, kind)
                        groups[group][f"{kind} both"] += min(known[kind], getattr(said, kind))
                    groups[group]["overtaken true"] += known["overtaken"]
                    groups[group]["overtaken said"] += moved
                    groups[group]["overtaken both"] += min(known["overtaken"], moved)
                    groups[group]["true"] += sum(known[kind] for kind in KINDS)
                    groups[group]["said"] += said.segments
                    groups[group]["either"] += max(sum(known[kind] for kind in KINDS), said.segments)
                wrong = {kind: (known[kind], getattr(said, kind)) for kind in KINDS if known[kind] != getattr(said, kind)}
                if asked.details and (wrong or known["overtaken"] != moved):
                    overtaken = f"overtaken {known['overtaken']}, {moved} said"
                    print(f"{number} {point} {words['pattern']} {words['recovery']}: {wrong} {overtaken}")
    for group, counts in groups.items():
        both = sum(counts[f"{kind} both"] for kind in KINDS)
        kinds = "; ".join(
            f"{kind} {counts[f'{kind} both']} of {counts[f'{kind} true']} ({counts[f'{kind} said']} said)" for kind in (*KINDS, "overtaken")
        )
        print(f"{group:20} {both / max(counts['either'], 1):6.1%} of {counts['true']} ({counts['said']} said): {kinds}")


main()
