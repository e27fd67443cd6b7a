"""The comparison with a paper: one rule for all numbers, and every way in which there is no answer."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import shutil
from pathlib import Path
from typing import Any, cast

import pytest
from conftest import SWEEP, command
from kept import edit
from longfat import Experiment, LongfatError, Results, locate
from longfat._longfat import RESULTS_VERSION
from longfat.paper import (
    Agreement,
    Answer,
    Cells,
    Check,
    Comparison,
    Measured,
    Paper,
    Row,
    Rule,
    compare,
    load_measured,
    load_paper,
    load_published,
    null,
    null_model,
    uncounted,
)
from longfat.paper.kinds import Bound
from longfat.report.comparison import summary
from longfat.report.page import paper_page

WINDOWS = ("8 KiB", "16 KiB")
HEADER = "id,where,page,quantity,build,value,unit,uncertainty,note\n"


def row(id: str = "a", quantity: str = "peak", value: float | None = 40.0, uncertainty: float | None = None) -> Row:
    return Row(id, "Table 3", "7", quantity, {"build": "60"}, value, "Mbit/s", uncertainty, "")


@pytest.mark.parametrize(
    ("published", "ours", "uncertainty", "verdict"),
    [
        (40.0, 44.0, None, "holds"),
        (40.0, 44.01, None, "differs"),
        (40.0, 36.0, None, "holds"),
        (40.0, 35.99, None, "differs"),
        (40.0, 46.0, 6.0, "holds"),
        (40.0, 46.1, 6.0, "differs"),
        (40.0, 44.0, 1.0, "holds"),  # the larger of the two
        (-40.0, -44.0, None, "holds"),
        (0.3, 0.33, None, "holds"),  # 10 % in decimal is 10 %
        (0.0, 0.0, None, "holds"),
        (0.0, 0.1, None, "differs"),
    ],
)
def test_the_rule(published: float, ours: float, uncertainty: float | None, verdict: str) -> None:
    assert Rule(published, uncertainty).holds(ours) == (verdict == "holds")


@pytest.mark.parametrize(
    ("bound", "ours", "holds"),
    [
        ("<=", 18.0, True),
        ("<=", 18.1, False),
        ("<", 18.0, False),
        (">=", 18.0, True),
        (">=", 17.9, False),
        (">", 18.0, False),
        (">", 90.0, True),
    ],
)
def test_a_bound_has_one_side(bound: Bound, ours: float, holds: bool) -> None:
    assert Rule(18.0, bound=bound).holds(ours) == holds


def test_an_index_holds_within_what_is_printed() -> None:
    index = Rule(0.97, within=0.005)
    assert index.holds(0.975)
    assert not index.holds(0.98)  # which is within 10 %
    assert Rule(0.97, uncertainty=0.02, within=0.005).holds(0.98)


def of_kinds() -> tuple[Paper, list[Row], list[Comparison]]:
    paper = Paper("t", "c")
    paper.number("peak")(lambda _, row: 40.0)
    paper.number("bdp")(lambda _, row: 380.0)
    paper.not_results(caption="a figure")
    paper.kind("arithmetic", "bdp")
    paper.kind("calibrated", "d")
    paper.bound("<", "e")
    other = dataclasses.replace(row("c", value=60.0), conditions={"build": "224"})
    rows = [
        row("a"),
        row("b"),  # of the same test
        other,
        dataclasses.replace(row("d"), conditions={"build": "r60"}),
        dataclasses.replace(row("e", value=30.0), conditions={"build": "r200"}),
        row("f", "bdp", 380.0),
        row("g", "caption", None),
    ]
    return paper, rows, compare(paper, rows, Measured({}))


def test_only_what_is_simulated_counts() -> None:
    _, _, lines = of_kinds()
    assert {line.id: line.kind for line in lines} == {
        "a": "simulated",
        "b": "repeat",
        "c": "simulated",
        "d": "calibrated",
        "e": "simulated",
        "f": "arithmetic",
        "g": "input",
    }
    assert summary(lines) == "1 hold, 2 differ, 0 not testable"
    assert uncounted(lines) == "arithmetic 1 hold; input 1 not judged; calibrated 1 hold; repeat 1 hold"
    assert next(line.note for line in lines if line.id == "e") == "judged as a bound: < 30"
    with pytest.raises(ValueError, match="'bdp' is arithmetic already"):
        of_kinds()[0].kind("input", "bdp")


def test_fitted_paths_have_lines_of_their_own_and_never_count() -> None:
    paper = Paper("t", "c")

    @paper.number("peak")
    def peak(measured: Measured, row: Row) -> float:
        return float(str(measured["flows"]))

    rows = [row("a"), dataclasses.replace(row("b", value=60.0), conditions={"build": "224"}), row("c")]
    paper.fit("fitted/path", in_place_of="flows", known=["a"], held_out=["b"])
    # The results are asked for by their place only, so that numbers can stand for them.
    lines = compare(paper, rows, Measured(cast("Any", {"flows": 70.0, "fitted/path": 40.0})))
    assert [(line.id, line.kind, line.ours, line.verdict) for line in lines] == [
        ("a", "simulated", 70.0, "differs"),
        ("b", "simulated", 70.0, "differs"),
        ("c", "repeat", 70.0, "differs"),
        ("a@fitted/path", "fitted", 40.0, "holds"),
        ("b@fitted/path", "held-out", 40.0, "differs"),
    ]
    assert summary(lines) == "0 hold, 2 differ, 0 not testable"
    assert uncounted(lines) == "repeat 1 differ; fitted 1 hold; held-out 1 differ"
    model = null(paper, rows, lines)
    assert model is not None
    assert model.of == 2
    missing = compare(paper, rows, Measured(cast("Any", {"flows": 70.0})))
    assert [line.verdict for line in missing[3:]] == ["not testable"] * 2
    assert "no results of experiment 'fitted/path'" in missing[3].note
    with pytest.raises(ValueError, match="fitted/other: 'b' cannot be held out: the path was fitted to it"):
        paper.fit("fitted/other", in_place_of="flows", known=["a", "b"], held_out=["b"])


def test_null_models_score_what_chance_does() -> None:
    paper, rows, lines = of_kinds()
    model = null(paper, rows, lines)
    assert model is not None
    # 40 is near one of 40, 60 and "under 30", wherever it stands.
    assert (model.holds, model.of, model.shuffled, model.trivial) == (1, 3, 1.0, None)

    @paper.predicts("the link")
    def link(row: Row) -> float | None:
        return None if row.id == "c" else 20.0

    model = null(paper, rows, lines)
    assert model is not None
    assert model.trivial == 1
    assert (
        model.says == "null model: 1 of 3 hold; shuffled within each table and quantity, 1.0 would; of the trivial prediction, the link, 1"
    )
    # Two lines that would hold of each other's value half of the time.
    pair = [(row("a", value=v), Rule(v), ours) for v, ours in ((10.0, 10.0), (20.0, 20.0))]
    assert null_model(pair, None, "").shuffled == 1.0
    alike = [(row("a", value=v), Rule(v), 10.0) for v in (10.0, 10.5, 11.0)]
    assert null_model(alike, None, "").shuffled == 3.0


@pytest.mark.parametrize("name", ["ansnet", "atm", "drs", "slac", "lambda"])
def test_what_a_paper_says_of_kinds_is_of_something(name: str) -> None:
    folder = locate.paper_folder(name)
    paper, rows = load_paper(folder), load_published(folder)
    ids, quantities = {row.id for row in rows}, {row.quantity for row in rows}
    assert set(paper.kinds) <= ids | quantities | {claim.id for claim in paper.claims}
    assert all(path.known | path.held_out <= ids for path in paper.fitted)
    assert set(paper.bounds) <= ids
    assert set(paper.within) <= quantities
    assert paper.trivial is not None
    for published in rows:
        guess = paper.trivial(published) if paper.kind_of(published) == "simulated" else 0.0
        assert guess is None or math.isfinite(guess), published.id


def one(function: object, given: Row) -> tuple[str, object, str]:
    paper = Paper("t", "c")
    paper.number("peak")(function)  # type: ignore[arg-type]
    (line,) = compare(paper, [given], Measured({}))
    return line.verdict, line.ours, line.note


def test_numbers() -> None:
    assert one(lambda m, r: 41.0, row()) == ("holds", 41.0, "")
    assert one(lambda m, r: Answer(20.0, "queue too small"), row()) == ("differs", 20.0, "queue too small")
    assert one(lambda m, r: Answer(None, "not modelled"), row()) == ("not testable", None, "not modelled")
    assert one(lambda m, r: float("nan"), row())[0] == "not testable"
    assert one(lambda m, r: 41.0, row(value=None)) == ("not testable", 41.0, "the paper gives no value")
    assert one(lambda m, r: m["long"].runs, row())[2] == "no results of experiment 'long'"
    assert one(lambda m, r: 1.0, row(quantity="other"))[2] == "nothing computes other"


def test_conditions_are_text() -> None:
    assert row()["build"] == "60"
    with pytest.raises(KeyError):
        row()["flows"]


def claim(answer: object) -> tuple[str, object]:
    paper = Paper("t", "c")
    paper.claim("c1", where="section 5", says="RED helps", inequality="r200 > 224")(lambda m: answer)  # type: ignore[arg-type,return-value]
    (line,) = compare(paper, [], Measured({}))
    assert line.published == "RED helps: r200 > 224"
    return line.verdict, line.ours


def test_claims() -> None:
    assert claim(Check(41.0, ">", 40.0)) == ("holds", "41 > 40")
    assert claim([Check(41.0, ">", 40.0), Check(1.0, ">=", 2.0)]) == ("differs", "41 > 40; 1 >= 2")
    assert claim(Check(float("nan"), ">", 40.0))[0] == "not testable"
    assert claim([])[0] == "not testable"
    assert claim(Answer(None, "no delay was measured"))[0] == "not testable"


def test_two_of_one_name_are_a_mistake() -> None:
    paper = Paper("t", "c")
    paper.number("peak")(lambda m, r: 1.0)
    with pytest.raises(ValueError, match="two functions"):
        paper.number("peak")(lambda m, r: 1.0)


class Rates(Cells):
    def rate(self, window: str) -> float:
        return float(self.rows("small", window=window)["ttcp_utilization_bps"].iloc[0])


def claims(tmp_path: Path, measured: Measured, *lines: str) -> list[tuple[str, object, str]]:
    path = tmp_path / "claims.csv"
    path.write_text("\n".join(["id,where,says,inequality,why", *lines]))
    paper = Paper("t", "c")
    paper.claims_of(path, Rates)
    return [(line.verdict, line.ours, line.note) for line in compare(paper, [], measured)]


def test_claims_of_a_table(tmp_path: Path, results: Results) -> None:
    holds, differs, missing, untestable = claims(
        tmp_path,
        Measured({"small": results}),
        "a,1,a wider window is faster,rate('16 KiB') > rate('8 KiB'),",
        "b,1,but not fast,rate('16 KiB') > rate('8 KiB') ; max(rate(w) for w in WINDOWS) < mean(range(4)),",
        "c,1,more,rate('1 MiB') > 0,",
        "d,1,by packet filters,,there are none",
    )
    assert holds[0] == "holds"
    assert differs[0] == "differs"
    assert str(differs[1]).endswith(" < 1.5")
    assert missing == ("not testable", None, "no run of small with window 1 MiB")
    assert untestable == ("not testable", None, "there are none")


@pytest.mark.parametrize("inequality", ["1 < 2 < 3", "1 != 1", "rate", "rate('8 KiB' >"])
def test_a_claim_that_is_no_inequality_is_refused(inequality: str, tmp_path: Path, results: Results) -> None:
    with pytest.raises(LongfatError, match=rf"claims\.csv: a: {re.escape(repr(inequality))} is not one inequality"):
        claims(tmp_path, Measured({"small": results}), f"a,1,an order,{inequality},")


def test_cells_are_made_once(results: Results) -> None:
    measured = Measured({"small": results})
    assert Rates.of(measured) is Rates.of(measured)
    assert Rates.of(measured) is not Rates.of(Measured({"small": results}))
    assert Rates.of(measured).table("small") is Rates.of(measured).table("small")


def test_what_is_no_result_says_what_it_is() -> None:
    paper = Paper("t", "c")
    paper.not_results(condition="a condition", caption="a figure")
    lines = compare(paper, [row(quantity="condition"), row("b", quantity="caption")], Measured({}))
    assert [(line.verdict, line.note) for line in lines] == [("not testable", "a condition"), ("not testable", "a figure")]


def test_how_well_a_table_is_met_as_a_whole() -> None:
    ours = {"a": 10.0, "b": 22.0, "c": 29.5, "d": 47.0, "e": 1.0}

    def cell(id: str, value: float | None, uncertainty: float | None, build: str) -> Row:
        return Row(id, "Table 1", "", "peak", {"build": build}, value, "Mbit/s", uncertainty, "")

    rows = [
        cell("a", 11.0, 1.0, "60"),  # at the deviation: within
        cell("b", 20.0, 1.5, "60"),  # within two
        cell("c", 30.0, 1.0, "r60"),
        cell("d", 40.0, 3.0, "r60"),
        cell("e", None, None, "r60"),  # not printed: of no table of cells
        Row("f", "Table 2", "", "peak", {"build": "60"}, 5.0, "", 1.0, ""),
    ]
    paper = Paper("t", "c")
    paper.number("peak")(lambda m, r: ours.get(r.id, 0.0))
    paper.agreements.append(Agreement("Table 1", "peak", by="build"))
    lines = {line.id: line for line in compare(paper, rows, Measured({}))[len(rows) :]}
    assert {line.verdict for line in lines.values()} == {"not judged"}
    found = {id: (round(float(line.ours or 0), 9), line.unit) for id, line in lines.items()}
    assert found == {
        "peak-all-within-1": (2.0, "of 4"),
        "peak-all-within-2": (3.0, "of 4"),
        "peak-all-mean-error": (2.625, "Mbit/s"),
        "peak-all-rank-correlation": (1.0, ""),
        "peak-60-within-1": (1.0, "of 2"),
        "peak-60-within-2": (2.0, "of 2"),
        "peak-60-mean-error": (1.5, "Mbit/s"),
        "peak-60-rank-correlation": (1.0, ""),
        "peak-r60-within-1": (1.0, "of 2"),
        "peak-r60-within-2": (1.0, "of 2"),
        "peak-r60-mean-error": (3.75, "Mbit/s"),
        "peak-r60-rank-correlation": (1.0, ""),
    }
    assert summary([*lines.values()]) == "0 hold, 0 differ, 0 not testable"
    assert not compare(Paper("t", "c", agreements=[Agreement("Table 1", "peak")]), [], Measured({}))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("id,where\na,b\n", r"t\.csv:1: missing column page, quantity"),
        (HEADER + "a,b,7,peak,60,4O,Mbit/s,,\n", r"t\.csv:2: value is '4O', expected a number or nothing"),
        (HEADER + "a,b,7,peak,60,40\n", r"t\.csv:2: not as many cells"),
        (HEADER + "a,b,7,peak,60,40,Mbit/s,,,\n", r"t\.csv:2: not as many cells"),
        (HEADER + "a,b,7,peak,60,40,Mbit/s,,\na,b,7,peak,60,40,Mbit/s,,\n", r"t\.csv:3: the id 'a' is already at .*:2"),
    ],
)
def test_a_table_with_a_mistake_is_refused_with_its_line(lines: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "published").mkdir()
    (tmp_path / "published" / "t.csv").write_text(lines)
    with pytest.raises(LongfatError, match=message):
        load_published(tmp_path)


PAPER = """
from longfat.paper import Check, Paper, Table
from longfat.plot import Axis, Plot, Series
from .helper import UNIT

paper = Paper(title="A </script> paper & <b>more</b>", citation="Nobody 1994")

@paper.number("peak")
def peak(measured, row):
    runs = measured["small"].runs
    return runs[runs["window"] == row["window"]]["ttcp_utilization_bps"].max() / UNIT

@paper.claim("wider-is-faster", where="section 1", says="a wider window is faster", inequality="16 KiB > 8 KiB")
def wider(measured):
    rate = measured["small"].runs.set_index("window")["ttcp_utilization_bps"] / UNIT
    return Check(rate["16 KiB"], ">", rate["8 KiB"], unit="Mbit/s")

@paper.figure(where="Figure 1")
def figure1(measured):
    runs = measured["small"].runs
    lines = [Series("a </script> name", runs["window_bytes"], runs["ttcp_utilization_bps"])]
    return Plot("figure1", "Rate", Axis("window (bytes)"), Axis("rate (bit/s)"), lines)

@paper.figure(where="Figure 2")
def figure2(measured):
    return measured["missing"]

@paper.table(where="section 2")
def table(measured):
    return Table("rates", ["slow"], {"8 KiB": [0.001234], "none": [float("nan")]})

@paper.table(where="section 3")
def no_table(measured):
    return measured["missing"]
"""


@pytest.fixture
def home(tmp_path: Path, swept: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a paper of its own, and results of it."""
    folder = tmp_path / "papers" / "mine"
    (folder / "published").mkdir(parents=True)
    (folder / "small.toml").write_text(SWEEP)
    (folder / "missing.toml").write_text(SWEEP)
    (folder / "paper.py").write_text(PAPER)
    (folder / "helper.py").write_text("UNIT = 1e6\n")
    (folder / "published" / "t.csv").write_text(
        "id,where,page,quantity,window,value,unit,uncertainty,note\n"
        "w8,Table 1,7,peak,8 KiB,1000,Mbit/s,,far off\nw16,Table 1,7,peak,16 KiB,,Mbit/s,,\n"
    )
    shutil.copytree(swept, tmp_path / "results" / "mine" / "small")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_paper_from_its_folder(home: Path) -> None:
    folder = locate.paper_folder("mine")
    lines = compare(load_paper(folder), load_published(folder), load_measured(folder, home / "results"))
    assert [line.verdict for line in lines] == ["differs", "not testable", "holds"]


def test_results_of_experiments_in_folders_are_found_by_their_place(home: Path) -> None:
    folder = locate.paper_folder("mine")
    (folder / "beyond").mkdir()
    (folder / "small.toml").rename(folder / "beyond" / "small.toml")
    (home / "results" / "mine" / "beyond").mkdir()
    (home / "results" / "mine" / "small").rename(home / "results" / "mine" / "beyond" / "small")
    measured = load_measured(folder, home / "results")
    assert list(measured) == ["beyond/small"]
    assert set(measured["beyond/small"].runs["window"]) >= {"8 KiB", "16 KiB"}


@pytest.mark.slow
def test_compare_prints_a_table_and_a_list(home: Path) -> None:
    table = command("compare", "mine", cwd=home, env={"COLUMNS": "160", "PATH": ""})
    assert table.returncode == 0, table.stderr
    assert "numbers: 0 hold, 1 differ, 1 not testable" in table.stdout
    assert "claims: 1 hold" in table.stdout
    lines = json.loads(command("compare", "mine", "--json", cwd=home).stdout)
    assert [set(line) for line in lines] == [{"id", "where", "published", "ours", "unit", "verdict", "note", "kind"}] * 3
    assert lines[0]["published"] == 1000
    assert {line["verdict"] for line in lines} <= {"holds", "differs", "not testable"}


@pytest.mark.slow
def test_compare_shows_what_is_asked_for(home: Path) -> None:
    differs = command("compare", "mine", "--differs", cwd=home)
    assert differs.returncode == 0, differs.stderr
    assert " w8 " in differs.stdout
    assert " w16 " not in differs.stdout
    assert "a wider window is faster" not in differs.stdout
    # How many there are of each is of all.
    assert "numbers: 0 hold, 1 differ, 1 not testable" in differs.stdout
    assert [line["id"] for line in json.loads(command("compare", "mine", "--differs", "--json", cwd=home).stdout)] == ["w8"]
    at = json.loads(command("compare", "mine", "--json", cwd=home).stdout)
    place = at[0]["where"]
    some = command("compare", "mine", "--table", place.removeprefix("Table "), "--json", cwd=home)
    assert [line["id"] for line in json.loads(some.stdout)] == [line["id"] for line in at if line["where"] == place]
    wrong = command("compare", "mine", "--table", "99", cwd=home)
    assert wrong.returncode == 1
    assert f"--table 99: nothing of the paper stands there: choose one of {place}" in wrong.stderr


@pytest.mark.slow
def test_results_of_the_short_form_are_called_so(home: Path) -> None:
    kept = home / "results" / "quick" / "mine" / "small"
    shutil.copytree(home / "results" / "mine" / "small", kept)
    edit(kept / "provenance.json", changes={"quick": "true"})
    at_length, short = command("compare", "mine", cwd=home), command("compare", "mine", "--quick", cwd=home)
    assert "hort form" not in at_length.stdout
    assert short.stdout.startswith("Short form (--quick): what differs here is no result of the paper's experiments")
    assert "Short form" in command("compare", "mine", "--quick", "--json", cwd=home).stderr
    assert command("show", "mine/small", "--quick", cwd=home).stdout.startswith("Short form (--quick).\n")
    missing = command("compare", "mine", "--quick", "--results", "nowhere", cwd=home)
    assert "no results of mine in nowhere/quick: `longfat run mine --quick` makes them" in missing.stderr
    done = command("report", "mine", "--quick", cwd=home)
    page = (home / "reports" / "quick" / "mine" / "report.html").read_text()
    assert done.returncode == 0, done.stderr
    assert "Short form (--quick)" in page
    # A mixture names the experiments that are short.
    shutil.copytree(home / "results" / "mine" / "small", kept.with_name("missing"))
    assert "(1 of 2 experiments: small)" in command("compare", "mine", "--quick", cwd=home).stdout


@pytest.mark.slow
def test_a_figure_without_results_is_named(home: Path) -> None:
    done = command("report", "mine", "--figures", cwd=home)
    assert "not drawn: Figure 2: no results of experiment 'missing'" in done.stderr
    page = (home / "reports" / "mine" / "report.html").read_text()
    assert "<li>Figure 2: no results of experiment &#39;missing&#39;</li>" in page
    assert not (home / "reports" / "mine" / "figures" / "figure2.png").exists()
    assert list((home / "reports" / "mine" / "figures").glob("*.png"))


@pytest.mark.slow
def test_tables_of_ours(home: Path) -> None:
    text = command("compare", "mine", cwd=home).stdout
    assert "section 2: rates" in text
    assert re.search(r"8 KiB +0\.00123", text)
    assert "section 3" not in text
    done = command("report", "mine", cwd=home)
    assert "not drawn: section 3, a table: no results of experiment 'missing'" in done.stderr
    assert '<th class="row">8 KiB</th><td class="n">0.00123</td>' in (home / "reports" / "mine" / "report.html").read_text()


@pytest.mark.slow
def test_strict_is_about_claims(home: Path) -> None:
    # A number differs, which is what a comparison is for; the claim holds.
    assert command("compare", "mine", "--strict", cwd=home).returncode == 0
    paper = home / "papers" / "mine" / "paper.py"
    paper.write_text(PAPER.replace('rate["16 KiB"], ">"', 'rate["16 KiB"], "<"'))
    assert command("compare", "mine", "--strict", cwd=home).returncode == 1


@pytest.mark.slow
def test_compare_without_results_says_how_to_get_them(home: Path) -> None:
    done = command("compare", "mine", "--results", "nowhere", cwd=home)
    assert done.returncode == 1
    assert "no results of mine in nowhere: `longfat run mine` makes them" in done.stderr


def test_names_in_the_working_directory_come_first(home: Path) -> None:
    assert [source.name for source in locate.sources("mine")] == ["mine/missing", "mine/small"]
    assert [source.name for source in locate.sources("mine/small")] == ["mine/small"]
    with pytest.raises(LongfatError, match="did you mean 'mine/small'"):
        locate.sources("mine/smal")


def test_a_folder_that_is_no_paper(tmp_path: Path) -> None:
    with pytest.raises(LongfatError, match=r"has no paper\.py"):
        load_paper(tmp_path)
    (tmp_path / "paper.py").write_text("x = 1\n")
    with pytest.raises(LongfatError, match="expected a module-level"):
        load_paper(tmp_path)


def test_every_published_row_of_our_papers_has_what_computes_it(results: Results) -> None:
    found = locate.papers()
    for name in found:
        folder = locate.paper_folder(name)
        paper, rows = load_paper(folder), load_published(folder)
        assert rows, name
        assert {row.quantity for row in rows} <= set(paper.numbers), name
        ids = [row.id for row in rows] + [claim.id for claim in paper.claims]
        assert len(set(ids)) == len(ids), name
        for source in locate.sources(name):
            from longfat import load

            assert load(source.file).run_count >= 1


def test_a_paper_of_which_runs_are_missing_says_how_much_it_shows(home: Path) -> None:
    folder, kept = locate.paper_folder("mine"), home / "results" / "mine" / "small"
    rows, paper = load_published(folder), load_paper(folder)
    whole = load_measured(folder, home / "results")
    assert not whole.so_far
    results = whole["small"]
    assert whole.made_by == f"results of version {RESULTS_VERSION}"
    older = dataclasses.replace(results, provenance=results.provenance | {"results_version": 3})
    assert Measured({"a": results, "b": older, "c": results}).made_by == f"results of version {RESULTS_VERSION} (version 3: b)"
    some = results.without(list(results.runs["run"][results.runs["window"] == "16 KiB"]))
    facts = {"finished": len(some), "runs": len(results), "under_way": True}
    part = Measured({"small": dataclasses.replace(some, provenance=some.provenance | {"so_far": facts})})
    assert part.so_far == f"small: {len(some)} of the {len(results)} runs of this sweep: it is still running."
    # Lines with results are judged, and lines that need the rest are not.
    assert [line.verdict for line in compare(paper, rows, part)] == ["differs", "not testable", "not testable"]
    assert part.so_far in paper_page(paper, rows, part).html
    # A missing run of a whole sweep is the paper's mistake.
    with pytest.raises(KeyError):
        compare(paper, rows, Measured({"small": some}))

    shutil.rmtree(kept)
    assert 0 < Experiment(SWEEP).sweep_shard(kept, 1, 3, jobs=1) < 3
    shown = command("compare", "mine", cwd=home)
    assert "of the 3 runs of this sweep: it was stopped." in shown.stdout, shown.stderr
    assert "of the 3 runs of this sweep: it was stopped." in command("compare", "mine", "--json", cwd=home).stderr
