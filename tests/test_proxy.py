"""A proxy that breaks a connection in two: `relays` of a flow."""

from __future__ import annotations

import pytest
from longfat import Experiment, Results
from longfat.errors import ExperimentError

KIB = 1024
PATH = """title = "Split"

[path]
preset = "explicit"
hosts = ["a", "proxy", "b"]
routers = ["r"]

[[path.link]]
from = "a"
to = "r"
rate = "100 Mbit/s"
delay = "15 ms"

[[path.link]]
from = "r"
to = "b"
rate = "{rate}"
delay = "15 ms"
queue = {{ kind = "droptail", limit = "100 packets" }}

[[path.link]]
from = "r"
to = "proxy"
rate = "1 Gbit/s"

[measure]
duration = "5 s"
"""
WHOLE = """
[[flow]]
name = "whole"
from = "a"
to = "b"
window = "64 KiB"
"""
SPLIT = """
[[flow]]
name = "first"
from = "a"
to = "proxy"
window = "64 KiB"
{first}
[[flow]]
name = "second"
from = "proxy"
to = "b"
relays = "first"
window = "64 KiB"
{second}"""


def text(flows: str, rate: str = "100 Mbit/s") -> str:
    return PATH.format(rate=rate) + flows


def split(first: str = "", second: str = "") -> str:
    return SPLIT.format(first=first, second=second)


def values(results: Results, group: str, column: str) -> list[float]:
    flows = results.flows
    return [float(value) for value in flows[flows["group"] == group][column]]


def value(results: Results, group: str, column: str) -> float:
    (one,) = values(results, group, column)
    return one


def test_two_connections_of_half_the_round_trip_carry_twice_as_much() -> None:
    whole = float(Experiment(text(WHOLE)).sweep(jobs=1).runs["goodput_total_bps"][0])
    results = Experiment(text(split())).sweep(jobs=1)
    assert whole == pytest.approx(64 * KIB * 8 / 0.06, rel=0.05)
    assert value(results, "second", "goodput_bps") == pytest.approx(2 * whole, rel=0.05)
    # Bytes count once: on the connection that ends at the receiver.
    assert float(results.runs["goodput_total_bps"][0]) == value(results, "second", "goodput_bps")


def test_a_proxy_reads_no_more_than_it_can_send() -> None:
    results = Experiment(text(split(), rate="2 Mbit/s")).sweep(jobs=1)
    assert value(results, "second", "goodput_bps") == pytest.approx(2e6, rel=0.08)
    came, read = (value(results, "first", f"bytes_{what}") for what in ("arrived", "delivered"))
    # The send buffer of one connection and the window of the other hold all that is under way.
    assert 0 < read - value(results, "second", "bytes_delivered") <= 64 * KIB
    assert 0 < came - read <= 64 * KIB


def test_the_end_of_the_stream_passes_the_proxy_after_the_last_byte() -> None:
    results = Experiment(text(split('stop = "2 s"'))).sweep(jobs=1)
    assert value(results, "second", "bytes_delivered") == value(results, "first", "bytes_delivered") > 0
    assert 2 < value(results, "first", "delivered_all_s") < value(results, "second", "delivered_all_s") < 2.2


def test_a_proxy_with_a_processor_and_little_memory_passes_on_all() -> None:
    host = '\n[[host]]\nname = "proxy"\ncpu = "1000 MHz"\nsend_byte = 8.0\nmemory = "64 KiB"\n'
    results = Experiment(text(split('stop = "2 s"') + host)).sweep(jobs=1)
    assert value(results, "second", "bytes_delivered") == value(results, "first", "bytes_delivered") > 0


def test_where_packets_are_lost_every_byte_comes_once() -> None:
    made = Experiment(text(split('count = 3\nstop = "3 s"', "count = 3"), rate="5 Mbit/s"))
    made.set("path.link[1].loss", '{ kind = "bernoulli", probability = 0.02 }')
    results = made.sweep(jobs=1)
    first, second = (values(results, name, "bytes_delivered") for name in ("first", "second"))
    assert first == second
    assert all(first)
    assert len(first) == 3


@pytest.mark.parametrize(
    ("flows", "error"),
    [
        (split().replace('relays = "first"', 'relays = "frist"'), "no flow above `second` is called `frist`"),
        (split(second='traffic = "bulk"\n'), "`second` sends what it relays"),
        (split(second='stop = "2 s"\n'), "`second` sends what it relays"),
        (split(second="count = 2\n"), "`second` has 2 connections, and `first` has 1"),
        (split('traffic = { kind = "ttcp", volume = "1 MB" }\n'), "`first` cannot be relayed"),
        (split('read_rate = "1 Mbit/s"\n'), "`first` cannot be relayed"),
        (split('traffic = { kind = "ping", interval = "1 s" }\n'), "`first` cannot be relayed"),
        (split().replace('to = "proxy"', 'to = "b"').replace('from = "proxy"\nto = "b"', 'from = "proxy"\nto = "a"'), "ends at `b`"),
        (split() + split().split("[[flow]]")[2].replace('"second"', '"third"').join(["\n[[flow]]", ""]), "`first` is relayed twice"),
    ],
)
def test_a_relay_that_cannot_be_is_refused(flows: str, error: str) -> None:
    with pytest.raises(ExperimentError, match=error):
        Experiment(text(flows)).sweep(jobs=1)


@pytest.mark.parametrize("backend", ["testbed"])
def test_backends_of_the_kernel_refuse_a_proxy(backend: str) -> None:
    with pytest.raises(ExperimentError, match="cannot do a proxy between two connections"):
        Experiment(f'backend = "{backend}"\n' + text(split())).sweep(jobs=1)
