"""The answer of a sweep: its best and its worst settings, and up to three sentences made from the tables."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from longfat.lazy import pd
from longfat.plot.sweeps import Metric, are_several, headline, mean_rtt, shares_of_groups
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
    path = [axis for axis in varied if _is_of_the_path(results, axis)]
    for axis in reversed(path):
        places = table[axis].map({value: place for place, value in enumerate(results.runs[axis].unique())})
        table = table.iloc[places.argsort(kind="stable")].reset_index(drop=True)
    shown = _shown(table, path)
    metrics = [name for name in METRICS if name == column or (name in table and name not in THROUGHPUTS)]
    metrics = [name for name in metrics if table[name].notna().any()]
    rows = [[*(str(row[axis]) for axis in varied), *(said(name, row[name]) for name in metrics)] for row in shown.to_dict("records")]
    return Answer(
        sentences=[*_sentences(results, table, varied, path, by), *_flags(table, varied)],
        columns=[*varied, *(METRICS[name][0] for name in metrics)],
        rows=rows,
        left_out=len(table) - len(shown),
        cut=MOST_SETTINGS if len(table) > len(shown) and not path else len(shown),
    )


def _shown(table: pd.DataFrame, path: Sequence[str]) -> pd.DataFrame:
    """Rows that are listed: both ends of the ranking; where there are several paths, the ends of each."""
    if len(table) <= 2 * MOST_SETTINGS:
        return table
    if not path:
        return pd.concat([table.head(MOST_SETTINGS), table.tail(MOST_SETTINGS)])
    groups = table.groupby(list(path), sort=False, dropna=False)
    ends = pd.concat([groups.head(1), groups.tail(1)]) if groups.ngroups <= MOST_SETTINGS else groups.head(1)
    return ends[~ends.index.duplicated()].sort_index().head(2 * MOST_SETTINGS)


def _is_of_the_path(results: Results, axis: str) -> bool:
    """Returns true if an axis changes the path itself, such as its round trip, which nobody who sets something can choose.

    It goes by two runs that differ in this axis alone. A queue may differ, too: its size may be in products of the path.
    """
    runs = results.runs
    others = [one for one in results.axes if one != axis]
    same = (runs[others] == runs[others].iloc[0]).all(axis=1)
    first = runs.index[same & (runs[axis] == runs[axis].iloc[0])]
    second = runs.index[same & (runs[axis] != runs[axis].iloc[0])]
    if first.empty or second.empty:
        return False
    one, other = (json.loads(results.open(str(runs.loc[index[0], "run"])).resolved) for index in (first, second))
    links = [run.get("path", {}).get("link", []) for run in (one, other)]
    rest = [{key: value for key, value in run.items() if key not in ("path", "title", "seed")} for run in (one, other)]
    if len(links[0]) != len(links[1]) or rest[0] != rest[1]:
        return False
    return any(before.get(key) != after.get(key) for before, after in zip(*links, strict=True) for key in GIVEN)


GIVEN = ("delay", "rate", "loss", "jitter")
"""Keys of a link that are given with a path."""
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
    "retransmission_rate": ("retransmitted", None),
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
    # One flow is fair, and so are two between two hosts that never meet in a queue.
    if not are_several(results.flows) or _go_both_ways(results.flows):
        runs = runs.drop(columns="jain_index")
    names = [name for name in METRICS if name in runs]
    if results.axes:
        runs = runs.groupby(results.axes, sort=False, dropna=False)[names].mean().reset_index()
    return runs.sort_values(by.column, ascending=by.least_is_best, kind="stable", na_position="last").reset_index(drop=True)


def _sentences(results: Results, table: pd.DataFrame, varied: Sequence[str], path: Sequence[str], by: Metric) -> list[str]:
    column, word = by.column, by.word
    real = table[table[column].notna()]
    if not len(real):
        return [f"No run has a {word}."]
    if path:
        return [*_by_path(real, varied, path, by), *([who] if (who := _who_won(results, varied)) else [])]
    if len(results) == 1 and (flows := _flows_between_hosts(results)):
        return flows
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
    made[1:1] = [one for one in (who, "" if by.least_is_best else _delay(real, varied, column)) if one]
    made += [] if by.least_is_best else _limit(results, column)
    return made[:3]


def _are_between_hosts(flows: pd.DataFrame) -> bool:
    """True for flows between two real hosts, whose cause of a limit is judged."""
    return "limited_by" in flows and bool(flows["limited_by"].notna().any())


def _go_both_ways(flows: pd.DataFrame) -> bool:
    """True where, in every run between two real hosts, no two flows go the same way."""
    return _are_between_hosts(flows) and bool((flows.groupby(["run", "from", "to"]).size() == 1).all())


def _flows_between_hosts(results: Results) -> list[str]:
    """A sentence per flow of a run between two real hosts, the first MOST_SETTINGS; none elsewhere, and of flows over UDP alone."""
    if not _are_between_hosts(results.flows):
        return []
    made: list[str] = []
    groups = results.flows["group"]
    for number, flow in enumerate(results.flows.head(MOST_SETTINGS).to_dict("records")):
        rate, sure = float(flow["goodput_bps"]), float(flow["limited_by_confidence"])
        got = "an unknown rate" if math.isnan(rate) else with_unit(rate, "bit/s")
        cause = f", limited by {flow['limited_by']} ({100 * sure:.0f} % sure)" if sure > 0 else ""
        name = flow["group"] if (groups == flow["group"]).sum() == 1 else f"{flow['group']} {1 + (groups[:number] == flow['group']).sum()}"
        made.append(f"{name} got {got} from {flow['from']} to {flow['to']}{cause}.")
    verdict = results.runs["verdict"].iloc[0] if "verdict" in results.runs else ""
    return [*made, f"The run is {verdict}: see the warnings."] if verdict in ("suspect", "invalid") else made


def _by_path(real: pd.DataFrame, varied: Sequence[str], path: Sequence[str], by: Metric) -> list[str]:
    """Says within each path which setting is best; nobody can choose between paths."""
    column, word = by.column, by.word
    chosen = [axis for axis in varied if axis not in path]
    groups = [group for _, group in real.groupby(list(path), sort=False, dropna=False)]
    if not chosen:
        parts = [f"{said(column, group[column].iloc[0])} with {_setting(group.iloc[0], path)}" for group in groups]
        more = f", and {len(parts) - 2 * MOST_SETTINGS} more" if len(parts) > 2 * MOST_SETTINGS else ""
        return [f"The {word} is {', '.join(parts[: 2 * MOST_SETTINGS])}{more}."]
    first, last = ("lowest", "highest") if by.least_is_best else ("highest", "lowest")
    winners: dict[str, int] = {}
    for group in groups:
        winner = _setting(group.iloc[0], chosen)
        winners[winner] = winners.get(winner, 0) + 1
    most = max(winners, key=lambda name: winners[name])
    made = [f"{most} has the {first} {word} on {winners[most]} of {len(groups)} paths ({', '.join(path)})."]
    for group in groups[: MOST_SETTINGS - 1]:
        best, worst = group.iloc[0], group.iloc[-1]
        made.append(
            f"With {_setting(best, path)} the {first} {word} is {said(column, best[column])} ({_setting(best, chosen)}), "
            f"the {last} {said(column, worst[column])} ({_setting(worst, chosen)})."
        )
    return made


WASTE = 0.05
"""Share of segments sent that are retransmissions, above which a setting wastes the path."""
UNFAIR = 0.8
"""Jain's index below which flows are unequal enough to say so."""


def _flags(table: pd.DataFrame, varied: Sequence[str]) -> list[str]:
    """Names settings that waste the path or starve a flow, whatever their throughput."""
    made: list[str] = []
    if "retransmission_rate" in table and len(wasteful := table[table["retransmission_rate"] > WASTE]):
        most = wasteful.sort_values("retransmission_rate", kind="stable").iloc[-1]
        share = said("retransmission_rate", most["retransmission_rate"])
        made.append(_flag(f"More than {100 * WASTE:.0f} % of the segments are retransmissions", share, len(wasteful), table, most, varied))
    if "jain_index" in table and len(unequal := table[table["jain_index"] < UNFAIR]):
        least = unequal.sort_values("jain_index", kind="stable").iloc[0]
        index = said("jain_index", least["jain_index"])
        made.append(_flag(f"Jain's index is under {UNFAIR:g} (1: flows are equal)", index, len(unequal), table, least, varied))
    return made


def _flag(what: str, value: str, count: int, table: pd.DataFrame, row: Any, varied: Sequence[str]) -> str:
    if len(table) == 1:
        return f"{what}: {value}."
    return f"{what} in {count} of {len(table)} settings: {value} with {_setting(row, varied)}."


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


SLOWER = 1.5
"""Times by which a delay must differ between settings to be told beside the throughput."""


def _delay(table: pd.DataFrame, varied: Sequence[str], column: str) -> str:
    """Says which settings wait least and most, where the round trip differs more between settings than the throughput does."""
    name = "flow_rtt_p95_s"
    known = table[table[name].notna()] if name in table else table.head(0)
    if len(known) < 2:
        return ""
    least, most = known.iloc[int(known[name].argmin())], known.iloc[int(known[name].argmax())]
    times, rates = most[name] / least[name], table[column].max() / max(table[column].min(), 1e-9)
    if times < max(SLOWER, rates):
        return ""
    return (
        f"The 95th percentile of the RTT is {said(name, least[name])} with {_setting(least, varied)} and {said(name, most[name])} "
        f"with {_setting(most, varied)}: {times:.2g} times as long."
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
        return (
            f"losses limit: {100 * again:.2g} % of the segments are retransmissions{also}, and the bottleneck is busy {busy} of the time."
        )
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
