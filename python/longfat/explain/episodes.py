"""Loss episodes: losses, the recovery that repairs them, and the cost of both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from longfat.explain.model import Episode, Loss
from longfat.lazy import np

if TYPE_CHECKING:
    from longfat.explain.model import Flow

BEFORE = 4
"""Round trips before a loss, of which the one with the highest rate is what would have gone on: slow start doubles it each time."""
BACK = 0.95
"""Share of that rate from which on it is back."""
SILENT = 3.0
"""Round trips without a retransmission after which those of a timeout are over."""
OVER = 2.0
"""Round trips over which a rate is measured afterwards."""


@dataclass
class _Recovered:
    told_s: float
    end_s: float
    is_undone: bool = False
    timeouts: int = 0
    losses: list[Loss] = field(default_factory=list[Loss])


def episodes(flow: Flow) -> list[Episode]:
    """Episodes of a flow in order, with their costs.

    A recovery begins with a fast retransmit or a timeout. The former ends with `recovery_end` or `recovery_undone`. The rate before an
    episode is the highest of `BEFORE` round trips. An episode that begins before the rate was back is held against the rate before the
    first, so that costs add up.
    """
    found = list(_recoveries(flow))
    for loss in flow.losses:
        if (whose := _whose(loss.at_s, found, 2 * flow.rtt_max_s)) is not None:
            whose.losses.append(loss)
    starts = [_start(flow, one) for one in found]
    made: list[Episode] = []
    reference = 0.0
    for one, start, stop in zip(found, starts, [*starts[1:], flow.end_s], strict=False):
        before = _before(flow, start)
        reference = max(before, reference) if made and not made[-1].is_back else before
        back = _back(flow, reference, one.end_s, stop)
        until = stop if back is None else back
        cost = max(0.0, reference * (until - start) - (flow.arrived(until) - flow.arrived(start)))
        by = "spurious" if one.is_undone or not one.losses else "timeout" if one.timeouts else "fast"
        made.append(Episode(start, one.told_s, one.end_s, by, one.losses, cost, until, back is not None))
    return made


def _whose(at_s: float, found: list[_Recovered], soon_s: float) -> _Recovered | None:
    """The recovery that repairs a loss.

    A recovery repairs what was sent before it began. A later loss waits for the next one, where that begins soon; else it is a
    retransmission that was lost, which the recovery under way repairs.
    """
    following = next((one for one in found if one.told_s >= at_s), None)
    under_way = next((one for one in reversed(found) if one.told_s < at_s <= one.end_s), None)
    if following is not None and (under_way is None or following.told_s - at_s <= soon_s):
        return following
    return under_way


def _start(flow: Flow, one: _Recovered) -> float:
    if one.losses:
        return min(one.told_s, *(loss.at_s for loss in one.losses))
    grew = flow.time_s[1:][np.diff(flow.arrived_bytes) > 0]
    last = grew[grew <= one.told_s]
    return float(last[-1]) if len(last) else one.told_s


def _recoveries(flow: Flow) -> Iterator[_Recovered]:
    now: _Recovered | None = None
    last = 0.0
    for event in flow.recoveries:
        if event.kind in ("fast_retransmit", "timeout"):
            # Timeouts between which nothing arrives are one episode, however long the timer waits.
            if now is not None and event.at_s > now.end_s and flow.arrived(event.at_s) > flow.arrived(last):
                yield now
                now = None
            now = now or _Recovered(event.at_s, flow.end_s)
            last = event.at_s
            if event.kind == "timeout":
                now.timeouts += 1
                now.end_s = _settled(flow, event.at_s)
        elif now is not None and event.kind in ("recovery_end", "recovery_undone"):
            now.end_s, now.is_undone = event.at_s, event.kind == "recovery_undone"
            yield now
            now = None
    if now is not None:
        yield now


def _settled(flow: Flow, timeout_s: float) -> float:
    """Time at which the retransmissions after a timeout were over: none for `SILENT` round trips. No event says so."""
    after = flow.time_s > timeout_s
    times, again = flow.time_s[after], flow.retransmitted_so_far[after]
    grew = times[1:][np.diff(again) > 0]
    steps = np.diff(np.concatenate([[timeout_s], grew]))
    long = np.flatnonzero(steps > max(SILENT * flow.rtt_min_s, 2 * float(times[1] - times[0]) if len(times) > 1 else 0.0))
    until = grew[: long[0]] if len(long) else grew
    return float(until[-1]) if len(until) else timeout_s


def _before(flow: Flow, start_s: float) -> float:
    trip = max(flow.rtt_min_s, 1e-6)
    ends = [start_s - k * trip for k in range(BEFORE) if start_s - (k + 1) * trip >= flow.start_s]
    return max((flow.rate(end - trip, end) for end in ends), default=0.0)


def _back(flow: Flow, reference: float, start_s: float, stop_s: float) -> float | None:
    """First time from `start_s` on at which the rate over `OVER` round trips is back; None before `stop_s`."""
    times = flow.time_s[(flow.time_s >= start_s) & (flow.time_s <= stop_s)]
    if not len(times) or reference <= 0:
        return None
    over = max(OVER * flow.rtt_min_s, float(times[1] - times[0]) if len(times) > 1 else 0.0)
    rates = (np.interp(times + over, flow.time_s, flow.arrived_bytes) - np.interp(times, flow.time_s, flow.arrived_bytes)) / over
    back = times[(rates >= BACK * reference) & (times + over <= stop_s + over / 2)]
    return float(back[0]) if len(back) else None
