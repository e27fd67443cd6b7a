"""Accuracy of `longfat trace` on the cause, on captures whose cause is known.

    python bench/verdicts.py [--split dev|train|test|fresh|final|fit|held|kernel] [--seed N] [--causes "A;B"] [--keep FOLDER]
        [--captures FOLDER] [--details] [--features FILE]

Without `--captures` it simulates: each cause with several controls, rates and round trips, beside a little other traffic, captured at the
sender, at the receiver and in between. Rules are made with `--split dev` and `train`; `test` has other round trips, rates, controls and
seeds, and is there to be judged by; `final` judges the rules for losses, which were made anew after it. How often a verdict of each
cause was right in `test`, and on captures of a kernel, is part of its confidence; `fresh` has others again, to judge confidences by.
`kernel` runs on the testbed: this machine's own TCP, reno and cubic, across longfat's queues, in real time.
`--keep` leaves the captures in a folder. `--captures` takes a folder instead, of `NAME-POINT.pcap` (or pcapng, or in zstd) beside
`NAME.json` that says {cause, control}; one of the captures here was taken of a kernel, on a path made for it.

`--features` writes cause, features and verdict of each as JSON, for `bench/fit_verdicts.py`.

Prints the confusion matrix, how many are right by point, control and round trip, how sure the verdicts were, and what was said of the
control.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import longfat
import longfat.capture
from longfat.capture import write_capture

POINTS = {"left1": "sender", "bottleneck": "between", "right1": "receiver"}
MANY = ("reno", "cubic", "htcp", "bic", "scalable", "highspeed", "hybla", "illinois", "westwood")
SPLITS = ("test", "fresh", "train", "final", "fit", "held")
LOSS_BASED = {"dev": ("reno", "cubic", "htcp"), **dict.fromkeys(SPLITS, MANY)}
EVERY = (*MANY, "bbr", "bbr3", "vegas", "compound", "yeah")
ANY = {"dev": ("reno", "cubic", "htcp", "bbr"), **dict.fromkeys(SPLITS, EVERY)}
RTTS = {
    "dev": (20, 100),
    "test": (5, 50, 150),
    "fresh": (10, 35, 75),
    "train": (8, 60),
    "final": (6, 28, 120),
    "fit": (7, 18, 45, 90),
    "held": (12, 30, 70, 130),
    "kernel": (22, 60),
}
RATES = {
    "dev": (30,),
    "test": (12, 25, 60),
    "fresh": (8, 15),
    "train": (14, 20),
    "final": (10, 17, 24),
    "fit": (9, 16, 26),
    "held": (6, 11, 20, 35),
    "kernel": (8, 12),
}
ALONE = ("fit", "held")
"""Splits in which every second flow has the path for itself."""

Cause = dict[str, str]
AQM = "active queue management"
CAUSES: dict[str, Cause] = {
    "receive window": {"flow": 'receive_buffer = "{window} bytes"', "any": "yes"},
    "closing window": {"flow": 'read_rate = "{read} kbit/s"\nreceive_buffer = "{bdp} bytes"', "any": "yes"},
    "send buffer": {"flow": 'send_buffer = "{window} bytes"', "any": "yes"},
    "application": {"traffic": '{{ kind = "telnet", interval = "{interval} ms", size = "20 kB" }}', "any": "yes"},
    "congestion, by loss": {"queue": '{{ kind = "droptail", limit = "1 bdp" }}'},
    "congestion, by ECN": {"queue": '{{ kind = "red", limit = "2 bdp", ecn = true }}', "flow": 'ecn = "classic"'},
    "RED": {"is": AQM, "queue": '{{ kind = "red", limit = "4 bdp", target_delay = "{early} ms", max_p = {max_p}, wq = 0.002 }}'},
    "CoDel": {"is": AQM, "queue": '{{ kind = "codel", target = "{target} ms" }}'},
    "PIE": {"is": AQM, "queue": '{{ kind = "pie", target = "{early} ms" }}'},
    "fq_codel": {"is": AQM, "queue": '{{ kind = "fq_codel", ecn = false }}'},
    "fq_codel, with ECN": {"is": "congestion, by ECN", "queue": '{{ kind = "fq_codel" }}', "flow": 'ecn = "classic"'},
    "bursts over a small buffer": {"queue": '{{ kind = "droptail", limit = "{small} packets" }}'},
    "random loss": {"loss": '{{ kind = "bernoulli", probability = {loss} }}', "queue": '{{ kind = "droptail", limit = "4 bdp" }}'},
    # A path that such losses keep from being full, and so without a queue.
    "random loss, much of it": {"is": "random loss", "loss": '{{ kind = "bernoulli", probability = {much} }}'},
    "policer": {"queue": '{{ kind = "policer", rate = "{policed} kbit/s", burst = "{tokens} bytes", limit = "4 bdp" }}', "any": "yes"},
    "policer of a small bucket": {
        "is": "policer",
        "queue": '{{ kind = "policer", rate = "{policed} kbit/s", burst = "{little} bytes", limit = "4 bdp" }}',
        "any": "yes",
    },
    "receiver's ring": {"host": "true"},
    # A sender that takes three duplicates for a loss (RFC 6675), and takes nothing back.
    "reordering": {"reorder": ', reorder = {{ probability = {overtaken}, by = "{late} ms" }}', "flow": 'recovery = "sack"\nundo = false'},
    "a full path": {"queue": '{{ kind = "droptail", limit = "{deep} bytes" }}', "flow": 'send_buffer = "{full} bytes"', "any": "yes"},
}
EXPERIMENT = """\
title = "{name}"
seed = {seed}

[path]
preset = "dumbbell"
pairs = 2
rtt = "{rtt} ms"
bottleneck = {{ rate = "{rate} Mbit/s", queue = {queue}, loss = {loss}{reorder} }}
edge = {{ rate = "1 Gbit/s" }}

[[flow]]
name = "main"
from = "left1"
to = "right1"
stack = "linux"
{slow_start}congestion_control = "{control}"
traffic = {traffic}
{flow}

{noise}{host}
[measure]
duration = "{seconds} s"
packets = "main"
"""
NOISE = """
[[flow]]
name = "noise"
from = "left2"
to = "right2"
traffic = {{ kind = "on_off", rate = "{kbps} kbit/s", on = "200 ms", off = "300 ms" }}
"""
# A host that is slower than the path, with a ring of 64: as a slow drop-tail queue, except for the blocks in which it is emptied.
HOST = """
[[host]]
name = "right1"
cpu = "{mhz} MHz"
receive_packet = "1000 cycles"
rx_ring = "64 packets"
rx_usecs = "1 ms"
rx_frames = "64 packets"
"""


@dataclass
class Case:
    """A capture, and what is known of it."""

    file: Path
    cause: str
    control: str
    point: str
    rtt: str


def text(
    name: str,
    cause: Cause,
    control: str,
    rtt: int,
    rate: int,
    rng: random.Random,
    *,
    slow_start: str = 'slow_start = "standard"\n',
    may_be_alone: bool = False,
) -> str:
    """The experiment in which `name` limits a flow, beside others or alone."""
    bdp = rate * 1e6 / 8 * rtt / 1e3
    packets = bdp / 1500
    # A generator of its own: scenarios made with the other one stay as they were.
    later = random.Random(f"{name} {control} {rtt} {rate}")
    values: dict[str, Any] = {
        "window": int(max(bdp * rng.uniform(0.2, 0.5), 6000)),
        "bdp": int(max(bdp, 30_000)),
        "read": int(rate * 1000 * rng.uniform(0.25, 0.5)),
        "interval": max(1, round(20e3 * 8 / (rate * 1e6 * rng.uniform(0.05, 0.2)) * 1e3)),
        "small": max(4, round(packets * rng.uniform(0.04, 0.1))),
        # Loss rate that leaves a third to a half of the rate to Reno, by Mathis et al. 1997.
        "loss": f"{min(0.02, (1.22 / (rng.uniform(0.3, 0.5) * packets)) ** 2):.2g}",
        "policed": int(rate * 1000 * rng.uniform(0.3, 0.7)),
        "tokens": int(max(15_000, bdp * rng.uniform(0.3, 1.5))),
        "deep": int(6 * bdp + 400_000),
        "full": int(2 * bdp + 60_000),
        "overtaken": f"{later.uniform(0.01, 0.05):.3f}",
        "late": f"{rtt * later.uniform(0.2, 0.8):.1f}",
        "little": int(later.uniform(5000, 12_000)),
        # From half to twice of the defaults (tc-red(8), tc-codel(8), tc-pie(8)).
        "early": f"{later.uniform(5, 30):.1f}",
        "target": f"{later.uniform(2.5, 10):.1f}",
        "max_p": f"{later.uniform(0.02, 0.2):.3f}",
    }
    is_alone = may_be_alone and later.random() < 0.5
    values["much"] = f"{min(0.05, (1.22 / (later.uniform(0.05, 0.25) * packets)) ** 2):.2g}"
    # A packet takes 1000 cycles.
    mhz = max(1, round(rng.uniform(0.5, 0.7) * rate * 1e6 / 12_000 * 1000 / 1e6))
    return EXPERIMENT.format(
        name=name,
        seed=rng.randrange(1, 1 << 20),
        rtt=rtt,
        rate=rate,
        slow_start=slow_start,
        queue=cause.get("queue", '{{ kind = "droptail", limit = "4 bdp" }}').format(**values),
        reorder=cause.get("reorder", "").format(**values),
        loss=cause.get("loss", '{{ kind = "none" }}').format(**values),
        control=control,
        traffic=cause.get("traffic", '"bulk"').format(**values),
        flow=cause.get("flow", "").format(**values),
        noise="" if is_alone else NOISE.format(kbps=rate * 1000 // 20),
        host=HOST.format(mhz=mhz) if "host" in cause else "",
        seconds=max(20, rtt // 3),
    )


def simulated(folder: Path, split: str, seed: int, causes: str) -> Iterator[Case]:
    """Captures of runs, made in `folder`; those that are there already are not made again."""
    for name, cause in CAUSES.items():
        if causes and name not in causes.split(";"):
            continue
        for rtt, control, rate, rng in settings(split, seed, name, cause):
            stem = stem_of(name, control, rtt, rate)
            facts = folder / f"{stem}.json"
            if not facts.exists():
                file = folder / f"{stem}.toml"
                is_kernel = split == "kernel"
                standard = "" if is_kernel else 'slow_start = "standard"\n'
                made = text(name, cause, control, rtt, rate, rng, slow_start=standard, may_be_alone=split in ALONE)
                file.write_text(made, encoding="utf-8")
                experiment = longfat.load(str(file))
                if is_kernel:
                    experiment.set("backend", '"testbed"')
                experiment.sweep(folder / stem, jobs=1)
                for at, point in POINTS.items():
                    write_capture(folder / stem, at, folder / f"{stem}-{point}.pcapng", snap=96)
                facts.write_text(json.dumps({"cause": cause.get("is", name), "control": control, "rtt": rtt / 1e3}), encoding="utf-8")
            yield from kept(folder, stem)


def stem_of(name: str, control: str, rtt: int, rate: int) -> str:
    """Start of the names of a run's files."""
    return f"{name}-{control}-{rtt}ms-{rate}M".replace(" ", "_").replace(",", "").replace("'", "")


def settings(split: str, seed: int, name: str, cause: Cause) -> Iterator[tuple[int, str, int, random.Random]]:
    """Round trips, controls and rates of a cause, and what draws the rest."""
    if split == "kernel":
        for control in ("reno", "cubic"):
            for rtt, rate in zip(RTTS[split], RATES[split], strict=True):
                yield rtt, control, rate, random.Random(f"kernel {stem_of(name, control, rtt, rate)}")
        return
    for rtt in RTTS[split]:
        rng = random.Random(f"{seed} {split} {name} {rtt}")
        pool = ANY[split] if "any" in cause else LOSS_BASED[split]
        for control in rng.sample(pool, min(4, len(pool))):
            yield rtt, control, rng.choice(RATES[split]), rng


def kept(folder: Path, only: str = "") -> Iterator[Case]:
    """The captures in a folder, by what is written beside them."""
    for facts in sorted(folder.glob("*.json")):
        known = json.loads(facts.read_text(encoding="utf-8"))
        if "cause" not in known or (only and facts.stem != only):
            continue
        for file in sorted(folder.glob(f"{facts.stem}-*.pcap*")):
            point = file.name[len(facts.stem) + 1 :].split(".")[0]
            yield Case(file, known["cause"], known["control"], point, f"{1e3 * known['rtt']:.0f} ms")


def judge(cases: Iterator[Case], details: bool, features: Path | None) -> None:
    """Reads all, prints the matrix."""
    rows: list[dict[str, Any]] = []
    matrix: dict[str, Counter[str]] = defaultdict(Counter)
    right: dict[str, list[bool]] = defaultdict(list)
    sure: dict[bool, list[float]] = defaultdict(list)
    controls: dict[str, Counter[str]] = defaultdict(Counter)
    for case in cases:
        found = longfat.capture.read(case.file).connections
        one = max(found, key=lambda other: other.data.bytes_acked)
        verdict = one.verdict
        is_right = verdict.cause == case.cause
        of_it = {"file": case.file.name, "cause": case.cause, "control": case.control, "features": one.features}
        rows.append({**of_it, "verdict": verdict.cause, "confidence": verdict.confidence})
        matrix[case.cause][verdict.cause] += 1
        sure[is_right].append(verdict.confidence)
        at_point = one.capture_point == case.point
        for group in ("all", f"at {case.point}", f"with {case.control}", f"rtt {case.rtt}", f"point found: {at_point}"):
            right[group].append(is_right)
        controls[case.control][one.control.name or "cannot tell"] += 1
        if details and not is_right:
            print(f"{case.file.name}: {verdict.cause} {verdict.confidence:.2f}: {verdict.why}")
    if features:
        features.write_text(json.dumps(rows), encoding="utf-8")
    for name, found in matrix.items():
        rest = ", ".join(f"{other} {n}" for other, n in found.most_common() if other != name)
        print(f"{name:28} {found[name]:4} of {sum(found.values()):4} {rest}")
    for group, are_right in sorted(right.items()):
        print(f"{group:28} {sum(are_right):4} of {len(are_right):4}")
    for is_right, confidences in sure.items():
        print(f"mean confidence where {'right' if is_right else 'wrong'}: {sum(confidences) / len(confidences):.2f}")
    if pairs := [(a > b) + (a == b) / 2 for a in sure[True] for b in sure[False]]:
        print(f"a right verdict is surer than a wrong one in {100 * sum(pairs) / len(pairs):.0f} % of pairs")
    errors = [(confidence - is_right) ** 2 for is_right, confidences in sure.items() for confidence in confidences]
    print(f"mean square of confidence less truth (Brier): {sum(errors) / max(len(errors), 1):.3f}")
    for name, guesses in sorted(controls.items()):
        print(f"control {name:20} {', '.join(f'{other} {n}' for other, n in guesses.most_common())}")


def main() -> None:
    """Command line; the module's docstring describes it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--split", choices=tuple(RTTS), default="dev")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--causes", default="", help="only these, with semicolons between them")
    parser.add_argument("--captures", type=Path)
    parser.add_argument("--details", action="store_true")
    parser.add_argument("--features", type=Path)
    asked = parser.parse_args()
    if asked.captures:
        judge(kept(asked.captures), asked.details, asked.features)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = asked.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        judge(simulated(folder, asked.split, asked.seed, asked.causes), asked.details, asked.features)


main()
