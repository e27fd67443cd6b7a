"""Explanations: runs with known stories are told as they were, with the times of their events."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import longfat
import numpy as np
import pytest
from conftest import command
from longfat import Experiment, LongfatError, Result
from longfat._longfat import Document
from longfat.cli.explain import chosen_run, explain_command
from longfat.explain import Explanation, explain, explain_capture
from longfat.explain.episodes import episodes
from longfat.explain.model import Flow, Loss, Recovery, Story
from longfat.explain.of_run import traced
from longfat.explain.tellers import REGISTRY
from longfat.results.result import changed

CAPTURES = Path(__file__).parent / "captures"
DROPTAIL = '{ kind = "droptail", limit = "1 bdp" }'


def file_of(flows: str, queue: str = DROPTAIL, link: str = "", duration: str = "10 s", measure: str = "") -> str:
    return f"""
title = "A known story"
[path]
preset = "dumbbell"
rtt = "40 ms"
bottleneck = {{ rate = "20 Mbit/s", {link} queue = {queue} }}
edge = {{ rate = "100 Mbit/s" }}
{flows}
[measure]
duration = "{duration}"
{measure}
"""


def flow(**keys: str) -> str:
    return "\n".join(["[[flow]]", *(f"{key} = {value}" for key, value in keys.items())])


def told(text: str) -> tuple[Explanation, Result]:
    """The explanation of a run without any recording, and the run with what the explanation had of it."""
    result = Experiment(text).run()
    with_trace, note = traced(result, Document(text, "experiment.toml"))
    assert "simulated again" in note
    return explain(with_trace, note), with_trace


def sentence(explanation: Explanation, pattern: str) -> re.Match[str]:
    found = [match for one in explanation.told if (match := re.search(pattern, one.sentence.text))]
    assert found, f"no sentence has {pattern!r}:\n{explanation}"
    return found[0]


def first(result: Result, kind: str) -> float:
    return float(result.events[result.events["kind"] == kind]["time_s"].min())


def test_slow_start_into_droptail() -> None:
    explanation, result = told(file_of(flow(congestion_control='"reno"'), '{ kind = "droptail", limit = "20 packets" }'))
    noticed, dropped = first(result, "fast_retransmit"), first(result, "dropped_overflow")
    sentence(explanation, rf"Slow start of flow1 ended at {noticed:.3f} s with a window of 113 kB, by loss: 20 of its packets")
    sentence(explanation, rf"At {dropped:.3f} s bottleneck> dropped 20 packets of flow1: its queue was full")
    many = int((result.events["kind"] == "fast_retransmit").sum())
    found = sentence(explanation, r"(\d+) more such episodes followed .*, and lost (\d+) packets\. Together they cost ([\d.]+) MB")
    assert int(found[1]) == many - 1
    assert 20 + int(found[2]) == int((result.events["kind"] == "dropped_overflow").sum())
    # Against a link that carries 19.3 Mbit/s of payload without a break, as much is missing as was not delivered.
    missing = (19.3e6 / 8 * 10 - result.flows["bytes_arrived"].sum()) / 1e6
    assert float(found[3]) == pytest.approx(missing, rel=0.4)


def test_a_single_loss_at_random() -> None:
    # The window stays below the path, so that the only loss is the wire's.
    text = file_of(flow(window='"64 KiB"'), link='loss = { kind = "periodic", period = "6000 packets" },')
    explanation, result = told(text)
    lost = result.events[result.events["kind"] == "dropped_loss"]
    assert len(lost) == 1
    sentence(explanation, rf"At {lost['time_s'].iloc[0]:.3f} s bottleneck> lost 1 packet of flow1 at random\.")
    sentence(explanation, r"repaired it in \d[\d.]* ms by fast retransmit\. It cost [\d.]+ [kM]B against no loss, with .* below the rate")


def test_a_timeout_by_an_outage() -> None:
    explanation, result = told(file_of(flow(window='"64 KiB"'), link='down = [{ from = "4 s", to = "5 s" }],'))
    sentence(explanation, r"Nothing of flow1 arrived from 4\.0\d0 s to 5\.0\d0 s, 1 s: bottleneck> was down from 4\.000 s to 5\.000 s")
    sentence(explanation, rf"flow1 retransmitted at {first(result, 'timeout'):.3f} s, and nothing was lost: that was spurious")


def test_limited_by_the_window() -> None:
    explanation, _ = told(file_of(flow(window='"64 KiB"')))
    sentence(explanation, r"flow1 never left slow start, with a window of [\d.]+ kB at most: the receiver window limited it for 99 %")
    found = sentence(
        explanation, r"waited for the receiver window in 99 % of its time .*: 65\.2 kB in flight per 40\.9 ms allow ([\d.]+) Mbit/s"
    )
    assert float(found[1]) == pytest.approx(65.16 * 8 / 40.9, rel=0.01)
    sentence(explanation, "^Nothing was lost")


def test_limited_by_the_application() -> None:
    explanation, _ = told(file_of(flow(traffic='{ kind = "writes", rate = "2 Mbit/s" }')))
    sentence(explanation, r"flow1 waited for the application in 100 % of its time: it had written no more")
    sentence(explanation, r"The queue of bottleneck> was empty at every sample")


def test_a_late_comer_starved() -> None:
    flows = flow(name='"first"', congestion_control='"cubic"') + "\n" + flow(name='"second"', start='"5 s"', congestion_control='"vegas"')
    explanation, result = told(file_of(flows, '{ kind = "droptail", limit = "3 bdp" }', duration="20 s"))
    found = sentence(explanation, r"From 5\.000 s to 20\.00 s first had (\d+) % and second had (\d+) % of ")
    series = result.flow_series[result.flow_series["time_s"] >= 5.0].groupby("flow")["bytes_arrived"]
    amounts = series.max() - series.min()
    assert float(found[2]) == pytest.approx(100 * amounts[1] / amounts.sum(), abs=1)
    sentence(
        explanation, r"second was starved by first: it began 5 s later, runs vegas beside cubic and never saw a round trip below 1\d\d ms"
    )
    assert not [one for one in explanation.told if "first was starved" in one.sentence.text]


def test_an_exit_of_hystart() -> None:
    text = file_of(flow(congestion_control='"cubic"', slow_start='"hystart++"'), '{ kind = "droptail", limit = "20 bdp" }')
    explanation, result = told(text)
    series = result.flow_series
    left = float(series[series["ssthresh_bytes"].notna()]["time_s"].min())
    sentence(explanation, rf"Slow start of flow1 ended at {left:.3f} s .*, by HyStart\+\+: the round trip grew, and nothing was lost")
    sentence(explanation, r"on the queue of bottleneck> never emptied: it stood at")


@pytest.mark.parametrize(("control", "most"), [("bbr", 7.0), ("bbr3", 60.0)])
def test_probe_rtt_of_bbr(control: str, most: float) -> None:
    explanation, _ = told(file_of(flow(congestion_control=f'"{control}"'), duration="15 s"))
    found = sentence(explanation, r"ProbeRTT cut the window of flow1 to ([\d.]+) kB for 2\d0 ms at ")
    assert float(found[1]) <= most
    sentence(explanation, r"Startup of flow1 filled the path by 0\.\d+ s")
    sentence(explanation, r"waited for pacing in 9\d %")


def test_a_policer() -> None:
    queue = '{ kind = "policer", rate = "5 Mbit/s", burst = "30 kB" }'
    explanation, result = told(file_of(flow(congestion_control='"cubic"'), queue))
    drops = int(result.links["drops_overflow"].sum())
    sentence(explanation, rf"bottleneck> polices at a rate of 5 Mbit/s: it has no queue, and dropped {drops} packets")
    sentence(explanation, r"the policer of bottleneck> dropped \d+ packets of flow1: the flow was above its rate")
    sentence(explanation, rf"waited for its retransmission timer until {first(result, 'timeout'):.3f} s")


def test_marks_end_slow_start_and_nothing_is_lost() -> None:
    text = file_of(flow(ecn='"classic"', count="4"), '{ kind = "fq_codel" }')
    explanation, result = told(text)
    sentence(
        explanation, rf"marked {int(result.links['marks'].sum())} packets CE instead of dropping them from {first(result, 'marked'):.3f} s"
    )
    sentence(explanation, r"Slow start ended from .* for 4 of 4 flows: 4 by marks \(ECN\)")
    sentence(explanation, r"Jain's index 1\.00")


def test_a_dozen_sentences_are_enough() -> None:
    explanation, _ = told(file_of(flow(count="30"), '{ kind = "droptail", limit = "20 packets" }'))
    assert len(explanation.told) <= 14


def test_numbered_moments_are_in_order_and_in_the_figure(tmp_path: Path) -> None:
    explanation, _ = told(file_of(flow(congestion_control='"reno"'), '{ kind = "droptail", limit = "20 packets" }'))
    moments = [(one.number, one.sentence.at_s) for one in explanation.told if one.number]
    assert [number for number, _ in moments] == list(range(1, len(moments) + 1))
    assert [time for _, time in moments] == sorted(time or 0.0 for _, time in moments)
    goodput, cwnd, queue = explanation.plots
    assert [plot.id for plot in (goodput, cwnd, queue)] == ["goodput", "cwnd", "queue"]
    marked = {rule.x for rule in goodput.rules}
    assert marked == {time for one in explanation.told if one.number for time in (one.sentence.at_s, *one.sentence.more_s)}
    assert marked == {rule.x for rule in cwnd.rules} == {rule.x for rule in queue.rules}
    numbers = {number for rule in goodput.rules for number in rule.label.split(", ") if number}
    assert numbers == {str(number) for number, _ in moments}
    svg = explanation.save(tmp_path / "story.svg")
    assert "wait in the queue (ms)" in svg.read_text()
    assert explanation.save(tmp_path / "again.svg").read_bytes() == svg.read_bytes()
    with pytest.raises(LongfatError, match=r"ends in \.png"):
        explanation.save(tmp_path / "story.doc")


def test_every_teller_has_something_to_tell() -> None:
    """The runs of this file together are told by all of them, so that none is dead."""
    texts = [
        file_of(flow(congestion_control='"bbr"') + "\n" + flow(start='"6 s"'), duration="15 s"),
        file_of(flow(ecn='"classic"'), '{ kind = "fq_codel" }', duration="3 s"),
        file_of(flow(window='"64 KiB"'), link='down = [{ from = "4 s", to = "5 s" }],'),
    ]
    stories = [told(text)[0].story for text in texts]
    for tell in REGISTRY:
        assert any(list(tell(story)) for story in stories), tell.__module__


# What a run lacks


def test_a_run_that_has_all_is_told_as_it_is() -> None:
    text = file_of(flow(), measure='interval = "10 ms"\nevents = true', duration="2 s")
    result = Experiment(text).run()
    same, note = traced(result, None)
    assert same is result
    assert not note


def test_what_is_run_again_is_the_same_run() -> None:
    text = file_of(flow(), duration="2 s", measure='interval = "1 s"')
    result = Experiment(text).run()
    again, note = traced(result, Document(text, "experiment.toml"))
    assert note == (
        "this run had no series of several samples per round trip and no events, so it was simulated again with them, bit for bit the same"
    )
    assert again.flows["bytes_sent"].tolist() == result.flows["bytes_sent"].tolist()
    assert len(again.events)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"cpu_s": 1000.0}, "takes 1000 s of processor time to run again"),
        ({"run": "another"}, "its experiment gives another run by now"),
        ({"labels": {"window": "64 KiB"}}, "its experiment gives another run by now"),
        ({"kernel": True}, "a run in the kernel cannot be repeated exactly"),
    ],
)
def test_a_run_that_is_not_run_again_says_which_lines_to_add(fields: dict[str, object], why: str) -> None:
    text = file_of(flow(), duration="2 s")
    result = Experiment(text).run()
    if fields.pop("kernel", False):
        fields["resolved"] = json.dumps(json.loads(result.resolved) | {"backend": "testbed"})
    result = changed(result, **fields)
    same, note = traced(result, Document(text, "experiment.toml"))
    assert same is result
    assert why in note
    assert note.endswith('add `interval = "20 ms"` and `events = true` to [measure]')
    # Without a recording the totals are told all the same.
    explanation = explain(same, note)
    sentence(explanation, r"flow1 \(reno\) delivered")
    sentence(explanation, r"flow1 waited for cwnd")
    assert not [one for one in explanation.told if "lost" in one.sentence.text or "Slow start" in one.sentence.text]


def test_a_run_in_the_kernel_with_a_recording_is_told_in_the_same_words() -> None:
    text = file_of(flow(congestion_control='"cubic"'), measure='interval = "10 ms"\nevents = true')
    result = Experiment(text).run()
    kernel = changed(result, resolved=json.dumps(json.loads(result.resolved) | {"backend": "testbed"}), verdict="suspect")
    one, other = explain(result), explain(kernel)
    assert [str(sentence) for sentence in other.told if "suspect" not in str(sentence)] == [str(sentence) for sentence in one.told]
    sentence(other, "suspect")


def test_a_sampling_that_is_too_fine_is_not_asked_for() -> None:
    text = file_of(flow(), duration="10 s").replace("40 ms", "100 us").replace("1 bdp", "100 packets")
    again, _ = traced(Experiment(text).run(), Document(text, "experiment.toml"))
    assert len(again.flow_series) <= 10_001


# Costs


def synthetic(rates: list[tuple[float, float]], losses: list[Loss], recoveries: list[Recovery], rtt: float = 0.1) -> Flow:
    """A flow that gets data at these rates (bytes per second), each until its time."""
    times = np.arange(0, rates[-1][0] + 1e-9, 0.02)
    per = np.array([next(rate for until, rate in rates if time <= until + 1e-9) for time in times[1:]])
    arrived = np.concatenate([[0.0], np.cumsum(per * 0.02)])
    zeros = np.zeros(len(times))
    return Flow(
        name="f", control="reno", slow_start="standard", start_s=0.0, end_s=float(times[-1]), rtt_min_s=rtt, rtt_max_s=rtt, mss_bytes=1000,
        delivered_bytes=float(arrived[-1]), goodput_bps=0, retransmitted_bytes=0, flight_max_bytes=0, limits={}, time_s=times,
        arrived_bytes=arrived, retransmitted_so_far=zeros, losses=losses, recoveries=recoveries,
    )  # fmt: skip


def test_the_cost_of_a_loss_is_what_did_not_arrive() -> None:
    # 1000 bytes per second, 500 from 2 s to 4 s, then 1000 again: 1000 bytes are missing.
    (one,) = episodes(
        synthetic(
            [(2.0, 1000), (4.0, 500), (10.0, 1000)],
            [Loss(1.9, "dropped_overflow", "l")],
            [Recovery(2.0, "fast_retransmit"), Recovery(2.2, "recovery_end")],
        )
    )
    assert one.by == "fast"
    assert one.is_back
    assert one.cost_bytes == pytest.approx(1000, rel=0.02)
    assert one.until_s == pytest.approx(4.0, abs=0.05)


def test_costs_add_up_over_episodes_without_a_rate_between() -> None:
    flow_ = synthetic(
        [(2.0, 1000), (4.0, 500), (6.0, 250), (10.0, 1000)],
        [Loss(1.9, "dropped_overflow", "l"), Loss(3.95, "dropped_overflow", "l")],
        [Recovery(2.0, "fast_retransmit"), Recovery(2.2, "recovery_end"), Recovery(4.0, "fast_retransmit"), Recovery(4.2, "recovery_end")],
    )
    one, other = episodes(flow_)
    assert not one.is_back
    assert one.cost_bytes + other.cost_bytes == pytest.approx(1000 + 1500, rel=0.03)


def test_no_cost_where_the_queue_held_enough() -> None:
    (one,) = episodes(
        synthetic([(10.0, 1000)], [Loss(1.9, "dropped_overflow", "l")], [Recovery(2.0, "fast_retransmit"), Recovery(2.2, "recovery_end")])
    )
    assert one.cost_bytes == pytest.approx(0, abs=1)


def test_timeouts_without_an_arrival_between_are_one_episode() -> None:
    flow_ = synthetic([(2.0, 1000), (5.0, 0), (10.0, 1000)], [Loss(2.0, "lost", "")], [Recovery(3.0, "timeout"), Recovery(5.0, "timeout")])
    (one,) = episodes(flow_)
    assert one.by == "timeout"
    assert one.cost_bytes == pytest.approx(3000, rel=0.1)


def test_a_loss_after_a_recovery_began_is_the_next_ones() -> None:
    flow_ = synthetic(
        [(10.0, 1000)],
        [Loss(1.9, "lost", ""), Loss(2.1, "lost", ""), Loss(2.15, "lost", "")],
        [Recovery(2.0, "fast_retransmit"), Recovery(2.2, "recovery_end"), Recovery(2.25, "fast_retransmit"), Recovery(2.4, "recovery_end")],
    )
    assert [len(one.losses) for one in episodes(flow_)] == [1, 2]


def test_a_story_without_a_flow_is_one_sentence() -> None:
    from longfat.explain.explanation import explain_story

    assert [str(one) for one in explain_story(Story("t", "simulation", 1.0, [], [], has_series=False, has_events=False)).told] == [
        "No TCP flow carried data, so there is nothing to explain."
    ]


# Captures and the command


@pytest.mark.parametrize(
    ("name", "patterns"),
    [
        ("policer", [r"limited it: policer", r"Slow start of connection 0 ended at 0\.\d+ s with 78\.6 kB in flight, by loss"]),
        ("closing-window", [r"waited for the receiver window in 98 %", "^Nothing was lost", r"limited it: closing window"]),
        ("application", [r"waited for the application in 95 % .*: it had written no more"]),
        ("congestion-by-loss", [r"packets of connection 0 were lost\. connection 0 repaired it in"]),
    ],
)
def test_captures_are_told_in_the_same_words(name: str, patterns: list[str], tmp_path: Path) -> None:
    explanation = explain_capture(CAPTURES / f"{name}.pcap.zst")
    sentence(explanation, r"^connection 0 .*delivered [\d.]+ [kM]B in ")
    for pattern in patterns:
        sentence(explanation, pattern)
    assert "in flight (kB)" in explanation.save(tmp_path / "story.svg").read_text()


def test_a_capture_of_a_run_has_the_episodes_of_the_run(tmp_path: Path) -> None:
    from longfat.capture import write_capture

    text = file_of(
        flow(congestion_control='"reno"'),
        '{ kind = "droptail", limit = "20 packets" }',
        measure='interval = "10 ms"\nevents = true\npackets = "left1"',
    )
    results = Experiment(text, name="story").sweep(tmp_path / "story")
    write_capture(tmp_path / "story", "left1", tmp_path / "story.pcapng")
    run, capture = explain(results[0]).story.flows[0], explain_capture(tmp_path / "story.pcapng").story.flows[0]
    assert [len(one.losses) for one in capture.episodes] == [len(one.losses) for one in run.episodes]
    assert [one.told_s for one in capture.episodes] == pytest.approx([one.told_s for one in run.episodes], abs=0.01)
    assert capture.delivered_bytes == pytest.approx(run.delivered_bytes, rel=0.02)


def test_a_run_of_a_sweep_is_chosen(results: longfat.Results) -> None:
    runs = results.runs["run"].tolist()
    assert chosen_run(results, [runs[1][:10]])[0].run == runs[1]
    assert chosen_run(results, ["window=64 KiB"])[0].labels == {"window": "64 KiB"}
    with pytest.raises(LongfatError, match=r"there are 3 runs: choose one.*\n.*--run \w{8}  window = 8 KiB"):
        chosen_run(results, [])
    with pytest.raises(LongfatError, match="no run begins with nothing"):
        chosen_run(results, ["nothing"])


@pytest.mark.slow
def test_the_command(tmp_path: Path) -> None:
    Experiment(file_of(flow(), duration="3 s"), name="story").sweep(tmp_path / "results" / "story")
    shown = command("explain", "story", "--figure", "story.png", cwd=tmp_path, env=dict(os.environ, COLUMNS="80"))
    assert shown.returncode == 0, shown.stderr
    assert re.search(r"\[2\] At 0\.\d+ s bottleneck> dropped", shown.stdout)
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert "simulated again" in shown.stderr
    assert (tmp_path / "story.png").stat().st_size > 10_000


def test_options_of_the_other_kind_are_refused() -> None:
    with pytest.raises(LongfatError, match="choose a run with --run"):
        explain_command("story", connection=1)
    with pytest.raises(LongfatError, match="choose a connection with --connection"):
        explain_command(str(CAPTURES / "policer.pcap.zst"), run=["1"])


def test_as_json_has_the_sentences_and_their_times() -> None:
    explanation, _ = told(file_of(flow(), duration="3 s"))
    as_json = json.loads(json.dumps(explanation.as_json()))
    assert [one["text"] for one in as_json["sentences"]] == [one.sentence.text for one in explanation.told]
    assert [one["number"] for one in as_json["sentences"]][:3] == [None, 1, 2]
