"""A run that is stepped."""

from __future__ import annotations

import longfat
import pytest
from conftest import LONG, ONE, SWEEP
from longfat import Experiment, LongfatError, Simulation, _longfat


def test_however_it_is_stepped_it_gives_what_a_run_gives() -> None:
    sim = Simulation(Experiment(ONE))
    assert (sim.now, sim.done, list(sim.flows)) == (0.0, False, [0, 1])
    sim.advance("150 ms")
    assert sim.now == 0.15
    while not sim.done:
        sim.advance(sim.now + 0.07)
        sim.observe()
    stepped, plain = sim.finish(), Experiment(ONE).run()
    for name in ("flows", "links", "flow_series", "link_series", "events"):
        assert getattr(stepped, name).equals(getattr(plain, name)), name
    assert (stepped.run, stepped.end_s) == (plain.run, plain.end_s)


def test_what_it_sees_is_what_the_series_have() -> None:
    sim, plain = Simulation(Experiment(ONE)), Experiment(ONE).run()
    sim.advance(0.5)
    seen = sim.observe()
    then = plain.flow_series[plain.flow_series["time_s"] == 0.5]
    assert [flow["cwnd"] for flow in seen.flows] == list(then["cwnd_bytes"])
    assert [flow["bytes_delivered"] for flow in seen.flows] == list(then["bytes_delivered"])
    assert [flow["srtt"] for flow in seen.flows] == list(then["srtt_s"])
    links = plain.link_series[plain.link_series["time_s"] == 0.5]
    assert [queue["backlog_packets"] for queue in seen.queues] == list(links["backlog_packets"])
    assert [queue["name"] for queue in seen.queues] == list(plain.links["name"])


def test_what_is_set_holds_and_is_given_back() -> None:
    sim = Simulation(Experiment(ONE))
    sim.advance(0.2)
    sim.set(0, cwnd="4 KiB")
    sim.advance(0.6)
    assert sim.observe().flows[0]["cwnd"] == 4096
    sim.set(0, cwnd=None, pacing_rate="1 Mbit/s")
    sim.advance(0.8)
    assert sim.observe().flows[0]["cwnd"] > 4096
    assert sim.observe().flows[0]["pacing_rate"] == 1e6
    result = sim.finish()
    assert result.run == ""  # it is not the run that has this hash
    assert result.flows["ttcp_rate_bps"][0] < 2e6


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda sim: sim.set(7, cwnd=1), "there is no flow 7: expected 0 to 1"),
        (lambda sim: sim.set(0, cwnd="5 s"), "expected a size with its unit"),
        (lambda sim: sim.set(0, cwnd=-1), "cwnd = -1: expected a number from 1"),
        (lambda sim: sim.set(0, cwnd=[]), "cwnd = .*: expected a number from 1"),
        (lambda sim: sim.set(0, pacing_rate=float("inf")), "pacing_rate = inf: expected a number from 1"),
        (lambda sim: sim.advance("64 KiB"), "expected a time with its unit"),
        (lambda sim: sim.advance(float("nan")), "until = nan"),
    ],
)
def test_what_makes_no_sense_is_refused(call: object, message: str) -> None:
    with pytest.raises(LongfatError, match=message):
        call(Simulation(Experiment(ONE)))  # type: ignore[operator]


def test_the_native_simulation_holds_no_flow_that_is_not_there() -> None:
    native = _longfat.Simulation(Experiment(ONE).resolve(0))
    for flow in (2, 2**63 - 1):
        assert not native.hold_cwnd(flow, 1000)
        assert not native.hold_pacing_rate(flow, 1000)


def test_a_sweep_and_what_is_finished_are_refused() -> None:
    with pytest.raises(LongfatError, match="choose one with resolve"):
        Simulation(Experiment(SWEEP))
    sim = Simulation(Experiment(SWEEP).resolve(1))
    sim.finish()
    with pytest.raises(LongfatError, match="finished"):
        sim.advance(1)


def test_time_does_not_go_back() -> None:
    sim = Simulation(Experiment(ONE))
    sim.advance(0.5)
    sim.advance(0.2)
    assert sim.now == 0.5


def test_a_ping_has_no_window() -> None:
    sim = Simulation(Experiment(ONE.replace('{ kind = "ttcp", volume = "500 kB" }', '{ kind = "ping", interval = "10 ms" }')))
    with pytest.raises(LongfatError, match="is not TCP"):
        sim.set(0, cwnd=1000)


def test_a_long_run_can_be_looked_at_early() -> None:
    sim = Simulation(longfat.Experiment(LONG))
    sim.advance("20 ms")
    assert not sim.done
