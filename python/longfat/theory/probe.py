"""Properties of a path, estimated from a burst of numbered packets that crossed it.

A burst that comes to the bottleneck at a rate f greater than its rate s leaves at s, and fills its memory M with what is left over. The
packets that arrive are spaced by the bottleneck, the first loss says how much it holds, and the share of losses after that what f is:

    s = size / spacing,    1 - s / f = share lost,    M = packets before the first loss * size * (1 - s / f)

(Antony, Blom, de Laat, Lee and Sjouw, *Microscopic examination of TCP flows over transatlantic links*, FGCS 19(6), 2003, section 2, Eq. 1.)

Packets are also lost at a receiver that cannot keep up. Both kinds are told apart by time. Behind a packet lost at the full bottleneck the
next one follows at once, since the line never rests. Where a packet is lost behind the bottleneck, the time that it took on the line is
missing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from longfat._longfat import student_t
from longfat.lazy import np
from longfat.results.repeats import LEVEL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    _Floats = NDArray[np.float64]
    _Integers = NDArray[np.int64]

Place = Literal["network", "receiver", "unknown"]

# Neighbours on each side of a loss whose times are averaged: interfaces that coalesce interrupts stamp several packets at once.
_NEIGHBOURS = 16
# Runs of losses up to this length are judged together with those of the same length: one alone says little where times are noisy.
_SHORT = 3
# Pieces into which a burst is cut for confidence intervals.
_PIECES = 20
# Stretches without loss of at least so many steps say what the spacing is, if there are any: in shorter ones coalescing hides it.
_LONG = 64


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Loss:
    """A run of packets lost one after the other: the number of the first, how many, and where they were lost.

    A run lost at the receiver may hold packets that the full bottleneck had lost anyway; `behind` are those lost behind the bottleneck.
    """

    first: int
    packets: int
    where: Place
    behind: int = 0


@dataclass(frozen=True)
class Probe:
    """Properties of a path. Rates and sizes are of the payload that `size` counts."""

    received: int
    """Packets that arrived, those that came twice counted once."""
    lost: int
    reordered: int
    """Packets that arrived after one with a higher number."""
    rate_bps: Estimate
    """Rate at which packets arrived while none was lost: the rate of the bottleneck, or that of the burst where it found none."""
    input_bps: Estimate | None
    """Rate at which packets came to the bottleneck; None where none was lost in the network."""
    memory_bytes: Estimate | None
    """Memory of the bottleneck; None where none was lost in the network."""
    losses: tuple[Loss, ...]
    """Losses, in order of their numbers."""

    def lost_at(self, where: Place) -> int:
        """Number of packets lost there."""
        match where:
            case "unknown":
                return sum(loss.packets for loss in self.losses if loss.where == where)
            case "receiver":
                return sum(loss.behind for loss in self.losses)
            case "network":
                return sum(loss.packets - loss.behind for loss in self.losses if loss.where != "unknown")

    def __str__(self) -> str:
        """The answer in a few lines."""

        def said(of: Estimate, unit: str, scale: float) -> str:
            return f"{of.value / scale:.4g} {unit} ({of.low / scale:.4g} to {of.high / scale:.4g})"

        lines = [f"{self.received} packets arrived, {self.lost} did not", f"they arrived at {said(self.rate_bps, 'Mbit/s', 1e6)}"]
        if self.input_bps is not None and self.memory_bytes is not None:
            lines.append(f"the bottleneck was fed at {said(self.input_bps, 'Mbit/s', 1e6)} and holds {said(self.memory_bytes, 'kB', 1e3)}")
        said_of: dict[Place, str] = {"network": "in the network", "receiver": "at the receiver", "unknown": "nobody can say where"}
        for where, name in said_of.items():
            if count := self.lost_at(where):
                longest = max((loss.packets for loss in self.losses if loss.where == where), default=1)
                lines.append(f"{count} lost {name}, at most {longest} in a row")
        return "\n".join(lines)


def probe(numbers: Sequence[int], times: Sequence[float], *, size: float, sent: int | None = None) -> Probe:
    """Looks at a burst as it arrived: the `numbers` of its packets, from 0 in the order sent, and the `times` at which they came, in s.

    `size` is what is counted of each packet, in bytes; the rates and the memory are in the same measure. `sent` is how many packets there
    were, if the last ones may be missing. Whoever recorded the arrivals: UDPmon, a capture, or a run of longfat with `measure.packets`.

    The sender must have sent them evenly. ValueError for fewer than 10 packets, arrays of different lengths, negative numbers, times that
    run backwards, and where more than one packet in a hundred overtook another: spacing says nothing then.
    """
    number, time, reordered = _in_order(np.asarray(numbers, dtype=np.int64), np.asarray(times, dtype=np.float64), sent)
    if not (size > 0 and math.isfinite(size)):
        raise ValueError(f"size is bytes of a packet, not {size}")
    missing = np.diff(number) - 1
    spacing, noise = _spacing(number, time)
    losses = _losses(number, time, missing, spacing.value, noise)
    # The ends of a burst have a neighbour on one side only.
    if number[0] > 0:
        losses.insert(0, Loss(0, int(number[0]), "unknown"))
    tail = (int(number[-1]) + 1 if sent is None else sent) - int(number[-1]) - 1
    if tail > 0:
        losses.append(Loss(int(number[-1]) + 1, tail, "unknown"))
    rate = _inverse(spacing, 8 * size)
    share = _share_lost(int(number[-1]), losses)
    fed = memory = None
    if share is not None:
        before = _before_first(losses, share.value)
        kept = Estimate(1 - share.value, 1 - share.high, 1 - share.low)
        fed = _quotient(rate, kept)
        # The packet that was lost first may have missed its room by anything up to a packet.
        memory = Estimate(before.value * size * share.value, (before.low - 1) * size * share.low, (before.high + 1) * size * share.high)
    count = len(number)
    total = sum(loss.packets for loss in losses)
    return Probe(count, total, reordered, rate, fed, memory, tuple(losses))


def _in_order(number: _Integers, time: _Floats, sent: int | None) -> tuple[_Integers, _Floats, int]:
    """Sorts packets by number, each once, and counts those that the next one had overtaken."""
    if number.shape != time.shape or number.ndim != 1:
        raise ValueError(f"there are {number.size} numbers and {time.size} times: one time for each packet")
    if len(number) < 10:
        raise ValueError(f"{len(number)} packets are too few: send at least 10, better some thousands")
    if number.min() < 0 or (sent is not None and number.max() >= sent):
        raise ValueError("packets are numbered from 0 in the order sent, up to the number sent")
    if not np.isfinite(time).all() or (np.diff(time) < 0).any():
        raise ValueError("times run backwards: give packets in the order in which they arrived")
    number, first = np.unique(number, return_index=True)
    reordered = int((np.diff(first) < 0).sum())
    if reordered * 100 > len(number):
        raise ValueError(f"{reordered} of {len(number)} packets overtook others: their spacing says nothing of one bottleneck")
    # One that was overtaken counts as having come with its successor's time at most.
    time = np.minimum.accumulate(time[first][::-1])[::-1]
    return number, time, reordered


def _stretches(number: _Integers) -> list[tuple[int, int]]:
    """Returns begin and end of each stretch of packets that follow each other without loss, as places `[begin, end)`."""
    cuts = np.flatnonzero(np.diff(number) > 1) + 1
    edges = [0, *cuts.tolist(), len(number)]
    return list(pairwise(edges))


def _spacing(number: _Integers, time: _Floats) -> tuple[Estimate, float]:
    """The time from one packet to the next where none is lost, and how much the time of one packet scatters about its due time."""
    stretches = [(a, b) for a, b in _stretches(number) if b - a >= 2]
    stretches = [(a, b) for a, b in stretches if b - a > _LONG] or stretches
    steps = sum(b - a - 1 for a, b in stretches)
    if steps < 5:
        raise ValueError("hardly two packets in a row arrived: nothing can be said of their spacing")
    # Pieces of about the same number of steps, none over a loss.
    most = max(1, steps // _PIECES)
    pieces = [(at, min(at + most, b - 1)) for a, b in stretches for at in range(a, b - 1, most)]
    weights = np.array([b - a for a, b in pieces], dtype=np.float64)
    slopes = np.array([_slope(time[a : b + 1]) for a, b in pieces])
    mean = float(np.average(slopes, weights=weights))
    if mean <= 0:
        raise ValueError("all packets arrived at one time: the clock of the receiver is too coarse")
    # A clock has an end of its digits.
    half = max(_half_width(slopes, weights, mean), mean * 1e-9)
    scatter = [time[a : b + 1] - time[a] - slope * np.arange(b - a + 1) for (a, b), slope in zip(pieces, slopes, strict=True) if b - a >= 2]
    noise = float(np.sqrt(np.mean(np.concatenate([part - part.mean() for part in scatter]) ** 2))) if scatter else 0.0
    return Estimate(mean, max(mean - half, mean * 1e-9), mean + half), noise


def _slope(time: _Floats) -> float:
    """Slope of a straight line through evenly numbered `time`, by least squares."""
    place = np.arange(len(time)) - (len(time) - 1) / 2
    return float(place @ time / (place @ place))


def _half_width(values: _Floats, weights: _Floats, mean: float) -> float:
    """Half of the 95 % confidence interval of a weighted mean of independent values (Cochran 1977, ratio estimator)."""
    n = len(values)
    if n < 2:
        return 0.0
    variance = n / (n - 1) * float(np.sum((weights * (values - mean)) ** 2)) / float(weights.sum()) ** 2
    return student_t((1 + LEVEL) / 2, n - 1) * math.sqrt(variance)


def _losses(number: _Integers, time: _Floats, missing: _Integers, spacing: float, noise: float) -> list[Loss]:
    """Every run of losses between two arrivals, with its place."""
    at = np.flatnonzero(missing > 0)
    # Neighbours without a loss between them and the run, on each side.
    before = np.minimum(np.diff(at, prepend=-1), _NEIGHBOURS)
    after = np.minimum(np.diff(at, append=len(number) - 1), _NEIGHBOURS)
    lengths = missing[at]
    gone = np.empty(len(at))
    error = np.empty(len(at))
    steps: _Floats = spacing * np.arange(_NEIGHBOURS, dtype=np.float64)
    for i in range(len(at)):
        place, m, n = int(at[i]), int(before[i]), int(after[i])
        # When the last before the run came, and the first after it, as their neighbours have it.
        left = float(np.mean(time[place - m + 1 : place + 1] + steps[:m][::-1]))
        right = float(np.mean(time[place + 1 : place + 1 + n] - steps[:n]))
        gone[i] = ((right - left) / spacing - 1) / lengths[i]
        error[i] = max(noise * math.sqrt(1 / m + 1 / n) / spacing, 1e-3) / lengths[i]
    # A run lost behind a full bottleneck leaves a gap of only the share that passes the bottleneck. Short runs tell that share.
    alone = 0.0
    if len(at):
        short = lengths <= _SHORT
        came = int(number[-1] - number[at[0]] - lengths[~short].sum())
        alone = float(lengths[short & (gone < 0.5)].sum()) / max(1, came)
    limit = (1 - min(alone, 0.9)) / 2
    # A queue that is fed evenly loses at most f / s packets in a row. Where a longer run leaves no gap, it is not the bottleneck that
    # spaces what arrives, and time does not say where the run was lost. What comes after it may: `_was_full_after`.
    most = 2 * math.ceil(1 / (1 - min(alone, 0.9)))
    places: list[Place] = ["unknown"] * len(at)
    for length in np.unique(lengths):
        group = np.flatnonzero(lengths == length)
        for members in [group] if length <= _SHORT else np.split(group, len(group)):
            weights = 1 / error[members] ** 2
            mean, se = float(np.average(gone[members], weights=weights)), float(1 / math.sqrt(weights.sum()))
            verdict: Place = "unknown" if abs(mean - limit) < 2 * se else "network" if mean < limit else "receiver"
            if verdict == "network" and length > max(most, _SHORT):
                verdict = "receiver" if _was_full_after(number, missing, int(at[members[0]]), alone) else "unknown"
                gone[members[0]] = 1 - alone
            for member in members.tolist():
                places[member] = verdict
    share = np.where(gone > 1 - 2 * error, 1.0, gone)
    behind = [round(of * int(k)) if place == "receiver" else 0 for of, k, place in zip(share.tolist(), lengths, places, strict=True)]
    return [Loss(int(number[a]) + 1, int(k), place, n) for a, k, place, n in zip(at, lengths, places, behind, strict=True)]


def _was_full_after(number: _Integers, missing: _Integers, at: int, share: float) -> bool:
    """Returns true if the bottleneck was full when the long run behind the arrival `at` ended, where it loses `share` of what comes.

    Had the L packets of the run been lost before the bottleneck, its queue would have emptied by L (1 - share) packets meanwhile, and would
    have lost none until as many had come again to fill it: L (1 - share) / share. Full, it loses one in 1 / share at once.
    """
    later = np.flatnonzero(missing[at + 1 :] > 0)
    if share <= 0 or len(later) == 0:
        return False
    length = int(missing[at])
    until_next = int(number[at + 1 + later[0]] - number[at + 1])
    return until_next < length * (1 - share) / share / 2


def _before_first(losses: list[Loss], share: float) -> Estimate:
    """Number of packets before the first one lost in the network, where `share` of them are lost from then on."""
    at = next(i for i, loss in enumerate(losses) if loss.where == "network")
    first = losses[at].first
    if at > 0 and losses[at - 1].where == "receiver" and (hidden := losses[at - 1].packets - losses[at - 1].behind) > 0:
        # The first one is among those that the receiver lost too: so many of these had been lost before, one in 1 / share.
        end = losses[at - 1].first + losses[at - 1].packets
        return Estimate(max(end - hidden / share, losses[at - 1].first), losses[at - 1].first, first)
    return Estimate(first, first, first)


def _share_lost(last: int, losses: list[Loss]) -> Estimate | None:
    """The share of packets lost in the network from the first such loss to the packet `last`; None where there is no such loss."""
    network = [loss for loss in losses if loss.where == "network"]
    if not network:
        return None
    start = network[0].first
    is_lost = np.zeros(last + 1 - start)
    for loss in losses:
        if start <= loss.first <= last:
            is_lost[loss.first - start : loss.first - start + loss.packets] = 1 if loss.where == "network" else np.nan
    # Packets of a run lost elsewhere are left out: nobody knows how many had come so far.
    is_lost = is_lost[~np.isnan(is_lost)]
    pieces = np.array_split(is_lost, min(_PIECES, max(1, len(is_lost) // 10)))
    shares, weights = np.array([piece.mean() for piece in pieces]), np.array([len(piece) for piece in pieces], dtype=np.float64)
    mean = float(is_lost.mean())
    # Evenly spaced losses may fall on either side of an end: half a packet there, even where all pieces agree.
    half = max(_half_width(shares, weights, mean), 1 / len(is_lost))
    return Estimate(mean, max(mean - half, 0.0), min(mean + half, 1 - 1 / (last + 2)))


def _inverse(of: Estimate, scale: float) -> Estimate:
    return Estimate(scale / of.value, scale / of.high, scale / of.low)


def _quotient(a: Estimate, b: Estimate) -> Estimate:
    """`a / b`, whose errors are independent: relative widths add in squares."""
    value = a.value / b.value
    width = math.hypot((a.high - a.low) / a.value, (b.high - b.low) / b.value) / 2
    return Estimate(value, value / (1 + width), value * (1 + width))
