"""A thousand links, and a report of two thousand runs: each is done in the end, and right."""

from __future__ import annotations

import resource
from pathlib import Path
from random import Random

import longfat

from torture.networks import conserved
from torture.stop import start

REPORT = """
title = "Many"
repeats = 50
[path]
preset = "dumbbell"
rtt = { sweep = ["5 ms", "10 ms", "20 ms", "40 ms"], name = "rtt" }
edge = { rate = "100 Mbit/s" }
[path.bottleneck]
rate = { sweep = ["1 Mbit/s", "2 Mbit/s", "5 Mbit/s", "10 Mbit/s", "20 Mbit/s"], name = "rate" }
loss = { kind = "bernoulli", probability = 0.01 }
queue = { kind = "droptail", limit = "20 packets" }
[[flow]]
congestion_control = { sweep = ["reno", "cubic"], name = "control" }
[measure]
duration = "300 ms"
interval = "20 ms"
events = true
"""
"""Two thousand runs."""
SECONDS = 60
"""The most CPU time that a report of them may take: three times what it took when this was written."""


def network(random: Random) -> str:
    """A tree of a thousand links, whose hosts are its leaves, and flows between some of them."""
    routers = [f"r{i}" for i in range(random.randrange(100, 900))]
    hosts = [f"h{i}" for i in range(1001 - len(routers))]
    branching = random.choice((1, 2, 20))
    lines = [f"seed = {random.randrange(1000)}", "[path]", 'preset = "explicit"', f"hosts = {hosts}", f"routers = {routers}"]
    joined = [(routers[i], routers[max(0, i - random.randrange(1, branching + 1))]) for i in range(1, len(routers))]
    joined += [(host, random.choice(routers)) for host in hosts]
    for number, (one, other) in enumerate(joined):
        rate, delay = random.choice((1, 10, 100)), random.choice((0, 1, 100))
        lines += [
            "[[path.link]]",
            f'name = "l{number}"',
            f'from = "{one}"',
            f'to = "{other}"',
            f'rate = "{rate} Mbit/s"',
            f'delay = "{delay} us"',
        ]
        lines.append(f'queue = {{ kind = "droptail", limit = "{random.choice((3, 30, 300))} packets" }}')
    assert len(joined) == 1000
    for number in range(random.randrange(1, 60)):
        one, other = random.sample(hosts, 2)
        volume = random.randrange(1, 100)
        lines += ["[[flow]]", f'name = "f{number}"', f'from = "{one}"', f'to = "{other}"']
        lines += [random.choice(('traffic = "bulk"', f'traffic = {{ kind = "ttcp", volume = "{volume} kB" }}'))]
    return "\n".join([*lines, "[measure]", f'duration = "{random.choice((200, 800))} ms"', "events = true"]).replace("'", '"') + "\n"


def attack(random: Random, folder: Path) -> None:
    """Nearly always the links: the report takes a minute."""
    if random.random() < 0.9:
        result = longfat.Experiment(network(random), name="thousand").run()
        assert len(result.links) == 2000
        conserved(result)
        return
    (folder / "many.toml").write_text(REPORT, encoding="utf-8")
    results = longfat.Experiment(REPORT, name="many").sweep(folder / "results" / "many")
    assert len(results) == 2000
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    process = start(folder, "report", "many")
    _, said = process.communicate(timeout=1200)
    took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    assert process.returncode == 0, said
    assert took < SECONDS, f"a report of 2,000 runs took {took:.0f} s of CPU"
    pages = list((folder / "reports").rglob("*.html"))
    assert pages
    assert all(page.stat().st_size < 50e6 for page in pages), [page.stat().st_size for page in pages]
