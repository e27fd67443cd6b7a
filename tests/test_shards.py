"""Sweeps as shards: the same tables, whatever ran when; array jobs of batch systems, on a real Slurm where there is one."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from random import Random

import longfat
import numpy as np
import pytest
from conftest import SWEEP, command, items_of
from longfat import Experiment, LongfatError, Results, StorageError
from longfat.executors import batch, shards
from longfat.store import TABLES
from longfat.sweep.plan import Item

REPEATED = f"repeats = 4\nseed = 3\n{SWEEP}"


def same(one: Results, other: Results) -> None:
    for name in TABLES:
        assert getattr(one, name).equals(getattr(other, name)), name


@pytest.fixture(scope="module")
def expected() -> Results:
    return Experiment(REPEATED).sweep(jobs=1)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(REPEATED, encoding="utf-8")
    return tmp_path / "small.toml"


def some_items(random: Random, count: int) -> list[Item]:
    return [Item(number, f"{random.getrandbits(256):064x}", random.lognormvariate(0, 2)) for number in range(count)]


def test_each_run_is_in_one_shard_and_shards_are_balanced() -> None:
    random = Random(5)
    items = some_items(random, 1000)
    parts = shards.Cut(1000, 40).split(items_of(items))
    assert sorted(item.number for part in parts for item in part) == list(range(1000))
    costs = [part.cost for part in parts]
    mean, longest = sum(costs) / 40, max(item.cost for item in items)
    assert max(costs) <= mean + longest
    assert min(costs) > 0
    # The order in which an experiment has its runs does not matter.
    random.shuffle(items)
    assert shards.Cut(1000, 40).split(items_of(items)) == parts


def test_more_shards_than_runs() -> None:
    parts = shards.Cut(1, 3).split(items_of([Item(0, "a" * 64, 1.0)]))
    assert sorted(len(part) for part in parts) == [0, 0, 1]


@pytest.mark.parametrize(("runs", "of"), [(1, 1), (7, 3), (60, 20), (60, 7), (61, 60), (59, 60), (100, 1), (1000, 8)])
def test_groups_of_shards_have_each_run_once(runs: int, of: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "TOGETHER", 20)
    cut = shards.Cut(runs, of)
    assert cut.groups == max(1, min(of, runs // 20))
    members = [cut.members(group) for group in range(cut.groups)]
    assert [shard for some in members for shard in some] == list(range(of))
    assert all(cut.group(shard) == group for group, some in enumerate(members) for shard in some)
    numbers = [cut.numbers(group) for group in range(cut.groups)]
    assert sorted(np.concatenate(numbers).tolist()) == list(range(runs))
    for group, some in enumerate(numbers):
        assert some.tolist() == sorted(some.tolist())
        assert (cut.groups_of(some) == group).all()
        # A group has as many runs as its shards, but for what is left over at the end.
        assert abs(len(some) - len(members[group]) * runs / of) <= len(members[group])


def test_shards_of_a_large_sweep_cost_about_the_same() -> None:
    """Each shard has all values of an axis that is as long as there are shards: shards are no pattern of the sweep."""
    runs, of = 400_000, 40
    # The last axis turns fastest; a run costs up to a hundred times another.
    costs = np.geomspace(1, 100, of)[np.arange(runs) % of]
    cut = shards.Cut(runs, of)
    assert cut.groups == 20
    of_groups = np.array([costs[cut.numbers(group)].sum() for group in range(cut.groups)])
    # The deviation of a run is 1.2 times the mean: of means of 20,000, 0.9 % of it.
    assert abs(of_groups / of_groups.mean() - 1).max() < 0.04


def test_a_shard_of_a_large_sweep_does_not_plan_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "TOGETHER", 3)
    experiment = Experiment(REPEATED)
    parts = experiment.plans.shards(6)
    planned = [Experiment(REPEATED).plans.shard(number, 6) for number in range(1, 7)]
    assert [plan.items for plan in planned] == parts
    assert sorted(number for part in parts for number in part.numbers.tolist()) == list(range(12))
    assert all(len(plan.every) < 12 for plan in planned)


def test_groups_of_shards_give_the_tables_of_one_process(tmp_path: Path, expected: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "TOGETHER", 3)
    ran = [Experiment(REPEATED).sweep_shard(tmp_path, number, 5, jobs=1) for number in (2, 5, 1, 4, 3)]
    assert sum(ran) == 12
    assert longfat.load_results(tmp_path).provenance["runs"] == 12
    same(Experiment(REPEATED).gather(tmp_path), expected)


@pytest.mark.parametrize("text", ["1/1000001", "1/" + "9" * 400, "3", "0/4", "5/4", "3/", "/4", "a/4", "-1/4", "1/0", "1.5/4"])
def test_what_is_no_shard(text: str) -> None:
    with pytest.raises(LongfatError, match=r"expected a number and of how many, such as 3/40"):
        shards.read(text)


def test_forty_shards_give_the_tables_of_one_process(tmp_path: Path, expected: Results) -> None:
    order = list(range(1, 41))
    Random(1).shuffle(order)
    ran = sum(Experiment(REPEATED).sweep_shard(tmp_path, number, 40, jobs=1) for number in order)
    assert ran == 12
    assert longfat.load_results(tmp_path).so_far
    same(Experiment(REPEATED).gather(tmp_path), expected)
    same(longfat.load_results(tmp_path), expected)
    assert not longfat.load_results(tmp_path).so_far


def test_gather_says_what_is_missing(file: Path, tmp_path: Path) -> None:
    ran = command("run", file, "--shard", "2/3", cwd=tmp_path)
    assert ran.returncode == 0
    assert "4 runs on" in ran.stdout
    assert ", of 12 in 3 shards" in ran.stdout
    assert f"longfat gather {file} --shards 3" in ran.stdout
    said = command("gather", file, "--shards", "3", cwd=tmp_path)
    assert said.returncode == 1
    assert re.search(r"8 of 12 runs are missing in results/small:\n  window = \d+ KiB, repeat \d, run [0-9a-f]{12}\n", said.stderr)
    assert "and 3 more" in said.stderr
    assert f"longfat run {file} --shard N/3  for N in 1,3" in said.stderr
    assert "4 of the 12 runs of this sweep" in command("show", "results/small", cwd=tmp_path).stdout
    with pytest.raises(StorageError, match="8 of the 12 runs are missing"):
        longfat.load(file).gather(tmp_path / "results" / "small")
    assert command("run", file, "--shard", "1/3", cwd=tmp_path).returncode == 0
    said = command("gather", file, "--shards", "3", cwd=tmp_path)
    assert f"or again this shard:\n  longfat run {file} --shard 3/3\n" in said.stderr
    assert command("run", file, "--shard", "3/3", cwd=tmp_path).returncode == 0
    assert "All 12 runs of this sweep are finished" in command("show", "results/small", cwd=tmp_path).stdout


@pytest.mark.slow
def test_two_shards_on_one_store_at_once(file: Path, tmp_path: Path, expected: Results) -> None:
    # The second and third do the same runs at the same time.
    call = [sys.executable, "-m", "longfat", "run", str(file), "--shard"]
    running = [subprocess.Popen([*call, part], cwd=tmp_path, stdout=subprocess.DEVNULL) for part in ("1/2", "2/2", "2/2")]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    done = command("gather", file, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "12 runs in results/small" in done.stdout
    same(longfat.load_results(tmp_path / "results" / "small"), expected)
    assert not list((tmp_path / "results").rglob(".unfinished-*"))


@pytest.mark.slow
def test_a_shard_and_an_executor_are_not_asked_for_at_once(file: Path) -> None:
    done = command("run", file, "--shard", "1/2", "--executor", "processes")
    assert done.returncode == 1
    assert "choose one" in done.stderr


def job(**other: object) -> batch.Job:
    arguments = ["run", "my file.toml", "--set", 'flow[0].window="4 KiB"', "--set", "title=it's", "--yes"]
    facts = {
        "name": "slac/A b",
        "arguments": arguments,
        "tasks": 3,
        "longest_s": 600.0,
        "cores": 2,
        "folder": Path("/a b"),
        "image": "",
        "claim": "",
    }
    return batch.Job(**{**facts, **other})  # type: ignore[arg-type]


def slurm_words(script: str) -> list[str]:
    """Words of the command as bash splits them, and the folder that it is in."""
    told = script.replace(f"exec {shlex.quote(sys.executable)}", 'printf "%s\\0" "$PWD"')
    said = subprocess.run(["bash", "-c", told], env={"SLURM_ARRAY_TASK_ID": "2"}, capture_output=True, text=True, check=True).stdout
    return said.split("\0")[:-1]


def test_a_slurm_script_hands_on_every_word(tmp_path: Path) -> None:
    script = batch.slurm(job(folder=tmp_path))
    assert "#SBATCH --array=1-3\n" in script
    assert "#SBATCH --cpus-per-task=2\n" in script
    assert "#SBATCH --time=40\n" in script
    assert slurm_words(script) == [str(tmp_path), "-m", "longfat", *job().arguments, "--jobs", "2", "--shard", "2/3"]


def condor_words(value: str) -> list[str]:
    """Splits words as condor_submit does: "" is ", words are apart by spaces, '...' keeps them together, '' in it is '."""
    words = re.findall(r"(?:'(?:[^']|'')*'|[^\s'])+", value.replace('""', '"'))
    return [word[1:-1].replace("''", "'") if word.startswith("'") else word for word in words]


def test_an_htcondor_description_hands_on_every_word() -> None:
    description = batch.htcondor(job())
    assert "queue shard in (1 2 3)\n" in description
    assert "request_cpus = 2\n" in description
    line = re.search(r'^arguments = "(.*)"$', description, re.MULTILINE)
    assert line
    assert condor_words(line[1]) == ["-m", "longfat", *job().arguments, "--jobs", "2", "--shard", "$(shard)/3"]


def test_a_kubernetes_job_hands_on_every_word() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with longfat[dask]")
    made = yaml.safe_load(batch.kubernetes(job(image="registry/longfat:1", claim="data")))
    spec = made["spec"]
    assert made["metadata"]["name"] == "slac-a-b"
    assert (spec["completions"], spec["completionMode"]) == (3, "Indexed")
    container = spec["template"]["spec"]["containers"][0]
    assert container["image"] == "registry/longfat:1"
    shell = container["command"][2].replace("$$", "$").replace("exec longfat", "printf '%s\\n'")
    said = subprocess.run(["sh", "-c", shell], env={"JOB_COMPLETION_INDEX": "0"}, capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == [*job().arguments, "--jobs", "2", "--shard", "1/3"]


def test_kubernetes_own_schema_takes_the_job() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with longfat[dask]")
    validate = pytest.importorskip("kubernetes_validate", reason="needs the schemas of Kubernetes: pip install kubernetes-validate")
    made = yaml.safe_load(batch.kubernetes(job(image="registry/longfat:1", claim="data")))
    version = validate.latest_version()
    validate.validate(made, version, strict=True)
    with pytest.raises(validate.ValidationError):
        validate.validate(made | {"spec": made["spec"] | {"completionMod": "Indexed"}}, version, strict=True)


def test_htcondors_own_parser_takes_the_description() -> None:
    htcondor = pytest.importorskip("htcondor2", reason="needs HTCondor's own parser: pip install htcondor")
    read = htcondor.Submit(batch.htcondor(job()))
    assert [dict(one) for one in read.itemdata()] == [{"shard": "1"}, {"shard": "2"}, {"shard": "3"}]
    assert (read["universe"], read["request_cpus"], read["initialdir"]) == ("vanilla", "2", "/a b/")
    assert read["executable"] == sys.executable
    assert {"arguments", "log", "output", "error", "should_transfer_files"} <= set(read.keys())


HOSTILE = [
    *("$(touch owned)", "`touch owned`", "$HOME", "$(shard)", "$ENV(HOME)", "$((1))", "a;touch owned", "a|b", "a&b", "a>b", "#SBATCH x"),
    *("it's", '"', "''", '""', "'\"'", "a\\", "\\", "a  b", " a", "a ", "", "*", "~", "{a,b}", "!!", "--", "-x", "%j", "%%", "{{x}}"),
    *(": - [", "# no", "&a", "*a", "!tag", "| x", "é", "\U0001f600", "\u00a0"),
]
"""Words that a shell, a batch system or YAML would take for more than words."""


@pytest.mark.parametrize("word", HOSTILE)
def test_no_batch_system_obeys_a_word(tmp_path: Path, word: str) -> None:
    folder = tmp_path / word.replace("/", "-")
    folder.mkdir(exist_ok=True)
    made = job(name=word, arguments=["run", word, f"x{word}y"], folder=folder, image=f"i{word}", claim=f"c{word}")
    rest = ["run", word, f"x{word}y", "--jobs", "2", "--shard"]
    assert slurm_words(batch.slurm(made)) == [str(folder), "-m", "longfat", *rest, "2/3"]
    # Not a line is there that a plain word would not leave.
    for write in batch.WRITERS.values():
        plain = write(job(arguments=["run", "a", "b"], image="i", claim="c")).splitlines()
        assert [line.split()[:1] for line in write(made).splitlines()] == [line.split()[:1] for line in plain]


@pytest.mark.parametrize("word", HOSTILE)
def test_kubernetes_obeys_no_word(word: str) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with longfat[dask]")
    made = yaml.safe_load(batch.kubernetes(job(name=word, arguments=["run", word], image=f"i{word}", claim=f"c{word}")))
    pod = made["spec"]["template"]["spec"]
    assert pod["volumes"][0]["persistentVolumeClaim"] == {"claimName": f"c{word}"}
    assert pod["containers"][0]["image"] == f"i{word}"
    # Kubernetes reads the command so: `$(NAME)` is a variable of the container, `$$` a `$`.
    line = re.sub(r"\$\$|\$\(([^)]*)\)", lambda found: "$" if found[0] == "$$" else "owned", pod["containers"][0]["command"][2])
    line = line.replace("exec longfat", "printf '%s\\0'")
    said = subprocess.run(["sh", "-c", line], env={"JOB_COMPLETION_INDEX": "0"}, capture_output=True, text=True, check=True).stdout
    assert said.split("\0")[:-1] == ["run", word, "--jobs", "2", "--shard", "1/3"]


@pytest.mark.parametrize("word", HOSTILE)
def test_htcondor_obeys_no_word(word: str) -> None:
    made = batch.htcondor(job(name=word, arguments=["run", word], folder=Path("/a") / word))
    htcondor = pytest.importorskip("htcondor2", reason="needs HTCondor's own parser: pip install htcondor")
    read = htcondor.Submit(made)
    assert read.expand("initialdir") == str(Path("/a") / word) + "/"
    expected = ["-m", "longfat", "run", word, "--jobs", "2", "--shard", "/3"]
    assert condor_words(read.expand("arguments")[1:-1]) == expected


@pytest.mark.parametrize("where", ["name", "arguments", "folder", "image", "claim"])
@pytest.mark.parametrize("character", ["\n", "\r", "\t", "\0", "\x1b", "\x85", "\u2028", "\u202e", "\udcff"])
def test_no_job_has_control_characters(where: str, character: str) -> None:
    word = f"a{character}touch owned"
    with pytest.raises(LongfatError, match="rename it"):
        job(**{where: {"arguments": ["run", word], "folder": Path(word)}.get(where, word)})


def test_two_dollars_are_refused_for_htcondor() -> None:
    with pytest.raises(LongfatError, match="HTCondor cannot quote"):
        batch.htcondor(job(arguments=["run", "$$(x)"]))


@pytest.mark.slow
def test_submit_takes_no_file_whose_name_has_two_lines(tmp_path: Path) -> None:
    (tmp_path / "a\ntouch owned #.toml").write_text(SWEEP)
    for words in (["submit", "--slurm"], ["run"]):
        done = command(*words, "a\ntouch owned #.toml", cwd=tmp_path)
        assert done.returncode == 1
        assert done.stderr == "error: the name 'a\\ntouch owned #' has control characters: rename it\n"
    assert [path.name for path in tmp_path.iterdir()] == ["a\ntouch owned #.toml"]


@pytest.mark.slow
def test_submit_says_what_it_made_and_overwrites_nothing(file: Path, tmp_path: Path) -> None:
    done = command("submit", file, "--slurm", "--tasks", "4", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"small.slurm: 12 runs in 4 tasks of 1 core, about \S+ \w+ each\n", done.stdout)
    assert "sbatch small.slurm" in done.stdout
    assert f"longfat gather {file} --shards 4" in done.stdout
    again = command("submit", file, "--slurm", cwd=tmp_path)
    assert again.returncode == 1
    assert "small.slurm is there already" in again.stderr
    none = command("submit", file, cwd=tmp_path)
    assert "one of --slurm, --htcondor, --kubernetes" in none.stderr
    bare = command("submit", file, "--kubernetes", cwd=tmp_path)
    assert "--kubernetes needs --image" in bare.stderr
