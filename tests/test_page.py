"""The first screen of a report: the path drawn, the answer in words."""

from __future__ import annotations

import dataclasses
import html
import json
import re
from copy import copy
from pathlib import Path
from typing import Any

import longfat
import pandas as pd
import pytest
from conftest import ONE, SWEEP
from longfat import Experiment, Result, Results
from longfat.advice.plan import plan, to_toml
from longfat.advice.question import read
from longfat.plot import unpack
from longfat.plot.style import MATPLOTLIB_MARKERS, styles
from longfat.plot.sweeps import shares_of_groups, spaced, sweep_plots
from longfat.plot.units import scaled, with_unit
from longfat.report.answer import answer, limit
from longfat.report.drawing import path_drawing
from longfat.report.page import results_page
from longfat.report.runs import runs_of


def resolved(text: str) -> list[dict[str, Any]]:
    experiment = Experiment(text)
    return [json.loads(run.resolved) for run in experiment.resolve_all()]


def boxes(svg: str) -> dict[str, tuple[int, int]]:
    """Middle of each box, by what is written in it."""
    found = re.findall(r'<rect class="\w+" x="(\d+)" y="(\d+)".*?<text[^>]*>(.*?)</text>', svg)
    return {re.sub("<[^>]*>", "", text): (int(x), int(y)) for x, y, text in found}


def test_a_path_goes_from_left_to_right() -> None:
    svg = str(path_drawing(resolved(ONE)))
    places = boxes(svg)
    assert sorted(places, key=lambda name: places[name]) == ["left1", "router1", "router2", "right1"]
    assert len({y for _, y in places.values()}) == 1
    assert 'class="link bottleneck"' in svg
    assert all(f">{text}</text>" in svg for text in ("10 Mbit/s", "8 ms", "droptail 20 packets", "100 Mbit/s, 1 ms"))


def test_what_is_swept_is_shown_by_its_ends() -> None:
    queue = 'limit = { sweep = ["20 packets", "50 packets", "90 packets"], name = "buffer" }'
    svg = str(path_drawing(resolved(ONE.replace('limit = "20 packets"', queue))))
    assert ">droptail 20 … 90 packets (3)</text>" in svg


def test_hosts_of_one_kind_are_one_box() -> None:
    path = 'hosts = ["a1", "a2", "a3", "b"]\nrouters = ["r"]'
    links = "".join(f'[[path.link]]\nfrom = "{a}"\nto = "r"\nrate = "1 Gbit/s"\ndelay = "1 ms"\n' for a in ("a1", "a2", "a3"))
    links += '[[path.link]]\nfrom = "r"\nto = "b"\nrate = "10 Mbit/s"\ndelay = "9 ms"\nbottleneck = true\n'
    flows = "".join(f'[[flow]]\nfrom = "{a}"\nto = "b"\ntraffic = {{ kind = "bulk" }}\n' for a in ("a1", "a2", "a3"))
    text = f'[path]\npreset = "explicit"\n{path}\n{links}{flows}[measure]\nduration = "1 s"\n'
    places = boxes(str(path_drawing(resolved(text))))
    assert sorted(places, key=lambda name: places[name]) == ["a ×3", "r", "b"]


@pytest.mark.parametrize("tall", [False, True])
@pytest.mark.parametrize("what", ["advice", "parking-lot", "rtt-fairness", "ansnet/long", "bufferbloat"])
def test_no_words_lie_over_others(what: str, tall: bool) -> None:
    """Words at a link lie over no box and no other words, and words in a box fit into it. A small letter takes about 5.5 pixels."""
    text = to_toml(plan(read("10Gbit/s", "150ms"))) if what == "advice" else longfat.load(what).text
    svg = str(path_drawing(resolved(text), tall=tall))
    at_links = re.findall(r'<text class="small( beside)?" x="(\d+)" y="(\d+)">([^<]*)<', re.sub("<g>.*?</g>", "", svg))
    assert at_links
    words: list[tuple[float, float, float, float]] = []
    for beside, x, y, said in at_links:
        width = 5.5 * len(said)
        left = int(x) if beside else int(x) - width / 2
        words.append((left, int(y) - 9, left + width, int(y)))
    places = re.findall(r'<rect class="\w+" x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)"', svg)
    drawn = [(float(x), float(y), float(x) + float(width), float(y) + float(high)) for x, y, width, high in places]
    for number, one in enumerate(words):
        for other in [*words[number + 1 :], *drawn]:
            assert one[0] >= other[2] or one[2] <= other[0] or one[1] >= other[3] or one[3] <= other[1], (at_links[number], other)
    # No link is drawn through words. Their letters are within 8 pixels above the line on which they stand.
    ends = re.findall(r'<line class="[^"]*" x1="(\d+)" y1="(\d+)" x2="(\d+)" y2="(\d+)"', svg)
    for place, said in zip(words, at_links, strict=True):
        for x1, y1, x2, y2 in (map(float, end) for end in ends):
            on = [(x1 + (x2 - x1) * step / 200, y1 + (y2 - y1) * step / 200) for step in range(201)]
            assert not any(place[0] < x < place[2] and place[1] + 1 < y < place[3] for x, y in on), (said, (x1, y1, x2, y2))
    for width, said in re.findall(r'<g>.*?width="(\d+)".*?<text class="small"[^>]*>([^<]*)<', svg):
        assert 5.5 * len(said) <= int(width)


def test_quantities_are_as_one_types_them() -> None:
    text = ONE.replace("20 packets", "16 MB").replace("10 Mbit/s", "1.55 Mbit/s")
    svg = str(path_drawing(resolved(text)))
    assert ">droptail 16 MB</text>" in svg
    assert ">1.55 Mbit/s</text>" in svg


def test_backticks_are_code_and_nothing_else_is_markup(results: Results) -> None:
    text = "description = 'Set `cwnd` < 4 & <b>go</b>'"
    html = results_page(results, text).html
    assert "Set <code>cwnd</code> &lt; 4 &amp; &lt;b&gt;go&lt;/b&gt;" in html


def test_the_answer_of_a_sweep(results: Results) -> None:
    made = answer(results)
    assert made.columns[:2] == ["window", "throughput"]
    assert [row[0] for row in made.rows] == ["16 KiB", "64 KiB", "8 KiB"]
    assert made.left_out == 0
    assert made.sentences[0].startswith("The highest throughput is 9.27 Mbit/s, with window 16 KiB: 2.17 times the lowest")
    assert made.sentences[-2] == "In the best run the link bottleneck> limits: it is busy 96 % of the time."
    assert made.sentences[-1].startswith("More than 5 % of the segments are retransmissions in 1 of 3 settings: 6.94 % with window 64 KiB")
    assert len(made.sentences) <= 4


PATHS = """
[path]
preset = "dumbbell"
rtt = { sweep = ["20 ms", "200 ms"] }
bottleneck = { rate = "5 Mbit/s" }
[[flow]]
stack = "linux"
congestion_control = { name = "control", sweep = ["reno", "cubic"] }
[measure]
duration = "3 s"
"""


def test_what_nobody_can_choose_is_not_ranked() -> None:
    """The shorter of two round trips was once called the best setting."""
    both = answer(Experiment(PATHS).sweep())
    assert re.match(r"(control cubic|control reno) has the highest throughput on [12] of 2 paths \(rtt\)\.", both.sentences[0])
    assert [sentence[:14] for sentence in both.sentences[1:3]] == ["With rtt 20 ms", "With rtt 200 m"]
    # Paths stand in the order of the file, and each begins with its best.
    assert [row[0] for row in both.rows] == ["20 ms", "20 ms", "200 ms", "200 ms"]
    alone = Experiment(PATHS.replace('{ name = "control", sweep = ["reno", "cubic"] }', '"cubic"'))
    (told, *_) = answer(alone.sweep()).sentences
    assert re.fullmatch(r"The throughput is [0-9.]+ Mbit/s with rtt 20 ms, [0-9.]+ Mbit/s with rtt 200 ms\.", told)
    # A buffer can be chosen, although it is of the path.
    queue = 'bottleneck = { rate = "5 Mbit/s", queue = { kind = "droptail", limit = { sweep = ["5 packets", "50 packets"] } } }'
    chosen = PATHS.replace('bottleneck = { rate = "5 Mbit/s" }', queue).replace('{ sweep = ["20 ms", "200 ms"] }', '"20 ms"')
    assert not any("paths" in sentence for sentence in answer(Experiment(chosen).sweep()).sentences)


def test_waste_and_unfairness_are_flagged_in_the_first_screen(results: Results) -> None:
    flows = pd.concat([results.flows, results.flows])
    runs = results.runs.assign(retransmission_rate=[0.01, 0.267, 0.06], jain_index=[0.99, 0.9, 0.61])
    said = answer(dataclasses.replace(results, runs=runs, flows=flows)).sentences
    windows = list(results.runs["window"])
    assert f"More than 5 % of the segments are retransmissions in 2 of 3 settings: 26.7 % with window {windows[1]}." in said
    assert f"Jain's index is under 0.8 (1: flows are equal) in 1 of 3 settings: 0.61 with window {windows[2]}." in said
    calm = results.runs.assign(retransmission_rate=0.04, jain_index=0.81)
    assert not any(
        "retransmissions" in one or "Jain" in one for one in answer(dataclasses.replace(results, runs=calm, flows=flows)).sentences
    )


def test_what_makes_no_difference_is_said(results: Results) -> None:
    flat = dataclasses.replace(results, runs=results.runs.assign(ttcp_utilization_bps=1e6))
    assert answer(flat).sentences[0] == "All 3 settings give the same throughput: 1 Mbit/s to 1 Mbit/s."


def test_a_flow_beside_a_ping_is_alone(results: Results) -> None:
    """A bulk transfer and a ping once had Jain's index, 1, and an empty figure of their deviation from fairness."""
    one = results.flows.drop_duplicates("run")
    for flows, alone in ((one, True), (pd.concat([one, one.assign(traffic="ping")], ignore_index=True), True), (results.flows, False)):
        made = dataclasses.replace(results, flows=flows)
        assert ("Jain's index" not in answer(made).columns) == alone
        assert ("fairness" not in {plot.id for plot in sweep_plots(made)}) == alone


def test_a_delay_that_differs_more_than_the_throughput_is_told(results: Results) -> None:
    """Three queues that let 89 to 94 Mbit/s through were once ranked by that, and 34 beside 151 ms of RTT stood in the table alone."""
    runs = results.runs.assign(ttcp_utilization_bps=[9e6, 9.4e6, 9.4e6], flow_rtt_p95_s=[0.034, 0.06, 0.151])
    windows = list(runs["window"])
    said = answer(dataclasses.replace(results, runs=runs)).sentences[1]
    assert said == (
        f"The 95th percentile of the RTT is 34 ms with window {windows[0]} and 151 ms with window {windows[2]}: 4.4 times as long."
    )
    fast = dataclasses.replace(results, runs=runs.assign(ttcp_utilization_bps=[1e6, 5e6, 9e6]))
    assert not any("percentile" in one for one in answer(fast).sentences)


def test_the_axis_that_matters_is_named(results: Results) -> None:
    four = pd.concat([results.runs.iloc[:1]] * 4, ignore_index=True).assign(
        run=[str(i) for i in range(4)], control=["a", "a", "b", "b"], window=["1", "2", "1", "2"], ttcp_utilization_bps=[1e6, 2e6, 8e6, 9e6]
    )
    flows = results.flows.iloc[:0]
    made = dataclasses.replace(results, axes=["control", "window"], runs=four, flows=flows, open=lambda _: results[0])
    links = pd.concat([results.links[results.links["run"] == results.runs["run"].iloc[0]].assign(run=str(i)) for i in range(4)])
    said = answer(dataclasses.replace(made, links=links)).sentences
    # The variance of 1, 2, 8, 9 is about 5, 50; 49 of it lie between 1.5 and 8.5.
    assert said[1] == "Most depends on control, which explains 98 % of the variance: on average 8.5 Mbit/s with b, 1.5 Mbit/s with a."


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "the link bottleneck> limits"),
        ({"window": '"4 KiB"'}, "the receiver's window limits: senders wait for it 9"),
        ({"edge": '"5 Mbit/s"'}, "not the bottleneck but the link left1-router1> limits"),
        ({"loss": "0.02"}, "losses limit: "),
    ],
)
def test_what_limits(changes: dict[str, str], words: str) -> None:
    text = ONE.replace("count = 2", "count = 1").replace('"64 KiB"', changes.get("window", '"48 KiB"')).replace('"500 kB"', '"3 MB"')
    text = text.replace('"100 Mbit/s"', changes.get("edge", '"100 Mbit/s"'))
    if "loss" in changes:
        text = text.replace('rate = "10 Mbit/s"', f'rate = "10 Mbit/s", loss = {{ kind = "bernoulli", probability = {changes["loss"]} }}')
    result: Result = Experiment(text).run()
    assert limit(result.links, result.flows, result).startswith(words)


def test_the_first_screen_has_the_warnings_with_what_to_do(tmp_path: Path) -> None:
    experiment = Experiment(ONE.replace('"64 KiB"', '"8 KiB"'))
    results = experiment.sweep(tmp_path / "kept")
    assert results.warnings
    page = html.unescape(results_page(results).html)
    for warning in results.warnings:
        assert warning.text in page
        assert warning.advice in page


def test_every_run_can_be_picked(results: Results) -> None:
    runs = runs_of(results)
    assert runs.facts["axes"] == [{"name": "window", "values": ["8 KiB", "16 KiB", "64 KiB"]}]
    assert [run["at"] for run in runs.facts["runs"]] == [[0], [1], [2]]
    assert runs.facts["start"] == [1, 0]
    figures = unpack(runs.packs[2])
    by_id = {figure["id"]: figure for figure in figures}
    assert {"goodput", "rtt", "cwnd", "queue", "drops", "sequence"} <= by_id.keys()
    drops = by_id["drops"]["series"][0]
    assert sum(drops["y"]) == results.links.loc[results.links["run"] == results.runs["run"].iloc[2], "drops_overflow"].sum()


def test_axes_are_logarithmic_where_values_are_spaced_so() -> None:
    assert spaced([1, 10, 100, 1000])
    assert spaced([64, 128, 256, 1024])
    assert not spaced([1, 2, 3, 4])
    assert not spaced([0, 10, 100])
    assert not spaced([1, 100])
    assert not spaced(range(1, 101))


def test_units_fit() -> None:
    assert with_unit(53.7e9, "bit/s") == "53.7 Gbit/s"
    assert with_unit(256 * 2**20, "iB") == "256 MiB"
    assert with_unit(0.0801, "s") == "80.1 ms"
    assert with_unit(0.0, "s") == "0 s"
    assert with_unit(float("nan"), "s") == "–"
    assert scaled("1", 1e-6) == ("", 1.0)


def sweep(text: str) -> dict[str, Any]:
    return {plot.id: plot for plot in sweep_plots(Experiment(text).sweep())}


SHORT = SWEEP.replace('"500 kB"', '"60 kB"').replace('interval = "100 ms"\n', "")


def test_names_are_bars_and_two_axes_a_map() -> None:
    control = 'congestion_control = { sweep = ["reno", "cubic", "vegas"], name = "control" }'
    one = sweep(SHORT.replace('window = { sweep = ["8 KiB", "16 KiB", "64 KiB"] }', f'window = "16 KiB"\n{control}'))
    assert one["throughput"].title == "Throughput by control"
    assert one["throughput"].series[0].bar
    assert list(one["throughput"].x.names) == ["reno", "cubic", "vegas"]
    two = sweep(SHORT.replace("[[flow]]", f"[[flow]]\n{control}"))
    assert [series.name for series in two["throughput"].series] == ["reno", "cubic", "vegas"]
    heat = two["map"].heat
    assert heat is not None
    assert (len(heat.rows), len(heat.rows[0])) == (3, 3)
    assert list(two["map"].x.names) == ["8 KiB", "16 KiB", "64 KiB"]
    # One point per run, by control and by window.
    assert sum(len(series.x) for series in two["throughput-delay"].series) == 9


def test_a_third_axis_makes_small_multiples_of_one_height() -> None:
    axes = 'congestion_control = { sweep = ["reno", "cubic", "vegas", "bic"], name = "control" }\n'
    text = SHORT.replace("[[flow]]", f"[[flow]]\n{axes}").replace('rtt = "20 ms"', 'rtt = { sweep = ["10 ms", "20 ms", "40 ms"] }')
    plots = sweep(text)
    multiples = [plots[f"throughput-{number}"] for number in (1, 2, 3)]
    assert [plot.title.split(", ")[-1] for plot in multiples] == ["window 8 KiB", "window 16 KiB", "window 64 KiB"]
    assert len({plot.y.end for plot in multiples}) == 1
    assert all(len(plot.series) == 4 for plot in multiples)
    assert {"map-1", "map-2", "map-3"} <= plots.keys()


def test_many_flows_have_a_distribution_and_groups_have_shares() -> None:
    other = '[[flow]]\nname = "other"\ncount = 6\nwindow = "16 KiB"\ntraffic = { kind = "ttcp", volume = "60 kB" }\n\n[measure]'
    plots = sweep(SHORT.replace("[measure]", other))
    flows = plots["flows"]
    assert [series.name for series in flows.series] == ["8 KiB", "16 KiB", "64 KiB"]
    assert all(series.y[-1] == 100 and len(series.x) == 8 for series in flows.series)
    shares = plots["shares"].series
    assert [series.name for series in shares] == ["forward", "other"]
    assert [a + b for a, b in zip(shares[0].y, shares[1].y, strict=True)] == pytest.approx([100.0] * 3)


def duel(settings: int) -> Results:
    """Two groups in so many settings of the buffer, of which the first wins where it is small."""
    text = ONE.replace("count = 2", "count = 1").replace('window = "64 KiB"', 'window = "16 KiB"') + "\n"
    buffers = ", ".join(f'"{number + 5} packets"' for number in range(settings))
    text = text.replace('limit = "20 packets"', f'limit = {{ sweep = [{buffers}], name = "buffer" }}')
    text += '[[flow]]\nname = "backward"\nwindow = "64 KiB"\ntraffic = { kind = "ttcp", volume = "500 kB" }\n'
    return Experiment(text).sweep()


@pytest.mark.parametrize("settings", [1, 3, 14])
def test_of_two_groups_the_page_says_who_has_more(settings: int) -> None:
    results = duel(settings)
    shares = shares_of_groups(results, ["buffer"] if settings > 1 else [])
    assert shares.sum(axis=1).tolist() == pytest.approx([1.0] * settings)
    (told,) = [one for one in answer(results).sentences if "of the goodput" in one]
    wins = int((shares["backward"] > shares["forward"]).sum())
    among = f"more of the goodput than forward in {wins} of {settings} settings" if settings > 1 else ""
    assert told.startswith(f"backward has {among}")
    (plot,) = [plot for plot in sweep_plots(results) if plot.id == "shares"]
    drawn = [list(series.y) for series in plot.series]
    first = [100 * value for value in shares[shares.columns[0]]]
    assert drawn[0] == pytest.approx(first)
    assert [series.bar for series in plot.series] == ([False] if settings > 12 else [True, True])


BESIDE = """\
title = "Two groups"

[path]
preset = "dumbbell"
pairs = 2
rtt = "20 ms"
bottleneck = { rate = "10 Mbit/s", queue = { kind = "droptail", limit = { sweep = LIMITS, name = "buffer" } } }
edge = { rate = "100 Mbit/s" }

[[flow]]
name = "one"
window = "64 KiB"
from = "left1"
to = "right1"

[[flow]]
name = "other"
window = "32 KiB"
from = "left2"
to = "right2"

[measure]
duration = "2 s"
"""


@pytest.fixture(scope="module")
def beside() -> Results:
    limits = [f'"{packets} packets"' for packets in (100, 9, 20, 30, 40, 50, 60, 70, 80, 90)]
    return Experiment(BESIDE.replace("LIMITS", f"[{', '.join(limits)}]")).sweep()


def test_values_are_in_numeric_order_wherever_an_axis_is_shown(beside: Results) -> None:
    in_order = [f"{packets} packets" for packets in (9, 20, 30, 40, 50, 60, 70, 80, 90, 100)]
    assert runs_of(beside).facts["axes"][0]["values"] == in_order
    plots = {plot.id: plot for plot in sweep_plots(beside)}
    assert [one.name for one in plots["throughput-delay"].series] == in_order
    assert plots["throughput"].series[0].x[0] == 9
    assert [name.split("\n")[0] for name in plots["shares"].x.names] == in_order
    drawn = runs_of(beside).resolved
    assert ">droptail 9 … 100 packets (10)</text>" in str(path_drawing(drawn))


def test_ten_settings_have_ten_marks(beside: Results) -> None:
    plot = next(plot for plot in sweep_plots(beside) if plot.id == "throughput-delay")
    made = styles(plot.series)
    assert len({style.marker for style in made}) == len(made) == 10
    assert {style.marker for style in made} <= MATPLOTLIB_MARKERS.keys()
    drawn = Path(longfat.__file__).parent.joinpath("templates/marks.js").read_text()
    assert [marker for marker in MATPLOTLIB_MARKERS if f'"{marker}"' not in drawn] == ["cross"]  # which is what is drawn otherwise


def test_the_deviation_of_two_groups_has_a_sign(beside: Results) -> None:
    plot = next(plot for plot in sweep_plots(beside) if plot.id == "fairness")
    assert (plot.title, plot.y.start) == ("Lead of a flow of one over one of other by buffer", None)
    rates = beside.flows[beside.flows["buffer"] == "9 packets"].set_index("group")["goodput_bps"]
    larger = max(rates["one"], rates["other"])
    assert plot.series[0].y[0] == pytest.approx(100 * (rates["one"] - rates["other"]) / larger)
    alone = next(plot for plot in sweep_plots(beside) if plot.id == "fairness").rules
    assert [rule.y for rule in alone] == [0]
    swapped = Experiment(BESIDE.replace("LIMITS", '["20 packets", "90 packets"]').replace('"64 KiB"', '"8 KiB"')).sweep()
    assert max(next(plot for plot in sweep_plots(swapped) if plot.id == "fairness").series[0].y) < 0


def test_an_axis_begins_at_0_unless_all_points_are_near_its_top(beside: Results) -> None:
    def starts(goodputs: list[float]) -> tuple[float | None, bool]:
        runs = beside.runs.assign(goodput_total_bps=[1e6 * goodput for goodput in goodputs])
        changed = copy(beside)
        changed.runs = runs
        plot = next(plot for plot in sweep_plots(changed) if plot.id == "throughput")
        return plot.y.start, plot.caption.endswith("The axis does not begin at 0.")

    start, is_said = starts([90.0, 91, 92, 93, 94, 95, 96, 97, 98, 100])
    assert start == pytest.approx(89.5)
    assert is_said
    assert starts([70.0, 91, 92, 93, 94, 95, 96, 97, 98, 100]) == (0, False)
    assert starts([95.0] * 10) == (0, False)


def test_rates_of_few_packets_say_that_they_may_lie_above_the_link() -> None:
    def caption(interval: str) -> str:
        [result] = Experiment(ONE.replace('"100 ms"', f'"{interval}"')).sweep()
        return result.plot("goodput").caption

    assert "a packet above the link's" in caption("20 ms")
    assert "a packet above the link's" not in caption("500 ms")
