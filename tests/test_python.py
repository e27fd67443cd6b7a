"""Python as people write it: sweeps and zips, parts of results, tables across, tables in other forms, what a notebook shows."""

from __future__ import annotations

import inspect
import math
import re
import sys
import types
from pathlib import Path

import longfat
import pandas as pd
import pyarrow as pa
import pytest
from conftest import ONE, SWEEP
from longfat import Experiment, ExperimentError, LongfatError, Results
from longfat.plot.units import with_half, with_interval
from longfat.results.repeats import half_width

ROOT = Path(__file__).parent.parent


def test_every_public_name_is_in_the_reference() -> None:
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    missing = [name for name in longfat.__all__ if not re.search(rf"longfat\.{name}\b|`{name}`", text)]
    assert not missing
    for kind in (longfat.Experiment, longfat.Result, longfat.Results, longfat.Simulation, longfat.Advice, longfat.RunWarning, longfat.Card):
        names = [name for name, _ in inspect.getmembers(kind) if not name.startswith("_")]
        fields = list(getattr(kind, "__dataclass_fields__", {}))
        if kind is longfat.Experiment:
            fields = [name for name in vars(longfat.Experiment(ONE)) if not name.startswith("_")]
        # `index` and `count` of a sequence, and `of`, which puts results together, are not for users.
        public = [name for name in {*names, *fields} if not (kind is longfat.Results and name in ("index", "count", "of"))]
        unsaid = sorted(name for name in public if not re.search(rf"[.`]{name}\b", text))
        assert not unsaid, f"{kind.__name__}: docs/python.md does not say {', '.join(unsaid)}"


@pytest.mark.slow
def test_the_example_of_help_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert longfat.__doc__
    lines = [line[4:] for line in longfat.__doc__.splitlines() if line.startswith("    ")]
    assert any("longfat.load(" in line for line in lines)
    monkeypatch.chdir(tmp_path)
    code = "\n".join(lines).replace('"20 s"', '"2 s"')
    assert '"2 s"' in code
    exec(compile(code, "<help>", "exec"), {})
    assert longfat.load_results(tmp_path / "results" / "mine").axes == ["recovery"]


def test_a_prompt_shows_results_in_a_line() -> None:
    """A prompt once showed their tables, and all of their provenance."""
    results = Experiment(SWEEP).sweep()
    assert repr(results) == f"<longfat.Results {results.title!r}: {len(results)} runs over {', '.join(results.axes)}>"
    first = results[0]
    axis = results.axes[0]
    assert repr(first).startswith(f"<longfat.Result {first.title!r}: {axis} = {first.labels[axis]}, ")
    assert repr(Experiment(ONE).run()).endswith(f"repeat 0, {Experiment(ONE).run().end_s:g} s>")


def test_vary_names_an_axis_and_its_values() -> None:
    e = Experiment(ONE).vary("path.bottleneck.queue.limit", {"small": "5 packets", "large": "50 packets"}, name="buffer")
    assert e.axes == {"buffer": ["small", "large"]}
    e.vary("flow.congestion_control", [{"kind": "reno"}, "cubic"])
    assert e.run_count == 4
    assert ["reno", "cubic"] in e.axes.values()


def test_values_that_change_together_are_one_axis() -> None:
    e = Experiment(ONE).vary({"path.rtt": ["20 ms", "40 ms"], "flow.window": ["8 KiB", "16 KiB"]}, name="path")
    assert e.axes == {"path": ["20 ms", "40 ms"]}
    windows = [re.findall(r'"send_buffer": ?"(.*?)"', run.resolved)[0] for run in e.resolve_all()]
    assert len(set(windows)) == 2


@pytest.mark.parametrize(
    ("what", "values", "said"),
    [
        ({"path.rtt": ["20 ms"], "flow.window": ["8 KiB", "16 KiB"]}, None, "as many: path.rtt has 1, flow.window has 2"),
        ({"path.rtt": ["20 ms", "40 ms"], "flow.window": ["8 KiB", "wide"]}, None, "window"),
        ("flow.window", [], "expected a list of values"),
        ({}, None, "at least one value"),
    ],
)
def test_vary_refuses_and_changes_nothing(what: object, values: object, said: str) -> None:
    e = Experiment(ONE)
    before = e.resolve(0).hash
    with pytest.raises(ExperimentError, match=said):
        e.vary(what, values)  # type: ignore[arg-type]
    assert (e.axes, e.changes, e.resolve(0).hash) == ({}, {}, before)


def test_lists_in_a_mapping_are_axes_too() -> None:
    e = Experiment(ONE)
    e["path.bottleneck.queue"] = {"kind": "droptail", "limit": ["5 packets", "20 packets"]}
    assert list(e.axes.values()) == [["5 packets", "20 packets"]]


def test_select_takes_the_runs_asked_for(results: Results) -> None:
    part = results.select(window=["8 KiB", "64 KiB"])
    assert list(part.runs["window"]) == ["8 KiB", "64 KiB"]
    assert set(part.flows["run"]) == set(part.links["run"]) == set(part.runs["run"])
    assert len(part.flows) == 4
    assert len(part) == 2
    assert part[1].labels == {"window": "64 KiB"}
    # A quantity may be written otherwise.
    assert list(results.select(window="16384 bytes").runs["window"]) == ["16 KiB"]
    assert len(results.select(repeat=0)) == 3


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"windo": "8 KiB"}, "did you mean 'window'"),
        ({"window": "9 KiB"}, "window is never '9 KiB': choose among 8 KiB, 16 KiB, 64 KiB"),
        ({"goodput_total_bps": 1}, "no axis 'goodput_total_bps'"),
    ],
)
def test_select_says_what_there_is(results: Results, asked: dict[str, object], said: str) -> None:
    with pytest.raises(LongfatError, match=said):
        results.select(**asked)  # type: ignore[arg-type]


def test_values_that_never_meet() -> None:
    text = SWEEP + '\n[[skip]]\nwindow = ["8 KiB"]\ncount = [1]\n'
    swept = Experiment(text.replace("count = 2", "count = { sweep = [1, 2] }").replace('"64 KiB"]', '"16384 bytes"]')).sweep()
    with pytest.raises(LongfatError, match="at once"):
        swept.select(window="8 KiB", count=1)
    # Two labels are one run: only the label asked for is taken.
    part = swept.select(window="16 KiB", count=2)
    assert set(part.flows["window"]) <= {"16 KiB", "16384 bytes"}
    assert len(part.flows) == 2 * len(part.runs)


def test_pivot_is_the_mean_over_repeats_in_the_order_of_the_file() -> None:
    e = Experiment(SWEEP.replace("count = 2", "count = { sweep = [2, 1] }").replace("[path]", "repeats = 2\n[path]", 1))
    e["flow.start"] = {"random": "uniform 0 s..100 ms"}
    swept = e.sweep()
    table = swept.pivot("goodput_total_bps", index="window", columns="count")
    assert list(table.index) == ["8 KiB", "16 KiB", "64 KiB"]
    assert list(table.columns) == ["2", "1"]
    half = swept.pivot("goodput_total_bps_ci", index="window", columns="count")
    means = swept.means().set_index(["window", "count"])["goodput_total_bps_ci"]
    assert all(half.loc[window, count] == means[(window, count)] for window in half.index for count in half.columns)
    assert half.max().max() > 0
    rows = swept.runs[(swept.runs["window"] == "8 KiB") & (swept.runs["count"] == "1")]
    assert len(rows) == 2
    assert table.loc["8 KiB", "1"] == pytest.approx(rows["goodput_total_bps"].mean())
    assert list(swept.select(count=1).pivot().columns) == ["goodput_total_bps"]
    with pytest.raises(LongfatError, match="did you mean 'goodput_total_bps'"):
        swept.pivot("goodput_total_bp")
    with pytest.raises(LongfatError, match="no axis 'rtt'"):
        swept.pivot(index="rtt")


def test_a_third_axis_is_to_be_chosen(results: Results) -> None:
    e = Experiment(SWEEP.replace("count = 2", "count = { sweep = [1, 2] }"))
    e["path.rtt"] = ["20 ms", "40 ms"]
    swept = e.sweep()
    with pytest.raises(LongfatError, match="choose one first, such as"):
        swept.pivot(index="window", columns="count")
    assert swept.select(rtt="20 ms").pivot(index="window", columns="count").shape == (3, 2)
    with pytest.raises(LongfatError, match="one run"):
        Experiment(ONE).sweep().pivot()


def test_tables_in_other_forms(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    made = results.table("flows", form="arrow")
    assert isinstance(made, pa.Table)
    pd.testing.assert_frame_equal(made.to_pandas(), results.flows, check_dtype=False)
    handed: list[pa.Table] = []
    monkeypatch.setitem(sys.modules, "polars", types.SimpleNamespace(from_arrow=lambda table: handed.append(table) or "a frame"))
    assert results.table("runs", form="polars") == "a frame"
    assert handed[0].column_names == list(results.runs.columns)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(LongfatError, match="pip install polars"):
        results.table("runs", form="polars")
    with pytest.raises(LongfatError, match="choose one of pandas, polars, arrow"):
        results.table("runs", form="excel")  # type: ignore[arg-type]
    with pytest.raises(LongfatError, match="no table 'flow'"):
        results.table("flow")  # type: ignore[arg-type]


def test_series_with_their_axes(results: Results) -> None:
    bare, full = results.table("flow_series"), results.table("flow_series", axes=True)
    assert list(full.columns[:3]) == ["run", "window", "repeat"]
    assert len(full) == len(bare)
    assert full.groupby("window")["cwnd_bytes"].max().is_unique
    by_hash = dict(zip(results.runs["run"], results.runs["window"], strict=True))
    assert (full["window"] == full["run"].map(by_hash)).all()


def test_plots_of_results_and_runs_are_files_and_pictures(results: Results, tmp_path: Path) -> None:
    plot = results.plot("bottleneck_utilization")
    assert [len(series.x) for series in plot.series] == [3]
    assert plot.save(tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    assert plot.save(tmp_path / "b.pdf").read_bytes() == (tmp_path / "a.pdf").read_bytes()
    assert "<svg" in plot.save(tmp_path / "a.svg").read_text(encoding="utf-8")
    assert plot.save(tmp_path / "a.png").read_bytes()[1:4] == b"PNG"
    assert "<svg" in plot._repr_svg_()
    with pytest.raises(LongfatError, match="ends in"):
        plot.save(tmp_path / "a.gif")
    with pytest.raises(LongfatError, match="cannot write"):
        plot.save(tmp_path / "nowhere" / "a.svg")
    assert results[0].plot("cwnd").series
    with pytest.raises(LongfatError, match="choose one of goodput"):
        results[0].plot("windows")
    with pytest.raises(LongfatError, match="no axis to plot along"):
        results.select(window="8 KiB").plot()
    with pytest.raises(LongfatError, match="no metric"):
        results.plot("speed")


def test_a_table_for_latex(results: Results) -> None:
    text = results.to_latex("goodput_total_bps", "bottleneck_utilization")
    assert text.startswith("\\begin{tabular}{l")
    assert "\\toprule" in text
    assert "goodput total (Mbit/s)" in text
    assert "bottleneck utilization" in text
    assert text.count("\\\\") == 1 + len(results.means())
    with pytest.raises(LongfatError, match="there is no metric 'speed' of a run"):
        results.to_latex("speed")


@pytest.mark.parametrize(
    ("mean", "half", "said"),
    [
        (93.2461, 0.4321, "93.25 ± 0.43"),
        (1234.5, 56.7, "1234 ± 57"),
        (0.01234, 0.00009, "0.012340 ± 0.000090"),
        (93.2461, math.nan, "93.25"),
        (math.nan, 1.0, "–"),
    ],
)
def test_a_mean_has_as_many_digits_as_its_interval_leaves(mean: float, half: float, said: str) -> None:
    assert with_half(mean, half) == said


def test_a_notebook_shows_the_path_and_the_answer(results: Results) -> None:
    e = Experiment(SWEEP.replace("Two flows", "<b>Two</b> flows"))
    shown = e._repr_html_()
    assert "<svg" in shown
    assert "8 KiB, 16 KiB, 64 KiB" in shown
    assert "&lt;b&gt;Two" in shown
    assert "<b>Two" not in shown
    told = results._repr_html_()
    assert "The highest throughput" in told
    assert told.count("<tr>") == 1 + len(results)


def test_a_run_that_was_there_has_the_labels_of_now(tmp_path: Path) -> None:
    first = Experiment(SWEEP).sweep(tmp_path)
    e = Experiment(ONE).vary("flow.window", {"small": "8 KiB", "large": "64 KiB"}, name="size")
    again = e.sweep(tmp_path)
    assert set(again.runs["run"]) < set(first.runs["run"])
    assert [run.labels for run in again] == [{"size": "small"}, {"size": "large"}]
    assert again[-1].labels == again[1:][0].labels == {"size": "large"}
    assert set(again.table("flow_series", axes=True)["size"]) == {"small", "large"}


def test_means_and_ratios_of_groups_of_flows() -> None:
    repeated = longfat.load(Path(__file__).parent.parent / "experiments" / "cookbook" / "long-and-short.toml")
    repeated["measure.warmup"] = "2 s"
    repeated["measure.duration"] = "8 s"
    repeated["repeats"] = 3
    results = repeated.sweep()
    table = results.means(by="group").set_index(["control", "group"])
    flows = results.flows.pivot_table(index=["control", "repeat"], columns="group", values="goodput_bps")
    share = flows["long"] / flows.sum(axis=1)
    for control in ["reno", "cubic", "bbr3"]:
        row = table.loc[(control, "long")]
        assert row["repeats"] == 3
        assert row["flows"] == 1
        assert row["goodput_bps"] == pytest.approx(flows.loc[control, "long"].mean())
        assert row["share"] == pytest.approx(share.loc[control].mean())
        assert row["share_ci"] == pytest.approx(half_width(list(share.loc[control])))
        assert row["share"] + table.loc[(control, "short"), "share"] == pytest.approx(1)
    # A ratio and its inverse are one answer.
    one, other = results.ratio("long", "short"), results.ratio("short", "long")
    assert list(one["ratio"] * other["ratio"]) == pytest.approx([1, 1, 1])
    assert list(one["ratio_low"] * other["ratio_high"]) == pytest.approx([1, 1, 1])
    assert (one["ratio_low"] <= one["ratio"]).all()
    with pytest.raises(LongfatError, match="no group of flows 'far': choose among short, long"):
        results.ratio("far", "short")
    with pytest.raises(LongfatError, match="no metric 'speed' of flows"):
        results.ratio("long", "short", "speed")
    with pytest.raises(LongfatError, match='choose "run" or "group"'):
        results.means(by="flow")  # pyright: ignore[reportArgumentType]


def test_an_intervals_digits_are_those_of_its_mean() -> None:
    assert with_interval(9.32e9, 0.75e9, "bit/s") == "9.32 ± 0.75 Gbit/s"
    assert with_interval(932e6, 121.4e6, "bit/s") == "932 ± 121 Mbit/s"
    assert with_interval(9.78e-3, 1.14e-3, "s") == "9.8 ± 1.1 ms"
    assert with_interval(38.9, 20.1, "%") == "39 ± 20 %"
    assert with_interval(0, 0, "%") == "0 %"
    assert with_interval(9.32e9, math.nan, "bit/s") == with_interval(9.32e9, 1e6, "bit/s") == "9.32 Gbit/s"
