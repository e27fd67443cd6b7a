"""A congestion control stepped by hand: every one in the registry, what is kept without being told, and what is refused."""

from __future__ import annotations

from typing import Any

import longfat
import pytest
from longfat import CongestionControl, LongfatError

CONTROLS = [entry["name"] for entry in longfat.registries()["congestion_controls"]]
MSS = 1448


def grow(cc: CongestionControl, rounds: int, rtt: float = 0.07) -> None:
    """Acknowledges one segment at a time for so many more rounds."""
    until = cc.round + rounds
    while cc.round < until:
        cc.on_ack(rtt=rtt)


@pytest.mark.parametrize("name", CONTROLS)
def test_every_control_lives_through_its_hooks(name: str) -> None:
    cc = CongestionControl(name)
    assert (cc.name, cc.mss, cc.now, cc.round, cc.srtt) == (name, MSS, 0.0, 0, 0.0)
    start = cc.cwnd
    assert start >= MSS
    grow(cc, 8)
    assert cc.cwnd > start
    assert (cc.srtt, cc.rtt_min) == (pytest.approx(0.07), pytest.approx(0.07))
    for kind in ("loss", "ecn", "timeout", "timeout_again", "local"):
        cc.on_congestion(kind)
        cc.on_ack(rtt=0.07, in_recovery=True)
        cc.on_recovered()
        grow(cc, 3)
        assert cc.cwnd >= MSS, kind
    cc.on_spurious()
    cc.on_restart(idle=5.0)
    cc.on_syn_loss()
    assert cc.cwnd >= MSS
    assert cc.pacing_rate is None or cc.pacing_rate > 0
    assert name in repr(cc)


@pytest.mark.parametrize("name", CONTROLS)
def test_the_same_steps_give_the_same_windows(name: str) -> None:
    def life() -> list[int]:
        cc = CongestionControl(name)
        windows: list[int] = []
        for n in range(2000):
            cc.on_ack(rtt=0.05 + n % 100 * 1e-4)
            if n % 700 == 600:
                cc.on_congestion()
                cc.on_recovered()
            windows.append(cc.cwnd)
        return windows

    assert life() == life()


def test_reno_doubles_a_round_then_adds_a_segment_a_round() -> None:
    cc = CongestionControl("reno", initial_window=2)
    windows: list[int] = []
    for _ in range(4):
        windows.append(cc.cwnd // MSS)
        for _ in range(cc.cwnd // MSS):
            cc.on_ack(rtt=0.1)
    assert windows == [2, 4, 8, 16]
    assert cc.ssthresh is None
    cc.on_congestion("loss")
    assert (cc.cwnd, cc.ssthresh) == (16 * MSS, 16 * MSS)
    for _ in range(16):
        cc.on_ack(rtt=0.1)
    assert cc.cwnd == 17 * MSS
    cc.on_congestion("timeout", flight_size=10 * MSS)
    assert (cc.cwnd, cc.ssthresh) == (MSS, 5 * MSS)


def test_time_and_rounds_go_on_by_themselves_or_as_told() -> None:
    cc = CongestionControl("reno", initial_window=10)
    for _ in range(10):
        cc.on_ack(rtt=0.1)
    # Ten ACKs of a window that grew from 10 to 20 segments: the sum of 0.1 s / (10 + n).
    assert cc.now == pytest.approx(sum(0.1 / (10 + n) for n in range(10)))
    assert cc.round == 1
    cc.on_ack(rtt=0.2, now=7.5)
    assert (cc.now, cc.round) == (7.5, 2)
    assert cc.srtt == pytest.approx(0.1 * 7 / 8 + 0.2 / 8)
    cc.on_ack(now=8.0, round=17)
    assert (cc.round, cc.rtt_min) == (17, pytest.approx(0.1))


def test_slow_start_is_chosen_by_name() -> None:
    leaves: dict[str, bool] = {}
    for kind in ("standard", "limited", "hystart", "hystart++", "careful_resume"):
        cc = CongestionControl("cubic", slow_start=kind)
        grow(cc, 3, rtt=0.07)
        grow(cc, 8, rtt=0.1)
        leaves[kind] = cc.ssthresh is not None
    assert leaves == {"standard": False, "limited": False, "hystart": True, "hystart++": True, "careful_resume": False}


def test_parameters_are_as_in_a_file_or_plain_numbers() -> None:
    for value in (65536, "64 KiB"):
        assert CongestionControl("reno", initial_ssthresh=value).ssthresh == 65536
    for segments in (4, "4 segments"):
        assert CongestionControl("reno", mss=1000, initial_window=segments).cwnd == 4000


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CongestionControl("renno"), "did you mean `reno`"),
        (lambda: CongestionControl("renno"), "one of reno, "),
        (lambda: CongestionControl("reno", initial_windw=3), "reno has no parameter `initial_windw`.*did you mean `initial_window`"),
        (lambda: CongestionControl("reno", initial_window=0), "`initial_window` is out of range.*found: 0.*from 1 to 1000"),
        (
            lambda: CongestionControl("reno", slow_start="histart"),
            '`slow_start` cannot be "histart".*one of standard, .*did you mean `hystart`',
        ),
        (lambda: CongestionControl("reno", abc_limit=None), "`abc_limit` must be .*found: no number and no text"),
        (lambda: CongestionControl("reno", mss=1), "`mss` is out of range"),
        (lambda: CongestionControl("reno", mss=-1), "`mss`: .*found: -1"),
        (lambda: CongestionControl("reno").on_ack(acked=-1), "acked = -1: expected bytes"),
        (lambda: CongestionControl("reno").on_ack(rtt=float("nan")), "rtt = NaN: expected seconds"),
        (lambda: CongestionControl("reno").on_ack(now=-1.0), "now = -1: expected seconds"),
        (lambda: CongestionControl("reno").on_ack(delivery_rate=0.0), "delivery_rate = 0: expected bits per second"),
        (lambda: CongestionControl("reno").on_congestion("lost"), "no congestion is called `lost`.*did you mean `loss`"),
        (lambda: CongestionControl("reno").on_restart(-1.0), "idle = -1: expected seconds"),
    ],
)
def test_what_cannot_be_is_one_clear_error(make: Any, message: str) -> None:
    with pytest.raises(LongfatError, match=f"(?s){message}"):
        make()


def test_time_does_not_go_back() -> None:
    cc = CongestionControl("reno")
    cc.on_ack(now=2.0)
    with pytest.raises(LongfatError, match="now = 1: expected at least 2"):
        cc.on_ack(now=1.0)


def test_state_is_read_and_set_by_name_without_time_passing() -> None:
    cc = CongestionControl("cubic", mss=1000)
    cc.on_ack(rtt=0.1)
    before, now, round_ = cc.state, cc.now, cc.round
    cc.set(w_max=1000, cwnd=700_000)
    assert (cc.get("w_max"), cc.get("cwnd"), cc.cwnd) == (1000.0, 700_000, 700_000)
    assert cc.state == {**before, "w_max": 1000.0, "cwnd": 700_000}
    assert cc.now == now
    assert cc.round == round_
    assert before["ssthresh"] is None
    bbr = CongestionControl("bbr")
    bbr.set(bandwidth=1e9, min_rtt=0.05)
    assert (bbr.get("bandwidth"), bbr.get("min_rtt")) == (1e9, 0.05)
    yeah = CongestionControl("yeah")
    yeah.set(fast=not yeah.get("fast"))
    assert yeah.get("fast") is (not CongestionControl("yeah").get("fast"))


def test_the_alpha_that_was_set_is_the_growth_of_a_round() -> None:
    cc = CongestionControl("illinois", mss=1000)
    cc.set(cwnd=100_000, ssthresh=2000, alpha=5)
    for _ in range(100):
        cc.on_ack()
    assert cc.cwnd == pytest.approx(105_000, abs=200)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CongestionControl("illinois").set(alfa=3), "illinois has no `alfa` in its state.*one of cwnd, .*did you mean `alpha`"),
        (lambda: CongestionControl("illinois").get("alfa"), "illinois has no `alfa` in its state.*did you mean `alpha`"),
        (lambda: CongestionControl("illinois").set(alpha=50), "alpha = 50: expected a number, from 0.3 to 10"),
        (lambda: CongestionControl("reno").set(cwnd=100), "cwnd = 100: expected bytes, from 1448 to 1073741824"),
        (lambda: CongestionControl("reno").set(cwnd=2000.5), "cwnd = 2000.5: expected bytes"),
        (lambda: CongestionControl("reno").set(cwnd="many"), "cwnd = many: expected bytes"),
        (lambda: CongestionControl("bbr").set(bandwidth=float("inf")), "bandwidth = inf: expected bits per second"),
    ],
)
def test_what_a_state_cannot_be_is_one_clear_error(make: Any, message: str) -> None:
    with pytest.raises(LongfatError, match=f"(?s){message}"):
        make()
