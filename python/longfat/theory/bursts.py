"""Bursts over a small memory: part of `longfat.theory`, derived in docs/bursts.md.

A burst comes to a switch at the rate `rate_in` and leaves at the rate `rate_out`; `memory` is what the switch can hold meanwhile. Rates are
in bit/s, memory and sizes in bytes, all in one measure (payload, IP or wire: what you count of a packet you count of the memory).
ValueError for what is not greater than zero.

Source: A. Antony, J. Blom, C. de Laat, J. Lee, W. Sjouw, *Microscopic examination of TCP flows over transatlantic links*, FGCS 19(6), 2003,
section 2: Equations 1 to 4, which are missing in the text we have and derived anew.
"""

from __future__ import annotations

import math


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not value > 0:
            raise ValueError(f"{name} must be greater than zero, not {value}")


def burst_drops(packets: float, size: float, rate_in: float, rate_out: float, memory: float) -> float:
    """Packets of `size` bytes that a burst of so many loses: N (1 - s/f) - M/l, and none below zero (Equation 1).

    Within a packet of what a switch of whole packets drops.
    """
    _positive(packets=packets, size=size, rate_in=rate_in, rate_out=rate_out, memory=memory)
    return max(0.0, packets * (1 - rate_out / rate_in) - memory / size)


def burst_packets(size: float, rate_in: float, rate_out: float, memory: float) -> float:
    """The longest burst that passes whole, in packets: M / (l (1 - s/f)) (Equation 1 with no drops); infinite for s >= f."""
    _positive(size=size, rate_in=rate_in, rate_out=rate_out, memory=memory)
    return memory / size / (1 - rate_out / rate_in) if rate_out < rate_in else math.inf


def burst_memory(packets: float, size: float, rate_in: float, rate_out: float) -> float:
    """The memory, in bytes, that passes a burst of so many packets and no longer one: N l (1 - s/f) (Equation 1 with no drops)."""
    _positive(packets=packets, size=size, rate_in=rate_in, rate_out=rate_out)
    return max(0.0, packets * size * (1 - rate_out / rate_in))


def slow_start_rate(rate_in: float, rate_out: float, memory: float, rtt: float) -> float:
    """The rate in bit/s that slow start reaches without loss: the longest burst that passes, once a round trip (Equation 2).

    M f / ((f - s) R), and at most `rate_out`. The whole window is taken to come at `rate_in`: see `arrival_rate`.
    """
    _positive(rtt=rtt)
    return min(rate_out, 8 * burst_packets(1.0, rate_in, rate_out, memory) / rtt)


def slow_start_memory(rate_in: float, rate_out: float, rtt: float) -> float:
    """The memory, in bytes, with which slow start reaches `rate_out` without loss: s (f - s) R / f (Equation 3)."""
    _positive(rate_in=rate_in, rate_out=rate_out, rtt=rtt)
    return max(0.0, rate_out * (1 - rate_out / rate_in) * rtt / 8)


def forbidden_rates(rate_in: float, memory: float, rtt: float) -> tuple[float, float] | None:
    """Between these two rates of the slow line, in bit/s, slow start loses packets: the roots of Equation 3 in s (Figure 4).

    (f -+ sqrt(f^2 - 4 M f / R)) / 2; None where there is no such rate: with a round trip of less than 4 M / f the memory is enough for all.
    """
    _positive(rate_in=rate_in, memory=memory, rtt=rtt)
    left = 1 - 4 * 8 * memory / (rate_in * rtt)
    if left < 0:
        return None
    half = rate_in * math.sqrt(left) / 2
    return rate_in / 2 - half, rate_in / 2 + half


def arrival_rate(rate_in: float, rate_out: float, growth: float = 2.0) -> float:
    """The rate at which a window comes to the slow line in slow start, in bit/s: min(f, growth s).

    Once the line has been busy for a round trip, ACKs come at its rate, and each lets `growth` segments go: 2 with an ACK for each segment,
    1.5 with one for two. Where this is less than `rate_in`, put it in the place of `rate_in`: the burst that passes and the rate that slow
    start reaches are then greater than the equations say. (Not in the paper.)
    """
    _positive(rate_in=rate_in, rate_out=rate_out)
    if growth <= 1:
        raise ValueError(f"a window grows in slow start: growth must be greater than 1, not {growth}")
    return min(rate_in, growth * rate_out)
