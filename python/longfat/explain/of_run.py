"""A run, simulated or in the kernel, as its story; with a finer recording where that is cheap to have."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from longfat._longfat import quantity
from longfat.explain.model import Flow, Loss, Queue, Recovery, Story
from longfat.lazy import np
from longfat.plot.over_time import flow_name
from longfat.results.result import Result, cells_of, from_trace, row_count

if TYPE_CHECKING:
    from longfat._longfat import Document, Run

CHEAP_S = 60.0
"""Processor time of a run, in seconds, up to which it is run again."""
PER_ROUND_TRIP = 4
"""Samples per round trip that make a story exact."""
MOST_SAMPLES = 10_000
"""Samples per flow, at most."""
MOST_ROWS = 2_000_000
"""Rows of the series of a run that is run again, about."""

LIMITS: dict[str, str] = {
    "cwnd_limited_s": "cwnd",
    "rwnd_limited_s": "receiver window",
    "sndbuf_limited_s": "send buffer",
    "pacing_limited_s": "pacing",
    "host_limited_s": "host",
}
NOT_TCP = ("ping", "udp", "sinusoid", "on_off")


def traced(result: Result, document: Document | None) -> tuple[Result, str]:
    """The run with series and events fine enough to be told, and a note on how they came about; empty where they were there.

    A simulated run is bit-identical each time, so a cheap one is run again with a finer recording. A run in the kernel is left as it is.
    """
    wanted = _interval(result)
    lacks = _lacks(result, wanted)
    if not lacks:
        return result, ""
    to_write = f"to have them, add `interval = {json.dumps(_in_words(wanted))}` and `events = true` to [measure]"
    said = f"this run has no {' and no '.join(lacks)}"
    if str(json.loads(result.resolved)["backend"]) != "sim":
        return result, f"{said}, and a run in the kernel cannot be repeated exactly: {to_write}"
    if result.cpu_s > CHEAP_S:
        return result, f"{said}, and takes {result.cpu_s:.0f} s of processor time to run again: {to_write}"
    if document is None or (run := _same(result, document, wanted)) is None:
        return result, f"{said}, and its experiment gives another run by now: {to_write}"
    again = from_trace(run, result.title, run.execute(), result.wall_s, result.cpu_s)
    if not _is_same(result, again):
        return result, f"{said}, and running it again gave other numbers, so that is not used: {to_write}"
    return again, f"this run had no {' and no '.join(lacks)}, so it was simulated again with them, bit for bit the same"


def _lacks(result: Result, wanted: float) -> list[str]:
    times = cells_of(result, "flow_series").get("time_s", ())
    distinct = np.unique(np.asarray(times, np.float64)[:100_000])
    has = float(np.diff(distinct).min()) if len(distinct) > 1 else math.inf
    events = bool(json.loads(result.resolved)["measure"].get("events"))
    series = "series" if math.isinf(has) else "series of several samples per round trip" if has > 2.01 * wanted else ""
    return [word for word in (series, "" if events else "events") if word]


def _interval(result: Result) -> float:
    """Spacing of the series that a story needs, in seconds."""
    flows = cells_of(result, "flows")
    trips = np.asarray(flows["rtt_min_s"], np.float64)
    least = float(np.nanmin(trips)) if np.isfinite(trips).any() else result.end_s / 100
    rows = len(flows["flow"]) + len(cells_of(result, "links")["link"])
    samples = min(MOST_SAMPLES, MOST_ROWS / max(rows, 1))
    exact = max(least / PER_ROUND_TRIP, result.end_s / samples, 1e-5)
    step = 10.0 ** math.floor(math.log10(exact))
    return next((many * step for many in (1, 2, 5) if many * step >= exact * 0.999), 10 * step)


def _in_words(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} us" if seconds < 1e-3 else f"{seconds * 1e3:g} ms"


def _same(result: Result, document: Document, interval: float) -> Run | None:
    """The run of `result` with a recording of its own; None where the document now gives another one."""
    for combination in range(document.run_count // document.repeats):
        if dict(document.labels(combination)) == result.labels:
            index = combination * document.repeats + result.repeat
            break
    else:
        return None
    if document.run(index).hash != result.run:
        return None
    document.set("measure.interval", json.dumps(_in_words(interval)))
    document.set("measure.events", "true")
    return document.run(index)


def _is_same(result: Result, again: Result) -> bool:
    columns = ("bytes_sent", "bytes_arrived", "segments_retransmitted", "rtt_mean_s")
    one, other = cells_of(result, "flows"), cells_of(again, "flows")
    return all(np.array_equal(one[column], other[column], equal_nan=True) for column in columns)


def story_of_run(result: Result, note: str = "") -> Story:
    """The story of a run, from its tables and what it resolved to."""
    resolved = json.loads(result.resolved)
    flows, links = cells_of(result, "flows"), cells_of(result, "links")
    series, events = cells_of(result, "flow_series"), cells_of(result, "events")
    events = {name: np.asarray(column) for name, column in events.items()}
    said = {one.get("name", ""): one for one in resolved["flow"]}
    told = [
        _flow(number, result, flows, said, links, series, events)
        for number, traffic in enumerate(flows["traffic"])
        if traffic not in NOT_TCP
    ]
    real = f"{result.verdict}: its warnings say why" if result.verdict not in (None, "valid") else ""
    return Story(
        title=result.title,
        kind="simulation" if resolved["backend"] == "sim" else "kernel",
        end_s=result.end_s,
        flows=told,
        queues=[_queue(int(number), result, links, resolved) for number in np.flatnonzero(np.asarray(links["bottleneck"]))],
        has_series=row_count(result, "flow_series") > 0,
        has_events=bool(resolved["measure"].get("events")),
        verdict=real,
        notes=[note] if note else [],
    )


def _flow(
    number: int,
    result: Result,
    flows: Mapping[str, Any],
    said: Mapping[str, Any],
    links: Mapping[str, Any],
    series: Mapping[str, Any],
    events: Mapping[str, Any],
) -> Flow:
    start, done = float(flows["start_s"][number]), float(flows["acked_all_s"][number])
    end = done if math.isfinite(done) else result.end_s
    rows = np.empty(0, np.int64)
    if series:
        rows = np.flatnonzero((series["flow"] == number) & (series["time_s"] >= start) & (series["time_s"] <= end))
    column = {name: np.asarray(values)[rows].astype(np.float64) for name, values in series.items()}
    own = {name: values[events["flow"] == number] for name, values in events.items()} if len(events) else {}
    kinds = list(own.get("kind", ()))
    names = list(links["name"])
    where = ["" if math.isnan(link) else str(names[int(link)]) for link in own.get("link", ())]
    when = [float(one) for one in own.get("time_s", ())]
    config = said.get(str(flows["group"][number]), {})
    segments = float(flows["segments_sent"][number])
    none = np.empty(0)
    return Flow(
        name=flow_name(flows, number),
        control=str(flows["congestion_control"][number]),
        slow_start=str(config.get("slow_start", "")),
        start_s=start,
        end_s=end,
        rtt_min_s=float(np.nan_to_num(flows["rtt_min_s"][number])),
        rtt_max_s=float(np.nan_to_num(flows["rtt_max_s"][number])),
        mss_bytes=float(flows["bytes_sent"][number]) / segments if segments else 0.0,
        delivered_bytes=float(flows["bytes_arrived"][number]),
        goodput_bps=float(flows["goodput_bps"][number]),
        retransmitted_bytes=float(flows["bytes_retransmitted"][number]),
        flight_max_bytes=float(flows["in_flight_max_bytes"][number]),
        limits=_limits(number, flows, end),
        time_s=column.get("time_s", none),
        arrived_bytes=column.get("bytes_arrived", none),
        retransmitted_so_far=column.get("bytes_retransmitted", none),
        cwnd_bytes=column.get("cwnd_bytes"),
        ssthresh_bytes=column.get("ssthresh_bytes"),
        flight_bytes=column.get("in_flight_bytes"),
        losses=[
            Loss(time, kind, link)
            for time, kind, link in zip(when, kinds, where, strict=True)
            if kind.startswith("dropped") and kind != "dropped_ack_filter"
        ],
        recoveries=[Recovery(time, kind) for time, kind in zip(when, kinds, strict=True) if kind in RECOVERIES],
        marks_s=np.array([time for time, kind in zip(when, kinds, strict=True) if kind == "marked"]),
    )


RECOVERIES = ("fast_retransmit", "timeout", "recovery_end", "recovery_undone", "gave_up")


def _limits(number: int, flows: Mapping[str, Any], end_s: float) -> dict[str, float]:
    """Shares of the time of a flow; the rest is the application's."""
    life = end_s - float(flows["established_s"][number])
    spent = {cause: float(flows[column][number]) for column, cause in LIMITS.items() if column in flows}
    if not life > 0 or any(math.isnan(one) for one in spent.values()):
        return {}
    shares = {cause: seconds / life for cause, seconds in spent.items()}
    return shares | {"application": max(0.0, 1.0 - sum(shares.values()))}


def _queue(number: int, result: Result, links: Mapping[str, Any], resolved: Mapping[str, Any]) -> Queue:
    series = cells_of(result, "link_series")
    rows = np.flatnonzero(series["link"] == number) if len(series) else np.empty(0, np.int64)
    column = {name: np.asarray(values)[rows].astype(np.float64) for name, values in series.items()}
    name, rate = str(links["name"][number]), float(links["rate_bps"][number])
    described: dict[str, dict[str, Any]] = {one["name"]: one for one in resolved.get("path", {}).get("link", [])}
    config = described.get(name.rstrip("<>"), {})
    queue: dict[str, Any] = config.get("queue", {})
    none = np.empty(0)
    return Queue(
        name=name,
        kind=str(links["queue"][number]),
        rate_bps=rate,
        time_s=column.get("time_s", none),
        wait_s=column.get("backlog_bytes", none) * 8 / rate,
        packets=column.get("backlog_packets"),
        busy_share=float(links["utilization"][number]),
        drops=int(links["drops_overflow"][number] + links["drops_early"][number]),
        marks=int(links["marks"][number]),
        policed_bps=_quantity(queue.get("rate")) if links["queue"][number] == "policer" else math.nan,
        down=list(_outages(config.get("down", []), result.end_s)),
    )


def _outages(said: Sequence[Mapping[str, str]], end_s: float) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    for one in said:
        start, stop, every = (_quantity(one.get(key)) for key in ("from", "to", "every"))
        repeats = int((end_s - start) // every) + 1 if every > 0 and end_s > start else 1
        found += [(start + k * every, stop + k * every) if k else (start, stop) for k in range(repeats)]
    return sorted(found)


def _quantity(text: str | None) -> float:
    found = quantity(text) if text else None
    return found[0] if found else math.nan
