"""Where experiments are found by name, and where their results go.

A name is looked up first from the working directory (`papers/NAME`, `experiments/NAME.toml`, `experiments/NAME`), then among
those that come with longfat: `python/longfat/{papers,experiments}` are links to the folders at the top of the repository,
and a wheel carries their contents.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from longfat.errors import LongfatError

PACKAGE = Path(__file__).parent
HOMES = ("papers", "experiments")


@dataclass(frozen=True)
class Source:
    """An experiment file, and the name its results go by: `ansnet/single-68ms`, or `my-path`."""

    file: Path
    name: str


def roots() -> list[Path]:
    """Folders that may hold `papers/` and `experiments/`, in the order they are looked through."""
    return [Path.cwd(), PACKAGE]


def sources(what: str) -> list[Source]:
    """The experiments that `what` means: a TOML file, a folder of them, or a name. LongfatError where none is."""
    path = Path(what)
    if path.is_file():
        return [_source(path)]
    if path.is_dir():
        return _folder(path)
    for root in roots():
        for home in (root / name for name in HOMES):
            if (home / what).is_dir():
                return _folder(home / what)
            if (home / f"{what}.toml").is_file():
                return [_source(home / f"{what}.toml")]
    raise LongfatError(f"no file, folder, paper or experiment is called {what!r}{_nearest(what, names())}")


def paper_folder(what: str) -> Path:
    """The folder of a paper, or of what is kept as one is, by path or name. LongfatError where there is none."""
    for folder in [Path(what), *(root / home / what for root in roots() for home in HOMES)]:
        if (folder / "paper.py").is_file():
            return folder
    raise LongfatError(f"no paper is called {what!r}{_nearest(what, papers())}")


def papers() -> list[str]:
    """Names of every paper that can be found, and of what is kept as one is: experiments with theory beside them."""
    return _unique(path.parent.name for root in roots() for home in HOMES for path in sorted(root.glob(f"{home}/*/paper.py")))


def experiments() -> list[str]:
    """Names of every experiment that can be found, those of papers and other folders as `FOLDER/NAME`."""
    return _unique(
        _source(path).name
        for root in roots()
        for pattern in ("papers/*/*.toml", "experiments/*/*.toml", "experiments/*.toml")
        for path in sorted(root.glob(pattern))
    )


def names() -> list[str]:
    """Everything `longfat run` takes by name."""
    return papers() + experiments()


def _source(file: Path) -> Source:
    folder = file.resolve().parent
    in_folder = (folder / "paper.py").is_file() or folder.parent.name in HOMES
    return Source(file, f"{folder.name}/{file.stem}" if in_folder else file.stem)


def _folder(folder: Path) -> list[Source]:
    files = sorted(folder.glob("*.toml"))
    if not files:
        raise LongfatError(f"{folder} holds no experiment: expected files that end in .toml")
    return [_source(file) for file in files]


def _unique(found: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(found))


def _nearest(what: str, known: list[str]) -> str:
    near = difflib.get_close_matches(what, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else "; `longfat list` shows what there is"
