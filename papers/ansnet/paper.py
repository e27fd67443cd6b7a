"""ANSNET 1994 beside longfat: numbers, claims, figures. `cells.py` says what a cell is, `README.md` what came out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import mean

from longfat.paper import Agreement, Answer, Layout, Measured, Paper, Row, load_published
from longfat.plot import Axis, Plot, Rule, Series
from longfat.results.repeats import spread

from .cells import BACKGROUNDS, BUILDS, CEILING, FLOWS, MBIT, QUEUE, STEMS, Cells, window_limit
from .cells import bdp as delay_bandwidth

FOLDER = Path(__file__).parent

paper = Paper(
    title="High Performance TCP in ANSNET",
    citation="C. Villamizar and C. Song: High Performance TCP in ANSNET. "
    "ACM Computer Communication Review 24(5), October 1994 (text of 12 September 1994)",
)
cells = Cells.of


# Numbers


def path_of(row: Row) -> int:
    """Its round trip in ms."""
    return int(row["path"].split()[0])


def cell(row: Row) -> tuple[int, str, int, str]:
    """Path, build, flows and background of a row."""
    return path_of(row), row["build"], int(row["flows"]), row["background"]


def _of_cell(quantity: str, statistic: str) -> None:
    """Rows of `quantity` are a statistic of a cell."""

    @paper.number(quantity)
    def number(measured: Measured, row: Row) -> float:
        return getattr(cells(measured), statistic)(*cell(row))


for _quantity, _statistic in {
    "peak_throughput": "peak",
    "degradation": "degradation",
    "unfairness": "unfairness",
    "floor_throughput": "floor",
    "last_throughput": "last",
    "peak_window": "peak_window",
}.items():
    _of_cell(_quantity, _statistic)

paper.not_results(
    condition="a condition of the test",
    context="said of the world of 1994, not of the test",
    caption="a figure, drawn in the report",
)

# What a window, a round trip, a queue or a packet of the test alone decides.
paper.kind(
    "arithmetic", "window_limited", "bdp", "bdp_packets", "window_over_bdp", "queue_over_bdp", "queue_capacity", "small_packet_factor"
)
paper.kind("input", "rtt")
# 128 MiB is the volume with which these two come out (`notebook/ansnet-unit.md`, "How much ttcp sent").
paper.kind("calibrated", "table3-1f-no-b-224-peak", "table4-1f-no-b-224-peak", "5.1-224-short-416", "abs-single")
# RED's weight and thresholds were chosen so that one flow of r200 does not collapse on 20 ms (`notebook/ansnet-red.md`).
paper.kind("calibrated", "6-many-times-bdp", "6-red-not-buffers")
paper.bound("<=", "5.1-short-collapsed-r60", "5.1-short-collapsed-224")
paper.bound("<", "5.1-60-revb-floor", "5.2-r60-floor", "5.2-60-352", "5.2-8f-short-60-floor")
paper.bound(">=", "6-multi-us", "6-multi-hawaii-california", "6-multi-eastcoast-hawaii")
paper.bound(">", "abs-multi-41", "5.1-224-short-160", "5.1-60-peak-utilization", "5.1-60-collapsed-utilization")


@paper.predicts("the window a round trip, at most the link, shared alike")
def ideal(row: Row) -> float | None:
    """What a link would carry on which nothing is ever lost."""
    path = path_of(row) if row["path"] else 0
    match row.quantity:
        case "peak_throughput" | "floor_throughput" | "last_throughput" | "peak_throughput_all_flows" | "peak_throughput_all_builds":
            return CEILING
        case "throughput" | "recommended_utilization":
            return min(CEILING, int(row["flows"]) * window_limit(path, int(row["window"])))
        case "recommended_throughput":
            return mean(min(CEILING, window_limit(path, window)) for window in (192, 256))
        case "peak_window":
            return delay_bandwidth(path) / int(row["flows"])
        case "bound" | "floor_utilization":
            return 100 * CEILING * MBIT / 44.7e6
        case _:
            # Of degradation, unfairness and differences between builds there is none.
            return 0.0


@paper.number("throughput")
def throughput(measured: Measured, row: Row) -> float:
    """At one window."""
    return cells(measured).throughput(*cell(row), int(row["window"]))


@paper.number("window_limited")
def window_limited(measured: Measured, row: Row) -> float:
    """Section 2.2, in the Mb of that section: 1000 x 1024 bit."""
    return cells(measured).rows("window-limits", rtt=row["path"], window=int(row["window"]))["goodput_total_bps"].mean() / 1.024e6


@paper.number("rtt")
def rtt(measured: Measured, row: Row) -> float:
    """The least a flow of the smallest window saw."""
    rows = cells(measured).rows(STEMS[path_of(row)], flows=1, background="no-b", window=8)
    return float(rows["rtt_min_s"].min()) * 1000


@paper.number("bdp")
def bdp(measured: Measured, row: Row) -> float:
    """In kB of 1000 bytes, as the paper's 110 and 380 are."""
    return delay_bandwidth(path_of(row)) * 1.024


@paper.number("bdp_packets")
def bdp_packets(measured: Measured, row: Row) -> float:
    """Of 4096 bytes."""
    return delay_bandwidth(path_of(row)) / 4


@paper.number("window_over_bdp")
def window_over_bdp(measured: Measured, row: Row) -> float:
    """Both in KiB."""
    return int(row["window"]) / delay_bandwidth(path_of(row))


@paper.number("queue_over_bdp")
def queue_over_bdp(measured: Measured, row: Row) -> float:
    """Payload in the queue, over the delay-bandwidth product."""
    return QUEUE[row["build"]] / delay_bandwidth(path_of(row))


@paper.number("queue_capacity")
def queue_capacity(measured: Measured, row: Row) -> float:
    """The most the bottleneck's queue held in a run that overflows it, kB of 1000 bytes."""
    runs = cells(measured).rows("long", build=row["build"], flows=8, background="no-b")
    return float(runs["queue_max_bytes"].max()) / 1000


@paper.number("bound")
def peak_utilization(measured: Measured, row: Row) -> float:
    """Percent of 44.7 Mb/s."""
    return 100 * cells(measured).peak(*cell(row)) * MBIT / 44.7e6


@paper.number("floor_utilization")
def floor_utilization(measured: Measured, row: Row) -> float:
    """Percent of 44.7 Mb/s."""
    return 100 * cells(measured).floor(*cell(row)) * MBIT / 44.7e6


@paper.number("r200_over_224_peak")
def r200_over_224_peak(measured: Measured, row: Row) -> float:
    """Difference of the peaks."""
    path, build, flows, background = cell(row)
    return cells(measured).peak(path, build, flows, background) - cells(measured).peak(path, "224", flows, background)


@paper.number("r200_over_224_beyond")
def r200_over_224_beyond(measured: Measured, row: Row) -> float:
    """Mean difference beyond the peak of 224."""
    path, build, flows, background = cell(row)
    return cells(measured).above(path, build, "224", flows, background)


@paper.number("r60_below_r200_last")
def r60_below_r200_last(measured: Measured, row: Row) -> float:
    """At the largest window."""
    path, build, flows, background = cell(row)
    return cells(measured).last(path, "r200", flows, background) - cells(measured).last(path, build, flows, background)


@paper.number("peak_throughput_all_flows")
def peak_throughput_all_flows(measured: Measured, row: Row) -> Answer:
    """The published value is the middle of a range, and so is ours."""
    path = path_of(row)
    return _middle([cells(measured).peak(path, row["build"], n, row["background"]) for n in FLOWS])


@paper.number("peak_throughput_all_builds")
def peak_throughput_all_builds(measured: Measured, row: Row) -> Answer:
    """As above, over builds too."""
    path = path_of(row)
    return _middle([cells(measured).peak(path, b, n, row["background"]) for b in BUILDS for n in FLOWS])


def _middle(values: list[float]) -> Answer:
    return Answer((min(values) + max(values)) / 2, f"{min(values):.1f} to {max(values):.1f}")


@paper.number("unfairness_median")
def unfairness_median(measured: Measured, row: Row) -> float:
    """Over all cells of several flows, percent."""
    return cells(measured).unfairness_median()


@paper.number("recommended_throughput")
def recommended_throughput(measured: Measured, row: Row) -> Answer:
    """The mean over the two window limits the paper recommends."""
    path, build, flows, _ = cell(row)
    ends = [cells(measured).recommended(path, build, flows, window) for window in (192, 256)]
    return Answer(mean(ends), f"{ends[0]:.1f} at 192 KiB, {ends[1]:.1f} at 256 KiB")


@paper.number("recommended_utilization")
def recommended_utilization(measured: Measured, row: Row) -> float:
    """Eight flows at one window limit."""
    path, build, flows, _ = cell(row)
    return cells(measured).recommended(path, build, flows, int(row["window"]))


@paper.number("small_packet_factor")
def small_packet_factor(measured: Measured, row: Row) -> Answer:
    """How many times more bytes build 224's queue holds of large packets than of small ones."""
    held = {
        mss: cells(measured).rows("small-packets", build="224", mss=mss)["queue_max_bytes"].max() for mss in ("4096 bytes", "173 bytes")
    }
    return Answer(
        float(held["4096 bytes"] / held["173 bytes"]),
        "buffers of 2 KiB, not of an MTU: a 4148-byte packet takes 3, a 225-byte one 1",
    )


# Claims


for _table in ("Table 3", "Table 4"):
    paper.tables.append(
        Layout(
            _table,
            "peak throughput (Mb/s of 2^20 bit/s), and percent lost beyond the peak",
            {"peak_throughput": "", "degradation": "degradation"},
            rows=("flows", "background"),
            columns="build",
        )
    )

for _table in ("Table 3", "Table 4"):
    paper.agreements += [Agreement(_table, quantity) for quantity in ("peak_throughput", "degradation", "unfairness")]

paper.claims_of(FOLDER / "claims.csv", Cells)


# Figures: a colour and a marker a build, a dash a background (Figures 7 and 8: a number of flows).

THROUGHPUT = Axis("throughput (Mb/s of 2^20 bit/s, payload)", start=0, end=45)
PUBLISHED = load_published(FOLDER)
MARGIN = (0.04, 0.064, 0.095, 0.119)
"""Where published peaks and floors are drawn: so far beyond the largest window, since their own are not printed."""
HOW = "Ours: the mean over repeats, with its 95 % confidence interval where they differ. "


def curve(measured: Measured, path: int, build: str, flows: int, background: str, *, total: bool = False) -> Series:
    """One line of a figure."""
    values = cells(measured).curves(path, build, flows, background)
    return Series(
        f"{build}, {flows}f" if total else f"{build}, {background}",
        [(flows if total else 1) * window for window in values.index],
        values.mean(axis=1).tolist(),
        error=[spread(row.dropna().tolist()) for _, row in values.iterrows()],
        colour=BUILDS.index(build),
        dash=FLOWS.index(flows) if total else BACKGROUNDS.index(background),
        marker=BUILDS.index(build),
    )


def published(path: int, build: str, flows: int, last: float) -> Series:
    """What the paper prints of a build: values at a window, and in the margin peak and floor, without a reverse flow and with one."""
    points = list[tuple[float, float]]()
    for background, (at_peak, at_floor) in zip(BACKGROUNDS, (MARGIN[:2], MARGIN[2:]), strict=True):
        rows = {
            row.quantity: row.value
            for row in PUBLISHED
            if row.where.startswith("Table") and cell_or_none(row) == (path, build, flows, background) and row.value is not None
        }
        points += [
            (float(row["window"]), row.value)
            for row in PUBLISHED
            if row.quantity == "throughput" and cell_or_none(row) == (path, build, flows, background) and row.value is not None
        ]
        if "peak_throughput" in rows:
            peak = rows["peak_throughput"]
            points += [(last * (1 + at_peak), peak), (last * (1 + at_floor), peak * (1 - rows.get("degradation", 0.0) / 100))]
    x, y = zip(*points, strict=True) if points else ((), ())
    return Series(f"{build}, published", x, y, line=False, published=True, colour=BUILDS.index(build), marker=BUILDS.index(build))


def cell_or_none(row: Row) -> tuple[int, str, int, str] | None:
    """The cell of a row that is of one."""
    return cell(row) if row["path"] and row["build"] and row["flows"] and row["background"] else None


def marks(path: int) -> list[Rule]:
    """Where the delay-bandwidth product and the ceiling are."""
    return [Rule("D x BW", x=delay_bandwidth(path)), Rule("full link", y=CEILING)]


def _against_window(number: int, page: int, path: int, flows: int) -> None:
    words = {1: "Single TCP flow", 4: "Four TCP flows", 8: "Eight TCP flows"}

    @paper.figure(where=f"Figure {number}, page {page}")
    def figure(measured: Measured) -> Plot:
        series = [curve(measured, path, b, flows, g) for b in BUILDS for g in BACKGROUNDS]
        last = max(max(one.x) for one in series)
        return Plot(
            id=f"figure{number}",
            title=f"{words[flows]}, {path} ms RTT",
            x=Axis("window size limit (KiB)", start=0, end=1.14 * last),
            y=THROUGHPUT,
            series=series + [published(path, b, flows, last) for b in BUILDS],
            rules=[*(marks(path) if flows == 1 else [Rule("full link", y=CEILING)]), Rule("published", x=1.02 * last)],
            caption=HOW
            + "Hollow: published. Right of the last window are, from the left, the peak and the floor beyond it without a reverse flow, "
            "then with one: Tables 3 and 4 do not say at which window.",
        )


for _number, (_page, _path, _flows) in enumerate(((8, 68, 1), (8, 20, 1), (9, 68, 4), (9, 20, 4), (10, 68, 8), (10, 20, 8)), start=1):
    _against_window(_number, _page, _path, _flows)


def _reverse(number: int, path: int) -> None:
    @paper.figure(where=f"Figure {number}, page 11")
    def figure(measured: Measured) -> Plot:
        return Plot(
            id=f"figure{number}",
            title=f"{path} ms RTT, reverse flow",
            x=Axis("sum of window size limits (KiB)", start=0, end=2100),
            y=THROUGHPUT,
            series=[curve(measured, path, b, n, "revb", total=True) for b in BUILDS for n in FLOWS],
            rules=marks(path),
            caption=HOW + "What is published of these curves is in Figures 1 to 6.",
        )


_reverse(7, 68)
_reverse(8, 20)


@paper.figure(where="Figure 9, page 12")
def figure9(measured: Measured) -> Plot:
    """A scatter: every run of several flows on the long path."""

    def points(build: str, flows: int) -> Iterable[tuple[float, float]]:
        rows = cells(measured).rows("long", build=build, flows=flows)
        return zip(rows["window"] * flows, rows["unfairness"], strict=True)

    series = list[Series]()
    for build in BUILDS:
        for flows in (4, 8):
            x, y = zip(*points(build, flows), strict=True)
            series.append(Series(f"{build}, {flows}f", x, y, line=False, colour=FLOWS.index(flows), marker=BUILDS.index(build)))
    series += [_published_unfairness(build) for build in BUILDS]
    return Plot(
        id="figure9",
        title="Deviation from fairness, 68 ms tests",
        x=Axis("sum of window size limits (KiB)", start=0, end=2350),
        y=Axis("(fastest - slowest) / fastest (%)", start=0),
        series=series,
        rules=[Rule("D x BW", x=delay_bandwidth(68)), Rule("published", x=2080)],
        caption="Hollow: the worst of a curve, as published (Table 3). It does not say at which window: from the left four flows without a "
        "reverse flow and with one, then eight.",
    )


def _published_unfairness(build: str) -> Series:
    """The worst of each curve of several flows on the long path, in the margin."""
    places = {(n, background): 2120 + 60 * i for i, (n, background) in enumerate((n, g) for n in (4, 8) for g in BACKGROUNDS)}
    points = [
        (places[int(row["flows"]), row["background"]], row.value)
        for row in PUBLISHED
        if row.where == "Table 3" and row.quantity == "unfairness" and row["build"] == build and row.value is not None
    ]
    x, y = zip(*points, strict=True) if points else ((), ())
    return Series(f"{build}, published", x, y, line=False, published=True, colour=6, marker=BUILDS.index(build))
