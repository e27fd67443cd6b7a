"""Random networks: what is conserved is conserved, and no rate is above that of the link that carries it."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random

import longfat
from longfat import ExperimentError, Result
from longfat._longfat import registries
from longfat.store import Store
from longfat.sweep.work import execute

SLACK = 1 + 1e-9
BOUNDS = {entry["name"]: entry["bound"] for entry in registries()["metrics"] if "bound" in entry}
"""Bounds of each metric's values by the registry, whatever the network."""


def network(random: Random) -> str:
    """An experiment file of a small network with anything on it."""
    names = {kind: [entry["name"] for entry in entries] for kind, entries in registries().items()}

    def link(most: int) -> str:
        parts = [f'rate = "{random.randrange(100, most)} kbit/s"']
        if random.random() < 0.5:
            limit = random.choice(("3 packets", "20 packets", "1 bdp", "100 kB"))
            parts.append(f'queue = {{ kind = "droptail", limit = "{limit}" }}')
        if random.random() < 0.3:
            parts.append(f'loss = {{ kind = "bernoulli", probability = {random.choice((0.001, 0.01, 0.2))} }}')
        return "{ " + ", ".join(parts) + " }"

    lines = [f"seed = {random.randrange(1000)}"]
    if random.random() < 0.5:
        lines += ["[path]", 'preset = "dumbbell"', f"pairs = {random.randrange(1, 5)}"]
        ends = ("left", "right")
    else:
        lines += ["[path]", 'preset = "parking_lot"', f"bottlenecks = {random.randrange(1, 4)}"]
        ends = random.choice((("left", "right"), ("in", "out")))
    lines += [f'rtt = "{random.choice((1, 7, 40, 200))} ms"', f"bottleneck = {link(20_000)}", f"edge = {link(100_000)}"]
    for i in range(random.randrange(1, 5)):
        kind = random.choice(
            (
                '"bulk"',
                '{ kind = "ttcp", volume = "VOLUME kB" }',
                '{ kind = "ping", interval = "50 ms" }',
                '{ kind = "udp", rate = "2 Mbit/s" }',
            )
        )
        lines += ["[[flow]]", f'name = "f{i}"', f'from = "{ends[0]}"', f'to = "{ends[1]}"', f"count = {random.randrange(1, 4)}"]
        lines += [f"traffic = {kind.replace('VOLUME', str(random.randrange(1, 500)))}", f'start = "{random.randrange(100)} ms"']
        if random.random() < 0.5:
            lines.append(f'stagger = "{random.randrange(1, 100)} ms"')
        if "tcp" in kind or "bulk" in kind:
            lines.append(f'stack = "{random.choice(names["stacks"])}"')
            if random.random() < 0.3:
                lines.append(f'window = "{random.choice((4, 64, 500))} KiB"')
    lines += ["[measure]", f'duration = "{random.choice((400, 900, 3000))} ms"', "events = true"]
    if random.random() < 0.5:
        lines.append(f'interval = "{random.choice((1, 13, 100))} ms"')
    return "\n".join(lines) + "\n"


def check_metrics(result: Result) -> None:
    """Each metric is within its bounds, nowhere infinite, and no goodput is above what the links carry."""
    tables = (result.flows, result.links, result.hosts)
    for name, (least, most) in BOUNDS.items():
        values = [float(value) for table in tables if name in table for value in table[name]]
        values += [result.metrics[name]] if name in result.metrics else []
        for value in values:
            # NaN is no value; which metrics must have one is asked of the random networks of crates/sim.
            assert math.isnan(value) or (math.isfinite(value) and least - 1e-9 <= value <= most + 1e-9), f"{name} is {value}"
    # Every way of a network here leads over one bottleneck or over all, which are alike; there is no warmup, in which queues could fill.
    rates = [float(link["rate_bps"]) for _, link in result.links.iterrows() if link["bottleneck"]]
    assert result.metrics["goodput_total_bps"] <= sum(rates) * SLACK or math.isnan(result.metrics["goodput_total_bps"])
    for _, flow in result.flows.iterrows():
        assert flow["goodput_bps"] <= max(rates) * SLACK or math.isnan(flow["goodput_bps"]), f"flow {flow['flow']}: {flow['goodput_bps']}"


def check(result: Result) -> None:
    """Checks what holds of every run, seen from outside."""
    check_metrics(result)
    conserved(result)


def conserved(result: Result) -> None:
    """Checks what holds of every link and of every flow, in whatever network."""
    for _, link in result.links.iterrows():
        lost = sum(
            link[name]
            for name in result.links
            if str(name).startswith("drops_") and name not in ("drops_loss", "drops_corrupted", "drops_no_memory")
        )
        waiting = link["packets_in"] - link["packets_transmitted"] - link["packets_queued"] - lost
        # One may be on its way out.
        assert waiting in (0, 1), f"{link['name']}: {waiting} packets are neither queued, sent nor dropped"
        on_wire = link["packets_transmitted"] - link["packets_delivered"] - link["packets_lost"] - link["packets_in_flight"]
        assert on_wire in (-1, 0), f"{link['name']}: {on_wire} packets have left and are nowhere"
        carried = link["wire_bytes"] * 8 / link["rate_bps"]
        assert carried <= result.end_s * SLACK + 1500 * 8 / link["rate_bps"], f"{link['name']} carried more than it can"
        for share in ("utilization", "loss_share"):
            assert math.isnan(link[share]) or 0 <= link[share] <= SLACK, f"{link['name']}: {share} is {link[share]}"
    for _, flow in result.flows.iterrows():
        assert flow["bytes_delivered"] <= flow["bytes_sent"], f"flow {flow['flow']} delivered more than it sent"
        assert flow["bytes_retransmitted"] <= flow["bytes_sent"]
        assert not flow["rtt_min_s"] > flow["rtt_mean_s"] * SLACK
        assert not flow["rtt_mean_s"] > flow["rtt_max_s"] * SLACK
    if len(result.flow_series):
        for _, series in result.flow_series.groupby("flow"):
            assert series["time_s"].is_monotonic_increasing
            assert series["bytes_delivered"].is_monotonic_increasing


def attack(random: Random, folder: Path) -> None:
    """One network, run twice and stored: the same both times, and all that is conserved is."""
    try:
        experiment = longfat.Experiment(network(random))
    except ExperimentError:  # such as a queue that has no room for a packet
        return
    run = experiment.resolve(0)
    result, trace = execute(run, "")
    check(result)
    again, _ = execute(experiment.resolve(0), "")
    store = Store(folder / "results")
    with store.writer() as writer:
        writer.keep(run, "", trace, result.wall_s, result.cpu_s)
    for other in (again, store.read(run.hash)):
        for table in ("flows", "links", "hosts", "flow_series", "link_series", "events"):
            assert getattr(result, table).equals(getattr(other, table)), f"{table} differs"
        assert str(result.metrics) == str(other.metrics)
