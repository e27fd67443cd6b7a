"""The command line, as a user meets it."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import shlex
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import longfat
import longfat.cli
import pytest
import typer
from conftest import LONG_SWEEP, ONE, SWEEP, command
from longfat._longfat import COMMIT
from longfat.cli.app import EXAMPLES, FIRST, VERBS
from longfat.store import Store

pytestmark = pytest.mark.slow


def test_run_then_run_again_then_show(sweep_file: Path, tmp_path: Path) -> None:
    first = command("run", sweep_file, "--results", tmp_path / "r")
    assert first.returncode == 0, first.stderr
    assert "3 runs on" in first.stdout
    assert str(tmp_path / "r" / "small") in first.stdout
    second = command("run", sweep_file, "--results", tmp_path / "r")
    assert "all 3 runs are finished already" in second.stdout
    shown = command("show", tmp_path / "r" / "small", env={"COLUMNS": "500", "PATH": ""})
    assert "64 KiB" in shown.stdout
    assert "ttcp utilization (Mbit/s)" in shown.stdout


def test_set_changes_the_experiment(sweep_file: Path, tmp_path: Path) -> None:
    done = command("run", sweep_file, "--results", tmp_path, "--set", "flow[0].window=4 KiB")
    assert done.returncode == 0, done.stderr
    assert "1 run on" in done.stdout
    facts = json.loads((tmp_path / "small+flow0.window=4KiB" / "provenance.json").read_text())
    assert facts["changes"] == {"flow[0].window": "4 KiB"}
    assert not (tmp_path / "small").exists()
    # Another change leaves it where it is.
    assert command("run", sweep_file, "--results", tmp_path, "--set", "flow[0].window=4 KiB", "--set", "seed=9").returncode == 0
    assert {path.name for path in tmp_path.iterdir()} >= {"small+flow0.window=4KiB", "small+flow0.window=4KiB+seed=9"}
    shown = command("show", "small+flow0.window=4KiB", "--results", tmp_path)
    assert shown.returncode == 0, shown.stderr


def test_what_set_made_stands_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(ONE)
    for change in ("flow.window=4 KiB", "flow.window=8 KiB", "flow.congestion_control=cubic"):
        assert command("run", "small.toml", "--set", change, cwd=tmp_path).returncode == 0
    alone = command("show", "small.toml", cwd=tmp_path, env={"COLUMNS": "120", "PATH": ""})
    assert alone.returncode == 0, alone.stderr
    # The window of the file stands where nothing changed it.
    changed = {"– 4 KiB", "– 8 KiB", "cubic 64 KiB"}
    assert {" ".join(line.split()[:3]) for line in alone.stdout.splitlines() if "KiB" in line} == changed
    assert command("run", "small.toml", cwd=tmp_path).returncode == 0
    beside = command("show", "small.toml", cwd=tmp_path, env={"COLUMNS": "120", "PATH": ""}).stdout.partition("The same file with --set")[2]
    assert {" ".join(line.split()[:3]) for line in beside.splitlines() if "KiB" in line} == {*changed, "– 64 KiB"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "no-such.toml"], "there is no file 'no-such.toml'"),
        (["run", "no-such-thing"], "no file, folder, paper or experiment is called 'no-such-thing'"),
        (["run", "FILE", "--set", "flow[0].window"], "expected KEY=VALUE"),
        (["run", "FILE", "--set", "flow[0].windw=1 KiB"], "did you mean `window`?"),
        (["run", "FILE", "--max-runs", "2"], "a sweep of 3 runs, about "),
        (["compare", "no-such-paper"], "no paper is called 'no-such-paper'"),
        (["list", "qeueus"], "nothing to list is called 'qeueus'"),
        (["show", "."], "holds no results"),
        (["report", "no-such-paper"], "no paper is called"),
    ],
)
def test_a_mistake_is_one_message_and_exit_code_1(arguments: list[str], message: str, sweep_file: Path, tmp_path: Path) -> None:
    done = command(*[sweep_file if a == "FILE" else a for a in arguments], cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert message in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    "text",
    [
        "not toml at all {",
        "",
        SWEEP.replace("20 ms", "20 parsecs"),
        SWEEP.replace('"20 packets"', '"0 packets"'),
        SWEEP.replace('"8 KiB"', '"0 KiB"'),
        SWEEP.replace('"dumbbell"', '"dumbell"'),
    ],
)
def test_a_bad_file_is_one_message_with_its_place(text: str, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(text)
    done = command("run", "bad.toml", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "bad.toml:" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "results").exists()


def test_a_sweep_without_end_is_refused_at_once_with_its_size(tmp_path: Path) -> None:
    values = ", ".join(f'"{n} KiB"' for n in range(8, 1008))
    (tmp_path / "huge.toml").write_text(SWEEP.replace('"8 KiB", "16 KiB", "64 KiB"', values).replace("title", "repeats = 1_000_000\ntitle"))
    start = time.monotonic()
    done = command("run", "huge.toml", cwd=tmp_path)
    assert time.monotonic() - start < 20
    assert done.returncode == 1
    assert "a sweep of 1,000,000,000 runs, about " in done.stderr
    assert "days" in done.stderr
    assert not (tmp_path / "results").exists()


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(tmp_path: Path) -> None:
    # The third run takes minutes; the first two are over at once.
    text = LONG_SWEEP.replace('{ sweep = ["8 KiB", "16 KiB", "64 KiB"] }', '{ sweep = ["8 KiB", "16 KiB", "64 KiB"], zip = "z" }').replace(
        '"50 TB"', '{ sweep = ["50 kB", "60 kB", "50 TB"], zip = "z" }'
    )
    (tmp_path / "long.toml").write_text(text)
    call = [sys.executable, "-m", "longfat", "run", "long.toml", "--jobs", "2"]
    # A process that a shell starts in the background ignores SIGINT, and so would all that it starts.
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(call, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed)
    folder = tmp_path / "results" / "long"
    deadline = time.monotonic() + 60
    while len(Store(folder).finished()) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert time.monotonic() - start < 10
    assert process.returncode == 130
    assert "2 of 3 runs are finished and kept in results/long" in errors
    assert "longfat run long.toml --jobs 2" in errors
    assert "Traceback" not in errors
    assert len(Store(folder).finished()) == 2


def test_list_names_everything() -> None:
    done = command("list")
    assert done.returncode == 0
    words = " ".join(done.stdout.split())
    for word in ("papers", "experiments", "droptail", "bsd-reno-1994", "ds3", "ttcp_utilization_bps"):
        assert word in done.stdout
    for kind, entries in longfat.registries().items():
        assert f"\n{kind}\n" in done.stdout
        for entry in entries:
            assert f"\n  {entry['name']} " in done.stdout
            assert entry["source"], entry["name"]
            assert " ".join(entry["source"].split()) in words
    for name in ("slac/sensitivity/seeds", "atm/future/many", "drs/beyond/server", "sinusoid", "hystart++", "txqueuelen", "dumbbell"):
        assert f"\n  {name}" in done.stdout
    assert "mean rate of IP packets" in " ".join(command("list", "traffic").stdout.split())
    one = command("list", "reno")
    assert "RFC 5681; Jacobson" in " ".join(one.stdout.split())
    assert "cubic" not in one.stdout
    detailed = command("list", "queues")
    assert "default" in detailed.stdout
    assert "ACM CCR 24(5), 1994, section 4.2 and Table 1" in " ".join(detailed.stdout.split())


NAMES = [name for verbs in VERBS.values() for name in verbs]


def in_files(pattern: str, *globs: str) -> bool:
    """Returns true if a file of the repository has the pattern. The generated page of all commands does not count."""
    root = Path(__file__).parents[1]
    files = [path for glob in globs for path in root.glob(glob) if path.name != "commands.md"]
    return any(re.search(pattern, path.read_text(encoding="utf-8")) for path in files)


def test_every_verb_has_a_page_and_a_test() -> None:
    missing = [f"no page in docs/ shows `longfat {name}`" for name in NAMES if not in_files(rf"\blongfat {name}\b", "docs/**/*.md")]
    calls = r'"(longfat )?{0}["\s]|longfat\.cli\.{0} import'
    missing += [f"no test in tests/ calls `longfat {name}`" for name in NAMES if not in_files(calls.format(name), "tests/*.py")]
    assert not missing, "\n".join(missing)


def test_every_verb_is_in_the_list() -> None:
    missing: list[str] = []
    for found in pkgutil.iter_modules(longfat.cli.__path__):
        if found.name == "app":
            continue
        module = importlib.import_module(f"longfat.cli.{found.name}")
        own = {name: member for name, member in vars(module).items() if getattr(member, "__module__", "") == module.__name__}
        # The verbs of an app of its own, such as `testbed`, are below its name.
        verbs = [name.removesuffix("_command") for name in own if name.endswith("_command")]
        below = [found.name] if any(isinstance(member, typer.Typer) for member in vars(module).values()) else verbs
        missing += [f"VERBS in longfat/cli/app.py has no line for {name} of {module.__name__}" for name in below if name not in NAMES]
    assert not missing, "\n".join(missing)


def test_longfat_alone_says_what_to_try() -> None:
    done = command()
    assert done.returncode == 0
    assert [line.split("longfat ")[1].split()[0] for line in done.stdout.splitlines() if line.startswith("  I have")] == [
        "advise",
        "fit",
        "trace",
        "run",
    ]
    for _, line in FIRST:
        words = shlex.split(line)[1:]
        assert words[0] in NAMES
        offered = command(words[0], "--help", env={"COLUMNS": "200", "PATH": ""}).stdout
        assert all(word in offered for word in words if word.startswith("--"))


@pytest.mark.parametrize("name", NAMES)
def test_help_reads_well_in_80_columns(name: str) -> None:
    shown = command(name, "--help", env={"COLUMNS": "80", "PATH": ""}).stdout
    assert f"Example: {EXAMPLES[name]}" in " ".join(shown.split())
    assert "<bool>" not in shown
    assert "list[" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    offered = command(
        name,
        *EXAMPLES[name].split()[2:3] if name in ("cc", "evaluate", "key", "testbed") else [],
        "--help",
        env={"COLUMNS": "200", "PATH": ""},
    ).stdout
    assert all(word in offered for word in shlex.split(EXAMPLES[name]) if word.startswith("--"))


def test_schema_is_json() -> None:
    assert json.loads(command("schema").stdout)["$schema"].startswith("https://json-schema.org/")


def test_the_version() -> None:
    version, _, commit = command("--version").stdout.strip().partition(" ")
    assert version == longfat.__version__
    assert commit == (f"(commit {COMMIT})" if COMMIT else "")


def test_who_cites_is_told_the_version_and_how_to_state_what_was_run() -> None:
    lines = (Path(__file__).parents[1] / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    assert f"version: {longfat.__version__}" in lines
    message = " ".join(line.strip() for line in lines[lines.index("message: >-") + 1 :][:2])
    assert all(word in message for word in ("version", "commit", "longfat --version", "digest"))
