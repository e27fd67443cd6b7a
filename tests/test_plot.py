"""Plots: every line can be told from every other, and none loses its peaks."""

from __future__ import annotations

import hashlib
import itertools
import math
from importlib.resources import files
from pathlib import Path
from typing import NoReturn

import matplotlib as mpl
import numpy as np
import pytest
from conftest import ONE, SWEEP
from longfat import Experiment, LongfatError, Results
from longfat.plot import Axis, Heat, Plot, Rule, Series, default_plots, figure_of, pack, save, unpack
from longfat.plot.over_time import LEAST_RATES, MISFIT, intervals, time_plots
from longfat.plot.print import LIGHT, PAPER, draw
from longfat.plot.style import COLOURS, DASHES, styles
from longfat.plot.thin import MOST_POINTS, thin
from longfat.results.result import Columns, changed


def plot(*series: Series, **options: object) -> Plot:
    return Plot("p", "A plot", Axis("x (s)"), Axis("y (Mbit/s)"), series, **options)  # type: ignore[arg-type]


def test_lines_differ_in_colour_or_dash() -> None:
    drawn = styles([Series(str(i), [], []) for i in range(len(COLOURS) * len(DASHES))])
    assert len({(style.colour, style.dash) for style in drawn}) == len(drawn)
    # The first ten, which is what a plot may hold, differ in their markers or dashes as well: without any colour.
    assert len({(style.dash, style.marker) for style in drawn[:10]}) == 10


def test_what_a_series_asks_for_it_gets() -> None:
    (style,) = styles([Series("s", [], [], colour=1, dash=2, marker=3)])
    assert (style.colour, style.dash, style.marker) == (COLOURS[1], DASHES[2], "diamond")


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="2 values of x, 1 of y"):
        Series("s", [1, 2], [1])


def test_thinning_keeps_ends_peaks_and_order() -> None:
    n = 100_000
    x = [float(i) for i in range(n)]
    y = [math.sin(i / 1000) for i in range(n)]
    y[54_321], y[77_777] = 9.0, -9.0
    kept_x, kept_y = thin(x, y)
    assert len(kept_x) <= MOST_POINTS
    assert list(kept_x) == sorted(kept_x)
    assert {9.0, -9.0} <= set(kept_y)
    assert [list(part) for part in thin(x[:50], y[:50])] == [x[:50], y[:50]]


def test_thinning_a_line_of_nothing() -> None:
    nothing = [math.nan] * 10_000
    _, y = thin([float(i) for i in range(10_000)], nothing)
    assert all(math.isnan(value) for value in y)


def test_a_figure_is_packed_and_comes_back() -> None:
    spec = plot(Series("s", [1, 2, 3], [1, math.nan, 2.5]), rules=[Rule("BDP", x=2), Rule("c", y=1)])
    content = unpack(pack(figure_of(spec)))
    (series,) = content["series"]
    assert series["x"] == [1, 2, 3]
    assert [series["y"][0], series["y"][2]] == [1, 2.5]
    assert math.isnan(series["y"][1])
    assert [rule["x"] for rule in content["rules"]] == [2, None]


@pytest.mark.parametrize(
    "values",
    [
        [],
        [math.nan],
        [0.0, 1e-12, 2e-12],
        [1e-6, 1.0, 1e6],
        [1448.0 * i for i in range(1000)],
        [0.0, 2.0**40, 1.0],
        [math.nan, -1.5, math.nan, 1e300, -1e300],
        [5.238084123456 + i * 1.2e-7 for i in range(1000)],
    ],
)
def test_columns_keep_their_digits(values: list[float]) -> None:
    column = Series("", values, values).x
    back = unpack(pack({"x": column}))["x"]
    largest = max((abs(b - a) for a, b in itertools.pairwise(values) if b - a == b - a), default=0.0)
    for before, after in zip(values, back, strict=True):
        assert after == pytest.approx(before, rel=1e-13, abs=largest * 1e-7, nan_ok=True)


def test_bars_stand_on_each_other() -> None:
    bars = [Series("a", [0, 1], [0.6, 0.5], bar=True), Series("b", [0, 1], [0.4, 0.5], bar=True)]
    stacked = Plot("p", "A plot", Axis("x", names=("256\n512 bytes", "")), Axis("y"), bars)
    content = figure_of(stacked)
    assert [series["bar"] for series in content["series"]] == [True, True]
    assert content["x"]["names"] == ["256\n512 bytes", ""]
    drawn = draw(stacked).axes[0].patches
    assert [bar.get_y() for bar in drawn] == [0.0, 0.0, 0.6, 0.5]
    assert [bar.get_height() for bar in drawn] == pytest.approx([0.6, 0.5, 0.4, 0.5])


def test_what_was_published_is_hollow_and_over_the_lines(tmp_path: Path) -> None:
    ours = Series("ours", [1, 2, 3], [1, 2, 2.5], colour=0, marker=0)
    theirs = Series("published", [2], [2.1], line=False, published=True, colour=0, marker=0)
    lines = draw(plot(ours, theirs)).axes[0].get_lines()
    assert [line.get_markerfacecolor() for line in lines] == ["#0072B2", "none"]
    assert lines[1].get_zorder() > lines[0].get_zorder()
    assert lines[1].get_markersize() > lines[0].get_markersize()
    assert [one["published"] for one in figure_of(plot(ours, theirs))["series"]] == [False, True]


def test_files_are_the_same_each_time(tmp_path: Path) -> None:
    one = plot(Series("a", [1, 2], [1, 2]), Series("b", [1, 2], [2, math.nan]), rules=[Rule("BDP", x=1.5)])
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        save(one, tmp_path / name)
    for name in ("p.png", "p.svg"):
        first, second = (tmp_path / "first" / name).read_bytes(), (tmp_path / "second" / name).read_bytes()
        assert first == second
        assert len(first) > 1000
    svg = (tmp_path / "first" / "p.svg").read_text()
    assert "y (Mbit/s)" in svg  # text stays text


def test_default_plots_of_a_sweep(results: Results) -> None:
    plots = {plot.id: plot for plot in default_plots(results)}
    assert {"throughput", "utilization", "fairness", "highest-throughput-cwnd", "lowest-throughput-queue"} <= set(plots)
    throughput = plots["throughput"]
    assert throughput.x.title == "window (KiB)"
    assert list(throughput.series[0].x) == [8, 16, 64]
    assert list(throughput.series[0].y) == pytest.approx([v / 1e6 for v in results.runs["ttcp_utilization_bps"]])
    for one in plots.values():
        assert one.series
        assert one.x.title
        assert "(" in one.y.title, "an axis says its unit"


def test_default_plots_of_one_run_without_series() -> None:

    text = ONE.replace('interval = "100 ms"\n', "").replace("events = true\n", "")
    assert default_plots(Experiment(text).sweep()) == []


def test_more_lines_than_can_be_read_make_more_plots(results: Results) -> None:

    counts = ", ".join(str(n) for n in range(1, 13))
    many = Experiment(SWEEP.replace("count = 2", f"count = {{ sweep = [{counts}] }}").replace("500 kB", "20 kB"))
    plots = [plot for plot in default_plots(many.sweep()) if plot.id.startswith("throughput")]
    assert all(len(plot.series) <= 10 for plot in plots)


def test_repeats_have_their_intervals(tmp_path: Path) -> None:
    random = SWEEP.replace("count = 2", 'count = 2\nstart = { random = "uniform 0 s..1 s" }').replace("[path]", "repeats = 4\n[path]", 1)
    results = Experiment(random).sweep(tmp_path / "kept")
    (throughput,) = (one for one in default_plots(results) if one.id == "throughput")
    (line,) = throughput.series
    assert line.error is not None
    assert "95 % confidence" in throughput.caption
    widths = results.means().set_index("window")["ttcp_utilization_bps_ci"] / 1e6
    assert list(line.error) == pytest.approx([widths[label] for label in ("8 KiB", "16 KiB", "64 KiB")])
    assert figure_of(throughput)["series"][0]["error"] == line.error
    (axes,) = draw(throughput).axes
    assert len(axes.containers) == 1


def test_one_run_a_point_has_no_interval(results: Results) -> None:
    assert all(line.error is None for one in default_plots(results) for line in one.series)


def test_a_logarithmic_axis_is_labelled_as_people_write_numbers() -> None:
    def labels(*x: float) -> list[str]:
        figure = draw(Plot("p", "A plot", Axis("x", log=True), Axis("y"), [Series("s", x, x)]))
        figure.canvas.draw()
        low, high = figure.axes[0].get_xlim()
        ticks = zip(figure.axes[0].get_xticks(), figure.axes[0].get_xticklabels(), strict=True)
        return [label.get_text() for place, label in ticks if low <= place <= high]

    assert labels(10, 100) == ["10", "20", "50", "100"]
    assert labels(0.01, 20_000) == ["0.01", "0.1", "1", "10", "100", "1000", "10,000"]


def test_a_map_has_its_numbers_in_its_cells(tmp_path: Path) -> None:
    heat = Heat([[math.nan, 0.5], [-0.5, math.nan], [-0.001, -1.0]], low=-1, high=1, title="asymmetry")
    pairs = Plot("map", "Pairs", Axis("beside", names=["a", "b"]), Axis("stack", names=["a", "b", "c"]), heat=heat)
    content = unpack(pack(figure_of(pairs)))["heat"]
    assert content["text"] == [["", "0.50"], ["-0.50", ""], ["0.00", "-1.00"]]
    assert content["rows"][1][0] == -0.5
    assert math.isnan(content["rows"][0][0])
    # Blue, white, vermilion: the ends are told apart with any colour vision.
    assert content["colours"] == ["#0072B2", "#ffffff", "#D55E00"]
    svg = save(pairs, tmp_path)[1].read_text()
    assert all(f">{text}<" in svg for text in ("0.50", "-0.50", "0.00", "-1.00", "asymmetry"))


def test_what_was_written_elsewhere_is_unchanged() -> None:
    vendor = files("longfat").joinpath("vendor")
    lines = vendor.joinpath("SHA256SUMS").read_text().splitlines()
    assert len(lines) == 3
    for line in lines:
        wanted, name = line.split("  ")
        assert hashlib.sha256(vendor.joinpath(name).read_bytes()).hexdigest() == wanted, name


def test_a_figure_for_print_has_the_size_and_the_fonts_that_were_asked_for(tmp_path: Path) -> None:
    plot = Plot("p", "A plot", Axis("x (s)"), Axis("y"), (Series("one", (0.0, 1.0), (1.0, 2.0)), Series("two", (0.0, 1.0), (2.0, 1.0))))
    pdf = plot.save(tmp_path / "a.pdf", width=3.5, height=2.5, font_size=7).read_bytes()
    assert b"/MediaBox [ 0 0 252 180 ]" in pdf
    assert b"/Type3" not in pdf
    assert plot.save(tmp_path / "b.pdf", width=3.5, height=2.5, font_size=7).read_bytes() == pdf
    with mpl.rc_context({"font.size": 20}):
        assert (
            plot.save(tmp_path / "c.pdf", width=3.5, height=2.5).read_bytes()
            != plot.save(tmp_path / "d.pdf", width=3.5, height=2.5, font_size=9).read_bytes()
        )
    for wrong, message in (({"width": 0}, "expected inches"), ({"font_size": -1}, "expected points"), ({"style": "nice"}, "grayscale")):
        with pytest.raises(LongfatError, match=message):
            plot.save(tmp_path / "e.pdf", **wrong)  # pyright: ignore[reportArgumentType]
    assert not (tmp_path / "e.pdf").exists()


def test_figures_over_time_need_no_data_frame(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """A DataFrame of a run takes longer to make than all of its figures, and a report has figures of thousands of runs."""
    run = results[0]
    wanted = {plot.id: [list(series.y) for series in plot.series] for plot in time_plots(run)}

    def refuse(_: object) -> NoReturn:
        pytest.fail("a DataFrame was made")

    monkeypatch.setattr(Columns, "__call__", refuse)
    assert {plot.id: [list(series.y) for series in plot.series] for plot in time_plots(results[0])} == wanted
    assert set(wanted) >= {"goodput", "rtt", "cwnd", "queue", "sequence"}


RENO = """\
[path]
preset = "dumbbell"
rtt = "80 ms"
bottleneck = { rate = "20 Mbit/s", queue = { kind = "droptail", limit = "30 packets" } }
edge = { rate = "1 Gbit/s" }
[[flow]]
congestion_control = "reno"
[measure]
duration = "30 s"
interval = "200 ms"
events = true
"""


def test_an_interval_of_goodput_is_a_whole_number_of_round_trips() -> None:
    for step, samples, trip in ((0.2, 300, 0.0801), (0.1, 300, 0.0301), (0.01, 3000, 0.08), (0.05, 2000, 0.07)):
        over = intervals(step, samples, np.array([trip])) * step
        assert abs(over / trip - round(over / trip)) * trip / over <= MISFIT
        assert samples * step / over >= LEAST_RATES
    # An interval that is far longer than a round trip needs not fit.
    assert intervals(1.0, 120, np.array([0.001])) == 1
    assert intervals(1.0, 1200, np.array([math.nan])) == 10


def test_goodput_of_one_sender_is_no_square_wave() -> None:
    """Intervals of 0.2 s hold two bursts of a flow over 80 ms or three, in turn. Its goodput grows steadily all the same."""
    (goodput,) = (plot for plot in time_plots(Experiment(RENO).run()) if plot.id == "goodput")
    times, rates = np.asarray(goodput.series[0].x), np.asarray(goodput.series[0].y)
    steps = np.diff(rates[(times > 2) & (times < 25)])
    assert len(steps) > 20
    # A square wave turns at each step, a sawtooth at each loss.
    turns = (steps[1:] * steps[:-1] < 0) & (np.minimum(np.abs(steps[1:]), np.abs(steps[:-1])) > 1)
    assert turns.sum() <= 4


def test_goodput_above_the_link_is_marked_and_said() -> None:
    result = Experiment(RENO).run()
    (goodput,) = (plot for plot in time_plots(result) if plot.id == "goodput")
    assert [one.name for one in goodput.series] == ["flow1"]
    for repaired, name in ((True, "a repair delivers at once"), (False, "above the link")):
        series = result.flow_series.copy()
        # From 20 s to 24 s nothing is told, then all of it at once.
        held = (series["time_s"] >= 20) & (series["time_s"] < 24)
        series.loc[held, "bytes_arrived"] = series.loc[held, "bytes_arrived"].min()
        series["bytes_retransmitted"] = np.where(repaired & (series["time_s"] >= 23.9), 1000, 0)
        (goodput,) = (plot for plot in time_plots(changed(result, flow_series=series)) if plot.id == "goodput")
        _, mark = goodput.series
        assert mark.name == name
        assert not mark.line
        assert all(22 < time < 25 for time in mark.x)
        assert "more than the 20 Mbit/s of the bottleneck arrived" in goodput.caption


@pytest.fixture(scope="module")
def by_control() -> list[Plot]:
    text = RENO.replace("30 packets", "LIMIT").replace('"LIMIT"', '{ sweep = ["0.5 bdp", "1 bdp"], name = "buffer_size" }')
    text = text.replace('"reno"', '{ sweep = ["reno", "cubic"], name = "control" }\ncount = { sweep = [1, 2, 3], name = "flows" }')
    return default_plots(Experiment(text.replace("30 s", "2 s").replace('interval = "200 ms"\n', "")).sweep())


def test_one_colour_per_control_and_a_dash_per_value_of_the_next_axis(by_control: list[Plot]) -> None:
    plot = next(plot for plot in by_control if plot.id == "throughput")
    looks = {one.name: (one.colour, one.dash) for one in plot.series}
    assert looks == {
        "reno, 0.5 bdp": (0, 0),
        "reno, 1 bdp": (0, 1),
        "cubic, 0.5 bdp": (1, 0),
        "cubic, 1 bdp": (1, 1),
    }
    assert plot.title == "Goodput by flows"
    assert plot.caption.startswith("Colours: control. Dashes and markers: buffer size. One seed: no intervals.")


def test_goodput_by_delay_tells_controls_apart(by_control: list[Plot]) -> None:
    plot = next(plot for plot in by_control if plot.id == "throughput-delay")
    assert plot.title == "Goodput by delay"
    looks = {one.name: (one.colour, one.marker) for one in plot.series}
    assert looks["reno, flows 1"] == (0, 0)
    assert looks["cubic, flows 3"] == (1, 2)
    assert plot.caption.startswith("One point per run. Colours: control. Markers: flows.")


def test_names_on_y_do_not_touch() -> None:
    names = [f"setting {number}" for number in range(30)]
    heat = Heat([[float(row), 1.0] for row in range(30)], low=0, high=30, title="Mbit/s")
    figure = draw(Plot("map", "Many", Axis("x", names=["a", "b"]), Axis("y", names=names), heat=heat))
    figure.canvas.draw()
    boxes = [label.get_window_extent() for label in figure.axes[0].get_yticklabels()]
    assert all(one.y0 >= other.y1 for one, other in itertools.pairwise(boxes))


def test_a_dark_figure_has_ink_that_is_seen(tmp_path: Path) -> None:
    one = plot(Series("ink", [1, 2], [1, 2], colour=6), Series("b", [1, 2], [2, 1]))
    svg = one.save(tmp_path / "dark.svg", dark=True).read_text()
    assert PAPER in svg
    assert f"stroke: {LIGHT}" in svg
    assert PAPER not in one.save(tmp_path / "light.svg").read_text()
