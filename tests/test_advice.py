"""Advice: what is asked, what is run for it, and what follows."""

from __future__ import annotations

import json
import math
import random
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import longfat
import pytest
from conftest import command
from longfat import LongfatError
from longfat.advice import candidates, cases, cells, lengths, linux, page, plan, question, ranking, rounds, show, sources, verdict
from longfat.advice.cells import Cell
from longfat.advice.plan import Plan
from longfat.advice.show import traps
from longfat.cli.app import app
from longfat.report import pdf
from longfat.store import Store
from markupsafe import escape
from typer.testing import CliRunner

SMALL = {"rate": "20Mbit/s", "rtt": "20ms", "edge": "100Mbit/s", "duration": "4s"}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> longfat.Advice:
    return longfat.advise(**SMALL, everything=True, folder=tmp_path_factory.mktemp("advice") / "small")


def ask(rate: str = "10Gbit/s", rtt: str = "150ms", **words: object) -> Plan:
    return plan.plan(question.read(rate, rtt, **words))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"rate": "10"}, "rate 10: expected a rate such as 10Gbit/s; write 10Mbit/s"),
        ({"rate": "10 GB"}, "rate 10 GB: expected a rate"),
        ({"rtt": "150"}, "rtt 150: expected a time such as 150ms; write 150ms"),
        ({"rtt": "20 s"}, "from 100 us to 10 s"),
        ({"mtu": "40"}, "from 576"),
        ({"buffer": "lots"}, "buffer lots: expected a size"),
        ({"buffer": "16M"}, r"write 16MiB \(of 1024\) or 16MB \(of 1000\)"),
        ({"loss": "2"}, "loss 2: expected a probability"),
        ({"loss": "0,0"}, "loss 0,0: expected each probability once"),
        ({"loss": "0,at night"}, "loss at night: expected a probability"),
        ({"rtt": "20ms,fast"}, "rtt fast: expected a time"),
        ({"rtt": ",".join(["20ms"] * 9)}, "expected at most 8 sites"),
        ({"buffer": "1 bdp,lots"}, "buffer lots: expected a size"),
        ({"policer": "2Gbit/s"}, "policer 2Gbit/s: expected with its burst: --policer 2Gbit/s --burst 50MB"),
        ({"burst": "50MB"}, "burst 50MB: expected with a policer's rate"),
        ({"policer": "20Gbit/s", "burst": "50MB"}, "policer 20Gbit/s: expected .* less than the rate of the link"),
        ({"policer": "2Gbit/s", "burst": "50M"}, "burst 50M: expected a size .* write 50MiB"),
        ({"policer": "2Gbit/s", "burst": "100 bytes"}, "at least 1500 bytes"),
        ({"load": "1.5"}, "load 1.5: expected a share of the bottleneck between 0 and 1"),
        ({"load": "half"}, "load half: expected a share"),
        ({"transfer": "5TB"}, "a target is a size and a time: --transfer 5TB --within 4h"),
        ({"transfer": "5T", "within": "4h"}, "transfer 5T: expected a size such as 5TB; write 5TiB"),
        ({"transfer": "5TB", "within": "4"}, "within 4: expected a time such as 4h"),
        (
            {"transfer": "5TB", "within": "1h"},
            "that takes 11.1 Gbit/s of payload, and the path carries 9.65 Gbit/s: expected at least 69.1 min",
        ),
        ({"loss": "some"}, "loss some: expected"),
        ({"streams": 0}, "streams 0"),
        ({"competing": "4 cubes"}, "competing 4 cubes"),
        ({"duration": "1 s"}, "at least twenty round trips"),
    ],
)
def test_a_wrong_word_is_one_message(words: dict[str, object], expected: str) -> None:
    with pytest.raises(LongfatError, match=expected):
        ask(**words)  # type: ignore[arg-type]


@pytest.mark.parametrize("said", ["100G", "100Gbps", "100 Gb/s", "100 Gbit/s", "100000M"])
def test_a_rate_is_understood_as_people_say_it(said: str) -> None:
    assert question.read(said, "80ms").rate == 100e9


def test_what_is_known_is_no_case() -> None:
    unknown = [case.name for case in cases.of(question.read("1Gbit/s", "80ms"))]
    assert unknown[0] == "0.5 bdp, no loss"
    assert len(unknown) == len(cases.BUFFERS) + len(cases.LOSSES)
    known = cases.of(question.read("1Gbit/s", "80ms", buffer="64MiB", loss="1e-6", competing="4 bbr"))
    assert [(case.buffer, case.loss, case.rivals, case.control) for case in known] == [("64MiB", 1e-6, 4, "bbr")]
    assert all(case.rivals == 0 for case in cases.of(question.read("1Gbit/s", "80ms", competing="none")))


@pytest.mark.parametrize(
    ("rate", "rtt", "streams", "mib"),
    [
        # 10 Gbit/s x 150 ms are 187.5 MB = 178.8 MiB, twice that 357.6; of eight streams each a quarter.
        ("10Gbit/s", "150ms", 1, 358),
        ("10Gbit/s", "150ms", 8, 90),
        # 100 Gbit/s x 200 ms are 2.3 GiB: over what a window can be.
        ("100Gbit/s", "200ms", 1, 1024),
        ("100Gbit/s", "200ms", 8, 1024),
    ],
)
def test_the_window_by_hand(rate: str, rtt: str, streams: int, mib: int) -> None:
    assert plan.window_of(question.read(rate, rtt), streams) == mib << 20


def test_a_known_buffer_counts_where_it_is_more() -> None:
    # 1 Gbit/s x 80 ms are 9.54 MiB; with 64 MiB of buffer 73.54.
    assert plan.window_of(question.read("1Gbit/s", "80ms", buffer="64MiB"), 1) == 74 << 20
    assert plan.window_of(question.read("1Gbit/s", "80ms", buffer="0.1 bdp"), 1) == 20 << 20


def test_linux_is_told_the_buffers_of_the_window_with_sources() -> None:
    made = ask()
    for one in made.candidates:
        told = linux.lines(made, one)
        assert all(line.source.startswith("https://") and line.why for line in told)
        if one.untouched:
            assert told == []
            continue
        text = "\n".join(line.text for line in told)
        # Half of a receive buffer may be data; a writer that waits keeps two thirds of the send buffer full.
        assert f"4096 131072 {2 * made.window(one)}" in text
        assert f"4096 16384 {3 * made.window(one) // 2}" in text
    text = "\n".join(line.text for line in linux.lines(made, next(one for one in made.candidates if one.name == "8 x cubic maxrate")))
    # 90 % of 10 Gbit/s over eight.
    assert "maxrate 1125mbit" in text
    bbr3 = linux.lines(made, next(one for one in made.candidates if one.control == "bbr3"))
    assert any("google/bbr" in line.source and line.text.endswith("=bbr") for line in bbr3)
    far = ask("100Gbit/s", "200ms")
    assert f"4096 131072 {2**31 - 1}" in "\n".join(line.text for line in linux.lines(far, far.candidates[1]))


def test_lengths_follow_from_the_periods_and_the_losses() -> None:
    """By hand: 1 Gbit/s x 80 ms and as much of buffer are 20 MB, 13,812 segments. K = cbrt(0.3 x 13812 / 0.4) s, Reno 6,906 x 80 ms."""
    asked = question.read("1Gbit/s", "80ms")
    assert lengths.cubic_period(asked, 10e6) == pytest.approx(21.8, rel=1e-3)
    assert lengths.reno_period(asked, 10e6) == pytest.approx(552, rel=1e-3)
    # 1.054 (0.08 / 1e-6)^0.75 are 5,014 segments: one of a million is lost in 16 s.
    assert lengths.loss_period(asked, 1e-6) == pytest.approx(15.96, rel=1e-2)
    made = plan.plan(asked)
    by_rate, without, lossy = made.lengths
    assert (by_rate.duration, by_rate.warmup) == (12, 2)
    # One period of CUBIC after the first fits into four million packets at 83,333 a second, two do not.
    assert (without.duration, round(without.warmup, 1)) == (44, 21.8)
    assert "CUBIC takes 22 s on this path, and Reno 9.2 min, which is longer than a run may be" in without.why
    assert lossy.duration == 32
    assert "meets one in 16 s" in lossy.why
    cubic, bbr = (next(one for one in made.candidates if one.name == name) for name in ("cubic", "bbr"))
    clean, lost = made.cases[0], next(case for case in made.cases if case.loss)
    assert [made.length(one, case).name for one in (cubic, bbr) for case in (clean, lost)] == [
        "without loss",
        "with loss",
        "by rate",
        "by rate",
    ]
    assert made.seeds(cubic, clean) == (1, 1)
    assert made.seeds(cubic, lost) == (plan.SEEDS_OF_LOSS, plan.SEEDS[1])
    # Where no period fits, it says so; where one asks, that is the length.
    far = ask("100Gbit/s", "80ms", mtu=9000)
    assert "both are longer than a run may be" in far.lengths[1].why
    assert [one.duration for one in ask(duration="20s").lengths] == [20]
    thorough = ask("1Gbit/s", "80ms", thorough=True)
    assert thorough.lengths[1].duration > without.duration
    assert thorough.seeds(cubic, lost) == plan.SEEDS_THOROUGH


def test_each_cell_has_one_length_in_the_file() -> None:
    made = ask("100Mbit/s", "50ms")
    experiment = longfat.Experiment(plan.to_toml(made))
    runs = {tuple(dict(run.labels)[name] for name in ("candidate", "case", "length")) for run in experiment.resolve_all() if not run.repeat}
    assert runs == {(one.name, case.name, made.length(one, case).name) for one in made.candidates for case in made.cases}


def made_up(made: Plan, rates: dict[str, float], half: float = 1e6, kept: dict[str, float] | None = None) -> dict[tuple[str, str], Cell]:
    """Cells in which a candidate has one rate everywhere; with a rival, as many bit/s are left to it as `kept` says."""
    return {
        (one.name, case.name): Cell(
            one.name,
            case.name,
            rates.get(one.name, 1e6),
            half,
            made.question.rtt,
            0.0,
            (kept or {}).get(one.name, 5e9) if case.rivals else math.nan,
            1e6,
            False,
            dropped=1,
        )
        for one in made.candidates
        for case in made.cases
    }


@pytest.mark.parametrize("words", [{}, {"competing": "none"}, {"competing": "2 cubic", "loss": 0}, {"buffer": "64MiB", "loss": "1e-6"}])
def test_what_is_not_run_changes_nothing_of_who_is_set(words: dict[str, object]) -> None:
    """Random cells, as close and as wide as may be: all of them, and those that are asked for, give the same answer."""
    made = ask(**words)
    for seed in range(300):
        draw = random.Random(seed)
        spread, width = draw.choice([0.02, 0.3, 3.0]), draw.choice([0.0, 0.03, 0.5])
        every = {
            key: replace(
                cell,
                goodput=round(9e9 * math.exp(-draw.uniform(0, spread)), draw.choice([-6, -8])),
                half=draw.choice([math.nan, draw.uniform(0, width) * 9e9]),
                rival=draw.uniform(0, 5e9) if key[1].endswith("cubic") else math.nan,
                delay=made.question.rtt * draw.uniform(1, 2),
                retransmitted=draw.choice([0.0, math.nan, draw.uniform(0, 0.1)]),
            )
            for key, cell in made_up(made, {}).items()
        }
        known: dict[tuple[str, str], Cell] = {}
        while more := rounds.deciding(made, known):
            known |= {key: every[key] for key in more}
        first = ranking.best_of(made, known, ranking.level(made, known, made.candidates))
        while more := rounds.wanted(made, known):
            assert not known.keys() & set(more), seed
            known |= {key: every[key] for key in more}
        whole, part = verdict.verdict(made, every, "mean RTT"), verdict.verdict(made, known, "mean RTT")
        assert (part.best, part.stock, part.decided) == (whole.best, whole.stock, whole.decided), seed
        assert first == whole.best, "it is known who is set before the tables are complete"
        told = (
            "Set ",
            "Throughput does not",
            "It retransmits",
            "It is set before",
            "A cubic flow",
            "Beside ",
            "Where others use",
            "Unchanged",
            "Its mean RTT",
        )
        same = [[one for one in found.sentences if one.startswith(told)] for found in (whole, part)]
        assert same[0] == same[1], seed


def test_who_is_behind_in_one_case_is_not_run_in_the_others() -> None:
    """Goodputs made up by hand: BBR has 9 Gbit/s everywhere. CUBIC has none with losses, H-TCP 8.9 there and then 1 in the small buffer."""
    made = ask()
    every = made_up(made, {"bbr": 9e9, "htcp": 8.9e9, "as Linux comes": 1e8})
    every["htcp", "0.1 bdp, no loss"] = replace(every["htcp", "0.1 bdp, no loss"], goodput=1e9)
    known: dict[tuple[str, str], Cell] = {}
    asked: list[list[tuple[str, str]]] = []
    while more := rounds.wanted(made, known):
        asked.append(more)
        known |= {key: every[key] for key in more}
    lossy, judged = "0.5 bdp, loss 1e-5", ranking.judged(made)
    assert asked[0] == [(one.name, lossy) for one in made.candidates]
    assert set(asked[1]) == {("bbr", case) for case in judged if case != lossy}
    assert [case for name, case in known if name == "htcp"] == [lossy, "0.5 bdp, loss 1e-6", "0.1 bdp, no loss"]
    assert [case for name, case in known if name == "cubic paced"] == [lossy]
    assert {case for name, case in known if name == "as Linux comes"} == set(judged)
    # Whoever people ask about is run in every case, also beside a rival.
    asked_about = {one.name for one in made.candidates if one.usual}
    assert asked_about == {"cubic", "bbr", "bbr3", "reno"}
    assert all((name, case.name) in known for name in asked_about for case in made.cases)
    assert {name for name, case in known if case not in judged} == asked_about
    said = " ".join(verdict.verdict(made, known, "mean RTT").sentences)
    assert "No other gets more than 1 Gbit/s in its worst case (htcp, 0.1 bdp, no loss)." in said
    # 9653 Mbit/s of payload are 7 % more than 9 Gbit/s.
    assert "a candidate that was not run there might get more, by 7 % at most" in said
    assert "In none of the cases" not in said
    assert "was not run" not in " ".join(verdict.verdict(made, every, "mean RTT").sentences)


def test_the_verdict_follows_the_cells() -> None:
    made = ask()
    for name in [one.name for one in made.candidates]:
        found = verdict.verdict(made, made_up(made, {name: 9e9}), "mean RTT")
        assert found.best.name == name
        assert found.decided
        assert "Confidence: decided" in found.sentences[-1]
        assert found.reasons[0].startswith("Leave Linux as it comes (CUBIC" if name == "as Linux comes" else f"Set {name} (")


def test_where_intervals_overlap_it_says_so_and_asks_what_is_left_to_others() -> None:
    made = ask()
    names = {"bbr": 9e9, "cubic maxrate": 8.9e9}
    found = verdict.verdict(made, made_up(made, names, half=2e8, kept={"bbr": 1e9, "cubic maxrate": 4.9e9}), "mean RTT")
    assert not found.decided
    assert found.best.name == "cubic maxrate"
    assert "Throughput does not decide" in " ".join(found.sentences)
    # Rates are equal, and as much is left by either: then the first of the list wins.
    assert verdict.verdict(made, made_up(made, names, half=2e8), "mean RTT").best.name == "bbr"


def test_who_wastes_the_path_is_not_set_where_another_is_level() -> None:
    """`Set bbr` was once said of a path on which it retransmits 16 %, and bbr3, level with it, a tenth of that."""
    made = ask()
    small = "0.1 bdp, no loss"

    def found(rates: dict[str, float], shares: dict[str, float]) -> verdict.Verdict:
        cells = made_up(made, rates, half=2e8)
        for name, share in shares.items():
            cells[name, small] = replace(cells[name, small], retransmitted=share)
        return verdict.verdict(made, cells, "mean RTT")

    level = {"bbr": 9e9, "bbr3": 8.95e9}
    without = found(level, {})
    assert without.best.name == "bbr"
    assert "retransmit" not in " ".join(without.sentences)
    told = found(level, {"bbr": 0.16, "bbr3": 0.016})
    assert (told.best.name, told.stock.name) == ("bbr3", "bbr")
    assert "It retransmits 1.6 % of what it sends (0.1 bdp, no loss)." in told.reasons
    assert "It is set before bbr (16 %, 0.1 bdp, no loss), which retransmits more." in told.reasons
    # With nobody level it is set all the same, and says so.
    alone = found({"bbr": 9e9}, {"bbr": 0.16})
    assert alone.best.name == "bbr"
    assert "It retransmits 16 % of what it sends (0.1 bdp, no loss)." in alone.reasons


def test_who_was_measured_badly_is_not_level_with_the_most() -> None:
    """78.6 ± 18.6 Mbit/s was once set instead of 94.1 ± 2.3, since it leaves others more."""
    made = ask()
    cells = made_up(made, {"cubic maxrate": 7.9e9, "bbr": 9.4e9}, half=2e8, kept={"bbr": 1e9, "cubic maxrate": 4.9e9})
    wide = {key: replace(cell, half=1.9e9) if key[0] == "cubic maxrate" else cell for key, cell in cells.items()}
    found = verdict.verdict(made, wide, "mean RTT")
    assert (found.best.name, found.decided) == ("bbr", True)
    assert "cubic maxrate has over 10 % less than the most, but the 95 % interval reaches it: longer runs would tell" in found.sentences[-1]
    assert "reaches it" not in verdict.verdict(made, cells, "mean RTT").sentences[-1]


def test_who_takes_too_much_is_told_of_who_takes_less() -> None:
    made = ask()
    cells = made_up(made, {"bbr": 9e9, "cubic": 6e9}, kept={"bbr": 1e9, "cubic": 5e9, "bbr3": 1e9, "as Linux comes": 1e9})
    found = verdict.verdict(made, cells, "mean RTT")
    assert found.best.name == "bbr"
    assert "Where others use the path, cubic leaves them 104 % and gets 6 Gbit/s in its worst case." in found.sentences
    fair = made_up(made, {"bbr": 9e9, "cubic": 6e9}, kept={"bbr": 4e9, "cubic": 5e9})
    assert not any("Where others use" in sentence for sentence in verdict.verdict(made, fair, "mean RTT").sentences)


def test_a_control_that_no_released_kernel_has_comes_with_one_that_has_it() -> None:
    made = ask()
    found = verdict.verdict(made, made_up(made, {"bbr3": 9e9, "bbr": 5e9}), "mean RTT")
    assert (found.best.name, found.stock.name) == ("bbr3", "bbr")
    assert found.reasons[1] == "No released kernel has bbr3: there, set bbr, which gets 5 Gbit/s."
    assert not any("released kernel" in one for one in verdict.verdict(made, made_up(made, {"bbr": 9e9}), "mean RTT").reasons)


def test_a_path_over_which_nothing_comes_is_one_message() -> None:
    """The verdict once ended in a division by zero, and where no round trip was seen in NaN as an integer."""
    made = ask()
    with pytest.raises(LongfatError, match="no candidate gets anything through"):
        verdict.verdict(made, {key: replace(cell, goodput=0.0) for key, cell in made_up(made, {}).items()}, "mean RTT")
    cells = made_up(made, {"bbr": 9e9, "cubic": 9e9})
    middle = made.cases[0].name
    cells["bbr", middle] = replace(cells["bbr", middle], delay=math.nan)
    assert verdict.verdict(made, cells, "mean RTT").best.name == "cubic"
    # Level with nothing, since the interval is that wide, and first of the list.
    wide = made_up(made, {"cubic": 1e6, "bbr": 2e6, "htcp": 2e6}, half=3e6)
    wide["cubic", middle] = replace(wide["cubic", middle], goodput=0.0)
    wide |= {key: replace(cell, goodput=9e9) for key, cell in wide.items() if key == ("htcp", middle)}
    found = verdict.verdict(made, {key: replace(cell, rival=1e6) for key, cell in wide.items()}, "mean RTT")
    assert found.best.name == "as Linux comes"
    assert all("inf" not in sentence for sentence in found.sentences)


def test_what_would_change_it_is_told() -> None:
    made = ask()
    cells = made_up(made, {"bbr": 8e9})
    clean = "1 bdp, no loss"
    cells["cubic", clean] = replace(cells["cubic", clean], goodput=9.6e9)
    text = " ".join(verdict.verdict(made, cells, "mean RTT").sentences)
    assert "Where the path has `1 bdp, no loss`, cubic gets 20 % more." in text


def test_the_worst_case_is_without_a_rival_unless_there_always_is_one() -> None:
    made = ask()
    assert ranking.judged(made) == [case.name for case in made.cases[:-1]]
    always = ask(competing="cubic")
    assert ranking.judged(always) == [case.name for case in always.cases]


def test_traps_are_told() -> None:
    far = ask("100Gbit/s", "200ms")
    results = longfat.Experiment(plan.to_toml(ask(**SMALL, buffer="1 bdp", loss=0, competing="none"))).sweep()
    assert any("43 Gbit/s" in trap.replace("42.9", "43") and "3 streams at least" in trap for trap in traps(far, results))
    slow = plan.plan(question.read("10Gbit/s", "80ms", edge="10Gbit/s"))
    assert any("no faster than the path" in trap for trap in traps(slow, results))


def test_a_small_path_from_question_to_answer(small: longfat.Advice, tmp_path: Path) -> None:
    names = [one.name for one in small.plan.candidates]
    assert list(small.table["candidate"]) == names
    assert small.best in names
    # 6 MiB of tcp_rmem are no limit here: what Linux does by itself is as good as CUBIC with a window.
    middle = small.plan.cases[0].name
    assert small.cells["as Linux comes", middle].goodput == pytest.approx(small.cells["cubic", middle].goodput, rel=0.1)
    # Held at 90 % of the path, and never more than that.
    held = small.cells["cubic maxrate", middle].goodput
    assert 0.8 * small.plan.question.payload < held <= 0.905 * small.plan.question.payload
    # Data that waited behind a gap when the measured seconds began is delivered in them: at most what path and queue hold,
    # two BDPs of 20 ms in 2 s.
    assert all(0 < cell.goodput <= small.plan.question.payload * 1.02 for cell in small.cells.values())
    text = str(small)
    assert small.found.sentences[0] in text
    assert "sysctl -w net.ipv4.tcp_rmem" in text or small.best == "as Linux comes"
    assert "<table>" in small._repr_html_()
    assert json.loads(json.dumps(small.as_json(), allow_nan=False))["best"] == small.best
    file = tmp_path / "advice.toml"
    small.save(file)
    again = longfat.load(file)
    assert {run.hash for run in again.resolve_all()} >= set(small.results.runs["run"])


def test_a_page_to_forward_says_what_the_terminal_says(small: longfat.Advice, tmp_path: Path) -> None:
    for name in ("advice.html", "advice.md"):
        page.write_page(small, tmp_path / name)
    html, mail = ((tmp_path / name).read_text(encoding="utf-8") for name in ("advice.html", "advice.md"))
    for sentence in small.found.sentences:
        assert escape(sentence) in html
        assert sentence in mail
    for line in small.lines:
        assert escape(line.text) in html
        assert line.text in mail
    assert "<svg" in html
    assert "default-src 'none'" in html
    rows = [line for line in mail.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in rows[: len(small.plan.candidates) + 2]} == {rows[0].count("|")}


def test_what_a_released_kernel_has_is_named_with_its_waste(small: longfat.Advice) -> None:
    stock = next(one for one in small.plan.candidates if one.name == "bbr")
    key = ("bbr", small.plan.cases[0].name)
    wasteful = dict(small.cells) | {key: replace(small.cells[key], retransmitted=0.15)}
    told = replace(small, found=replace(small.found, stock=stock), cells=wasteful)
    assert show.released(told) == "With a released kernel: bbr, which retransmits 15 %"


@pytest.mark.parametrize(
    ("name", "expected"), [("advice.doc", "expected a name that ends in .html, .pdf or .md"), ("no/advice.md", "there is no folder")]
)
def test_a_page_that_cannot_be_written_is_said_before_anything_runs(name: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(LongfatError, match=expected):
        page.check(tmp_path / name)


def test_a_pdf_without_a_browser_is_said_before_anything_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pdf, "BROWSERS", ("no-such-browser",))
    with pytest.raises(LongfatError, match="a PDF needs Chromium or Chrome, not found here: install one of them, or print"):
        page.check(tmp_path / "advice.pdf")


def test_a_browser_that_fails_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pdf, "BROWSERS", ("false",))
    with pytest.raises(LongfatError, match=r"/false did not print .*advice.pdf: exit code 1"):
        pdf.write_pdf("<p>", tmp_path / "advice.pdf")


@pytest.mark.slow
@pytest.mark.skipif(not any(map(shutil.which, pdf.BROWSERS)), reason="no Chromium: `make system-packages` installs it")
def test_the_page_is_printed(small: longfat.Advice, tmp_path: Path) -> None:
    page.write_page(small, tmp_path / "advice.pdf")
    made = (tmp_path / "advice.pdf").read_bytes()
    assert made.startswith(b"%PDF")
    assert len(made) > 10_000


def test_the_page_begins_with_the_verdict_the_table_the_picture_and_the_lines(small: longfat.Advice) -> None:
    html = page.html(small)
    parts = [
        escape(small.found.reasons[0]),
        "<h2>Candidates</h2>",
        "<svg",
        "<h2>On Linux</h2>",
        "<h2>What to know</h2>",
        "<h2>How sure</h2>",
    ]
    assert sorted(parts, key=html.index) == parts
    assert html.index(escape(small.found.reasons[2])) > html.index("<h2>What to know</h2>")
    # What a terminal has in backticks is code on a page.
    assert "`" not in html
    assert "where it is called <code>bbr</code>" in html


@pytest.mark.slow
def test_the_report_of_an_advice_is_its_page(tmp_path: Path) -> None:
    words = ["--rate", "20Mbit/s", "--rtt", "20ms", "--duration", "2s", "--loss", "0", "--buffer", "1 bdp", "--competing", "none"]
    assert command("advise", *words, "--page", "page.html", cwd=tmp_path).returncode == 0
    done = command("report", "results/advice/20Mbits_20ms", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report, asked = ((tmp_path / name).read_text() for name in ("reports/20Mbits_20ms/report.html", "page.html"))
    assert re.sub(r"(?s)<svg.*?</svg>", "", report) == re.sub(r"(?s)<svg.*?</svg>", "", asked)
    (tmp_path / "results/advice/20Mbits_20ms/question.json").write_text("{")
    damaged = command("report", "results/advice/20Mbits_20ms", cwd=tmp_path)
    assert (damaged.returncode, "does not say what was asked" in " ".join(damaged.stderr.split())) == (1, True)


@pytest.mark.parametrize("in_memory", [True, False])
def test_with_few_runs_the_same_is_set_as_with_all(small: longfat.Advice, tmp_path: Path, in_memory: bool) -> None:
    """And each cell is what it is there, also those for which no run was made since a smaller buffer had dropped nothing; on one core, and
    on eight, which get runs before they are asked for."""
    said: list[str] = []
    few = longfat.advise(**SMALL, folder=None if in_memory else tmp_path, jobs=1 if in_memory else 8, first=said.append)
    # Once, before the tables are complete; eight cores may have completed them meanwhile.
    assert len(said) in ({1} if in_memory else {0, 1})
    for sentence in said:
        assert sentence.startswith(("So far: Set", "So far: Leave"))
        assert f" {'as it comes' if few.found.best.untouched else few.best} (" in sentence
    assert (few.best, few.found.stock, few.found.decided) == (small.best, small.found.stock, small.found.decided)
    assert len(small.cells) == len(small.plan.candidates) * len(small.plan.cases)
    assert len(small.results) == sum(cell.seeds for cell in small.cells.values())
    assert (small.copied, len(few.results)) == (set(), sum(cell.seeds for key, cell in few.cells.items() if key not in few.copied))
    assert few.copied
    assert len(few.results) < 0.85 * len(small.results)
    for key, cell in few.cells.items():
        if cell.seeds == small.cells[key].seeds:
            assert repr(replace(cell, dropped=0)) == repr(replace(small.cells[key], dropped=0)), key
    text, told = str(few), few.as_json()
    assert f"≤: behind in this case already, so it was not run in all others ({len(told['not_run'])} of {len(small.cells)} runs" in text
    assert "≤" not in str(small)
    assert len(told["cells"]) + len(told["not_run"]) == len(small.cells)
    assert few.table["whole"].sum() < len(few.table)
    assert small.table["whole"].all()


def test_a_question_asked_otherwise_finds_its_runs(tmp_path: Path) -> None:
    known = {"loss": 0, "competing": "none"}
    first = longfat.advise(**SMALL, **known, folder=tmp_path)
    middle = first.plan.cases[0].name
    made = Store(tmp_path).finished()
    # Runs are the same under another name of their case: half a product is 25 kB.
    again = longfat.advise(**SMALL, **known, buffer="25 kB", folder=tmp_path)
    assert again.plan.cases[0].name != middle
    both = [one.name for one in again.plan.candidates if (one.name, middle) in first.cells]
    assert both
    for name in both:
        one, other = again.cells[name, "25 kB, no loss"], first.cells[name, middle]
        assert one.goodput == other.goodput if one.seeds == other.seeds else one.goodput == pytest.approx(other.goodput, rel=0.02)
    assert Store(tmp_path).finished() >= made


def test_a_new_line_is_a_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    more = (*candidates.CANDIDATES[:2], candidates.Candidate("scalable", "Scalable TCP", control="scalable"))
    monkeypatch.setattr(candidates, "CANDIDATES", more)
    found = longfat.advise(**SMALL, loss=0, buffer="1 bdp", competing="none")
    assert [one.name for one in found.plan.candidates] == ["as Linux comes", "cubic", "scalable"]
    assert found.cells["scalable", found.plan.cases[0].name].goodput > 10e6
    assert len(found.results) == 3


@pytest.mark.slow
def test_the_command(tmp_path: Path) -> None:
    words = [
        "advise",
        "--rate",
        "20Mbit/s",
        "--rtt",
        "20ms",
        "--edge",
        "100Mbit/s",
        "--duration",
        "2s",
        "--loss",
        "0",
        "--competing",
        "none",
    ]
    done = command(*words, "--out", "advice.toml", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["question"]["losses"] == [["", 0]]
    assert [case["name"] for case in told["cases"]] == ["0.5 bdp, no loss", "0.1 bdp, no loss", "1 bdp, no loss"]
    assert longfat.load(tmp_path / "advice.toml").run_count == plan.SEEDS[1] * (len(told["cells"]) + len(told["not_run"]))
    every = json.loads(command(*words, "--all", "--json", cwd=tmp_path).stdout)
    assert (every["best"], every["not_run"], len(every["cells"])) == (told["best"], [], 30)
    again = command(*words, "--streams", "2", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "On Linux" in again.stdout
    wrong = command("advise", "--rate", "fast", "--rtt", "20ms", cwd=tmp_path)
    assert (wrong.returncode, wrong.stderr.startswith("error: rate fast: expected a rate")) == (1, True)


COOKBOOK = """
title = "A path that loses one packet in a thousand"
repeats = 5

[path]
preset = "dumbbell"
rtt = "20 ms"

[path.bottleneck]
rate = "20 Mbit/s"
queue = { kind = "droptail", limit = "0.5 bdp" }
loss = { kind = "bernoulli", probability = 1e-3 }
reverse = { loss = "none" }

[path.edge]
rate = "100 Mbit/s"

[[flow]]
stack = "linux"
congestion_control = { name = "control", sweep = ["cubic", "bbr", "bbr3", "reno"] }

[measure]
duration = "12 s"
warmup = "2 s"
"""
"""An experiment as those of the cookbook are written."""


@pytest.mark.slow
def test_one_question_has_one_answer_in_three_spellings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command, an experiment file (run, and asked about) and Python: one order of candidates, and numbers within the intervals."""
    monkeypatch.chdir(tmp_path)
    # Named as the results of the command are, so that runs which are the same are made once.
    file = tmp_path / "20Mbits_20ms.toml"
    file.write_text(COOKBOOK)

    def told(*words: str) -> dict[str, Any]:
        done = CliRunner().invoke(app, ["advise", *words, "--thorough", "--all", "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    path = ["--rate", "20Mbit/s", "--rtt", "20ms", "--edge", "100M", "--buffer", "0.5 bdp", "--loss", "1e-3", "--competing", "none"]
    by_command, by_file = told(*path), told(file.name)
    by_python = longfat.advise(file=file, thorough=True, everything=True, folder="results/advice/20Mbits_20ms")
    # Asked in three ways, the experiment is the same to the last byte, and so is all that follows.
    assert by_command["experiment"] == by_file["experiment"] == by_python.experiment.text
    assert by_command["cells"] == by_file["cells"] == json.loads(json.dumps(by_python.as_json()))["cells"]
    assert by_command["verdict"] == by_file["verdict"] == by_python.found.sentences
    # Run as it is, without what advice adds to it: the same rates, and so the same order of those whose intervals part them.
    ran = longfat.load(file).sweep().means().set_index("control")
    advised = {cell["candidate"]: cell for cell in by_command["cells"]}
    low, high = {}, {}
    for control in ran.index:
        mean, half = ran.loc[control, "goodput_total_bps"], ran.loc[control, "goodput_total_bps_ci"]
        cell = advised[control]
        assert cell["seeds"] >= 5
        assert abs(cell["goodput"] - mean) <= cell["half"] + half + 0.001 * mean, control
        low[control], high[control] = mean - half, mean + half
    apart = [(one, other) for one in ran.index for other in ran.index if low[one] > high[other]]
    assert apart
    assert all(advised[one]["goodput"] > advised[other]["goodput"] for one, other in apart)


def test_a_file_says_what_its_path_is(tmp_path: Path) -> None:
    file = tmp_path / "path.toml"
    file.write_text(COOKBOOK)
    words = sources.read_source(file).words
    assert words == {
        "rate": "20000000 bit/s",
        "rtt": "20000 us",
        "mtu": 1500,
        "edge": "100000000 bit/s",
        "buffer": "0.5 bdp",
        "loss": "0.001",
        "competing": "none",
    }
    # What varies becomes cases, if it is a loss or a buffer.
    varied = COOKBOOK.replace("probability = 1e-3", "probability = { sweep = [1e-3, 1e-4] }")
    file.write_text(varied)
    assert sources.read_source(file).words["loss"] == "0.001,0.0001"
    file.write_text(COOKBOOK.replace('rtt = "20 ms"', 'rtt = { sweep = ["20 ms", "80 ms"] }').replace('"0.5 bdp"', '"50 kB"'))
    with pytest.raises(LongfatError, match=r"has several values of rtt \(20000 us, 80000 us\): choose one with --rtt"):
        sources.read_source(file)
    assert sources.read_source(file, {"rtt"}).words["buffer"] == "1 bdp,0.25 bdp"
    file.write_text(COOKBOOK.replace('kind = "droptail", limit = "0.5 bdp"', 'kind = "policer", rate = "5 Mbit/s", burst = "50 kB"'))
    policed = sources.read_source(file).words
    assert (policed["policer"], policed["burst"]) == ("5 Mbit/s", "50000 bytes")
    assert question.read(**policed).carried == 5e6
    rival = '\n[[flow]]\nname = "rival"\nstack = "linux"\ncongestion_control = "bbr"\ncount = 2\n[measure]'
    file.write_text(COOKBOOK.replace("\n[measure]", rival))
    assert sources.read_source(file).words["competing"] == "2 bbr"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('kind = "droptail", limit = "0.5 bdp"', 'kind = "codel"', "has the queue codel, and advice knows droptail and policer"),
        ('kind = "bernoulli", probability = 1e-3', 'kind = "periodic", period = "1000 packets"', "has losses of the kind periodic"),
        (
            "\n[measure]",
            '\n[[flow]]\nname = "talk"\nstack = "linux"\ntraffic = { kind = "telnet", interval = "1 s" }\n[measure]',
            "has the flow talk with traffic writes, which does not compete all the time",
        ),
        (
            "\n[measure]",
            '\n[[flow]]\nname = "a"\ncongestion_control = "bbr"\n[[flow]]\nname = "b"\n[measure]',
            "has competing flows of several controls",
        ),
    ],
)
def test_a_file_that_advice_cannot_ask_about_is_one_message(old: str, new: str, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "path.toml"
    assert old in COOKBOOK
    file.write_text(COOKBOOK.replace(old, new))
    with pytest.raises(LongfatError, match=expected):
        sources.read_source(file)


IPERF3 = {
    "start": {"tcp_mss_default": 1448},
    "intervals": [
        {"sum": {"bits_per_second": 5e8, "omitted": True}},
        {"sum": {"bits_per_second": 8e7, "omitted": False}},
        {"sum": {"bits_per_second": 9e7, "omitted": False}},
    ],
    "end": {
        "streams": [{"sender": {"min_rtt": 41000}}, {"sender": {"min_rtt": 40000}}],
        "sum_sent": {"retransmits": 7},
        "sum_received": {"bits_per_second": 8.4e7},
        "sender_tcp_congestion": "cubic",
    },
}
"""The parts of the output of `iperf3 --json` that are read; the fields are those of iperf3 3.9 and later."""


def test_iperf3_says_what_the_path_is(tmp_path: Path) -> None:
    file = tmp_path / "iperf3.json"
    file.write_text(json.dumps(IPERF3))
    found = sources.read_source(file)
    # 90 Mbit/s of payload in segments of 1448 bytes are 90 x 1500 / 1448 Mbit/s of IP.
    assert found.words == {"rate": "93232044 bit/s", "rtt": "40000 us", "mtu": 1500}
    assert "2 streams of cubic got 84 Mbit/s, with 7 retransmissions." in found.told[1]
    for wrong, expected in (
        ("not json", "is neither JSON nor one JSON object per line"),
        (json.dumps({"error": "unable to connect"}), "iperf3 failed: unable to connect"),
        (json.dumps(IPERF3 | {"end": IPERF3["end"] | {"streams": [{"sender": {}}]}}), "has no round trips"),
        ("[]", "expected what `iperf3 --json` or `--json-stream` wrote"),
    ):
        file.write_text(wrong)
        with pytest.raises(LongfatError, match=expected):
            sources.read_source(file)


def test_a_capture_says_what_the_path_is() -> None:
    captures = Path(__file__).parent / "captures"
    found = sources.read_source(captures / "congestion-by-loss.pcap.zst")
    asked = question.read(**found.words)
    # The path was made with 4 Mbit/s and 60 ms (README.md there).
    assert asked.rate == pytest.approx(4e6, rel=0.2)
    assert asked.rtt == pytest.approx(0.06, rel=0.1)
    assert asked.buffers is not None
    assert asked.rivals is None
    assert "congestion, by loss" in " ".join(found.told)
    policed = question.read(**sources.read_source(captures / "policer.pcap.zst").words)
    assert policed.policer is not None


@pytest.mark.parametrize(("name", "expected"), [("none.pcap", "there is no such file"), ("odd.txt", "expected an experiment")])
def test_what_is_no_source_is_one_message(name: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "odd.txt").write_text("")
    with pytest.raises(LongfatError, match=expected):
        sources.read_source(tmp_path / name)


def test_a_question_without_a_path_says_what_is_missing() -> None:
    with pytest.raises(LongfatError, match="advice needs the path's rate and rtt"):
        longfat.advise()


def test_losses_with_their_times_are_cases() -> None:
    made = cases.of(question.read("1Gbit/s", "80ms", buffer="1 bdp", loss="0,at night 1e-4", competing="none"))
    assert [case.name for case in made] == ["1 bdp, no loss", "1 bdp, loss 1e-4 (at night)"]
    assert question.read("1Gbit/s", "80ms", loss="0.1 %").losses == (("", 0.001),)


def test_a_policer_is_what_the_path_carries() -> None:
    made = ask(policer="2Gbit/s", burst="50MB")
    assert made.question.payload == pytest.approx(2e9 * 1448 / 1500)
    # No queue grows in front of a policer: its buffer is no case.
    assert {case.buffer for case in made.cases} == {"0.5 bdp"}
    assert [case.name for case in made.cases][:2] == ["no loss", "loss 1e-6"]
    assert ask(policer="2Gbit/s", burst="50MB", buffer="1 MB").cases[0].name == "1 MB, no loss"
    resolved = json.loads(longfat.Experiment(plan.to_toml(made)).resolve(0).resolved)
    queue = resolved["path"]["link"][0]["queue"]
    assert (queue["kind"], queue["rate"], queue["burst"]) == ("policer", "2 Gbit/s", "50 MB")
    text = "\n".join(line.text for line in linux.lines(made, next(one for one in made.candidates if one.name == "cubic maxrate")))
    assert "maxrate 1800mbit" in text


def test_two_sites_share_the_link() -> None:
    found = longfat.advise(**SMALL | {"rtt": "10ms,40ms"}, buffer="1 bdp", loss=0, competing="none")
    for cell in found.cells.values():
        assert len(cell.sites) == 2
        # The mean of the least is at most the least of the means.
        assert 0 < cell.goodput <= min(cell.sites) * (1 + 1e-9)
        assert 0 < cell.jain <= 1
        assert sum(cell.sites) <= 1.05 * found.plan.question.payload
    # The buffer is of the longest round trip: 20 Mbit/s x 40 ms.
    assert 'limit = "100000 bytes"' in found.experiment.text
    assert found.found.reasons[1].startswith("Rates are those of the site that gets least: the sites get ")


def test_short_transfers_of_others_use_their_share() -> None:
    # Runs are long enough for some forty short transfers, at most half of the longest run: 0.39 come in a second.
    found = longfat.advise("20Mbit/s", "20ms", edge="100Mbit/s", buffer="1 bdp", loss=0, load=0.5)
    assert [one.duration for one in found.plan.lengths] == [32, 32]
    assert [case.rivals for case in found.plan.cases] == [0]
    cubic = found.cells["cubic", found.plan.cases[0].name]
    assert 0.2 * found.plan.question.payload < cubic.goodput < 0.9 * found.plan.question.payload
    assert "use 50 % of the path" in str(found)
    # Any transfer takes a round trip for the handshake, and half of one for its data.
    for cell in found.cells.values():
        low, high = cell.short_between
        assert 1.5 * 0.02 < low <= cell.short_p50 <= min(high, cell.short_p95)
    # Beside eight streams a newcomer has a ninth of the link, beside one a half.
    assert found.cells["8 x cubic", cubic.case].short_p50 > 1.2 * cubic.short_p50
    said = [one for one in found.found.reasons if one.startswith("Short transfers of others (up to 100 kB) take ")]
    assert len(said) == 1
    assert "The round trips of one take 30 ms at least." in found.found.reasons
    titles, rows = show.answers(found)
    assert titles[-1] == "others' short transfers: median, 95 %"
    assert all(", " in row[-1] for row in rows if not row[1].startswith("≤"))


def test_among_equals_who_delays_short_transfers_less_is_set() -> None:
    """Made up by hand: rates are equal, and medians of short transfers are 20 % off at most."""
    made = ask(load=0.5, buffer="1 bdp", loss=0)
    name = made.cases[0].name

    def found(medians: dict[str, float]) -> verdict.Verdict:
        cells = made_up(made, {"cubic": 9e9, "bbr": 9e9}, half=1e8)
        for one, seconds in medians.items():
            between = (0.8 * seconds, 1.2 * seconds)
            more = {"short_p50": seconds, "short_p95": 2 * seconds, "short_between": between, "short_count": 50}
            cells[one, name] = replace(cells[one, name], **more)
        return verdict.verdict(made, cells, "mean RTT")

    kind = found({"cubic": 1.0, "bbr": 0.5})
    assert kind.best.name == "bbr"
    assert (
        "Short transfers of others (up to 100 kB) take 500 ms beside it in the median (400 ms to 600 ms, of 50), "
        "and 1 s at the 95th percentile."
    ) in kind.reasons
    assert "The round trips of one take 225 ms at least." in kind.reasons
    assert "Beside cubic they take 1 s, 2 s." in kind.reasons
    # Where the intervals overlap, the least change is made.
    assert found({"cubic": 1.0, "bbr": 0.7}).best.name == "cubic"
    never = found({"cubic": 1.0, "bbr": math.inf})
    assert never.best.name == "cubic"
    assert "Beside bbr they take unfinished, unfinished." in never.reasons


def test_the_interval_of_a_median_by_hand() -> None:
    """Of 100 the ranks are 50 less and more 9.8: the 40th and the 61st at least; of 10, the first and the last. Fewer have none."""
    assert cells._between([float(n) for n in range(1, 101)]) == (40, 61)
    assert cells._quantile([float(n) for n in range(1, 101)], 0.95) == 95
    assert cells._between([float(n) for n in range(1, 11)]) == (1, 10)
    assert math.isnan(cells._between([1.0] * 9)[0])
    assert math.isnan(cells._quantile([1.0] * 9, 0.5))


def test_a_target_says_what_must_be_true() -> None:
    made = ask(transfer="5TB", within="4h")
    cells = made_up(made, {"bbr": 9e9, "cubic": 4e9, "bbr3": 8e9})
    lossy = "0.5 bdp, loss 1e-5"
    cells["cubic", lossy] = replace(cells["cubic", lossy], goodput=1e9)
    told = verdict.verdict(made, cells, "mean RTT").reasons
    # 5e12 bytes in 14,400 s are 2.78 Gbit/s; over 150 ms 49.7 MiB.
    assert "5 TB within 4 h need 2.78 Gbit/s of payload all the time, 29 % of what the path carries, and 49.7 MiB in flight." in told
    assert "bbr has that in every case that was run." in told
    assert "bbr3 has it in every case, too." in told
    assert f"For cubic it must not be that the path has `{lossy}`." in told
    cells["bbr", lossy] = replace(cells["bbr", lossy], goodput=2e9)
    cells["bbr3", lossy] = replace(cells["bbr3", lossy], goodput=1e9)
    told = verdict.verdict(made, cells, "mean RTT").reasons
    assert f"Not even bbr has that where the path has `{lossy}` (2 Gbit/s)." in told
    assert "With 2 Gbit/s it takes 5.6 h." in told


def test_the_headline_says_the_worst_of_all_and_flags_what_is_wrong() -> None:
    made = ask()
    cells = made_up(made, {"cubic": 9e9, "bbr": 8e9, "8 x cubic": 5e9}, half=1e7)
    beside = made.cases[-1].name
    cells["cubic", beside] = replace(cells["cubic", beside], goodput=4e9)
    cells["bbr", beside] = replace(cells["bbr", beside], retransmitted=0.267)
    cells["8 x cubic", beside] = replace(cells["8 x cubic", beside], jain=0.61)
    told = verdict.verdict(made, cells, "mean RTT").reasons
    assert told[0].endswith(
        f"it gets 9 Gbit/s alone in its worst case (0.5 bdp, no loss), and 4 Gbit/s in the worst of all that was run ({beside})."
    )
    assert f"More than 5 % of the segments are retransmissions with bbr (27 %, {beside})." in told
    assert f"Jain's index is under 0.8 (1: streams are equal) with 8 x cubic (0.61, {beside})." in told
    clean = verdict.verdict(made, made_up(made, {"cubic": 9e9}), "mean RTT").reasons
    assert not any("Jain" in one or "retransmissions" in one for one in clean)


def test_more_seeds_are_run_where_they_decide() -> None:
    """A top of one seed and one within a tenth of it are repeated; who is far behind, and who is known well, is not."""
    made = ask(buffer="1 bdp", loss="1e-5", competing="none")
    name = made.cases[0].name
    cells = {key: replace(cell, half=math.nan) for key, cell in made_up(made, {"bbr": 9e9, "bbr3": 8.5e9, "htcp": 8.4e9}).items()}
    cells["htcp", name] = replace(cells["htcp", name], half=1e7, seeds=3)
    assert ranking.unsure(made, cells) == [("bbr", name), ("bbr3", name)]
    known = {key: replace(cell, half=1e7, seeds=3) for key, cell in cells.items()}
    assert ranking.unsure(made, known) == []
    wide = {key: replace(cell, half=2e9, seeds=plan.SEEDS[1]) for key, cell in cells.items()}
    assert ranking.unsure(made, wide) == []
