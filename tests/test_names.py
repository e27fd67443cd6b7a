"""Names, titles and paths that other people chose: they are shown as they are, obey nobody, and break nothing."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import longfat
import pytest
from conftest import ONE, SWEEP, command
from longfat import Experiment, LongfatError
from longfat.locate import sources
from longfat.plot import Axis, Plot, Rule, Series, save
from longfat.report import tables, terminal
from longfat.results.warning import RunWarning, merged
from longfat.text import clean

ESCAPES = "\x1b[31m\x1b]0;owned\x07\x9b5m\x7f\x00\u202e"


@pytest.mark.parametrize("name", ["...toml", "..toml.toml/../...toml"])
def test_results_stay_in_their_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "..toml.toml").mkdir()
    (tmp_path / "...toml").write_text(ONE)
    with pytest.raises(LongfatError, match="rename it"):
        sources(str(tmp_path / name))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "...toml").write_text(ONE)
    done = command("run", "in", cwd=tmp_path)
    assert done.returncode == 1
    assert "rename it" in done.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["[/red]", "[bold]$\\bad$ü\x1b[31m\n\\", b"\xff\xfe"])
def test_any_path_can_be_run_shown_and_reported(tmp_path: Path, name: str | bytes) -> None:
    place = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + (name if isinstance(name, bytes) else name.encode())))
    place.mkdir(parents=True)
    (place / "one.toml").write_text(ONE.replace('"500 kB"', '"20 kB"').replace('"30 s"', '"1 s"'))
    home = place / "results"
    for words in (["run", place / "one.toml", "--results", home], ["show", home / "one"], ["prune", home / "one", "--gone", "--yes"]):
        done = command(*words)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
        assert "\x1b" not in done.stdout + done.stderr
    done = command("report", home / "one", "--out", place / "reports")
    assert done.returncode == 0, done.stderr


def test_a_terminal_obeys_no_title() -> None:
    assert clean(f"a{ESCAPES}b\tc\nd") == "a[31m]0;owned5mb\tc\nd"
    file = io.StringIO()
    console = terminal.Terminal(file=file, force_terminal=True, width=100, highlight=False)
    title = f"x{ESCAPES}y[/bold]"
    console.print(f"[bold]{terminal.escape(title)}[/]", soft_wrap=True)
    terminal.print_names(console, "names", [title])
    terminal.print_warnings(console, [RunWarning("", title, 1, ("a",))], 2)
    tables.print_results(console, Experiment(SWEEP.replace("Two flows and two windows", "t\\u001b]0;owned\\u0007")).sweep())
    shown = file.getvalue()
    assert "x[31m]0;owned5my[/bold]" in shown
    assert not {"\x07", "\x9b", "\x7f", "\x00", "\u202e"} & set(shown)
    # Rich's own are of one kind.
    assert "\x1b[" in shown
    assert "\x1b]" not in shown


def test_what_a_command_prints_obeys_no_file(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(ONE.replace("Two flows and two windows", "t\\u001b]0;owned\\u0007\\u009b"))
    (tmp_path / "bad.toml").write_text(f'title = "\x9b{ESCAPES[:4]}"\n')
    (tmp_path / "p.pkt").write_text("0 `echo \u009b5m`\n0 nothing\x1b]0;x\x07\n")
    for words in (["run", "t.toml"], ["show", "t"], ["run", "bad.toml"], ["script", "p.pkt"], ["script", "p.pkt", "--json"]):
        done = command(*words, cwd=tmp_path)
        assert "Traceback" not in done.stderr
        assert not {"\x07", "\x9b", "\x1b", "\x7f"} & set(done.stdout + done.stderr), words


@pytest.mark.slow
def test_a_terminal_without_unicode(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(SWEEP.replace("Two flows and two windows", "Zwei Flüsse × zwei – Fenster"))
    plain = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    for words in (["run", "t.toml"], ["report", "t"], ["list"], ["run", "ü.toml"]):
        done = command(*words, cwd=tmp_path, env=plain)
        assert done.returncode == (1 if "ü.toml" in words else 0), done.stderr
        assert "Traceback" not in done.stderr
        assert done.stdout.isascii()
    assert "Zwei Fl?sse ? zwei ? Fenster" in command("show", "t", cwd=tmp_path, env=plain).stdout


@pytest.mark.parametrize("name", ["$\\bad$", "$", "a$b$c", "\\$x$", "_hidden", "{", "%s", "\x1b[31m"])
def test_names_are_no_mathematics(tmp_path: Path, name: str) -> None:
    lines = [Series(name, [0, 1], [0, 1]), Series("other", [0, 1], [1, 0])]
    plot = Plot("it", name, Axis(name), Axis(name), lines, rules=[Rule(x=0.5, label=name), Rule(y=0.5, label=name)])
    _, svg = save(plot, tmp_path)
    shown = clean(name).replace("&", "&amp;").replace("<", "&lt;")
    text = svg.read_text()
    assert text.count(f">{shown}<") + text.count(f"> {shown}<") >= 5


def test_many_warnings_that_differ_in_numbers_are_one(capsys: pytest.CaptureFixture[str]) -> None:
    text = "flow forward {} did not finish: {} of 900 bytes"
    warnings = [RunWarning("", text.format(i, i * 7), 16_000, (run,)) for i, run in enumerate("ab")]
    terminal.print_warnings(terminal.console(), merged([*warnings, RunWarning("unfinished", "another", 1, ("c",))]), 7)
    assert capsys.readouterr().out.splitlines() == [
        "  warning: flow forward 0 did not finish: 0 of 900 bytes, and 15,999 more like it (2 of 7 runs)",
        "  warning: another (unfinished, 1 of 7 runs)",
    ]


def test_no_error_shows_a_line_of_megabytes(tmp_path: Path) -> None:
    long = "x" * 10_000_000
    for text in (f'title = "{long}"\n{long} = 1\n', f"{ONE}\n[more]\n{long} = 1", f'{ONE}\nmore = "{long}"', long):
        with pytest.raises(LongfatError) as error:
            Experiment(text)
        assert len(str(error.value)) < 5000
    for text in (long, f"0 `{long}`", f"0 {long}(1) = 0\n", f"+0 < S 0:0(0) win {long}"):
        (tmp_path / "long.pkt").write_text(text)
        done = command("script", tmp_path / "long.pkt", "--json")
        assert len(done.stdout) + len(done.stderr) < 5000, text[:20]
        assert json.loads(done.stdout)[0]["verdict"] in ("error", "not supported")


def test_longfat_is_all_there_is() -> None:
    for name in longfat.__all__:
        assert getattr(longfat, name) is not None
    assert set(longfat.__all__) <= set(dir(longfat))
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = longfat.no_such_thing  # type: ignore[attr-defined]
