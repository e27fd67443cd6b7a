"""`longfat prune`: it lists, it removes what is named and nothing else."""

from __future__ import annotations

from pathlib import Path

import longfat
import pytest
from conftest import ONE, SWEEP, command
from kept import changed, finished, keep
from longfat import Experiment, LongfatError
from longfat._longfat import RESULTS_VERSION
from longfat.cli import prune
from longfat.store import Store
from longfat.sweep.work import timed

OTHER = RESULTS_VERSION + 1
OF_OTHER, GONE, DAMAGED = "a" * 64, "b" * 64, "c" * 64


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Results of SWEEP with a run of everything that `prune` tells apart."""
    folder = tmp_path / "results" / "small"
    Experiment(SWEEP, name="small").sweep(folder)
    runs = finished(folder)
    more = [changed(runs[0], run=OF_OTHER, results_version=OTHER), *(changed(runs[0], run=run) for run in (GONE, DAMAGED))]
    keep(folder, [*runs, *more])
    Store(folder).put_aside(DAMAGED)
    return folder


def names(folder: Path) -> set[str]:
    return {one.run for one in prune.kept(folder)}


def test_it_tells_apart_what_is_there(folder: Path) -> None:
    kinds = [one.kind for one in prune.kept(folder)]
    assert kinds == ["current", "current", "current", "version", "gone", "damaged"]
    assert all(one.size > 1000 for one in prune.kept(folder)[:5])


def test_without_yes_nothing_is_removed(folder: Path) -> None:
    before = names(folder)
    listed = command("prune", folder)
    assert listed.returncode == 0
    for text in ("of the experiment (version", f"of results version {OTHER}", f"--version {OTHER}", "--gone", "--unfinished", "kB"):
        assert text in listed.stdout
    would = command("prune", folder, "--version", OTHER, "--gone")
    assert "This would remove 2 runs" in would.stdout
    assert names(folder) == before


def test_it_removes_what_is_named(folder: Path) -> None:
    before = names(folder)
    for option, run in ((["--version", OTHER], OF_OTHER), (["--gone"], GONE), (["--unfinished"], DAMAGED)):
        assert "Removed 1 run" in command("prune", folder, *option, "--yes").stdout
        assert before - names(folder) == {run}
        before = names(folder)
    assert [one.kind for one in prune.kept(folder)] == ["current"] * 3
    assert len(longfat.load_results(folder)[0].flows) == 2


def test_runs_of_an_experiment_that_changed_are_gone_only_then(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SWEEP)
    folder = tmp_path / "results"
    longfat.load(file).sweep(folder)
    assert {one.kind for one in prune.kept(folder)} == {"current"}
    file.write_text(ONE)
    assert {one.kind for one in prune.kept(folder)} == {"current"}  # the tables still show them
    longfat.load(file).sweep(folder)
    assert sorted(one.kind for one in prune.kept(folder)) == ["current", "gone", "gone"]


def test_runs_that_were_changed_on_the_command_line_are_not_gone(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SWEEP)
    assert command("run", "small.toml", "--set", "seed=7", cwd=tmp_path).returncode == 0
    assert {one.kind for one in prune.kept(tmp_path / "results" / "small+seed=7")} == {"current"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--version", 99], f"no run here is of results version 99: there are {OTHER}"),
        (["--version", RESULTS_VERSION], "is the results version of this longfat"),
        (["--yes"], "--yes removes what is named"),
    ],
)
def test_what_makes_no_sense_is_refused(folder: Path, arguments: list[object], message: str) -> None:
    before = names(folder)
    done = command("prune", folder, *arguments)
    assert done.returncode == 1
    assert message in " ".join(done.stderr.split())
    assert names(folder) == before


def test_results_that_are_shown_are_not_removed(folder: Path) -> None:
    keep(folder, [changed(run, results_version=OTHER) for run in finished(folder)])
    with pytest.raises(LongfatError, match="run the experiment again"):
        prune.chosen(prune.kept(folder), [OTHER], gone=False, unfinished=False)


def test_runs_are_taken_out_of_shards_and_journals(tmp_path: Path) -> None:
    full = Experiment(SWEEP, name="small").sweep(tmp_path)
    Experiment(ONE, name="small").sweep(tmp_path)
    rest = [one for one in prune.kept(tmp_path) if one.kind == "gone"]
    assert len(rest) == 2
    assert all(one.size > 1000 and one.version == RESULTS_VERSION and one.finished for one in rest)
    other = Experiment(ONE.replace('"64 KiB"', '"32 KiB"')).resolve(0)
    with Store(tmp_path).writer() as writer:
        writer.keep(other, "", *timed(other))
    gone = [one for one in prune.kept(tmp_path) if one.kind == "gone"]
    assert len(gone) == 3
    with Store(tmp_path).writer(), pytest.raises(LongfatError, match="another longfat is writing"):
        prune.remove(tmp_path, gone)
    prune.remove(tmp_path, prune.chosen(prune.kept(tmp_path), [], gone=True, unfinished=False))
    assert {one.run for one in prune.kept(tmp_path)} == Store(tmp_path).finished() == set(full.runs["run"][2:])
    assert len(list(tmp_path.glob("shards/*.json"))) == 1
    assert longfat.load_results(tmp_path)[0].flows["bytes_delivered"].sum() > 0


def test_a_folder_without_results(tmp_path: Path) -> None:
    with pytest.raises(LongfatError, match="holds no results"):
        prune.kept(tmp_path)
