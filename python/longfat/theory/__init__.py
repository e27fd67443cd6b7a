"""Theory: windows and rates of TCP as functions of loss, round trip and segment size.

Windows are averages over time, in segments; `p` is the probability that a segment is lost (one loss for each 1/p segments);
times are in seconds, sizes in bytes of payload, rates in bit/s of payload. ValueError for a `p` outside (0, 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from longfat.theory.bursts import arrival_rate as arrival_rate
from longfat.theory.bursts import burst_drops as burst_drops
from longfat.theory.bursts import burst_memory as burst_memory
from longfat.theory.bursts import burst_packets as burst_packets
from longfat.theory.bursts import forbidden_rates as forbidden_rates
from longfat.theory.bursts import slow_start_memory as slow_start_memory
from longfat.theory.bursts import slow_start_rate as slow_start_rate


def _loss(p: float) -> float:
    if not 0 < p < 1:
        raise ValueError(f"p is a probability of loss between 0 and 1, not {p}")
    return p


def rate(window: float, mss: float, rtt: float) -> float:
    """The rate in bit/s of `window` segments of `mss` bytes per round trip."""
    return 8 * window * mss / rtt


def aimd(p: float, a: float = 1.0, b: float = 0.5) -> float:
    """AIMD(a, b) with one loss a cycle: RFC 3649 appendix A's derivation; Reno's sqrt(3 / 2p) for (1, 1/2).

    The window runs from (1 - b) W to W, adding `a` a round: W^2 b (2 - b) / 2a segments a cycle, and W (2 - b) / 2 on average.
    """
    return math.sqrt(a * (2 - b) / (2 * b * _loss(p)))


def mathis(p: float, segments_per_ack: float = 1.0, random: bool = False) -> float:
    """Reno (Mathis, Semke, Mahdavi, Ott, CCR 27(3), 1997, Eq. 3): sqrt(3 / 2bp), b segments an ACK, with one loss each 1/p segments.

    Losses at `random` give C / sqrt(bp) instead. Their Table 1 has C as 1.22 and 0.87 for periodic losses (b = 1 and 2), 1.31 and 0.93
    for random ones.
    """
    c = _random_loss() if random else math.sqrt(3 / 2)
    return c / math.sqrt(segments_per_ack * _loss(p))


def _random_loss() -> float:
    """C for losses that are independent (the ideal window of Ott, Kemperman and Mathis 1996), by its stationary distribution.

    After a window W at a loss, the next loss is at W'^2 = (W/2)^2 + 2N with N exponential of mean 1/p: pW^2 / 2 is a sum of E_i / 4^i, and
    its density one of exponentials. A cycle has 1/p segments in W' - W/2 round trips, W/2 on average.
    """
    q, terms = 0.25, 40
    weights = (math.prod(1 / (1 - q ** (j - k)) for j in range(terms) if j != k) for k in range(terms))
    root = math.gamma(1.5) * sum(weight * q ** (k / 2) for k, weight in enumerate(weights))
    return math.sqrt(2) / root


def pftk(p: float, rtt: float, rto: float, segments_per_ack: float = 2.0, max_window: float = math.inf) -> float:
    """Reno with timeouts (Padhye, Firoiu, Towsley, Kurose, SIGCOMM 1998, Eq. 31), as a window: its rate times the round trip.

    The short form of `pftk_full`, which RFC 5348 section 3.1 (RFC 3448 before it) uses without the minimum of 1.
    """
    b = segments_per_ack
    congestion = rtt * math.sqrt(2 * b * _loss(p) / 3)
    timeouts = rto * min(1.0, 3 * math.sqrt(3 * b * p / 8)) * p * (1 + 32 * p * p)
    return min(max_window, rtt / (congestion + timeouts))


def pftk_full(p: float, rtt: float, rto: float, segments_per_ack: float = 2.0, max_window: float = math.inf) -> float:
    """PFTK model before it is shortened (Padhye et al. 1998, II-B and II-C): segments sent per round trip, retransmissions too.

    A loss takes the rest of its round with it. Between two timeouts the window is `peak` on average when a loss is seen, which is then
    a timeout with probability `q`; timeouts in a row double the rto up to 64 times. A window of `max_window` segments that `peak` would
    exceed is reached from its half, and kept until the next loss. ValueError for a `max_window` under one segment.
    """
    if not max_window >= 1:
        raise ValueError(f"max_window is a window of at least one segment, not {max_window}")
    b = segments_per_ack
    less = (2 + b) / (3 * b)
    peak = less + math.sqrt(8 * (1 - _loss(p)) / (3 * b * p) + less * less)
    rounds = b / 2 * peak + 1
    if peak >= max_window:
        peak = max_window
        rounds = b / 8 * peak + (1 - p) / (p * peak) + 2
    kept = (1 - p) ** 3
    q = min(1.0, (1 - kept) * (1 + kept * (1 - (1 - p) ** (peak - 3))) / (1 - (1 - p) ** peak))
    backoff = 1 + p + sum(2**i * p ** (i + 1) for i in range(1, 6))
    segments = (1 - p) / p + peak + q / (1 - p)
    return segments * rtt / (rtt * rounds + q * rto * backoff / (1 - p))


LOW_WINDOW, HIGH_WINDOW, LOW_P, HIGH_P = 38.0, 83000.0, 1e-3, 1e-7


def highspeed(p: float) -> float:
    """HighSpeed TCP (RFC 3649 section 5): a line through (1e-3, 38) and (1e-7, 83000) in logarithms; Reno's above 1e-3."""
    if _loss(p) > LOW_P:
        return aimd(p)
    slope = math.log(HIGH_WINDOW / LOW_WINDOW) / math.log(HIGH_P / LOW_P)
    return LOW_WINDOW * (p / LOW_P) ** slope


def highspeed_b(w: float) -> float:
    """b(w) of HighSpeed TCP (RFC 3649 section 5): the share of a window of `w` segments that a loss takes.

    The range is that of the control: to 100,000 segments, where the RFC's table (appendix B) ends, and constant from there on.
    """
    if w <= LOW_WINDOW:
        return 0.5
    return 0.5 + (0.1 - 0.5) * math.log(min(w, 1e5) / LOW_WINDOW) / math.log(HIGH_WINDOW / LOW_WINDOW)


def highspeed_a(w: float) -> float:
    """a(w) of HighSpeed TCP (RFC 3649 section 5): segments per round trip that a window of `w` segments grows by; at least 1.

    w^2 p(w) 2 b(w) / (2 - b(w)), with p(w) as `highspeed` inverted has it. The RFC's table comes from a rounded p(w), and is up to 3.5 %
    less.
    """
    if w <= LOW_WINDOW:
        return 1.0
    p = LOW_P * (w / LOW_WINDOW) ** (math.log(HIGH_P / LOW_P) / math.log(HIGH_WINDOW / LOW_WINDOW))
    b = highspeed_b(w)
    return max(1.0, w * w * p * 2 * b / (2 - b))


def scalable(p: float, a: float = 0.01, b: float = 0.125, recovery: float = 0.0) -> float:
    """Scalable TCP (Kelly, CCR 33(2), 2003) with one loss a cycle.

    The window grows by `a` an ACK from (1 - b) W to W, exponentially in time: a cycle has ln(1 / (1 - b)) / a round trips, whatever
    W is, and 1/p segments. `recovery` round trips more are those in which it does not grow; Kelly has none. (His own a / bp is the W
    at which growth and loss balance.)
    """
    return 1 / (_loss(p) * (math.log(1 / (1 - b)) / a + recovery))


def cubic(p: float, rtt: float, c: float = 0.4, beta: float = 0.7) -> float:
    """CUBIC (RFC 9438 section 5.1, Eq. 5), outside the Reno-friendly region: `max` with `aimd` of its alpha for the whole."""
    return (c * (3 + beta) / (4 * (1 - beta))) ** 0.25 * (rtt / _loss(p)) ** 0.75


def cubic_friendly(p: float, beta: float = 0.7) -> float:
    """CUBIC's Reno-friendly region (RFC 9438 section 4.3): AIMD(3 (1 - beta) / (1 + beta), 1 - beta), as fast as Reno."""
    return aimd(p, 3 * (1 - beta) / (1 + beta), 1 - beta)


def cubic_k(w_max: float, cwnd: float | None = None, c: float = 0.4, beta: float = 0.7) -> float:
    """K of CUBIC (RFC 9438 section 4.2, Eq. 2): seconds from `cwnd` back to `w_max`, both in segments; `cwnd` is by default beta w_max."""
    return math.cbrt((w_max - (beta * w_max if cwnd is None else cwnd)) / c)


def cubic_window(t: float, w_max: float, cwnd: float | None = None, c: float = 0.4, beta: float = 0.7) -> float:
    """W(t) of CUBIC (RFC 9438 section 4.2, Eq. 1): C (t - K)^3 + W_max segments, `t` seconds after congestion avoidance began at `cwnd`."""
    return c * (t - cubic_k(w_max, cwnd, c, beta)) ** 3 + w_max


def compound(p: float, alpha: float = 0.125, beta: float = 0.5, k: float = 0.75) -> float:
    """Compound TCP with an empty queue (draft-sridharan-tcpm-ctcp-02 Eq. 8: 0.255 / p^0.8): alpha w^k segments per round trip.

    From (1 - beta) W to W that is W^(2-k) (1 - (1-beta)^(2-k)) / alpha (2-k) segments in W^(1-k) (1 - (1-beta)^(1-k)) / alpha (1-k)
    round trips. Reno's where that is more: below 38 segments Compound is Reno.
    """
    left = 1 - beta
    peak = (alpha * (2 - k) / ((1 - left ** (2 - k)) * _loss(p))) ** (1 / (2 - k))
    rounds = peak ** (1 - k) * (1 - left ** (1 - k)) / (alpha * (1 - k))
    return max(1 / (p * rounds), aimd(p))


# Derived here, by the method of RFC 3649 appendix A, from the rules of growth and decrease that their authors publish.


def hybla(p: float, rtt: float, rtt0: float = 0.025) -> float:
    """TCP Hybla (Caini and Firrincieli 2004): rho^2 segments per round trip and half after a loss, rho = RTT / RTT0, at least 1.

    AIMD(rho^2, 1/2): rho times Reno's window, so that the rate is that of Reno at RTT0.
    """
    return aimd(p, max(1.0, rtt / rtt0) ** 2)


def illinois(p: float, alpha_max: float = 10.0, beta_min: float = 0.125) -> float:
    """TCP-Illinois (Liu, Basar and Srikant 2006) where no queue ever forms: its growth at its most, its decrease at its least."""
    return aimd(p, alpha_max, beta_min)


def yeah(p: float, recovery: float = 0.0) -> float:
    """YeAH-TCP (Baiocchi, Castellani and Vacirca 2007) where no queue forms: grows as the faster of Scalable and Reno, loses 1/8."""
    return max(scalable(p, recovery=recovery), aimd(p, 1.0, 0.125))


def bic(p: float, smax: float = 32.0, smin: float = 0.01, beta: float = 0.125, low_window: float = 14.0) -> float:
    """BIC (Xu, Harfoush and Rhee 2004) with each loss at its maximum W; Reno's where that is more, or W is under the low window.

    From (1 - beta) W it adds `smax` a round trip until 2 smax are missing, half of what is missing, by ACKs, until 2 smin are (of a gap
    g that takes 2 ln(g / 2 smin) round trips), and then `smin` for two round trips.
    """

    def cycle(peak: float) -> tuple[float, float]:
        """Segments and round trips."""
        gap = beta * peak
        near = min(gap, 2 * smax)
        linear = (gap - near) / smax
        # A gap that shrinks by e^-1/2 per round trip has 2 (from - to) under its curve.
        search = 2 * math.log(max(1.0, near / (2 * smin)))
        missing = linear * (gap + near) / 2 + 2 * max(0.0, near - 2 * smin)
        rounds = linear + search + 2
        return rounds * peak - missing, rounds

    packets = 1 / _loss(p)
    peak = _solve(lambda peak: cycle(peak)[0] - packets, 1.0, packets)
    return aimd(p) if peak < low_window else max(aimd(p), 1 / (p * cycle(peak)[1]))


def htcp(p: float, rtt: float, beta: float = 0.8) -> float:
    """H-TCP (Leith and Shorten 2004) where no queue ever forms, so that beta is at its most.

    2 (1 - beta) alpha(D) RTT / 100 ms per round trip, D seconds after a loss: alpha is 1 for a second, then 1 + 10 (D - 1) + (D - 1)^2 / 4.
    """

    def added(d: float) -> float:
        """The integral of alpha."""
        late = max(0.0, d - 1)
        return d + 5 * late**2 + late**3 / 12

    def area(d: float) -> float:
        """The integral of that."""
        late = max(0.0, d - 1)
        return d * d / 2 + 5 * late**3 / 3 + late**4 / 48

    scale = 2 * min(10.0, max(0.1, rtt / 0.1)) / rtt

    def segments(d: float) -> float:
        """From beta W, which the growth of the cycle makes scale * added(d) * beta, in d seconds."""
        return scale * (beta * added(d) * d + (1 - beta) * area(d)) / rtt

    packets = 1 / _loss(p)
    d = _solve(lambda d: segments(d) - packets, 0.0, 1e6)
    return rtt / (p * d)


def htcp_alpha(delta: float, beta: float = 0.5) -> float:
    """Alpha of H-TCP `delta` seconds after a loss (Leith and Shorten, PFLDnet 2004): segments per round trip.

    1 for the first second, then 1 + 10 (delta - 1) + (delta - 1)^2 / 4; times 2 (1 - beta), which is 1 for Reno's beta.
    """
    late = max(0.0, delta - 1)
    return 2 * (1 - beta) * (1 + 10 * late + late * late / 4)


def dctcp(p: float, wait: float = 0.0, growth: float = 1.0) -> float:
    """DCTCP (RFC 8257 sections 3.3, 3.4) with p of the packets marked, whatever it does.

    alpha is p. For a round trip after a reduction no mark counts, and the next takes `wait` / p packets: none where each round trip has
    many marks (2 / p segments), 1 for marks at random, 2/3 for RED, whose distances are even between 1 and 2 / p (Floyd and Jacobson
    1993, section 7). In this time `growth` segments a round trip are added, and p w / 2 are taken off.
    """
    return (growth + math.sqrt(growth * growth + 2 * growth * wait)) / _loss(p)


def prague(p: float, wait: float = 0.0) -> float:
    """Prague (draft-briscoe-iccrg-prague-congestion-control): as DCTCP, but what was marked does not let it grow."""
    return dctcp(p, wait, 1 - p)


def _solve(f: Callable[[float], float], low: float, high: float) -> float:
    """Returns the zero of the rising `f`, by bisection."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) < 0 else (low, middle)
    return (low + high) / 2


def initial_window_rfc3390(mss: int) -> int:
    """The most that RFC 3390 (section 1, Eq. 1) lets a connection of `mss`-byte segments begin with, in bytes."""
    return min(4 * mss, max(2 * mss, 4380))


def initial_window_rfc6928(mss: int) -> int:
    """The most that RFC 6928 (section 2, Eq. 1) lets a connection of `mss`-byte segments begin with, in bytes."""
    return min(10 * mss, max(2 * mss, 14600))


def reno_window(rate_bps: float, rtt: float, packet: float) -> float:
    """Packets of `packet` bytes in flight at a rate of IP packets: RFC 3649 section 1's 83,333 at 10 Gbit/s, 100 ms, 1500."""
    return rate_bps * rtt / (8 * packet)


def reno_interval(window: float) -> float:
    """Packets for each loss at which Reno keeps `window` on average: 2 W^2 / 3 (RFC 3649 section 1: 5e9 at 83,333)."""
    return 2 * window * window / 3


def recovery_time(window: float, segment: float, rtt: float, a: float = 1.0, b: float = 0.5) -> float:
    """Seconds that AIMD(a, b) takes back to `window` bytes from (1 - b) of it, `a` segments per round trip that stays the same.

    Weigle and Feng 2001, footnote 2: half of 8 MB by segments of 1500 bytes in round trips of 100 ms.
    """
    return b * window / segment / a * rtt


def window_packets(duration: float, rtt: float, window: int, initial: int = 1, growth: float = 2.0) -> int:
    """Packets acknowledged in `duration` by a flow that a `window` of packets limits, and nothing else.

    A window a round trip, after slow start from `initial` packets, `growth`-fold a round trip; what is on its way at the end does not
    count. The bursts of a round trip are taken as instants: they are, while the window is small against the path.
    """
    total, packets = 0, initial
    for _ in range(int(duration / rtt)):
        total += min(packets, window)
        packets = min(window, math.ceil(packets * growth))
    return total


def proportion(mine: float, total: float, rate_bps: float) -> float:
    """The rate that is in proportion to memory: `mine` of `total` bytes (Weigle and Feng 2001, sections II-A and IV-D)."""
    return rate_bps * mine / total
