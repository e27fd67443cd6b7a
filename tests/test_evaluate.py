"""Report cards of congestion controls: rules, runs, mutants, cards and pages."""

from __future__ import annotations

import inspect
import json
import math
import shutil
import time
import tomllib
from dataclasses import replace
from functools import partial
from pathlib import Path

import longfat
import pytest
from conftest import ROOT, command
from evaluate_findings import FINDINGS, PATH_RTTS, Finding, here, on
from evaluate_mutants import MUTANTS, WRONG_QUEUES, Right, SendsOnInOutage
from longfat._longfat import quantity, registries
from longfat.evaluate import card as card_module
from longfat.evaluate import measures, page, show
from longfat.evaluate.alone import alone
from longfat.evaluate.card import (
    Answer,
    Card,
    OnPath,
    evaluate_control,
    evaluate_queue,
    evaluate_startup,
    put_queues,
)
from longfat.evaluate.controls import CONTROLS
from longfat.evaluate.criteria import EXPERIMENTS, Suite
from longfat.evaluate.measures import Seen
from longfat.evaluate.probe import fault
from longfat.evaluate.queues import QUEUES
from longfat.evaluate.rules import FAILS, JUDGE, NOT_SHOWN, PASSES, Estimate, Rule, at_most, estimate, less_than_others, more_than_others
from longfat.evaluate.startups import STARTUPS
from longfat.evaluate.stuck import watched
from longfat.evaluate.tcpeval import TCPEVAL
from longfat.evaluate.variants import variants
from longfat.report import pdf
from longfat.results.harm import harm

FEW = ["dead-path", "crowd-loss"]
"""Criteria whose runs take a second."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("evaluate")


@pytest.fixture(scope="module")
def reno(folder: Path) -> Card:
    return evaluate_control("reno", against=["cubic"], criteria=FEW, quick=True, folder=folder)


def test_a_bound_is_kept_broken_or_open() -> None:
    most, least = at_most(1.0, "here"), Rule("more", "here", 1.0)
    assert [most.judge(Estimate(mean, 0.2), {})[0] for mean in (0.8, 0.9, 1.1, 1.3)] == [PASSES, JUDGE, JUDGE, FAILS]
    assert [least.judge(Estimate(mean, 0.2), {})[0] for mean in (0.7, 0.9, 1.1, 1.2)] == [FAILS, JUDGE, JUDGE, PASSES]
    assert most.judge(Estimate(math.nan, 0.0), {})[0] == JUDGE


def test_a_comparison_is_with_the_standard_controls() -> None:
    others = {"reno": Estimate(0.1, 0.0), "cubic": Estimate(0.2, 0.0), "bbr3": Estimate(0.9, 0.0)}
    less = less_than_others(0.05)
    assert [less.judge(Estimate(mean, 0.01), others)[0] for mean in (0.1, 0.25, 0.26, 0.4, 0.42)] == [PASSES, PASSES, JUDGE, JUDGE, FAILS]
    more = more_than_others(0.02)
    assert [more.judge(Estimate(mean, 0.0), others)[0] for mean in (0.1, 0.08, 0.06, 0.04)] == [PASSES, PASSES, JUDGE, FAILS]
    # Without a standard control, with all that there are.
    assert less.judge(Estimate(0.9, 0.0), {"bbr3": others["bbr3"]})[0] == PASSES
    assert less.judge(Estimate(0.9, 0.0), {})[0] == JUDGE
    # A wide interval decides nothing.
    assert less.judge(Estimate(0.5, 0.3), others)[0] == JUDGE


def test_an_estimate_is_a_mean_with_its_interval() -> None:
    one = estimate([1.0, 2.0, 3.0, math.nan])
    # t(2) = 4.303, s = 1, n = 3.
    assert one.mean == 2.0
    assert one.half == pytest.approx(4.303 / math.sqrt(3), rel=1e-3)
    assert estimate([2.0]) == Estimate(2.0, 0.0)
    assert math.isnan(estimate([math.nan]).mean)


def test_harm_is_what_is_lost_over_what_was_there() -> None:
    # Ware and others 2019, section 3: 10 Mbit/s alone and 4 beside is a harm of 0.6; 20 ms alone and 80 beside, of 0.75.
    assert harm(10.0, 4.0, more_is_better=True) == pytest.approx(0.6)
    assert harm(20.0, 80.0, more_is_better=False) == pytest.approx(0.75)
    assert harm(10.0, 12.0, more_is_better=True) == 0.0
    assert harm(0.0, 0.0, more_is_better=False) == 0.0
    assert math.isnan(harm(math.nan, 1.0, more_is_better=True))


def test_results_have_harm() -> None:
    experiment = longfat.load(EXPERIMENTS / "control" / "harm-pair.toml")
    experiment["measure.warmup"] = "2 s"
    experiment["measure.duration"] = "10 s"
    experiment["repeats"] = 2
    experiment.vary("path.bottleneck.queue.limit", ["1 bdp"])
    experiment.vary("flow[0].count", {"alone": 0, "beside": 1}, name="who")
    results = experiment.sweep()
    table = results.harm("peer", axis="who", alone="alone")
    rates = results.flows[results.flows["group"] == "peer"].groupby("who")["goodput_bps"].apply(list).to_dict()
    by_hand = [1 - beside / one for one, beside in zip(rates["alone"], rates["beside"], strict=True)]
    assert table["who"].tolist() == ["beside"]
    assert table["repeats"].tolist() == [2]
    assert table["harm"][0] == pytest.approx(sum(by_hand) / 2)
    assert 0.1 < table["harm"][0] < 0.9
    assert results.harm("peer", axis="who", alone="alone", metric="rtt_p95_s")["harm"][0] >= 0
    with pytest.raises(longfat.LongfatError, match="no axis 'whom'"):
        results.harm("peer", axis="whom", alone="alone")
    with pytest.raises(longfat.LongfatError, match="has no value 'nobody'"):
        results.harm("peer", axis="who", alone="nobody")
    with pytest.raises(longfat.LongfatError, match="no group of flows 'pear'"):
        results.harm("pear", axis="who", alone="alone")
    with pytest.raises(longfat.LongfatError, match="no metric 'speed'"):
        results.harm("peer", axis="who", alone="alone", metric="speed")


@pytest.mark.parametrize("suite", [CONTROLS, TCPEVAL, QUEUES, STARTUPS], ids=lambda suite: suite.folder)
def test_each_criterion_is_an_experiment_with_a_short_form(suite: Suite) -> None:
    assert len({criterion.name for criterion in suite.criteria}) == len(suite.criteria)
    assert {criterion.experiment for criterion in suite.criteria} == {file.stem for file in (EXPERIMENTS / suite.folder).glob("*.toml")}
    for criterion in suite.criteria:
        assert bool(criterion.harms) != bool(criterion.measure), criterion.name
        quick = longfat.load(suite.file(criterion))
        quick.quicken()
        assert quick.run_count % 3 == 0, criterion.name
        groups = [flow["name"] for flow in tomllib.loads(quick.text)["flow"]]
        assert suite is QUEUES or any(group.startswith("subject") for group in groups), criterion.name
        assert not criterion.harms or "peer" in groups, criterion.name


def test_a_card_says_word_number_and_path(reno: Card) -> None:
    assert [answer.criterion.name for answer in reno.answers] == FEW
    dead = reno["dead-path"]
    # Timeouts of 1, 2, 4... s from 10 s on (RFC 6298 section 5.5): those at 25 and 41 s are in the last 40 s.
    assert dead.verdict == PASSES
    assert dead.worst is not None
    assert dead.worst.own.mean == pytest.approx(2.0, abs=1.0)
    assert set(dead.worst.others) == {"cubic"}
    assert reno["crowd-loss"].worst is not None
    assert reno.failed == []
    told = show.as_json(reno)
    assert json.loads(json.dumps(told)) == told
    assert told["criteria"][0]["section"] == "RFC 9743 section 5.1.1"


def test_the_worst_path_runs_alone(reno: Card, folder: Path) -> None:
    one = longfat.Experiment(reno["crowd-loss"].experiment)
    assert one.axes == {}
    assert one.run_count == 3
    assert {run.hash for run in one.resolve_all()} <= set(longfat.load_results(folder / "control" / "crowd").runs["run"])


def test_one_value_of_each_axis_is_taken() -> None:
    experiment = longfat.load(EXPERIMENTS / "control" / "varying-delay.toml")
    text = alone(experiment, {"delay": "jitter"})
    assert tomllib.loads(text)["path"]["bottleneck"]["jitter"] == {"most": "10 ms"}
    assert tomllib.loads(text)["path"]["bottleneck"]["delay_trace"]["values"] == [{"at": "0 s", "delay": "20 ms"}]
    text = alone(longfat.load(EXPERIMENTS / "control" / "outage.toml"), {"outage": "3 s"})
    assert tomllib.loads(text)["path"]["bottleneck"]["down"] == [{"from": "20 s", "to": "23 s"}]
    # A warmup of 5 s and a duration of 200 ms are values of one zip, and never of one run.
    for label, measured in (("1 Gbit/s", ("15 s", "5 s")), ("100 Gbit/s", ("200 ms", "50 ms"))):
        measure = tomllib.loads(alone(longfat.load(EXPERIMENTS / "control" / "fast.toml"), {"rate": label}))["measure"]
        assert (measure["duration"], measure["warmup"]) == measured
    text = alone(longfat.load(EXPERIMENTS / "control" / "alike.toml"), {"flows": "100", "buffer": "4 bdp"})
    assert tomllib.loads(text)["flow"][0]["count"] == tomllib.loads(text)["path"]["pairs"] == 100


class RaisesAtOnce(Right):
    """Raises after a while."""

    def on_ack(self, ack: longfat.Ack) -> None:
        """Divides by zero from a second on."""
        if ack.now > 1.0:
            raise ZeroDivisionError("a model without a sample")
        super().on_ack(ack)


class GivesNan(Right):
    """Has no number for its window."""

    def on_ack(self, ack: longfat.Ack) -> None:
        """Sets NaN."""
        self.window.cwnd = math.nan


class NeverSends(Right):
    """Asks for one bit per second."""

    pacing_rate = 1.0


class Exits(Right):
    """Ends the program."""

    def on_ack(self, ack: longfat.Ack) -> None:
        """Exits."""
        raise SystemExit(3)


class SaysMuch(Right):
    """Raises with more than a line."""

    def on_ack(self, ack: longfat.Ack) -> None:
        """Raises a text that no table takes as it is."""
        raise ValueError("first\nsecond | third")


class SaysNothing(Right):
    """Raises without a word."""

    def on_ack(self, ack: longfat.Ack) -> None:
        """Raises a bare error."""
        raise ValueError


class SlowAtLosses(Right):
    """Needs a while for each loss."""

    def on_congestion(self, event: longfat.Congestion) -> None:
        """Sleeps."""
        time.sleep(0.02)
        super().on_congestion(event)


class Hangs(Right):
    """Never returns, and catches every Exception."""

    def on_ack(self, ack: longfat.Ack) -> None:
        """Goes on and on."""
        while True:
            try:
                while True:
                    pass
            except Exception:
                pass


class HangsLate(Right):
    """Never returns from a timeout."""

    def on_congestion(self, event: longfat.Congestion) -> None:
        """Goes on and on."""
        while event.kind.startswith("timeout"):
            pass
        super().on_congestion(event)


class RaisesLate(Right):
    """Raises where no probe looks."""

    def on_congestion(self, event: longfat.Congestion) -> None:
        """Knows no timeout."""
        if event.kind.startswith("timeout"):
            raise KeyError(event.kind)
        super().on_congestion(event)


for _broken in (RaisesAtOnce, GivesNan, NeverSends, Exits, SaysMuch, SaysNothing, SlowAtLosses, RaisesLate, Hangs, HangsLate):
    longfat.congestion_control(_broken)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("raises_at_once", "raises_at_once raised ZeroDivisionError: a model without a sample"),
        ("gives_nan", "gives_nan set what cannot be: cwnd = nan: expected bytes"),
        ("never_sends", "never_sends does not send: "),
        ("exits", "exits raised SystemExit: 3"),
        ("says_much", "says_much raised ValueError: first second | third"),
        ("says_nothing", "says_nothing raised ValueError"),
    ],
)
def test_a_control_that_does_not_work_gets_a_card_that_says_so(name: str, expected: str) -> None:
    card = evaluate_control(name, quick=True)
    assert card.fault.startswith(expected)
    assert card.answers == []
    assert expected in page.markdown([card], "longfat evaluate control")
    assert expected.replace("'", "&#39;") in page.html([card], "longfat evaluate control")


def test_a_control_that_is_too_slow_is_said_to_be() -> None:
    assert "reno is too slow to evaluate: " in fault("reno", patience_s=0.0)
    assert fault("reno", patience_s=1e9) == ""


def test_a_hook_that_never_returns_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fault("hangs", patience_s=1.0) == "hangs cannot be evaluated: a hook did not return within 1 s"
    assert fault("hangs_late", patience_s=1.0).endswith("a hook did not return within 1 s over a path that loses 30 %")
    # A criterion ends as well: its runs are in other threads.
    monkeypatch.setattr(card_module, "fault", lambda _: "")
    monkeypatch.setattr(card_module, "watched", partial(watched, patience_s=1.0))
    card = evaluate_control("hangs_late", criteria=["dead-path"], quick=True)
    assert card["dead-path"].broken == "a hook did not return"
    assert card.failed == ["dead-path"]


def test_a_control_that_is_slow_at_losses_alone_is_said_to_be() -> None:
    said = fault("slow_at_losses", patience_s=0.6)
    assert said.startswith("slow_at_losses is too slow to evaluate: ")
    assert said.endswith(" that loses 30 %")


def test_a_control_that_raises_late_fails_that_criterion(folder: Path) -> None:
    card = evaluate_control(RaisesLate, against=["cubic"], criteria=["dead-path"], quick=True, folder=folder)
    assert card.fault == ""
    assert card.failed == ["dead-path"]
    assert "KeyError" in card["dead-path"].broken
    assert "KeyError" in page.markdown([card], "longfat evaluate control")
    assert "KeyError" in page.html([card], "longfat")


def test_pages_have_words_numbers_and_sources(reno: Card) -> None:
    text = page.markdown([reno], "longfat evaluate control reno")
    assert "| dead-path | 5.1.1 | passes (2" in text
    assert "`longfat evaluate control reno`" in text
    assert longfat.__version__ in text
    assert all(f"Section {section}, {why}." in text for section, why in CONTROLS.not_shown)
    bad = Answer(reno["crowd-loss"].criterion, [_as_failed(path) for path in reno["crowd-loss"].paths], experiment="title = 'x'")
    html = page.html([Card(CONTROLS, "mine", ["cubic"], True, [bad])], "longfat evaluate control mine")
    assert "<svg" in html
    assert "<b>fails</b> crowd-loss" in html
    assert "title = &#39;x&#39;" in html


def _as_failed(path: OnPath) -> OnPath:
    return OnPath(path.labels, path.own, path.others, FAILS, path.badness)


def test_a_pdf_without_a_browser_is_said_before_anything_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pdf, "BROWSERS", ("no-such-browser",))
    with pytest.raises(longfat.LongfatError, match="a PDF needs Chromium or Chrome, not found here"):
        page.check(tmp_path / "card.pdf")


@pytest.mark.slow
@pytest.mark.skipif(not any(map(shutil.which, pdf.BROWSERS)), reason="no Chromium: `make system-packages` installs it")
def test_a_card_is_printed(reno: Card, tmp_path: Path) -> None:
    page.write_page([reno], tmp_path / "card.pdf", "longfat evaluate control reno")
    made = (tmp_path / "card.pdf").read_bytes()
    assert made.startswith(b"%PDF")
    assert len(made) > 10_000


def test_a_table_fits_80_columns(reno: Card) -> None:
    import io

    from longfat.report.terminal import Terminal

    answers = [Answer(criterion, reno["dead-path"].paths) for criterion in CONTROLS.criteria]
    file = io.StringIO()
    show.print_card(Terminal(file=file, width=80, highlight=False), Card(CONTROLS, "a_long_name", ["reno", "cubic", "bbr3"], True, answers))
    table = file.getvalue().split("not shown")[0].splitlines()
    rows = [line for line in table if any(line.strip().startswith(f"{criterion.name} ") for criterion in CONTROLS.criteria)]
    assert len(rows) == len(CONTROLS.criteria)
    assert max(map(len, rows)) <= 80


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"control": "cubik"}, "did you mean 'cubic'?"),
        ({"control": "cubic", "against": ["rino"]}, "did you mean 'reno'?"),
        ({"control": "cubic", "against": ["cubic"]}, "expected something other than cubic itself"),
        ({"control": "cubic", "suite": "rfc9744"}, "there is no suite 'rfc9744': choose one of rfc9743, tcpeval"),
        ({"control": "cubic", "backend": "live"}, "on the backend 'live': choose one of sim, testbed"),
        ({"control": Right, "backend": "testbed"}, "the backend testbed runs no control in Python"),
        ({"control": "cubic", "criteria": ["fairness"]}, "there is no criterion 'fairness': choose among heavy-loss, "),
    ],
)
def test_names_that_there_are_not(given: dict[str, object], expected: str) -> None:
    with pytest.raises(longfat.LongfatError) as caught:
        evaluate_control(**given)  # type: ignore[arg-type]
    assert expected in str(caught.value)


def test_a_criterion_that_the_testbed_cannot_run_is_not_shown() -> None:
    card = evaluate_control("cubic", backend="testbed", criteria=["ecn-use", "ecn-delay"], quick=True)
    assert card.against == ["reno", "bbr"]
    assert [answer.verdict for answer in card.answers] == [NOT_SHOWN, NOT_SHOWN]
    assert card.failed == []
    assert "cannot do this kind of ECN" in show.cell(card.answers[0])
    for made in (page.html, page.markdown):
        assert "not shown: the backend" in made([card], "here")


def test_what_the_testbed_runs_has_no_overhead_of_a_file() -> None:
    for criterion in CONTROLS.criteria:
        text = CONTROLS.file(criterion).read_text()
        if 'ecn = "accecn"' not in text:
            experiment = card_module.Running(True, None, None, None, print, "testbed").experiment("one", text)
            assert "[[host]]" not in experiment.changed_text


def test_invalid_runs_of_the_testbed_do_not_count() -> None:
    of_harm, of_flows = ([one for one in CONTROLS.criteria if one.name == name] for name in ("harm-one", "alike"))
    for (criterion,) in (of_harm, of_flows):
        experiment = longfat.Experiment(CONTROLS.file(criterion).read_text())
        experiment.quicken()
        for key, value in (("measure.warmup", "1 s"), ("measure.duration", "4 s")):
            experiment[key] = value
        card_module.put_controls("cubic", ["reno"], experiment)
        results = experiment.sweep()
        answers = [card_module.answer_of(CONTROLS, criterion, "cubic", experiment, results)]
        runs = results.runs
        bad = (runs["control"] == "cubic") & (runs["buffer"] == "4 bdp")
        for invalid in (bad & (runs["repeat"] == 1), bad, runs["control"] == "cubic"):
            judged = replace(results, runs=runs.assign(verdict=["invalid" if one else "valid" for one in invalid]))
            answers.append(card_module.answer_of(CONTROLS, criterion, "cubic", experiment, judged))
        whole, less, some, none = answers
        assert len(less.paths) == len(whole.paths) > len(some.paths)
        assert less.paths != whole.paths
        assert all(path.labels["buffer"] != "4 bdp" for path in some.paths)
        assert (none.verdict, none.paths) == (NOT_SHOWN, [])
        assert "invalid" in show.cell(none)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_wrong_control_fails_the_criterion_about_its_fault(mutant: type, folder: Path) -> None:
    card = evaluate_control(mutant, against=["reno"], criteria=[MUTANTS[mutant]], quick=True, folder=folder)
    assert card.failed == [MUTANTS[mutant]], show.cell(card.answers[0])


SAID_TO_FAIL = {"bufferbloat": "RFC 9743 section 5.1.2: controls that go by losses fill the buffer that there is"}
"""Criteria of the mutants that standard controls fail, and who says so."""


@pytest.mark.slow
@pytest.mark.parametrize("control", [Right, "reno", "cubic", "dctcp"], ids=["right", "reno", "cubic", "dctcp"])
def test_a_right_control_fails_what_is_said_of_it_and_no_more(control: str | type, folder: Path) -> None:
    against = [name for name in ("reno", "cubic") if name != control]
    card = evaluate_control(control, against=against, criteria=sorted(set(MUTANTS.values())), quick=True, folder=folder)
    assert card.failed == list(SAID_TO_FAIL)


def test_a_queue_is_judged_with_its_settings(folder: Path) -> None:
    criteria = ["bursts", "burst-loss", "mix-ping"]
    lazy = evaluate_queue("codel", {"target": "500 ms", "interval": "5 s"}, criteria=criteria, quick=True, folder=folder)
    assert lazy.name == "codel target=500 ms interval=5 s"
    assert "mix-ping" in lazy.failed
    usual = evaluate_queue("codel", against=["droptail"], criteria=criteria, quick=True, folder=folder)
    assert usual.failed == []
    assert usual["mix-ping"].worst is not None
    assert usual["mix-ping"].worst.others["droptail"].mean > usual["mix-ping"].worst.own.mean
    with pytest.raises(longfat.LongfatError, match="did you mean 'codel'"):
        evaluate_queue("kodel")
    with pytest.raises(longfat.LongfatError, match="targit"):
        evaluate_queue("codel", {"targit": "1 ms"})


TCPEVAL_RATES = {
    "data-center": ("1 Gbit/s", "1 Gbit/s", 40e-6, 400e-6),
    "access": ("100 Mbit/s", "100 Mbit/s", 8e-3, 204e-3),
    "ocean": ("1 Gbit/s", "1 Gbit/s", 134e-3, 330e-3),
    "satellite": ("40 Mbit/s", "4 Mbit/s", 604e-3, 800e-3),
    "wireless": ("4 Mbit/s", "2 Mbit/s", 8e-3, 204e-3),
    "dial-up": ("64 kbit/s", "64 kbit/s", 14e-3, 210e-3),
}
"""Scenarios of draft-irtf-iccrg-tcpeval-01 section 4.4: rate each way, and the shortest and longest round trip (Table 1, and the link)."""


@pytest.mark.parametrize("scenario", TCPEVAL_RATES)
def test_scenarios_of_tcpeval_are_as_written(scenario: str) -> None:
    there, back, shortest, longest = TCPEVAL_RATES[scenario]
    experiment = longfat.load(EXPERIMENTS / "tcpeval" / f"{scenario}.toml")
    assert experiment.axes == {"load": ["60 %", "85 %", "110 %"]}
    experiment.quicken()
    run = json.loads(experiment.resolve(0).resolved)
    links = {link["name"]: link for link in run["path"]["link"]}
    one_way = links["bottleneck"]
    assert (one_way["rate"], one_way.get("reverse", {}).get("rate", one_way["rate"])) == (there, back)
    ends = [2 * quantity_s(link["delay"]) for name, link in links.items() if name != "bottleneck" and "right" in name]
    through = 2 * quantity_s(one_way["delay"])
    assert through + min(ends) == pytest.approx(shortest)
    assert through + max(ends) == pytest.approx(longest)
    # 90 % of the connections have packets of 1500 bytes, 10 % of 536 (section 2.4).
    loads = [flow["traffic"]["load"]["sweep"] for flow in tomllib.loads(experiment.text)["flow"]]
    heavy, light = ([one["value"] if isinstance(one, dict) else one for one in some] for some in loads[:2])
    assert [a + b for a, b in zip(heavy, light, strict=True)] == pytest.approx([0.6, 0.85, 1.1])
    assert [b / a for a, b in zip(heavy, light, strict=True)] == pytest.approx([1 / 9] * 3)


def quantity_s(text: str) -> float:
    """Seconds of a duration."""
    found = quantity(text)
    assert found is not None
    return found[0]


def test_tcpeval_judges_by_the_central_link(folder: Path) -> None:
    card = evaluate_control(
        "cubic", suite="tcpeval", against=["reno"], criteria=["dial-up-use", "dial-up-delay"], quick=True, folder=folder
    )
    assert [path.name for path in card["dial-up-use"].paths] == ["load 60 %", "load 85 %", "load 110 %"]
    light, _, heavy = (path.own.mean for path in card["dial-up-use"].paths)
    assert 0.3 < light < heavy <= 1.0
    # 1250 ms of buffer.
    assert all(0.0 < path.own.mean < 1.3 for path in card["dial-up-delay"].paths)
    assert "draft-irtf-iccrg-tcpeval-01 section 4.4.6" in json.dumps(show.as_json(card))


def test_each_parameter_of_a_queue_is_halved_and_doubled() -> None:
    text = QUEUES.file(QUEUES.criteria[0]).read_text(encoding="utf-8")
    codel = variants("mine", {"kind": "codel", "target": "4 ms"}, text, put_queues)
    assert list(codel) == ["mine", "interval 50 ms", "interval 200 ms", "target 2 ms", "target 8 ms"]
    assert codel["interval 50 ms"] == {"kind": "codel", "target": "4 ms", "interval": "50 ms"}
    # What the queue refuses is left out: a probability above 1, a low threshold above the high one.
    red = variants("red", {"kind": "red", "max_p": 0.8, "min_threshold": "50 packets", "max_threshold": "90 packets"}, text, put_queues)
    assert "max_p 0.4" in red
    assert not {"max_p 1.6", "min_threshold 100 packets", "max_threshold 45 packets"} & set(red)


def test_a_queue_that_needs_its_parameters_is_sensitive(folder: Path) -> None:
    # Twice of a buffer that is full is twice the wait.
    card = evaluate_queue("droptail", against=["pie"], criteria=["sensitive-delay", "sensitive-use"], quick=True, folder=folder)
    worst = card["sensitive-delay"].worst
    assert worst is not None
    assert card["sensitive-delay"].verdict == FAILS
    assert worst.labels == {"parameter": "limit 500 kB"}
    assert worst.own.mean == pytest.approx(2 * worst.others["droptail"].mean, rel=0.2)
    one = longfat.Experiment(card["sensitive-delay"].experiment)
    assert one.axes == {}
    assert "500 kB" in one.resolve(0).resolved
    assert card.tradeoffs == []


def test_delay_and_goodput_stand_beside_each_other(folder: Path) -> None:
    card = evaluate_queue("codel", against=["droptail"], criteria=["row-delay"], quick=True, folder=folder)
    codel, droptail = card.tradeoffs
    assert (codel.scenario, codel.queue, codel.path, droptail.queue) == ("row", "codel", {}, "droptail")
    assert codel.ellipse.repeats == 3
    # The queue that is judged is at both routers.
    resolved = json.loads(longfat.Experiment(card["row-delay"].experiment).resolve(0).resolved)
    assert {link["queue"]["kind"] for link in resolved["path"]["link"] if link["name"].strip("<>") in ("first", "second")} == {"codel"}
    assert codel.ellipse.x_median < 0.5 * droptail.ellipse.x_median
    assert codel.ellipse.y_median < droptail.ellipse.y_median
    text = page.markdown([card], "longfat evaluate queue codel")
    assert "## Delay and goodput of codel: row" in text
    html = page.html([card], "longfat evaluate queue codel")
    assert "Delay and goodput, codel" in html
    told = show.as_json(card)
    assert json.loads(json.dumps(told)) == told
    assert told["tradeoffs"][0]["x_median"] == codel.ellipse.x_median


def test_a_queue_marks_where_flows_ask_for_marks() -> None:
    values = {"codel": {"kind": "codel"}, "own": {"kind": "red", "ecn": False}, "droptail": {"kind": "droptail"}}
    made: dict[str, list[dict[str, object]]] = {}
    for name in ("ecn", "transports"):
        experiment = longfat.load(EXPERIMENTS / "queue" / f"{name}.toml")
        put_queues(values, experiment)
        queues = tomllib.loads(experiment.changed_text)["path"]["bottleneck"]["queue"]["sweep"]
        made[name] = [{key: value for key, value in one.items() if key != "label"} for one in queues]
    assert made["transports"] == list(values.values())
    # A parameter that was asked for stays, and drop-tail has none for ECN (RFC 7928 section 4.5).
    assert made["ecn"] == [{"ecn": True, "kind": "codel"}, values["own"], values["droptail"]]


def test_the_loss_of_large_packets_is_counted_by_that_of_small_ones() -> None:
    pd = pytest.importorskip("pandas")
    flows = pd.DataFrame(
        {
            "group": ["small", "small", "large", "large"],
            "segments_sent": [1000, 3000, 1000, 1000],
            "packets_dropped": [10, 30, 20, 40],
        }
    )
    seen = Seen({}, flows, pd.DataFrame(), lambda: pytest.fail("no run is opened"))
    # 60 of 2000 beside 40 of 4000.
    assert measures.loss_ratio(seen) == pytest.approx(3.0)
    assert math.isnan(measures.loss_ratio(replace(seen, flows=flows.assign(packets_dropped=0))))


def test_a_control_that_asks_routers_has_their_queue_and_the_card_says_so(folder: Path) -> None:
    card = evaluate_control("xcp", against=["reno"], criteria=["bufferbloat"], quick=True, folder=folder)
    assert card.remark == "xcp needs routers that answer it: it has the queue `xcp` wherever others have `droptail`"
    assert show.as_json(card)["remark"] == card.remark
    assert f"- {card.remark}.\n\n| criterion" in page.markdown([card], "longfat evaluate control xcp")
    resolved = json.loads(longfat.Experiment(card["bufferbloat"].experiment).resolve(0).resolved)
    assert [link["queue"]["kind"] for link in resolved["path"]["link"] if link.get("bottleneck")] == ["xcp"]
    # Alone it would be Reno, which fills 16 bandwidth-delay products.
    assert card["bufferbloat"].verdict == PASSES
    assert all(path.others["reno"].mean > 2 * path.own.mean for path in card["bufferbloat"].paths)
    # The references keep drop-tail.
    experiment = longfat.Experiment(CONTROLS.file(CONTROLS.criteria[0]).read_text(encoding="utf-8"))
    card_module.put_controls("xcp", ["reno"], experiment)
    assert '{ label = "xcp", value = "xcp" }, { label = "reno", value = "droptail" }' in experiment.changed_text
    assert (card_module.router_of("xcp"), card_module.router_of("aimd")) == ("xcp", "")


def test_a_start_is_judged(folder: Path) -> None:
    # RFC 3742: beyond 100 segments slow start adds no more than half of them in a round trip, so 10 MB over 80 ms take longer.
    card = evaluate_startup("limited", against=["standard"], criteria=["completion", "overshoot"], quick=True, folder=folder)
    assert card["completion"].verdict != PASSES
    assert card["overshoot"].verdict == PASSES
    with pytest.raises(longfat.LongfatError, match=r"there is no slow start 'histart': did you mean 'hystart'"):
        evaluate_startup("histart")


def test_fast_open_saves_a_request_one_round_trip(folder: Path) -> None:
    # RFC 7413, abstract: up to one full round trip.
    card = evaluate_startup("fast_open", against=["standard"], criteria=["request"], quick=True, folder=folder)
    assert len(card["request"].paths) == 16
    for path in card["request"].paths:
        saved = (path.others["standard"].mean - path.own.mean) / PATH_RTTS[path.labels["path"]]
        assert saved == pytest.approx(1.0, abs=0.05), path.name
    assert card["request"].verdict == PASSES


@pytest.mark.slow
def test_the_command_prints_a_card_and_writes_what_is_behind_it(tmp_path: Path) -> None:
    text = inspect.getsource(SendsOnInOutage).replace("(Right)", "(Reno)").replace("SendsOnInOutage", "Mine")
    reno = inspect.getsource(Right).replace("class Right", "class Reno")
    (tmp_path / "mine.py").write_text(f"import longfat\n\n\n{reno}\n\n@longfat.congestion_control\n{text}", encoding="utf-8")
    options = ("--criteria", "dead-path", "--against", "reno", "--quick")
    done = command("evaluate", "control", "mine.py", *options, "--page", "card.md", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "mine by RFC 9743, in short" in done.stdout
    assert "fails dead-path" in done.stdout
    cards = tmp_path / "results" / "quick" / "evaluate" / "cards"
    assert tomllib.loads((cards / "mine" / "dead-path.toml").read_text())["flow"][0]["congestion_control"] == "mine"
    assert json.loads((cards / "mine.json").read_text())["criteria"][0]["verdict"] == FAILS
    assert (tmp_path / "card.md").read_text().startswith("# Congestion controls by the criteria of RFC 9743")
    assert command("evaluate", "criteria").stdout.count("\n") > 2 * len(CONTROLS.criteria)
    for words, expected in (
        (("control", "none.py"), "there is no file 'none.py'"),
        (("queue", "codel", "--set", "target"), "--set target: write KEY=VALUE"),
        (("control", "reno", "--page", "card.doc"), "expected a name that ends in .html, .pdf or .md"),
    ):
        assert expected in command("evaluate", *words, cwd=tmp_path).stderr


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG_QUEUES)
def test_a_wrong_queue_fails_the_criterion_about_its_fault(wrong: str, folder: Path) -> None:
    queue, settings, criterion = WRONG_QUEUES[wrong]
    card = evaluate_queue(queue, settings, against=["droptail", "pie"], criteria=[criterion], quick=True, folder=folder)
    assert card.failed == [criterion], show.cell(card.answers[0])


CARDS = ROOT / "docs" / "evaluate-cards.md"


def row_of(finding: Finding) -> list[str]:
    """Cells of a finding in the table of the page."""
    rows = [line.strip("| ").split(" | ") for line in CARDS.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    return next(row for row in rows if row[0] == finding.says)


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: f"{finding.criterion}-{finding.shows}")
def test_a_known_finding_stands_on_the_page(finding: Finding) -> None:
    suite = CONTROLS if finding.what == "control" else QUEUES
    assert finding.criterion in {criterion.name for criterion in suite.criteria}
    assert row_of(finding)[1:3] == [finding.source, finding.published]


@pytest.mark.slow
@pytest.mark.papers
@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: f"{finding.criterion}-{finding.shows}")
def test_a_known_finding_comes_out_by_itself(finding: Finding, folder: Path) -> None:
    evaluate = evaluate_control if finding.what == "control" else evaluate_queue
    against = ["reno", "cubic"] if finding.what == "control" else ["droptail", "pie"]
    shows, spared = (
        evaluate(name, against=against, criteria=[finding.criterion], quick=True, folder=folder)[finding.criterion]
        for name in (finding.shows, finding.spared)
    )
    assert shows.verdict == FAILS
    assert spared.verdict != FAILS
    assert on(shows, finding.path).verdict == FAILS
    # The same runs give the same numbers.
    assert row_of(finding)[3] == here(finding, shows, spared)


@pytest.mark.parametrize("kind", ["congestion_controls", "queues"])
def test_the_page_has_a_row_for_each(kind: str) -> None:
    table = CARDS.read_text(encoding="utf-8").split(f"<!-- table {kind} by name -->")[1].split("<!-- end -->")[0]
    rows = [line.split("`")[1] for line in table.splitlines() if line.startswith("| `")]
    assert rows == [entry["name"] for entry in registries()[kind]]
