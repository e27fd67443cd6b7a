"""Theory against the numbers that its sources print."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from longfat import CongestionControl, theory


def test_the_windows_of_rfc_3649() -> None:
    # RFC 3649 section 5, Table 2: HighSpeed TCP; section 3, Table 1: standard TCP.
    for p, window in ((1e-3, 38), (1e-4, 263), (1e-5, 1795), (1e-6, 12279), (1e-7, 83981)):
        assert theory.highspeed(p) == pytest.approx(window, rel=0.015)
    for p, window in ((1e-2, 12), (1e-3, 38), (1e-4, 120), (1e-5, 379), (1e-6, 1200)):
        assert theory.aimd(p) == pytest.approx(window, rel=0.035)


def test_ten_gigabit_needs_five_billion_packets_a_loss() -> None:
    window = theory.reno_window(10e9, 0.1, 1500)
    assert window == pytest.approx(83_333, rel=1e-4)
    assert theory.reno_interval(window) == pytest.approx(5e9, rel=0.1)


def test_cubic_as_rfc_9438_prints_it() -> None:
    # Section 5.1, Eq. 6: 1.054 RTT^0.75 / p^0.75.
    assert theory.cubic(1e-5, 0.1) == pytest.approx(1.054 * (0.1 / 1e-5) ** 0.75, rel=1e-3)
    assert theory.cubic_friendly(1e-4) == pytest.approx(theory.aimd(1e-4), rel=1e-9)


def test_scalable_has_one_loss_a_cycle() -> None:
    # From 0.875 W, adding 0.01 an ACK, W is reached after 12.5 W segments.
    p = 1e-5
    peak = 0.01 / (0.125 * p)
    assert 0.125 * peak / 0.01 == pytest.approx(1 / p)
    assert 0.875 * peak < theory.scalable(p) < peak
    # 0.125 W / ln(8/7) on average; a round trip of 14.35 that does not grow takes 7 %.
    assert theory.scalable(p) == pytest.approx(0.125 * peak / math.log(8 / 7))
    assert theory.scalable(p, recovery=1) / theory.scalable(p) == pytest.approx(13.353 / 14.353, rel=1e-4)


def test_compound_as_its_draft_prints_it() -> None:
    # draft-sridharan-tcpm-ctcp-02 Eq. 8: 0.255 / p^0.8; Reno's below 38 segments.
    for p in (1e-3, 1e-5, 1e-7):
        assert theory.compound(p) == pytest.approx(0.255 / p**0.8, rel=3e-3)
    assert theory.compound(1e-2) == theory.aimd(1e-2)


def test_hybla_has_the_rate_of_its_reference_round_trip() -> None:
    for rtt in (0.025, 0.1, 0.55):
        assert theory.hybla(1e-4, rtt) / rtt == pytest.approx(theory.aimd(1e-4) / 0.025)
    assert theory.hybla(1e-4, 0.01) == theory.aimd(1e-4)


def _cycle(p: float, growth: Callable[[float, float], float], b: float) -> float:
    """The mean window where growth(w, peak) is added a round trip, in steps of a hundredth, and a cycle has 1/p segments."""
    low, high = 1.0, 1 / p
    for _ in range(60):
        peak = (low + high) / 2
        w, segments, rounds = (1 - b) * peak, 0.0, 0.0
        while w < peak and segments < 1 / p:
            segments, rounds, w = segments + w / 100, rounds + 0.01, w + growth(w, peak) / 100
        low, high = (peak, high) if segments < 1 / p else (low, peak)
    return 1 / p / rounds


def test_the_derived_functions_are_what_the_rules_make_step_by_step() -> None:
    p = 1e-4
    assert theory.compound(p) == pytest.approx(_cycle(p, lambda w, _: w**0.75 / 8, 0.5), rel=0.01)
    assert theory.illinois(p) == pytest.approx(_cycle(p, lambda *_: 10.0, 0.125), rel=0.01)
    assert theory.yeah(p) == pytest.approx(_cycle(p, lambda w, _: 0.01 * w, 0.125), rel=0.01)
    bic = _cycle(p, lambda w, peak: min(32.0, max(0.01, (peak - w) / 2)), 0.125)
    assert theory.bic(p) == pytest.approx(bic, rel=0.01)


def test_htcp_is_aimd_for_a_second_and_faster_then() -> None:
    # A cycle of under a second: AIMD(0.4, 0.2) at 100 ms.
    assert theory.htcp(1e-2, 0.1) == pytest.approx(theory.aimd(1e-2, 0.4, 0.2), rel=1e-6)
    # The integral steps by a hundredth of a round trip: 2 (1 - beta) alpha(D) of a segment.
    peak = 9000.0
    w, d, segments = 0.8 * peak, 0.0, 0.0
    while w < peak:
        late = max(0.0, d - 1)
        w, d, segments = w + 0.4 * (1 + 10 * late + late * late / 4) / 100, d + 0.001, segments + w / 100
    assert theory.htcp(1 / segments, 0.1) == pytest.approx(segments / (d / 0.1), rel=0.005)


def test_dctcp_by_marks() -> None:
    assert theory.dctcp(0.01) == pytest.approx(200)
    # A round trip and the wait grow as much as the reduction takes.
    for wait in (0.0, 2 / 3, 1.0):
        w = theory.dctcp(0.01, wait)
        assert 1 + wait / (0.01 * w) == pytest.approx(0.01 * w / 2)
    assert theory.prague(0.1, 1.0) < theory.dctcp(0.1, 1.0)


def test_timeouts_take_over_at_high_loss() -> None:
    # RFC 5348 section 3.1's equation is the short form: at 1e-3 without its minimum of 1, T_RTO = 4 R and b = 1.
    f = math.sqrt(2 * 1e-3 / 3) + 12 * math.sqrt(3 * 1e-3 / 8) * 1e-3 * (1 + 32e-6)
    assert theory.pftk(1e-3, 0.1, 0.4, 1) == pytest.approx(1 / f)
    # Short and full meet where losses are rare; at 0.1 the short one has a fifth less.
    assert theory.pftk_full(1e-5, 0.1, 1.0, 1) == pytest.approx(theory.pftk(1e-5, 0.1, 1.0, 1), rel=1e-3)
    assert theory.pftk(0.1, 0.1, 1.0, 1) == pytest.approx(0.78 * theory.pftk_full(0.1, 0.1, 1.0, 1), rel=0.01)
    assert theory.pftk(1e-6, 0.1, 0.4, 1) == pytest.approx(theory.mathis(1e-6), rel=0.01)
    assert theory.pftk(0.1, 0.1, 0.4, 1) < 0.5 * theory.mathis(0.1)
    assert theory.pftk(1e-6, 0.1, 0.4, max_window=100) == 100


@pytest.mark.parametrize("p", [0.0, -1e-3, 1.0, math.nan])
def test_no_probability_is_an_error(p: float) -> None:
    for function in (theory.aimd, theory.mathis, theory.highspeed, theory.scalable, theory.compound, theory.bic, theory.dctcp):
        with pytest.raises(ValueError, match="probability"):
            function(p)


def test_what_weigle_and_feng_print() -> None:
    # Footnote 2: 266 s, which is 8 MB of 10^6 bytes; its formula, with 1024^2, makes 279.6.
    assert theory.recovery_time(8e6, 1500, 0.1) == pytest.approx(266.67, abs=0.01)
    assert theory.recovery_time(8 * 1024**2, 1500, 0.1) == pytest.approx(279.62, abs=0.01)
    # Section IV-A, to the packet: 44 packets a round trip of three links each way, ACKs of 40 bytes, 200 s.
    for rate, delay, packets in ((100e6, 0.010, 145_527), (1e9, 0.016, 91_407)):
        assert theory.window_packets(200, 3 * (2 * delay + 8 * 1540 / rate), 44) == packets
    # Section IV-D: 18.38 kb/s for each of 5440 KB.
    assert theory.proportion(1024, 5440, 100e6) == pytest.approx(18.82e6, rel=1e-3)
    assert theory.proportion(64, 5440, 100e6) == pytest.approx(1.176e6, rel=1e-3)


def test_a_and_b_of_highspeed_are_those_of_rfc_3649() -> None:
    # Appendix B, Table 12: w, a(w), b(w).
    for w, a, b in (
        (38, 1, 0.50),
        (118, 2, 0.44),
        (1058, 8, 0.33),
        (10661, 30, 0.21),
        (40808, 56, 0.14),
        (84035, 71, 0.10),
        (94717, 73, 0.09),
    ):
        assert theory.highspeed_b(w) == pytest.approx(b, abs=0.0051)
        # The RFC truncates, and has a rounded p(w).
        assert a <= theory.highspeed_a(w) < (a + 1) * 1.035
    # Section 5: at 83,000 segments 72 segments, and a tenth.
    assert (int(theory.highspeed_a(83_000)), theory.highspeed_b(83_000)) == (72, pytest.approx(0.1))
    assert (theory.highspeed_a(20), theory.highspeed_b(20)) == (1.0, 0.5)
    assert theory.highspeed_b(567_000) == theory.highspeed_b(100_000) > 0.09


@pytest.mark.parametrize("window", [500, 5000, 94_717, 200_000])
def test_the_control_highspeed_has_the_a_and_b_of_theory(window: int) -> None:
    cc = CongestionControl("highspeed", mss=1000)
    cc.set(ssthresh=2000, cwnd=window * 1000)
    for _ in range(1000):
        cc.on_ack(acked=window)
    assert cc.cwnd / 1000 - window == pytest.approx(theory.highspeed_a(window), rel=0.01)
    cc.set(cwnd=window * 1000)
    cc.on_congestion("loss")
    assert cc.cwnd / 1000 / window == pytest.approx(1 - theory.highspeed_b(window), rel=1e-4)


def test_alpha_of_htcp() -> None:
    # Leith and Shorten 2004: 1 for a second; 1 + 10 + 1/4 at two; 1 + 90 + 81/4 at ten.
    for delta, alpha in ((0, 1), (1, 1), (2, 11.25), (10, 111.25)):
        assert theory.htcp_alpha(delta) == alpha
    assert theory.htcp_alpha(2, beta=0.8) == pytest.approx(0.4 * 11.25)


def test_the_curve_of_cubic() -> None:
    # RFC 9438 Eq. 2: cbrt(1000 * 0.3 / 0.4) seconds from 700 back to 1000 segments.
    k = theory.cubic_k(1000)
    assert k == pytest.approx(9.0856, abs=1e-4)
    assert theory.cubic_window(0, 1000) == pytest.approx(700)
    assert theory.cubic_window(k, 1000) == 1000
    assert theory.cubic_window(k + 5, 1000) == pytest.approx(1050)
    # From where slow start ended, the plateau (section 4.8).
    assert (theory.cubic_k(500, 500), theory.cubic_window(2, 500, 500)) == (0, pytest.approx(503.2))


def test_initial_windows() -> None:
    # RFC 3390 section 1: up to 1095 bytes four segments, under 2190 bytes 4380, then two segments.
    for mss, rfc3390, rfc6928 in (
        (536, 2144, 5360),
        (1095, 4380, 10_950),
        (1448, 4380, 14_480),
        (1460, 4380, 14_600),
        (2190, 4380, 14_600),
        (4312, 8624, 14_600),
        (8960, 17_920, 17_920),
    ):
        assert (theory.initial_window_rfc3390(mss), theory.initial_window_rfc6928(mss)) == (rfc3390, rfc6928)
        assert CongestionControl("reno", mss=mss).cwnd == rfc6928


def test_the_constants_of_mathis() -> None:
    # Mathis et al. 1997, Table 1: periodic and random losses, an ACK for each segment and for every second.
    for segments_per_ack, periodic, at_random in ((1, 1.22, 1.31), (2, 0.87, 0.93)):
        assert theory.mathis(1e-4, segments_per_ack) * 1e-2 == pytest.approx(periodic, abs=0.005)
        assert theory.mathis(1e-4, segments_per_ack, random=True) * 1e-2 == pytest.approx(at_random, abs=0.005)


def test_pftk_with_a_limited_window() -> None:
    free = theory.pftk_full(1e-3, 0.1, 1.0)
    assert theory.pftk_full(1e-3, 0.1, 1.0, max_window=1000) == free
    # Almost without losses it is the window.
    assert theory.pftk_full(1e-9, 0.1, 1.0, max_window=20) == pytest.approx(20, rel=1e-4)
    # Values by hand, p = 0.01, b = 2, 8 segments: E[W] would be 13.2. Q = (1 - 0.99^3)(1 + 0.99^3 (1 - 0.99^5)) / (1 - 0.99^8) = 0.4027;
    # 99 + 8 + Q / 0.99 segments in 2 + 12.375 + 2 round trips of 0.1 s and Q 1.0103 / 0.99 s of timeouts.
    assert theory.pftk_full(0.01, 0.1, 1.0, max_window=8) == pytest.approx(107.4068 * 0.1 / (1.6375 + 0.4111), rel=1e-3)
    # It bounds, and lets more through the larger it is.
    rates = [theory.pftk_full(1e-3, 0.1, 1.0, max_window=w) for w in (2, 4, 8, 16, 32, 64)]
    assert all(rate <= w for rate, w in zip(rates, (2, 4, 8, 16, 32, 64), strict=True))
    assert rates == sorted(rates)
    with pytest.raises(ValueError, match="max_window"):
        theory.pftk_full(0.01, 0.1, 1.0, max_window=0)


def test_the_bursts_of_the_transatlantic_lambdas() -> None:
    # Antony et al. 2003, section 2; notebook/lambda-differences.md says which numbers of the paper agree.
    fast, slow = 1e9, 622e6
    memory = theory.burst_memory(1500, 1000, fast, slow)
    assert memory == pytest.approx(567e3)
    assert theory.burst_packets(1000, fast, slow, memory) == pytest.approx(1500)
    assert theory.burst_drops(1500, 1000, fast, slow, memory) == pytest.approx(0, abs=1e-9)
    assert theory.burst_drops(5000, 1000, fast, slow, memory) == pytest.approx(3500 * 0.378)
    assert theory.slow_start_memory(fast, slow, 0.1) == pytest.approx(2.94e6, rel=1e-3)
    assert max(theory.slow_start_memory(fast, s * 1e6, 0.1) for s in range(1, 1000)) == pytest.approx(3.125e6)
    roots = theory.forbidden_rates(fast, 0.5e6, 0.15)
    assert roots is not None
    assert roots == pytest.approx((27.4e6, 972.6e6), rel=1e-3)
    assert theory.forbidden_rates(fast, 0.5e6, 0.0159) is None
    assert theory.slow_start_rate(fast, 1.1e9, 1.0, 0.1) == 1.1e9


def test_the_equations_of_bursts_agree_with_each_other() -> None:
    for rtt in (0.02, 0.1, 0.3):
        for memory in (1e5, 5e5, 2e6):
            for root in theory.forbidden_rates(1e9, memory, rtt) or ():
                assert theory.slow_start_memory(1e9, root, rtt) == pytest.approx(memory)
                assert theory.slow_start_rate(1e9, root, memory, rtt) == pytest.approx(root)


def test_in_slow_start_a_window_comes_no_faster_than_acks_let_it_go() -> None:
    assert theory.arrival_rate(1e9, 100e6) == 200e6
    assert theory.arrival_rate(1e9, 100e6, growth=1.5) == 150e6
    assert theory.arrival_rate(1e9, 622e6) == 1e9
    fed = theory.arrival_rate(1e9, 100e6)
    assert theory.slow_start_rate(fed, 100e6, 0.5e6, 0.15) == pytest.approx(2 * 8 * 0.5e6 / 0.15)
    with pytest.raises(ValueError, match="grows"):
        theory.arrival_rate(1e9, 100e6, growth=1.0)
    with pytest.raises(ValueError, match="memory"):
        theory.slow_start_rate(1e9, 100e6, 0, 0.1)
