"""A measured path as an experiment: from made-up measurements, and from simulated ones of paths that are known."""

from __future__ import annotations

from dataclasses import replace

import longfat
import pytest
from longfat.live.seen import HEADERS, MTU, STANDS_S, Facts, ends, seen
from longfat.live.survey import Direction, Survey
from longfat.theory.probe import Estimate

FULL = Facts(
    duration_s=10.0,
    rates_bps=[18e6, *[19.3e6] * 9],
    rtt_s=0.0401,
    idle_p95_s=1e-4,
    loaded_p95_s=0.0385,
    loaded_p99_s=0.04,
    retransmitted_bytes=30e3,
    loss=1e-3,
    waits_s=0.03,
    excess_bytes=120e3,
    peak_bps=25e6,
    cause="congestion, by loss",
    is_held=False,
    in_flight_bytes=190e3,
    control="cubic",
)


def test_a_path_that_was_filled_each_way_is_known() -> None:
    path = seen("dtn.example.org", "2026-11-27 23:00", FULL, replace(FULL, rates_bps=[9.65e6] * 8, loaded_p99_s=0.08, control="reno"))
    assert path.unknown == []
    up, down = longfat.Experiment(path.text).sweep()
    assert (up.labels["direction"], down.labels["direction"]) == ("up", "down")
    # The link is busy, and its payload is the goodput that was measured.
    for run, goodput in ((up, 19.3e6), (down, 9.65e6)):
        assert abs(run.metrics["goodput_total_bps"] / goodput - 1) < 0.02
    assert set(up.flows["congestion_control"]) == {"cubic"}
    assert set(down.flows["congestion_control"]) == {"reno"}
    limit = 0.04 * 19.3e6 * MTU / (MTU - HEADERS) / 8
    assert f'limit = "{limit:.0f} bytes"' in path.text


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"is_held": True}, "a window or a buffer of a host held the flow"),
        ({"loaded_p95_s": 0.9 * STANDS_S}, "no queue stood under load"),
        ({"idle_p95_s": 0.02}, "no queue stood under load"),
        ({"idle_p95_s": float("nan"), "loaded_p95_s": float("nan"), "loaded_p99_s": float("nan")}, "no probe came through"),
    ],
)
def test_a_direction_that_was_not_filled_is_unknown(changed: dict[str, float], reason: str) -> None:
    path = seen("dtn", "today", FULL, replace(FULL, **changed))
    assert path.unknown == [f"rate down: {reason}", f"buffer down: {reason}"]
    assert path.text.count("unknown = [") == 2
    # It is a file for `longfat fit`: to run it says which values are unknown.
    with pytest.raises(longfat.LongfatError, match="unknown"):
        longfat.Experiment(path.text).sweep()


def test_a_buffer_that_lost_nothing_was_never_seen_full() -> None:
    path = seen("dtn", "today", replace(FULL, retransmitted_bytes=0.0), FULL)
    assert path.unknown == ["buffer up: nothing was lost, so it was never seen full"]


def test_a_hostile_name_of_a_host_stays_in_its_title() -> None:
    path = seen('x"\n[[flow]]\nname = "y', "today", FULL, FULL)
    assert len(longfat.Experiment(path.text).resolve(0).execute().tables()["flows"]["flow"]) == 1


def burst(**more: object) -> Direction:
    some = Direction(2000, 1200, 1500, Estimate(30e6, 29.8e6, 30.1e6), True, Estimate(90e3, 85e3, 93e3), float("nan"), 700, 100)
    return replace(some, **more)


def surveyed(up: Direction | None, down: Direction | None) -> Survey:
    numbers = dict.fromkeys(("base_rtt_before_s", "base_rtt_after_s", "rate_limit_bps", "waited_s"), float("nan"))
    nothing = dict.fromkeys(("routers_up", "routers_down", "mtu_up_bytes", "mtu_down_bytes", "lost"))
    empty = dict.fromkeys(("hops", "too_big", "codepoints", "cut"), ())
    return Survey(address="", asked=1, rtt_s=(0.0398,), up=up, down=down, mtu_tried_bytes=0, bytes=0, **numbers, **nothing, **empty)


def test_a_burst_tells_of_a_path_that_the_flow_did_not_fill() -> None:
    held = replace(FULL, is_held=True)
    path = seen("dtn", "today", held, held, surveyed(burst(), burst(is_bottleneck=False, memory_bytes=None)))
    assert path.unknown == [f"{what} down: a window or a buffer of a host held the flow" for what in ("rate", "buffer")]
    assert 'rtt = "39800 us"' in path.text
    assert 'rate = "30000 kbit/s"' in path.text
    assert 'limit = "90000 bytes"' in path.text
    # A flow that filled the path knows better.
    assert 'limit = "90000 bytes"' not in seen("dtn", "today", FULL, FULL, surveyed(burst(), burst())).text


def test_causes_of_losses_say_what_the_queue_is() -> None:
    policed = replace(FULL, cause="policer", loaded_p95_s=1e-4, rates_bps=[8e6, 9.7e6, 9.6e6, 9.8e6, 12e6])
    managed = replace(FULL, cause="active queue management", waits_s=0.012)
    path = seen("dtn", "today", policed, managed, surveyed(None, burst()))
    assert path.unknown == []
    assert 'reverse.queue = { kind = "pie", target = "12000 us" }' in path.text
    up, down = longfat.Experiment(path.text).sweep()
    assert up.metrics["goodput_total_bps"] == pytest.approx(9.7e6, rel=0.05)
    assert down.metrics["goodput_total_bps"] == pytest.approx(19.3e6, rel=0.1)
    assert (
        f'kind = "policer", rate = "{9.7e3 * MTU / (MTU - HEADERS):.0f} kbit/s", burst = "{120e3 * MTU / (MTU - HEADERS):.0f} bytes"'
        in path.text
    )


def test_random_loss_leaves_the_buffer_open_and_both_its_ends_are_simulated() -> None:
    lossy = replace(FULL, cause="random loss", loaded_p95_s=1e-4, loss=1e-3)
    path = seen("dtn", "today", lossy, FULL, surveyed(burst(), None))
    assert path.unknown == ["buffer up: losses at random hide those of a full queue"]
    assert 'loss = { kind = "bernoulli", probability = 0.001 }' in path.text
    assert 'reverse.loss = { kind = "none" }' in path.text
    texts = ends(path.text)
    assert len(texts) == 2
    made = [longfat.Experiment(text).sweep()[0].metrics["goodput_total_bps"] for text in texts]
    assert all(1e6 < goodput < 30e6 for goodput in made)
    assert ends(seen("dtn", "today", FULL, FULL).text) == [seen("dtn", "today", FULL, FULL).text]


def test_no_buffer_is_smaller_than_a_few_packets() -> None:
    path = seen("dtn", "today", replace(FULL, loaded_p99_s=1e-3, loaded_p95_s=1e-3, rates_bps=[1e6] * 5), FULL)
    assert f'limit = "{4 * MTU} bytes"' in path.text
    longfat.Experiment(path.text).resolve_all()
