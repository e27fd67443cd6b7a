"""The figure of a story: goodput, windows and queues over one time, with the moments that its sentences tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from longfat.explain.model import Story
from longfat.lazy import np
from longfat.plot.over_time import MOST_LINES, in_unit
from longfat.plot.spec import Axis, Plot, Rule, Series, floats

if TYPE_CHECKING:
    from longfat.explain.explanation import Told

RATES = 200
"""Values of goodput, at most, in the figure."""
TRIPS = 4
"""Round trips over which goodput is a mean, at least."""
NEAR = 0.02
"""Part of the width within which two marks share a label."""


def plots_of(story: Story, told: Sequence[Told]) -> list[Plot]:
    """Panels from the top: goodput, window or data in flight, wait in the queue. The moments are rules; the uppermost names them."""
    end = story.end_s
    axis = Axis("time (s)", start=0, end=end)
    panels = list(_panels(story, axis))
    moments = [
        (one.number, time)
        for one in told
        if one.number is not None and one.sentence.at_s is not None
        for time in (one.sentence.at_s, *one.sentence.more_s)
    ]
    rules = [Rule(label, x=time) for label, time in _labels(moments, NEAR * end)]
    bare = [Rule("", x=time) for _, time in moments]
    return [replace(panel, rules=rules if not number else bare) for number, panel in enumerate(panels)]


def _labels(moments: Sequence[tuple[int, float]], near: float) -> Iterator[tuple[str, float]]:
    """Yields each moment with its label; one close behind another is in the label of that."""
    at: float | None = None
    numbers: list[str] = []
    waiting: list[float] = []
    for number, time in [*sorted(moments, key=lambda one: one[1]), (0, float("inf"))]:
        if at is not None and time - at > near * len(dict.fromkeys(numbers)):
            yield ", ".join(dict.fromkeys(numbers)), at
            yield from (("", one) for one in waiting)
            at, numbers, waiting = None, [], []
        if at is None:
            at = time
        else:
            waiting.append(time)
        numbers.append(str(number))


def _panels(story: Story, axis: Axis) -> Iterator[Plot]:
    flows = [flow for flow in story.flows if len(flow.time_s) > 1][:MOST_LINES]
    left_out = f" (the first {MOST_LINES} of {len(story.flows)} flows)" if len(story.flows) > MOST_LINES else ""
    rates: list[Series] = []
    for number, flow in enumerate(flows):
        over = max(TRIPS * flow.rtt_min_s, story.end_s / RATES, story.interval_s)
        times = np.append(np.arange(flow.start_s, flow.end_s, over), flow.end_s)
        arrived = np.interp(times, flow.time_s, flow.arrived_bytes)
        rate = np.diff(arrived) * 8 / np.maximum(np.diff(times), 1e-12)
        rates.append(Series(flow.name, floats(times), floats(np.append(rate, rate[-1:])), step=True, markers=False, colour=number))
    yield in_unit(Plot("goodput", f"{story.title}{left_out}", axis, Axis("goodput (·)", start=0), rates), "bit/s")
    windows = [
        Series(flow.name, floats(flow.time_s), floats(flow.window_bytes), step=True, markers=False, colour=number)
        for number, flow in enumerate(flows)
        if flow.window_bytes is not None
    ]
    word = "cwnd" if any(flow.cwnd_bytes is not None for flow in flows) else "in flight"
    if windows:
        yield in_unit(Plot("cwnd", "", axis, Axis(f"{word} (·)", start=0), windows), "B")
    queues = [
        Series(one.name, floats(one.time_s), floats(one.wait_s), step=True, markers=False) for one in story.queues if len(one.time_s) > 1
    ]
    if queues:
        what = "round trip above the least" if story.kind == "capture" else "wait in the queue"
        yield in_unit(Plot("queue", "", axis, Axis(f"{what} (·)", start=0), queues), "s")
