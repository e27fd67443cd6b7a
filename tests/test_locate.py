"""Names of experiments, and where their results go."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import longfat
import pytest
from conftest import ONE, SWEEP, command
from longfat import LongfatError, StorageError, locate
from longfat.cli.options import results_of


def names(what: str) -> list[str]:
    return [source.name for source in locate.sources(what)]


def test_results_lie_as_their_experiments_do() -> None:
    assert names("papers/slac/sensitivity/seeds.toml") == ["slac/sensitivity/seeds"]
    assert names("drs/sensitivity/seeds") == ["drs/sensitivity/seeds"]
    assert names("atm/future/many") == ["atm/future/many"]
    assert names("validation/utilization") == ["validation/utilization"]
    assert names("lfn") == ["lfn"]
    assert names("slac-like") == names("live/slac-like") == ["live/slac-like"]
    assert names("bbr-beside-cubic") == names("cookbook/bbr-beside-cubic") == ["cookbook/bbr-beside-cubic"]


def test_no_experiment_that_goes_by_its_own_name_has_that_of_another() -> None:
    for folder in locate.BY_NAME:
        for file in sorted((locate.PACKAGE / folder).glob("*.toml")):
            assert names(file.stem) == [f"{Path(folder).name}/{file.stem}"]


def test_a_paper_anywhere_is_the_home_of_its_experiments(tmp_path: Path) -> None:
    file = tmp_path / "mine" / "beyond" / "far.toml"
    file.parent.mkdir(parents=True)
    file.write_text(ONE)
    assert names(str(file)) == ["far"]
    (tmp_path / "mine" / "paper.py").write_text("")
    assert names(str(file)) == ["mine/beyond/far"]


def test_every_experiment_that_comes_with_longfat_has_a_name_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = [path for home in locate.HOMES for path in (locate.PACKAGE / home).resolve().glob("**/*.toml")]
    found = {locate.sources(name)[0].file.resolve() for name in locate.experiments()}
    assert found == set(files)
    assert len(locate.experiments()) == len(files)


@pytest.mark.parametrize("what", ["slac", "papers/slac", "papers/slac/throughput", "papers/slac/throughput.toml", "experiments/lfn"])
def test_names_work_anywhere(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert names(what)
    assert what.startswith("exp") or (locate.paper_folder("papers/slac") / "paper.py").is_file()


def test_a_folder_without_experiments_says_so(tmp_path: Path) -> None:
    with pytest.raises(LongfatError, match="holds no experiment"):
        names(str(tmp_path))


@pytest.mark.slow
def test_what_the_option_says_comes_before_a_folder_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("one", "kept/one", "results/one"):
        Path(folder).mkdir(parents=True)
        Path(folder, "provenance.json").touch()
    for what, home, expected in (
        ("one", "kept", "kept/one"),
        ("one", "results", "results/one"),
        ("one", "elsewhere", "one"),
        ("./one", "kept", "one"),
        (str(tmp_path / "one"), "kept", str(tmp_path / "one")),
    ):
        assert results_of(what, Path(home)) == Path(expected), (what, home)


@pytest.mark.slow
def test_parts_of_two_files_of_one_name_never_mix(tmp_path: Path) -> None:
    (tmp_path / "common.toml").write_text(SWEEP.replace('"30 s"', '"1 s"'))
    for folder in "ab":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.toml").write_text('base = "common.toml"\n')
        shutil.copy(tmp_path / "common.toml", tmp_path / folder)
    assert command("run", "a/same.toml", "--shard", "1/2", cwd=tmp_path).returncode == 0
    # The experiment is in another folder, but the same word for word.
    assert command("run", "b/same.toml", "--shard", "2/2", cwd=tmp_path).returncode == 0
    (tmp_path / "b" / "common.toml").write_text(SWEEP.replace('"30 s"', '"2 s"'))
    for words in (["run", "a/same.toml", "--shard", "1/2"], ["run", "a/same.toml"], ["gather", "a/same.toml"], ["show", "a/same.toml"]):
        done = command(*words, cwd=tmp_path)
        assert done.returncode == 1, words
        assert "a/same.toml is another experiment of that name" in done.stderr
    assert "3 of 3 runs" not in command("show", "b/same.toml", cwd=tmp_path).stdout


@pytest.mark.slow
def test_two_files_of_one_name_never_replace_each_other_s_results(tmp_path: Path) -> None:
    for folder, duration in (("a", "1 s"), ("b", "2 s")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.toml").write_text(ONE.replace('"30 s"', f'"{duration}"'))
    together = command("run", "a/same.toml", "b/same.toml", cwd=tmp_path)
    assert together.returncode == 1
    assert "would both be called same" in together.stderr
    assert not (tmp_path / "results").exists()
    assert command("run", "a/same.toml", "a/same.toml", cwd=tmp_path).stdout.count("1 run on") == 1
    before = json.loads((tmp_path / "results" / "same" / "provenance.json").read_text())
    second = command("run", "b/same.toml", cwd=tmp_path)
    assert second.returncode == 1
    assert "b/same.toml is another experiment of that name" in second.stderr
    assert json.loads((tmp_path / "results" / "same" / "provenance.json").read_text()) == before
    with pytest.raises(StorageError, match="another experiment of that name"):
        longfat.load(tmp_path / "b" / "same.toml").sweep(tmp_path / "results" / "same")
    # An experiment that has been moved, or is the same word for word, goes on.
    shutil.copy(tmp_path / "a" / "same.toml", tmp_path / "b" / "same.toml")
    assert "finished already" in command("run", "b/same.toml", cwd=tmp_path).stdout
    shutil.move(tmp_path / "b", tmp_path / "c")
    (tmp_path / "c" / "same.toml").write_text(ONE.replace('"30 s"', '"3 s"'))
    assert command("run", "c/same.toml", cwd=tmp_path).returncode == 0


@pytest.mark.slow
def test_several_names_and_their_results_by_name(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / "experiments" / "few").mkdir(parents=True, exist_ok=True)
        (tmp_path / "experiments" / "few" / f"{name}.toml").write_text(ONE.replace('"30 s"', '"1 s"'))
    done = command("run", "few/one", "experiments/few/two", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "results/few/one" in done.stdout
    for what in ("few/two", "experiments/few/two.toml", "results/few/two"):
        assert command("show", what, cwd=tmp_path).stdout.startswith("Two flows and two windows"), what
    several = command("show", "few", "--results", "other", cwd=tmp_path)
    assert "few is 2 experiments: choose one of few/one, few/two" in several.stderr
    none = command("show", "few/one", "--results", "other", cwd=tmp_path)
    assert "no results of few/one in other: `longfat run few/one` makes them" in none.stderr
    assert command("report", "few/two", cwd=tmp_path).returncode == 0


def test_where_there_are_no_results_the_command_that_makes_them_is_one_that_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command for `show mine.toml` was `longfat run mine`, which finds nothing."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(ONE, encoding="utf-8")
    with pytest.raises(LongfatError, match=r"no results of mine in .*: `longfat run mine\.toml` makes them"):
        results_of("mine.toml", tmp_path / "results")
    with pytest.raises(LongfatError, match=r"`longfat run lfn` makes them"):
        results_of("lfn", tmp_path / "results")


def test_an_experiment_in_the_place_of_a_command_says_what_to_write(tmp_path: Path) -> None:
    for what in ("mine.toml", "lfn", tmp_path / "with a space.toml"):
        done = command(what, cwd=tmp_path)
        assert done.returncode == 2
        said = re.sub(r"[\s│]+", " ", done.stderr)
        assert "is an experiment, not a command: write `longfat run" in said
    assert "No such command 'plot'" in command("plot", cwd=tmp_path).stderr


def test_results_of_what_set_changed_are_named(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(ONE)
    assert command("run", "mine.toml", "--set", "measure.duration=2 s", cwd=tmp_path).returncode == 0
    shown = command("show", "mine.toml", cwd=tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "mine, with --set\n  measure.duration = 2 s: longfat show results/mine+measure.duration=2s" in shown.stdout
    assert command("show", "results/mine+measure.duration=2s", cwd=tmp_path).returncode == 0
