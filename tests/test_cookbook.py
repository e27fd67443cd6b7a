"""The cookbook is true: each entry runs in its short form, and each sentence of its answer holds there; its pages are what it makes."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from types import ModuleType

import longfat
import pytest

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "cookbook"
EXPERIMENTS = ROOT / "experiments" / "cookbook"
MOST_WORDS = 30


def _make() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cookbook_make", FOLDER / "make.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make = _make()
NAMES: list[str] = make.names()
# Numbers, with what they are of: those of the short form are others.
NUMBER = re.compile(r"[\d.,]+(?: ± [\d.,]+)?( ?(?:[GMk]?bit/s|ms|s|%|KiB|MiB|GiB)\b)?")


def test_there_are_enough_and_all_are_in_the_index() -> None:
    there = {path.stem for path in EXPERIMENTS.glob("*.toml")}
    assert there == set(NAMES) == {path.stem for path in FOLDER.glob("*.py")} - {"make"}
    assert len(NAMES) == len(there) >= 12
    assert (FOLDER / "index.md").read_text(encoding="utf-8") == make.index()
    assert {path.stem for path in FOLDER.glob("*.md")} == there | {"index"}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_sentence_of_an_answer_holds_in_the_short_form(name: str) -> None:
    experiment = longfat.load(EXPERIMENTS / f"{name}.toml")
    experiment.quicken()
    results = experiment.sweep()
    module = make.entry(name)
    said = list(make.sentences(module, results))
    assert len(said) >= 3
    for text, holds in said:
        assert holds, text
    plot = module.picture(results)
    assert plot.title
    assert plot.series
    # The page has these sentences, with the numbers of the long form.
    written = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    unwrapped = written.replace("\n  ", " ")
    answer = re.findall(r"^- (.*)$", unwrapped.partition("## Answer")[2].partition("## ")[0], flags=re.MULTILINE)
    assert [NUMBER.sub("#", text) for text in answer] == [NUMBER.sub("#", text) for text, _ in said]
    # And the rest as it would be made now; of how many runs, only the long form knows.
    made = make.page(name, results)
    assert _without_answer(written) == _without_answer(made)
    svg = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert plot.title in re.sub(r"<!--|-->", "", svg)


def _without_answer(text: str) -> str:
    head, _, rest = text.partition("## Answer")
    return re.sub(r"(\d[\d,]* runs|one run)", "# runs", " ".join((head + rest.partition("## ")[2]).split()))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_random_has_repeats_and_an_interval(name: str) -> None:
    experiment = longfat.load(EXPERIMENTS / f"{name}.toml")
    repeats = {run.repeat for run in experiment.resolve_all()}
    again = longfat.load(EXPERIMENTS / f"{name}.toml")
    again["repeats"] = 2
    is_random = any("repeats_alike" not in {given["name"] for given in run.warnings} for run in again.resolve_all())
    assert len(repeats) >= 5 if is_random else len(repeats) == 1
    written = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert not is_random or "±" in written or "five seeds" in written or "five repeats" in written


# Two pages that state one path state one number: sentences with the mean and half of its interval, in Gbit/s.
ONE_PATH = {
    ("parallel-streams", "one-in-a-million"): (
        r"With one packet in 100,000 lost, one stream gets ([\d.]+)(?: ± ([\d.]+))? Gbit/s",
        r"At one in 100,000 CUBIC has ([\d.]+)(?: ± ([\d.]+))? Gbit/s",
    ),
}


def _settings(name: str) -> Iterator[tuple[str, str]]:
    """Yields for each setting of an entry: its path without the queue and its flows, and all that decides the outcome but the seed."""
    for run in longfat.load(EXPERIMENTS / f"{name}.toml").resolve_all():
        whole = json.loads(run.resolved)
        path = [
            {key: link[key] for key in link if key not in ("queue", "name")} for link in whole["path"]["link"] if link.get("bottleneck")
        ]
        yield (
            json.dumps([path, whole["flow"]], sort_keys=True),
            json.dumps({key: whole[key] for key in whole if key not in ("seed", "title", "description")}, sort_keys=True),
        )


def test_pages_that_state_one_path_agree() -> None:
    settings = {name: dict(_settings(name)) for name in NAMES}
    found: set[tuple[str, str]] = set()
    for one, other in combinations(NAMES, 2):
        for path in settings[one].keys() & settings[other].keys():
            assert settings[one][path] == settings[other][path], f"{one} and {other} have a path in common, and measure it in two ways"
            found.add((one, other))
    assert found == set(ONE_PATH)
    for pages, sentences in ONE_PATH.items():
        spans: list[tuple[float, float]] = []
        for page, sentence in zip(pages, sentences, strict=True):
            said = re.search(sentence, (FOLDER / f"{page}.md").read_text(encoding="utf-8").replace("\n  ", " "))
            assert said, page
            mean, half = float(said[1]), float(said[2] or 0) + 0.005 * float(said[1])
            spans.append((mean - half, mean + half))
        assert max(low for low, _ in spans) <= min(high for _, high in spans), pages


def test_an_answer_can_be_wrong() -> None:
    # The sentences are checked on runs in which the answer is another: without loss, BBR is not better than CUBIC.
    experiment = longfat.load(EXPERIMENTS / "satellite.toml")
    none = {"none": {"kind": "none"}, "1e-4": {"kind": "none"}}
    experiment["measure.warmup"] = "4 s"
    experiment["measure.duration"] = "10 s"
    experiment["path.rtt"] = "20 ms"
    experiment.vary("path.bottleneck.loss", none, name="loss")
    results = experiment.sweep()
    holds = [held for _, held in make.sentences(make.entry("satellite"), results)]
    assert not all(holds)
    with pytest.raises(ValueError, match="does not hold"):
        make.page("satellite", results)


@pytest.mark.parametrize("page", [*NAMES, "index"])
def test_sentences_are_short(page: str) -> None:
    text = (FOLDER / f"{page}.md").read_text(encoding="utf-8")
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "code", text)
    for paragraph in re.split(r"\n\n|\n- |\n# |\n## |^# ", text):
        for sentence in re.split(r"(?<=[.?!:])\s", paragraph):
            assert len(sentence.split()) <= MOST_WORDS, sentence
