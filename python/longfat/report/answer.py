"""The answer of a sweep: its best and its worst settings, and up to three sentences made from the tables."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from longfat.lazy import pd
from longfat.plot.sweeps import Metric, headline, mean_rtt, shares_of_groups
from longfat.plot.units import Unit, with_unit
from longfat.results.result import Result
from longfat.results.results import Results

MOST_SETTINGS = 3
"""Settings at each end of the table."""
BUSY = 0.95
"""Share of the time in which a link is transmitting, from which on it is what limits."""
ALIKE = 0.01
"""Throughputs closer than this are the same."""


@dataclass(frozen=True)
class Answer:
    """Contents of the first screen."""

    sentences: list[str]
    columns: list[str]
    rows: list[list[str]]
    """Settings, the best first."""
    left_out: int
    """Settings between the best and the worst that are not listed."""
    cut: int
    """After how many rows they would stand."""


def answer(results: Results) -> Answer:
    """Summarizes the results. Repeats of a setting are averaged."""
    by = headline(results)
    column = by.column
    table = _settings(results, by)
    varied = [axis for axis in results.axes if results.runs[axis].nunique() > 1]
    shown = table if len(table) <= 2 * MOST_SETTINGS else pd.concat([table.head(MOST_SETTINGS), table.tail(MOST_SETTINGS)])
    metrics = [name for name in METRICS if name == column or (name in table and name not in THROUGHPUTS)]
    metrics = [name for name in metrics if table[name].notna().any()]
    rows = [[*(str(row[axis]) for axis in varied), *(said(name, row[name]) for name in metrics)] for row in shown.to_dict("records")]
    return Answer(
        sentences=_sentences(results, table, varied, by),
        columns=[*varied, *(METRICS[name][0] for name in metrics)],
        rows=rows,
        left_out=len(table) - len(shown),
        cut=MOST_SETTINGS if len(table) > len(shown) else len(shown),
    )


METRICS: Mapping[str, tuple[str, Unit | None]] = {
    "slowdown_p99": ("slowdown, 99th percentile", "1"),
    "slowdown_p50": ("median slowdown", "1"),
    "completion_p50_s": ("median completion", "s"),
    "ttcp_utilization_bps": ("throughput", "bit/s"),
    "goodput_total_bps": ("throughput", "bit/s"),
    "bottleneck_utilization": ("bottleneck busy", None),
    "rtt_mean_s": ("mean RTT", "s"),
    "flow_rtt_p95_s": ("RTT, 95th percentile", "s"),
    "bottleneck_queue_delay_mean_s": ("mean queueing delay", "s"),
    "retransmission_rate": ("sent again", None),
    "jain_index": ("Jain's index", "1"),
}
"""Columns of the table of settings: heading and unit; a column without a unit is a fraction."""
THROUGHPUTS = ("ttcp_utilization_bps", "goodput_total_bps")
"""Columns of which a table has one."""


def said(name: str, value: float) -> str:
    """A metric for people: `9.2 Mbit/s`, `96 %`."""
    unit = METRICS[name][1]
    if value != value:
        return "–"
    return with_unit(value, unit) if unit else f"{100 * value:.3g} %"


def _settings(results: Results, by: Metric) -> pd.DataFrame:
    """A row a setting, the best first."""
    runs = results.runs.assign(rtt_mean_s=results.runs["run"].map(mean_rtt(results)))
    # One flow is fair.
    if (results.flows.groupby("run", sort=False).size() <= 1).all():
        runs = runs.drop(columns="jain_index")
    names = [name for name in METRICS if name in runs]
    if results.axes:
        runs = runs.groupby(results.axes, sort=False, dropna=False)[names].mean().reset_index()
    return runs.sort_values(by.column, ascending=by.least_is_best, kind="stable", na_position="last").reset_index(drop=True)


def _sentences(results: Results, table: pd.DataFrame, varied: Sequence[str], by: Metric) -> list[str]:
    column, word = by.column, by.word
    real = table[table[column].notna()]
    if not len(real):
        return [f"No run has a {word}."]
    best, worst = real.iloc[0], real.iloc[-1]
    low, high = sorted((float(best[column]), float(worst[column])))
    made: list[str] = []
    if not varied or len(real) == 1:
        made.append(f"The {word} is {said(column, best[column])}.")
    elif high <= (1 + ALIKE) * low:
        made.append(f"All {len(real)} settings give the same {word}: {said(column, low)} to {said(column, high)}.")
    else:
        near = int(((real[column] / best[column] - 1).abs() <= ALIKE).sum())
        others = f" ({near} of the {len(real)} settings come within 1 % of it)" if near > 1 else ""
        first, last = ("lowest", "highest") if by.least_is_best else ("highest", "lowest")
        if by.least_is_best:
            times = f", {worst[column] / best[column]:.3g} times lower than the {last}" if best[column] > 0 else f"; the {last}"
        else:
            times = f": {best[column] / worst[column]:.3g} times the {last}" if worst[column] > 0 else f"; the {last}"
        made.append(
            f"The {first} {word} is {said(column, best[column])}, with {_setting(best, varied)}{others}{times}, "
            f"{said(column, worst[column])}, with {_setting(worst, varied)}."
        )
        told = _what_matters(real, varied, column)
        if told:
            made.append(told)
    who = _who_won(results, varied)
    made[1:1] = [who] if who else []
    made += [] if by.least_is_best else _limit(results, column)
    return made[:3]


def _setting(row: Any, varied: Sequence[str]) -> str:
    return ", ".join(f"{axis} {row[axis]}" for axis in varied)


def _who_won(results: Results, varied: Sequence[str]) -> str:
    """Says which of two groups of flows has more of the goodput, in how many settings, and between what its share lies."""
    shares = shares_of_groups(results, varied).dropna()
    if len(shares.columns) != 2 or shares.empty:
        return ""
    first, second = shares.columns
    if (shares[second] > shares[first]).sum() > (shares[first] > shares[second]).sum():
        first, second = second, first
    mine = shares[first]
    if len(shares) == 1:
        return f"{first} has {100 * mine.iloc[0]:.3g} % of the goodput, {second} {100 - 100 * mine.iloc[0]:.3g} %."

    def at(place: int) -> str:
        key = shares.index[place]
        return ", ".join(f"{axis} {value}" for axis, value in zip(varied, key if isinstance(key, tuple) else (key,), strict=True))

    low, high = int(mine.argmin()), int(mine.argmax())
    return (
        f"{first} has more of the goodput than {second} in {int((mine > shares[second]).sum())} of {len(shares)} settings: "
        f"from {100 * mine.iloc[low]:.3g} % with {at(low)} to {100 * mine.iloc[high]:.3g} % with {at(high)}."
    )


def _what_matters(table: pd.DataFrame, varied: Sequence[str], column: str) -> str:
    """The axis whose values' means explain most of the variance, where there are several."""
    if len(varied) < 2:
        return ""
    total = float(((table[column] - table[column].mean()) ** 2).sum())
    parts: dict[str, float] = {}
    for axis in varied:
        means = table.groupby(axis)[column].transform("mean")
        parts[axis] = float(((means - table[column].mean()) ** 2).sum()) / total if total else 0.0
    axis = max(parts, key=lambda name: parts[name])
    means = table.groupby(axis)[column].mean().sort_values()
    (low, *_, high), (least, *_, most) = list(means.index), list(means)
    return (
        f"Most depends on {axis}, which explains {100 * parts[axis]:.0f} % of the variance: "
        f"on average {said(column, most)} with {high}, {said(column, least)} with {low}."
    )


def _limit(results: Results, column: str) -> list[str]:
    """Names what limits the best run, as far as its counters tell."""
    values = results.runs[column]
    run = results.runs["run"].iloc[int(values.argmax())] if values.notna().any() else results.runs["run"].iloc[0]
    result = results.open(run)
    words = limit(result.links, result.flows, result)
    if not words:
        return []
    return [f"In the best run {words}" if len(results) > 1 else words[:1].upper() + words[1:]]


def limit(links: pd.DataFrame, flows: pd.DataFrame, result: Result) -> str:
    """Names what limits a run: a busy link, what its senders mostly wait for, or losses; empty where it has no links."""
    if links.empty:
        return ""
    neck, busiest = links[links["bottleneck"] == 1], links.iloc[int(links["utilization"].fillna(0).argmax())]
    if float(busiest["utilization"]) >= BUSY:
        which = "the link" if len(neck) and bool(busiest["bottleneck"]) else "not the bottleneck but the link"
        return f"{which} {busiest['name']} limits: it is busy {100 * float(busiest['utilization']):.3g} % of the time."
    busy = f"{100 * float(neck['utilization'].max()):.3g} %" if len(neck) else "–"
    tcp = flows[flows["in_flight_max_bytes"] > 0]
    waits = _waits(tcp, result.end_s)
    if waits:
        column, share = max(waits.items(), key=lambda wait: wait[1])
        if column in LIMITS and share > 0:
            return f"{LIMITS[column]}: senders wait for it {100 * share:.3g} % of the time, and the bottleneck is busy {busy} of it."
    lost = int(tcp["segments_retransmitted"].sum())
    if lost:
        again = lost / max(1, int(tcp["segments_sent"].sum()))
        timeouts = int(tcp["timeouts"].sum())
        also = f", with {timeouts} timeout{'s' if timeouts != 1 else ''}" if timeouts else ""
        return f"losses limit: {100 * again:.2g} % of the segments are sent again{also}, and the bottleneck is busy {busy} of the time."
    return f"the congestion window limits, without losses: the bottleneck is busy {busy} of the time."


LIMITS: Mapping[str, str] = {
    "rwnd_limited_s": "the receiver's window limits",
    "sndbuf_limited_s": "the send buffer limits",
    "pacing_limited_s": "pacing limits",
    "host_limited_s": "the sender's own interface limits",
    "application_limited_s": "the application limits",
}
"""Limits of a sender other than its congestion window, by the column of the time for which each held it back."""


def _waits(flows: pd.DataFrame, end_s: float) -> dict[str, float]:
    """The shares of the time of all flows that each limit has; of none where that was not recorded."""
    columns = ["cwnd_limited_s", *(column for column in LIMITS if column != "application_limited_s")]
    if not set(columns) <= set(flows):
        return {}
    # A flow that is not TCP, or was never established, waits for nothing.
    flows = flows.dropna(subset=[*columns, "established_s"])
    lives = float((flows["acked_all_s"].fillna(end_s) - flows["established_s"]).clip(lower=0).sum())
    if not lives:
        return {}
    shares = {column: float(flows[column].sum()) / lives for column in columns}
    return {**shares, "application_limited_s": max(0.0, 1 - sum(shares.values()))}
