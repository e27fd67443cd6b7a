"""A measured path as an experiment: from made-up measurements, and from simulated ones of paths that are known."""

from __future__ import annotations

from dataclasses import replace

import longfat
import pytest
from longfat.live.seen import HEADERS, MTU, STANDS_S, Facts, binomial_interval, ends, order_interval, seen
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
    window_s=0.5,
    windows=16,
    loaded_max_s=0.041,
    waits_s_interval=(0.028, 0.033),
    segments=15_000,
    mtu=MTU,
    is_mtu_known=True,
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


def surveyed(up: Direction | None, down: Direction | None, far: str = "6.1.0-18-amd64") -> Survey:
    numbers = dict.fromkeys(("base_rtt_before_s", "base_rtt_after_s", "rate_limit_bps", "waited_s"), float("nan"))
    nothing = dict.fromkeys(("routers_up", "routers_down", "mtu_up_bytes", "mtu_down_bytes", "nat_control", "nat_udp", "lost"))
    empty = dict.fromkeys(("hops", "too_big", "codepoints", "cut"), ())
    settings = ({"kernel": "6.18.44", "ipv4/tcp_rmem": "4096 131072 6291456", "core/default_qdisc": "fq_codel"}, {"kernel": far})
    return Survey(
        address="",
        asked=1,
        rtt_s=(0.0398,),
        up=up,
        down=down,
        mtu_tried_bytes=0,
        bytes=0,
        settings=settings,
        **numbers,
        **nothing,
        **empty,
    )


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
    jumbo = replace(FULL, mtu=9000, loaded_p99_s=1e-3, loaded_p95_s=1e-3, loaded_max_s=1e-3, rates_bps=[1e6] * 5)
    longfat.Experiment(seen("dtn", "today", jumbo, jumbo).text).resolve_all()


def test_each_value_has_its_interval() -> None:
    lossy = replace(FULL, cause="random loss", loaded_p95_s=1e-4, loss=1e-3)
    managed = replace(FULL, cause="active queue management")
    policed = replace(FULL, cause="policer", loaded_p95_s=1e-4)
    texts = [seen("dtn", "today", one, other, surveyed(burst(), burst())).text for one, other in ((FULL, lossy), (managed, policed))]
    for text, said in (
        (texts[0], "1 idle questions: 39.80 to 39.80 ms."),
        # The rates are 18 Mbit/s once and 19.3 nine times; of 16 windows the ranks are 12 and beyond the last.
        (
            texts[0],
            "up: 90th percentile of what arrived in 0.5 s, with headers, packets of 1500 bytes; 95 % interval 19993 kbit/s to 19993",
        ),
        (texts[0], "by the wait of 95 of 100, and by the longest: 96217 bytes to 102465 bytes."),
        # Wilson, by hand: centre (0.001 + 1.92/15000) / (1 + 3.84/15000), half of 0.00052.
        (texts[0], "95 % interval 0.00061 to 0.0016 (binomial, 15000 segments)"),
        (texts[1], "median wait at 30.0 ms; 95 % interval 28.0 to 33.0 ms"),
        (texts[1], "median of what arrived in 0.5 s, with headers; 95 % interval"),
        (texts[1], "the bucket holds at least this burst"),
    ):
        assert said in text, text


def test_order_statistics_bound_a_quantile() -> None:
    # Conover 1999, section 3.2: of 16 values the 95 % interval of the median is from the 4th to the 13th.
    assert order_interval(list(range(1, 17)), 0.5, 16) == (4, 13)
    # A binomial number of 16 cases of 0.9 is 11 or less in 1.7 of 100, and never above 16: from the 12th on.
    assert order_interval(list(range(1, 17)), 0.9, 16) == (12, 16)
    assert order_interval([1.0, 2.0, 5.0], 0.5, 1) == (1.0, 5.0)
    low, high = binomial_interval(0.0, 100)
    assert low == 0
    assert high == pytest.approx(0.037, abs=1e-3)
    assert binomial_interval(0.5, 0) == (0.0, 1.0)


def test_mtu_and_hosts_are_written_as_found() -> None:
    jumbo, narrow = replace(FULL, mtu=9000), replace(FULL, mtu=1400, is_mtu_known=False)
    path = seen("dtn", "today", jumbo, narrow, surveyed(burst(), burst(), far="6.1.0\n[[flow]]"))
    assert "# left1, this host: Linux 6.18.44, tcp_rmem 4096 131072 6291456, default qdisc fq_codel.\n" in path.text
    assert "# right1, the other host: Linux 6.1.0[[flow]].\n" in path.text
    assert "# down: MTU not known." in path.text
    up, down = longfat.Experiment(path.text).sweep()
    links = up.links.set_index("name")["mtu_bytes"] if "mtu_bytes" in up.links else None
    assert links is None or (links["bottleneck>"], links["bottleneck<"]) == (9000, 1400)
    assert 'mtu = "9000 bytes"' in path.text
    assert 'reverse.mtu = "1400 bytes"' in path.text
    assert '"kernel": "6.18"' in up.resolved or "6.18" in path.text
    assert 'value = "6.1"' in path.text
    assert up.metrics["goodput_total_bps"] > down.metrics["goodput_total_bps"] * 0.5
    assert "kernel = " not in seen("dtn", "today", FULL, FULL, surveyed(None, None, far="plan 9")).text
