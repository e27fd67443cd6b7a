"""What theory says: windows and rates of TCP as functions of loss, round trip and segment size.

Windows are averages over time, in segments; `p` is the probability that a segment is lost (one loss for each 1/p segments);
times are in seconds, sizes in bytes of payload, rates in bit/s of payload. ValueError for a `p` outside (0, 1).
"""

from __future__ import annotations

import math


def _loss(p: float) -> float:
    if not 0 < p < 1:
        raise ValueError(f"p is a probability of loss between 0 and 1, not {p}")
    return p


def rate(window: float, mss: float, rtt: float) -> float:
    """The rate in bit/s of `window` segments of `mss` bytes a round trip."""
    return 8 * window * mss / rtt


def aimd(p: float, a: float = 1.0, b: float = 0.5) -> float:
    """AIMD(a, b) with one loss a cycle: RFC 3649 appendix A's derivation; Reno's sqrt(3 / 2p) for (1, 1/2).

    The window runs from (1 - b) W to W, adding `a` a round: W^2 b (2 - b) / 2a segments a cycle, and W (2 - b) / 2 on average.
    """
    return math.sqrt(a * (2 - b) / (2 * b * _loss(p)))


def mathis(p: float, segments_per_ack: float = 1.0) -> float:
    """Reno (Mathis, Semke, Mahdavi, Ott, CCR 27(3), 1997, Eq. 3): sqrt(3 / 2bp), b segments an ACK."""
    return math.sqrt(3 / (2 * segments_per_ack * _loss(p)))


def pftk(p: float, rtt: float, rto: float, segments_per_ack: float = 2.0, max_window: float = math.inf) -> float:
    """Reno with timeouts (Padhye, Firoiu, Towsley, Kurose, SIGCOMM 1998, Eq. 31), as a window: its rate times the round trip."""
    b = segments_per_ack
    congestion = rtt * math.sqrt(2 * b * _loss(p) / 3)
    timeouts = rto * min(1.0, 3 * math.sqrt(3 * b * p / 8)) * p * (1 + 32 * p * p)
    return min(max_window, rtt / (congestion + timeouts))


LOW_WINDOW, HIGH_WINDOW, LOW_P, HIGH_P = 38.0, 83000.0, 1e-3, 1e-7


def highspeed(p: float) -> float:
    """HighSpeed TCP (RFC 3649 section 5): a line through (1e-3, 38) and (1e-7, 83000) in logarithms; Reno's above 1e-3."""
    if _loss(p) > LOW_P:
        return aimd(p)
    slope = math.log(HIGH_WINDOW / LOW_WINDOW) / math.log(HIGH_P / LOW_P)
    return LOW_WINDOW * (p / LOW_P) ** slope


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


def reno_window(rate_bps: float, rtt: float, packet: float) -> float:
    """Packets of `packet` bytes in flight at a rate of IP packets: RFC 3649 section 1's 83,333 at 10 Gbit/s, 100 ms, 1500."""
    return rate_bps * rtt / (8 * packet)


def reno_interval(window: float) -> float:
    """Packets for each loss at which Reno keeps `window` on average: 2 W^2 / 3 (RFC 3649 section 1: 5e9 at 83,333)."""
    return 2 * window * window / 3


def recovery_time(window: float, segment: float, rtt: float, a: float = 1.0, b: float = 0.5) -> float:
    """Seconds that AIMD(a, b) takes back to `window` bytes from (1 - b) of it, `a` segments a round trip that stays the same.

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
