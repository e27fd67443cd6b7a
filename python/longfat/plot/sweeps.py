"""Plots of a sweep: lines along numbers, bars and dots by names, maps of two axes, flows, groups, delay."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from longfat._longfat import quantity, registries
from longfat.errors import LongfatError
from longfat.lazy import np, pd
from longfat.plot.over_time import MOST_LINES
from longfat.plot.spec import Axis, Heat, Plot, Rule, Series, floats
from longfat.plot.style import COLOURS, DASHES
from longfat.plot.units import Unit, scaled, with_unit
from longfat.results.frames import check_metric
from longfat.results.repeats import goodput_by_group, half_width
from longfat.results.results import Results, axis_quantity, quantities
from longfat.results.sizes import by_size

MOST_MULTIPLES = 8
"""Plots of one metric, one for each value of a further axis."""
MOST_BARS = 40
"""Runs whose groups are shown side by side."""
FEW_BARS = 12
"""Settings from which on the share of one of two groups is a line along the axes: their names would run into each other."""
MANY_FLOWS = 8
"""Flows from which on their distribution is worth a plot."""
MOST_CELLS = 30
"""Rows or columns of a map."""
NEAR_TOP = 0.75
"""Share of the highest point above which all points must lie for an axis not to begin at 0."""
WIDE = 10.0
"""Ratio of the ends of an axis from which on it may be logarithmic."""


ONE_SEED = "One seed: no intervals."
INTERVALS = "Points are means over the repeats; the bars at them are 95 % confidence intervals (Student's t)."

UNITS: dict[str, Unit] = {"bytes": "iB", "s": "s", "bps": "bit/s", "number": "1"}
"""Units of numeric axes that are scaled."""


@dataclass(frozen=True)
class Metric:
    """A column of the runs, and how it is shown."""

    column: str
    id: str
    title: str
    y: str
    """The title of its axis; a dot stands for the unit."""
    unit: Unit = "1"
    percent: bool = False

    word: str = ""
    """The metric in a sentence, where runs are compared by it."""
    least_is_best: bool = False
    is_signed: bool = False

    @property
    def axis(self) -> Axis:
        """Its axis, before the unit is known."""
        return Axis(self.y, start=None if self.is_signed else 0)

    @property
    def rules(self) -> list[Rule]:
        """Lines across its figures."""
        return [Rule("equal", y=0.0)] if self.is_signed else []


SLOWDOWN = Metric(
    "slowdown_p99",
    "slowdown",
    "Slowdown of the slowest hundredth",
    "99th percentile of slowdown",
    word="slowdown (99th percentile)",
    least_is_best=True,
)
TTCP = Metric("ttcp_utilization_bps", "throughput", "Throughput", "slowest flow × flows (·, payload)", "bit/s", word="throughput")
GOODPUT = Metric("goodput_total_bps", "throughput", "Goodput", "total goodput (·, payload)", "bit/s", word="throughput")


def headline(results: Results) -> Metric:
    """The column by which runs are compared.

    It is the slowdown where all runs have flows of `flows`; else the throughput: that of `ttcp` where every run has it, else the total
    goodput.
    """
    runs = results.runs
    return next((one for one in (SLOWDOWN, TTCP) if one.column in runs and runs[one.column].notna().all()), GOODPUT)


def are_several(flows: pd.DataFrame) -> bool:
    """Returns true if several flows share a path in some run. An echo request has no share."""
    return bool((_of_data(flows).groupby("run", sort=False).size() > 1).any())


def _of_data(flows: pd.DataFrame) -> pd.DataFrame:
    """The flows that carry data. An axis may be called `traffic`, which gives the column another name."""
    return flows[flows["flow_traffic" if "flow_traffic" in flows else "traffic"] != "ping"]


def sweep_plots(results: Results) -> Iterator[Plot]:
    """The figures of a sweep; of one run, those of its flows and groups."""
    results = by_values(results)
    runs = results.runs.assign(rtt_mean_s=results.runs["run"].map(mean_rtt(results)))
    varied = [axis for axis in results.axes if runs[axis].nunique() > 1]
    metrics = [
        headline(results),
        Metric("bottleneck_utilization", "utilization", "Utilization of the bottleneck link", "time busy (%)", percent=True),
        Metric("rtt_mean_s", "delay", "Mean round-trip time of the flows", "mean RTT (·)", "s"),
        Metric("retransmission_rate", "loss", "Segments retransmitted", "retransmissions / segments (%)", percent=True),
    ]
    if lead := _lead(results):
        metric, values = lead
        runs["lead"] = runs["run"].map(values)
        metrics.append(metric)
    elif are_several(results.flows):
        metrics.append(Metric("unfairness", "fairness", "Deviation from fairness", "(fastest − slowest) / fastest (%)", percent=True))
    if metrics[0] is SLOWDOWN:
        metrics[1:1] = [Metric("completion_p50_s", "completion", "Median completion time", "median completion time (·)", "s"), GOODPUT]
    if varied:
        for metric in metrics:
            if runs[metric.column].notna().any() and (metric.id not in ("loss", "delay") or runs[metric.column].max() > 0):
                yield from _along(results, runs, varied, metric)
        yield from _maps(results, runs, varied, metrics[0])
        if metrics[0] is not SLOWDOWN:
            yield from _against_delay(results, runs, varied, metrics[0])
    if metrics[0] is SLOWDOWN:
        yield from _by_size(results, varied)
        return
    yield from _distribution(results, varied)
    yield from _shares(results, runs, varied)


def plot_of(results: Results, metric: str) -> Plot:
    """The one figure of a column of the runs along the axes. LongfatError where that would be several."""
    check_metric(results, metric)
    results = by_values(results)
    varied = [axis for axis in results.axes if results.runs[axis].nunique() > 1]
    if not varied:
        raise LongfatError("all runs have the same settings: there is no axis to plot along")
    unit: Unit = "bit/s" if metric.endswith("_bps") else "s" if metric.endswith("_s") else "iB" if metric.endswith("_bytes") else "1"
    words = metric.replace("_", " ")
    for ending in ("_bps", "_bytes", "_s"):
        words = metric.removesuffix(ending).replace("_", " ") if metric.endswith(ending) else words
    y = f"{words} (·)" if unit != "1" else words
    made = list(_along(results, results.runs, varied, Metric(metric, metric.replace("_", "-"), words[:1].upper() + words[1:], y, unit)))
    if len(made) != 1:
        raise LongfatError(f"that makes {len(made)} figures: choose a value of an axis first, such as results.select({varied[-1]}=...)")
    return made[0]


def by_values(results: Results) -> Results:
    """The results with runs and flows in the order of the axes' values: numbers by size, names as they come."""

    def sorted_(table: pd.DataFrame) -> pd.DataFrame:
        keys: dict[str, pd.Series] = {}
        for axis in results.axes:
            values = [str(value) for value in dict.fromkeys(table[axis])]
            found = axis_quantity(axis, values)
            keys[axis] = table[axis].map(found[1] if found else {value: place for place, value in enumerate(values)})
        order = pd.DataFrame(keys).sort_values(results.axes, kind="stable").index
        return table.loc[order].reset_index(drop=True)

    if not results.axes or results.flows.empty:
        return results
    made = copy(results)
    made.runs, made.flows = sorted_(results.runs), sorted_(results.flows)
    return made


def _lead(results: Results) -> tuple[Metric, pd.Series] | None:
    """How much more a flow of the first of two groups has than one of the second, by run; None where there are not two groups."""
    if results.flows.empty:
        return None
    each = goodput_by_group(results).mean().unstack(sort=False)
    if each.shape[1] != 2:
        return None
    first, second = each.columns
    lead = (each[first] - each[second]) / each.max(axis=1).replace(0.0, np.nan)
    title, y = f"Lead of a flow of {first} over one of {second}", f"({first} − {second}) / larger (%)"
    return Metric("lead", "fairness", title, y, percent=True, is_signed=True), lead


def mean_rtt(results: Results) -> pd.Series:
    """The mean round trip of each run's TCP flows, by run."""
    return _of_data(results.flows).groupby("run")["rtt_mean_s"].mean()


def spaced(values: Sequence[float]) -> bool:
    """Returns true if numbers are spaced as on a logarithmic axis: far apart, and more evenly by their ratios than by their differences."""
    numbers = sorted(set(values))
    if len(numbers) < 3 or numbers[0] <= 0 or numbers[-1] / numbers[0] < WIDE:
        return False
    spread = [float(np.std(steps) / np.mean(steps)) for steps in (np.diff(numbers), np.diff(np.log(numbers)))]
    return spread[1] < spread[0]


def numeric_axis(runs: pd.DataFrame, axes: Sequence[str]) -> str | None:
    """The numeric column of most values."""
    numeric = [column for column in quantities(runs, axes) if runs[column].nunique() > 1]
    return max(numeric, key=lambda column: runs[column].nunique(), default=None)


def _along(results: Results, runs: pd.DataFrame, varied: list[str], metric: Metric) -> Iterator[Plot]:
    """A metric along an axis: a line for each value of the next, a plot for each of those after it."""
    column = numeric_axis(runs, results.axes)
    if column is None:
        # Axis of names: the one with most of them.
        axis, across = max(varied, key=lambda one: runs[one].nunique()), None
    else:
        axis, across = quantities(runs, results.axes)[column][0], column
    others = [other for other in varied if other != axis]
    lines = by_control_first(results, _lines_of(runs, others))
    multiples = [other for other in others if other not in lines]
    if across is None and not others:
        yield _bars(runs, axis, metric)
        return
    parts = list(_groups(runs, multiples))
    shown = [
        part for key, group in parts[:MOST_MULTIPLES] for part in _plots(results, group, axis, across, lines, metric, _key(multiples, key))
    ]
    shown = _heights(shown)
    for number, plot in enumerate(shown, 1):
        left_out = f" The first {MOST_MULTIPLES} of {len(parts)} plots." if number == 1 and len(parts) > MOST_MULTIPLES else ""
        yield replace(plot, id=f"{plot.id}-{number}" if len(shown) > 1 else plot.id, caption=plot.caption + left_out)


def _lines_of(runs: pd.DataFrame, others: Sequence[str]) -> list[str]:
    """The axes whose values together make few enough lines for one plot; at least one of them."""
    taken: list[str] = []
    for other in sorted(others, key=lambda one: runs[one].nunique(), reverse=True):
        if not taken or runs.groupby([*taken, other]).ngroups <= MOST_LINES:
            taken.append(other)
    # In the order of the file.
    return [other for other in others if other in taken]


def _plots(
    results: Results, runs: pd.DataFrame, axis: str, column: str | None, lines: list[str], metric: Metric, where: str
) -> Iterator[Plot]:
    x, place = _axis_of(results, runs, axis, column)
    made: list[Series] = []
    looks = _looks(results, lines)
    for number, (key, group) in enumerate(_groups(runs, lines)):
        # Repeats of a point are averaged.
        repeats = group.assign(place=place[group.index]).groupby("place")[metric.column]
        mean = repeats.mean().sort_index()
        scale = 100.0 if metric.percent else 1.0
        values, error = mean.to_numpy() * scale, _error(repeats, scale)
        if np.isfinite(values).any():
            colour, other = looks[key] if key in looks else (number % MOST_LINES, None)
            by_name = column is None
            made.append(
                Series(
                    _name(lines, key) or metric.title,
                    floats(mean.index),
                    floats(values),
                    error=error,
                    line=not by_name,
                    colour=colour,
                    dash=other,
                    marker=colour if other is None else other,
                )
            )
    parts = [made[start : start + MOST_LINES] for start in range(0, len(made), MOST_LINES)]
    for number, part in enumerate(parts, 1):
        suffix = f" ({number} of {len(parts)})" if len(parts) > 1 else ""
        told = [_legend(lines, "Lines" if column else "Marks", has_looks=bool(looks))] if lines else []
        told.append(INTERVALS if any(one.error is not None for one in part) else ONE_SEED)
        plot = Plot(
            metric.id,
            f"{metric.title} by {words(axis)}{where}{suffix}",
            x,
            metric.axis,
            part,
            caption=" ".join(told),
            rules=metric.rules,
        )
        yield _in_unit(plot, metric.unit)


PLAIN = ("true", "false", "on", "off", "none", "auto")
"""Values that say nothing without their axis."""


def words(axis: str) -> str:
    """The name of an axis as words: `buffer size` of `buffer_size`."""
    return axis.replace("_", " ")


def _name(axes: Sequence[str], key: Sequence[str]) -> str:
    """Values of axes in a legend, each with its axis where it does not speak for itself: a plain number, yes and no."""
    found = [(axis, value, quantity(value)) for axis, value in zip(axes, key, strict=True)]
    bare = [value in PLAIN or (size is not None and size[1] == "number") for _, value, size in found]
    return ", ".join(f"{words(axis)} {value}" if is_bare else value for (axis, value, _), is_bare in zip(found, bare, strict=True))


def by_control_first(results: Results, axes: Sequence[str]) -> list[str]:
    """These axes, that of the congestion control first: it has the colours."""
    return sorted(axes, key=lambda axis: axis != control_axis(results))


def control_axis(results: Results) -> str | None:
    """The axis whose values are congestion controls; None without one."""
    known = {entry["name"] for entry in registries()["congestion_controls"]}
    return next((axis for axis in results.axes if set(results.runs[axis].astype(str)) <= known), None)


def _looks(results: Results, lines: Sequence[str]) -> dict[tuple[str, ...], tuple[int, int]]:
    """Colour and dash of each combination: one colour per value of the first axis, one dash and marker per value of the second.

    Empty where there are other than two axes, or more values than colours or dashes: then the order decides.
    """
    if len(lines) != 2:
        return {}
    first, second = (list(dict.fromkeys(results.runs[axis].astype(str))) for axis in lines)
    if len(first) > len(COLOURS) or len(second) > len(DASHES):
        return {}
    return {(one, other): (colour, dash) for colour, one in enumerate(first) for dash, other in enumerate(second)}


def _legend(lines: Sequence[str], drawn: str, *, has_looks: bool) -> str:
    """The axes that a legend names, and what tells each."""
    if has_looks:
        return f"Colours: {words(lines[0])}. {'Dashes and markers' if drawn == 'Lines' else 'Markers'}: {words(lines[1])}."
    return f"{drawn}: {', '.join(map(words, lines))}."


def _axis_of(results: Results, runs: pd.DataFrame, axis: str, column: str | None) -> tuple[Axis, pd.Series]:
    """The x axis, and where each run stands on it."""
    if column is None:
        names = list(dict.fromkeys(results.runs[axis]))
        return Axis(words(axis), names=[str(name) for name in names]), runs[axis].map({name: i for i, name in enumerate(names)}).astype(
            float
        )
    every = results.runs[column]
    said = quantities(runs, results.axes)[column][1]
    unit: Unit | None = UNITS.get(said)
    if unit is None:
        return Axis(f"{words(axis)} ({said})", log=spaced(list(every))), runs[column]
    # The unit of the middle one: of 8 KiB to 64 MiB neither.
    word, size = scaled(unit, float(np.median(every[every > 0])) if (every > 0).any() else 0.0)
    if unit == "iB" and any(value % 1024 for value in every):
        word, size = scaled("B", float(every.median()))
    return Axis(f"{words(axis)} ({word})" if word else words(axis), log=spaced(list(every))), runs[column] / size


def _in_unit(plot: Plot, unit: Unit) -> Plot:
    largest = max((float(np.nanmax(np.asarray(one.y))) for one in plot.series if np.isfinite(np.asarray(one.y)).any()), default=0.0)
    word, size = scaled(unit, largest)

    def smaller(values: Sequence[float]) -> Sequence[float]:
        return floats(np.asarray(values) / size)

    series = [replace(one, y=smaller(one.y), error=None if one.error is None else smaller(one.error)) for one in plot.series]
    return replace(plot, y=replace(plot.y, title=plot.y.title.replace("·", word)), series=series)


def _heights(plots: list[Plot]) -> list[Plot]:
    """Sets where the y axes begin and end. Small multiples of one unit are compared by eye: they have one axis."""
    if len({plot.y.title for plot in plots}) > 1:
        return [one for plot in plots for one in _heights([plot])]
    series = [one for plot in plots for one in plot.series]
    points = np.concatenate([np.empty(0), *(np.asarray(one.y) for one in series)])
    errors = np.concatenate([np.empty(0), *(np.zeros(len(one.y)) if one.error is None else np.asarray(one.error) for one in series)])
    real = np.isfinite(points)
    if not real.any():
        return plots
    points, errors = points[real], np.nan_to_num(errors[real])
    low, high = float((points - errors).min()), float((points + errors).max())
    room = 0.05 * (high - low)
    if low > NEAR_TOP * high > 0 and room > 0:
        note = "The axis does not begin at 0."
        return [
            replace(plot, y=replace(plot.y, start=low - room, end=high + room), caption=f"{plot.caption} {note}".strip()) for plot in plots
        ]
    if len(plots) < 2:
        return plots
    ends = (low - room, high + room) if plots[0].y.start is None else (0.0, 1.05 * high)
    return [replace(plot, y=replace(plot.y, start=ends[0], end=ends[1])) for plot in plots] if ends[0] < ends[1] else plots


def _bars(runs: pd.DataFrame, axis: str, metric: Metric) -> Plot:
    scale = 100.0 if metric.percent else 1.0
    repeats = runs.groupby(axis, sort=False)[metric.column]
    mean, error = repeats.mean() * scale, _error(repeats, scale)
    bars = [Series(metric.title, [float(i) for i in range(len(mean))], floats(mean), error=error, bar=True, colour=0)]
    names = Axis(words(axis), names=[str(name) for name in mean.index])
    caption = INTERVALS if error is not None else ONE_SEED
    plot = Plot(metric.id, f"{metric.title} by {words(axis)}", names, metric.axis, bars, caption=caption, rules=metric.rules)
    return _in_unit(plot, metric.unit)


def _error(repeats: Any, scale: float) -> Sequence[float] | None:
    """Half of the confidence interval of the mean of each group; `None` where no group has two values."""
    half = repeats.agg(half_width) * scale
    return floats(half) if half.notna().any() else None


def _groups(runs: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[tuple[str, ...], pd.DataFrame]]:
    if not by:
        yield (), runs
        return
    for key, group in runs.groupby(list(by), sort=False):
        yield tuple(str(part) for part in key), group


def _key(axes: Sequence[str], key: Sequence[str]) -> str:
    return "".join(f", {words(axis)} {value}" for axis, value in zip(axes, key, strict=True))


def _maps(results: Results, runs: pd.DataFrame, varied: list[str], metric: Metric) -> Iterator[Plot]:
    """A map of two axes of three values at least; of a third, a map for each of its values."""
    sizes = {axis: runs[axis].nunique() for axis in varied}
    numeric = {axis for axis, _ in quantities(runs, results.axes).values()}
    pair = sorted((axis for axis in varied if 3 <= sizes[axis] <= MOST_CELLS), key=lambda axis: sizes[axis], reverse=True)[:2]
    # Numbers go across, as in the lines.
    pair.sort(key=lambda axis: axis not in numeric)
    rest = [axis for axis in varied if axis not in pair]
    parts = list(_groups(runs, rest))
    values = runs.groupby(varied)[metric.column].mean()
    if len(pair) < 2 or len(parts) > MOST_MULTIPLES:
        return
    across, down = pair
    word, size = scaled(metric.unit, float(runs[metric.column].max()))
    columns, rows = ([str(value) for value in dict.fromkeys(results.runs[axis])] for axis in (across, down))
    for number, (key, group) in enumerate(parts, 1):
        means = group.groupby([down, across])[metric.column].mean()
        cells = [[float(means.get((row, column), np.nan)) / size for column in columns] for row in rows]
        heat = Heat(cells, float(values.min()) / size, float(values.max()) / size, metric.y.replace("·", word), sequential=True)
        yield Plot(
            f"map-{number}" if len(parts) > 1 else "map",
            f"{metric.title} by {words(across)} and {words(down)}{_key(rest, key)}",
            Axis(words(across), names=columns),
            Axis(words(down), names=rows),
            heat=heat,
            caption=f"Colour and number: {heat.title}.",
        )


def _against_delay(results: Results, runs: pd.DataFrame, varied: list[str], metric: Metric) -> Iterator[Plot]:
    """A point a run: what throughput costs in delay."""
    real = runs[runs["rtt_mean_s"].notna() & runs[metric.column].notna()]
    few = [axis for axis in varied if 2 <= runs[axis].nunique() <= MOST_LINES]
    if len(real) < 3:
        return
    control = control_axis(results)
    # Colours tell controls apart, markers the axis of most values besides.
    lines = [axis for axis in few if axis == control]
    lines += sorted((axis for axis in few if axis != control), key=lambda axis: -int(runs[axis].nunique()))[: 2 - len(lines)]
    looks = _looks(results, lines)
    lines = lines if looks else lines[:1]
    word, size = scaled("s", float(real["rtt_mean_s"].max()))
    series: list[Series] = []
    for number, (key, group) in enumerate(_groups(real, lines)):
        colour, marker = looks.get(key, (number, number))
        x, y = floats(group["rtt_mean_s"] / size), floats(group[metric.column])
        series.append(Series(_name(lines, key) or "run", x, y, line=False, colour=colour, marker=marker))
    plot = Plot(
        "throughput-delay",
        f"{metric.title} by delay",
        Axis(f"mean RTT ({word})"),
        Axis(metric.y, start=0),
        series,
        caption=f"One point per run. {_legend(lines, 'Marks', has_looks=bool(looks))}" if lines else "One point per run.",
    )
    yield from _heights([_in_unit(plot, metric.unit)])


def _distribution(results: Results, varied: list[str]) -> Iterator[Plot]:
    """The share of flows that get at most so much, where a run has many."""
    flows = results.flows[results.flows["goodput_bps"].notna()]
    sizes = flows.groupby("run", sort=False).size()
    if not len(sizes) or sizes.max() < MANY_FLOWS:
        return
    few = [axis for axis in varied if axis in flows and flows[axis].nunique() <= MOST_LINES]
    by = max(few, key=lambda axis: flows[axis].nunique(), default=None)
    word, size = scaled("bit/s", float(flows["goodput_bps"].max()))
    series: list[Series] = []
    for key, group in _groups(flows, [by] if by else []):
        values = np.sort(group["goodput_bps"].to_numpy()) / size
        share = np.arange(1, len(values) + 1) / len(values) * 100
        series.append(Series(_name([by], key) if by else "flows", floats(values), floats(share), step=True, markers=False))
    note = f"Lines: {by}, with the flows of all of its runs." if by else ""
    x = Axis(f"goodput of a flow ({word}, payload)", start=0)
    yield Plot("flows", "How the flows share", x, Axis("flows with at most so much (%)", start=0, end=100), series, caption=note)


def _by_size(results: Results, varied: list[str]) -> Iterator[Plot]:
    """Slowdowns by the size of the flow: the median and the slowest hundredth, a figure each."""
    table = by_size(results)
    few = [axis for axis in varied if table[axis].nunique() <= MOST_LINES]
    by = few[0] if few else None
    others = [axis for axis in varied if axis != by]
    sizes = table.sort_values("above_bytes")[["above_bytes", "up_to_bytes"]].drop_duplicates()
    names = [_size_class(low, high) for low, high in sizes.itertuples(index=False)]
    places = {low: float(place) for place, low in enumerate(sizes["above_bytes"])}
    for column, title in (("slowdown_p50", "Median slowdown"), ("slowdown_p99", "Slowdown of the slowest hundredth")):
        for setting, part in _groups(table, others):
            said = ", ".join(f"{axis} {value}" for axis, value in zip(others, setting, strict=True))
            series: list[Series] = []
            for key, rows in _groups(part, [by] if by else []):
                rows = rows.sort_values("above_bytes")
                series.append(
                    Series(_name([by], key) if by else "flows", [places[low] for low in rows["above_bytes"]], floats(rows[column]))
                )
            note = "Slowdown is the completion time over the least on an empty path; of flows that began after the warmup, of all repeats."
            yield Plot(
                "-".join([column.replace("_", "-"), *map(str, setting)]).replace(" ", "-"),
                f"{title}, by the size of the flow" + (f": {said}" if said else ""),
                Axis("payload of the flow", names=names),
                Axis("slowdown", log=True),
                series,
                caption=note,
            )


def _size_class(low: float, high: float) -> str:
    def size(bytes_: float) -> str:
        return with_unit(bytes_, "B")

    if not low:
        return f"to {size(high)}"
    return f"above {size(low)}" if np.isinf(high) else f"{size(low)} to {size(high)}"


def _shares(results: Results, runs: pd.DataFrame, varied: list[str]) -> Iterator[Plot]:
    """Yields plots of the fraction of the goodput that each group of flows has: bars by setting, or of two groups one along the axes."""
    every = shares_of_groups(results, varied)
    if not 2 <= len(every.columns) <= MOST_LINES:
        return
    if len(every.columns) == 2 and len(every) > FEW_BARS:
        one, other = every.columns
        keys = [*varied, "repeat"]
        each = shares_of_groups(results, keys)[one].rename("share").reset_index()
        metric = Metric("share", "shares", f"Share of {one} beside {other}", f"{one} of the goodput (%)", percent=True)
        with_share = runs.merge(each, on=keys, how="left")
        yield from _along(results, with_share, varied, metric)
        return
    shares = every.head(MOST_BARS) * 100
    names = ["\n".join(map(str, key if isinstance(key, tuple) else (key,))) if varied else "" for key in shares.index]
    series = [Series(str(group), [float(i) for i in range(len(shares))], floats(shares[group]), bar=True) for group in shares.columns]
    x = Axis(", ".join(varied), names=names)
    caption = f"The first {MOST_BARS} of {len(every)} settings." if len(every) > MOST_BARS else ""
    yield Plot("shares", "Shares of the groups of flows", x, Axis("of the goodput (%)", start=0, end=100), series, caption=caption)


def shares_of_groups(results: Results, varied: Sequence[str]) -> pd.DataFrame:
    """Fraction of the goodput that each group of flows has, a row per combination of the axes; repeats are averaged."""
    amounts = goodput_by_group(results).sum().unstack(sort=False).fillna(0.0)
    of_run = amounts.div(amounts.sum(axis=1).replace(0.0, np.nan), axis=0)
    # A run may stand for several combinations.
    shares = of_run.reindex(results.runs["run"]).set_index([results.runs[axis] for axis in varied] or results.runs["run"])
    shares = shares[of_run.columns].dropna()
    return shares.groupby(level=list(range(len(varied))), sort=False).mean() if varied else shares.mean().to_frame().T
