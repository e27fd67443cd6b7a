"""The gallery: pictures of experiments, each with the file that made it.

python docs/site/gallery.py     # runs the experiments of `experiments/` (2 CPU minutes, kept in `results/`) and draws `docs/gallery`
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import longfat
from longfat.plot import default_plots

ROOT = Path(__file__).parent.parent.parent
DRAWN = ROOT / "docs" / "gallery"
VALIDATION = ROOT / "experiments" / "validation"
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
FILES = {
    "response": "response-reno",
    "deviation": "response-reno",
    "response-others": "response-htcp",
    "deviation-others": "response-htcp",
    "random": "response-random",
}
"""Validation's pictures that several files make: one of them. The others go by their picture's name, but for the group of controls."""

FIGURES = (
    ("atm", "figure6", "excess-1000"),
    ("drs", "figure6", "figures-100m"),
    ("lambda", "figure-4", "equation2"),
    ("slac", "figure1", "throughput"),
)
"""Papers, each with a figure of its page and an experiment that it is drawn from."""
ANSWERS = {
    "cable-modem": "Mean round-trip time of the flows by queue",
    "home-router-cake": "Shares of the groups of flows",
}
"""Experiments whose question another figure answers than the first of the report: its title."""

FIRST = ("bbr-beside-cubic", "bufferbloat", "one-in-a-million", "parallel-streams", "router-buffer", "transfer-node")
"""Questions whose pictures the landing page shows."""


@dataclass(frozen=True)
class Entry:
    """A picture, what it shows, the page that tells of it (or none), and the experiment file."""

    picture: Path
    title: str
    page: Path | None
    file: Path

    def figure(self, folder: Path) -> str:
        """The picture, with links as a page in `folder` has them."""
        picture, file, page = (Path(os.path.relpath(path, folder)).as_posix() for path in (self.picture, self.file, self.page or self.file))
        words = f"**{self.title}** from [{self.file.name}]({file})"
        return f"<figure markdown>\n\n[![{self.title}]({picture})]({page})\n\n{words}\n\n</figure>\n\n"


def pages() -> dict[str, str]:
    """The page, by its path."""
    groups = {"Questions": cookbook(), "Experiments that come with longfat": ready(), "Papers": papers(), "Theory": validation()}
    head = "# Gallery\n\nWhat experiments look like. Each picture links to its page; below it is the file that made it."
    parts = [
        f'## {name}\n\n<div class="gallery" markdown>\n\n{"".join(entry.figure(ROOT / "docs") for entry in group)}</div>'
        for name, group in groups.items()
    ]
    return {"docs/gallery.md": "\n\n".join([head, *parts, ""])}


def cookbook() -> Iterator[Entry]:
    """A question, its picture and its answer."""
    for picture in sorted((ROOT / "docs" / "cookbook").glob("*.svg")):
        page = picture.with_suffix(".md")
        title = page.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ")
        yield Entry(picture, title, page, ROOT / "experiments" / "cookbook" / f"{picture.stem}.toml")


def ready() -> Iterator[Entry]:
    """The experiments of `experiments/`."""
    for picture in sorted(DRAWN.glob("*.svg")):
        file = ROOT / "experiments" / f"{picture.stem}.toml"
        yield Entry(picture, tomllib.loads(file.read_text(encoding="utf-8"))["title"], None, file)


def papers() -> Iterator[Entry]:
    """Figures of papers, from our runs."""
    picture = ROOT / "docs" / "images" / "ansnet-figure2.png"
    folder = ROOT / "papers" / "ansnet"
    yield Entry(picture, "High Performance TCP in ANSNET (1994), figure 2", folder / "README.md", folder / "short.toml")
    for paper, figure, file in FIGURES:
        folder = ROOT / "papers" / paper
        head = (folder / "README.md").read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ")
        title = f"{head}, figure {figure.removeprefix('figure').removeprefix('-')}"
        yield Entry(ROOT / "docs" / "papers" / paper / f"{figure}.svg", title, folder / "README.md", folder / f"{file}.toml")


def validation() -> Iterator[Entry]:
    """Controls beside their theory."""
    for page in sorted((ROOT / "docs").glob("validation*.md")):
        for title, target in PICTURE.findall(page.read_text(encoding="utf-8")):
            picture = page.parent / target
            names = (FILES.get(picture.stem, picture.stem), re.sub("-(loss|delay)$", "", picture.stem))
            files = [VALIDATION / f"{name}.toml" for name in names]
            yield Entry(picture, title, page, next(file for file in files if file.exists()))


def draw(kept: Path | None = None) -> None:
    """Draws the first figure of each experiment's report, or what `ANSWERS` names. `kept` has results of each in a folder of its own.

    Without `kept`, it runs the experiments of `experiments/`.
    """
    DRAWN.mkdir(exist_ok=True)
    for file in sorted((ROOT / "experiments").glob("*.toml")):
        results = longfat.load_results(kept / file.stem) if kept else longfat.load(str(file)).sweep(ROOT / "results" / file.stem)
        plots = default_plots(results)
        wanted = ANSWERS.get(file.stem, plots[0].title)
        next(plot for plot in plots if plot.title == wanted).save(DRAWN / f"{file.stem}.svg")


if __name__ == "__main__":
    draw()
