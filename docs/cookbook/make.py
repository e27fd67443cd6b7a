"""Makes the cookbook again: runs its experiments, draws its pictures, writes its pages.

    python docs/cookbook/make.py             # all entries; runs that are there are not run again (results/cookbook)
    python docs/cookbook/make.py NAME...     # these

An entry is `experiments/cookbook/NAME.toml`, the experiment, and `NAME.py`: the question and who asks (its docstring), what comes out (`answer`: sentences with
their numbers, and of each whether it holds), the picture, and where the answer ends (`LIMITS`). `NAME.md` and `NAME.svg` are made from them.
A test runs the short form of each and asks whether every sentence still holds.
"""

from __future__ import annotations

import importlib.util
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import longfat
from longfat.plot import Plot

HERE = Path(__file__).parent
EXPERIMENTS = HERE.parent.parent / "experiments" / "cookbook"
GROUPS = {
    "Fast and far": ("transfer-node", "which-window", "parallel-streams", "one-in-a-million", "pacing", "jumbo-frames", "short-transfers"),
    "Routers and queues": ("router-buffer", "bufferbloat", "ecn", "sawtooth"),
    "Who shares with whom": ("bbr-beside-cubic", "long-and-short", "my-idea"),
    "Other paths": ("satellite",),
}
"""The index; every entry is in one."""


def names() -> list[str]:
    """Names of all entries, in the order of the index."""
    return [name for group in GROUPS.values() for name in group]


def entry(name: str) -> ModuleType:
    """The module of an entry."""
    spec = importlib.util.spec_from_file_location(f"cookbook_{name.replace('-', '_')}", HERE / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def question(module: ModuleType) -> tuple[str, str]:
    """Returns the question, and who asks it."""
    first, _, rest = (module.__doc__ or "").partition("\n\n")
    return first.strip(), " ".join(rest.split())


def sentences(module: ModuleType, results: longfat.Results) -> Iterator[tuple[str, bool]]:
    """The answer, sentence by sentence, and of each whether it holds."""
    for text, holds in module.answer(results):
        yield text, bool(holds)


def wrapped(text: str, indent: str = "") -> str:
    """Text in lines of a page's columns, the second and later ones indented."""
    return textwrap.fill(" ".join(text.split()), 120, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


def page(name: str, results: longfat.Results) -> str:
    """The page of an entry. ValueError where a sentence does not hold."""
    module = entry(name)
    asked, context = question(module)
    said = list(sentences(module, results))
    if wrong := [text for text, holds in said if not holds]:
        raise ValueError(f"{name}: this does not hold: {wrong[0]}")
    picture: Plot = module.picture(results)
    answer = "\n".join(wrapped(f"- {text}", "  ") for text, _ in said)
    file = f"../../experiments/cookbook/{name}.toml"
    run = wrapped(f"`longfat run {name}` makes the {len(results):,} runs of [the experiment]({file}), `--quick` fewer.")
    return (
        f"# {asked}\n\n{wrapped(context)}\n\n![{picture.title}]({name}.svg)\n\n## Answer\n\n{answer}\n\n"
        f"## Where this ends\n\n{wrapped(module.LIMITS)}\n\n{run}\n"
    )


def index() -> str:
    """The page of questions."""
    parts = [
        "# Cookbook\n",
        "Questions as people ask them. Each has one experiment that runs, one picture, and an answer with numbers.\n"
        "`longfat report NAME --figures` draws figures for a paper.\n",
    ]
    for title, some in GROUPS.items():
        parts.append(f"**{title}**\n")
        parts.append("".join(f"- [{question(entry(name))[0]}]({name}.md)\n" for name in some))
    parts.append("For your own path, [advice](../advise.md) asks several of these at once.\n")
    return "\n".join(parts)


def make(name: str, home: Path) -> None:
    """Runs an entry in full, and writes its page and its picture."""
    results = longfat.load(EXPERIMENTS / f"{name}.toml").sweep(home / name)
    (HERE / f"{name}.md").write_text(page(name, results), encoding="utf-8")
    entry(name).picture(results).save(HERE / f"{name}.svg")
    print(f"{name}: {len(results)} runs")


if __name__ == "__main__":
    for asked_for in sys.argv[1:] or names():
        make(asked_for, Path("results/cookbook"))
    (HERE / "index.md").write_text(index(), encoding="utf-8")
