"""Finds experiments by name, and the folders of their results.

A name is looked up first from the working directory (`papers/NAME`, `experiments/NAME.toml`, `experiments/NAME`,
`experiments/cookbook/NAME.toml`, `experiments/live/NAME.toml`), then among those that come with longfat:
`python/longfat/{papers,experiments}` are links to the folders at the top of the repository, and a wheel carries their contents.
`papers/NAME` and `papers/NAME/STEM.toml` are names, too, wherever longfat is called.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from longfat.errors import LongfatError
from longfat.text import check_name

if TYPE_CHECKING:
    from longfat.store import Location

PACKAGE = Path(__file__).parent
HOMES = ("papers", "experiments")
COOKBOOK = "experiments/cookbook"
LIVE = "experiments/live"
BY_NAME = (COOKBOOK, LIVE)
"""Folders whose experiments go by their own name, too."""


@dataclass(frozen=True)
class Source:
    """An experiment file, and the name its results go by: `ansnet/short`, `slac/sensitivity/seeds`, or `my-path`."""

    file: Path
    name: str


def roots() -> list[Path]:
    """Folders that may hold `papers/` and `experiments/`, in the order they are looked through."""
    return [Path.cwd(), PACKAGE]


def sources(what: str) -> list[Source]:
    """The experiments that `what` means: a TOML file, a folder of them, or a name. LongfatError where none is."""
    found = _sources(what)
    if found:
        return found
    folder = next((folder for folder in (Path(what), *_named(what)) if folder.is_dir()), None)
    if folder:
        raise LongfatError(f"{folder} holds no experiment: expected files that end in .toml")
    if what.endswith(".toml"):
        raise LongfatError(f"there is no file {what!r}{_nearest(what, names())}")
    raise LongfatError(f"no file, folder, paper or experiment is called {what!r}{_nearest(what, names())}")


def _sources(what: str) -> list[Source]:
    files = [file for path in _named(what) for file in (path, path.with_name(f"{path.name}.toml"))]
    for path in (Path(what), *files):
        if path.is_dir():
            return [_source(file) for file in sorted(path.glob("*.toml"))]
        if path.exists():
            return [_source(path)]
    return []


def results_folder(what: str, results: Location) -> Location | None:
    """The results that `what` means, finished or not: a name under `results`, else a folder or URL of them; None without any.

    A name that is also a folder here means the former; `./NAME` is the latter alone.
    """
    from longfat.store import Store, Url, location

    meant = location(what)
    if isinstance(meant, Url):
        return meant if Store(meant).is_there() else None
    of_one = [results / source.name for source in _sources(what) if source.file.stem == Path(what).name.removesuffix(".toml")]
    folders = [results / what, *of_one]
    folders.insert(0 if what.startswith((".", "/")) else len(folders), meant)
    return next((folder for folder in folders if Store(folder).is_there()), None)


def variant(name: str, changes: Mapping[str, str]) -> str:
    """Name of the results of the experiment `name` with these `--set`: `lfn+flow0.window=64KiB`. Without any, `name` itself.

    Characters that a folder's name should not have are dropped or become a dash. Then, and for a long name, a hash makes the name unique.
    """
    said = [f"{path}={value}" for path, value in changes.items() if path != "quick"]
    plain = [re.sub(r"[\s\[\]\"']", "", one) for one in said]
    clean = [re.sub(r"[^\w.=-]", "-", one, flags=re.ASCII) for one in plain]
    made = "+".join([name, *clean])
    if clean == plain and len(made) <= LONGEST:
        return made
    return f"{made[:LONGEST]}~{hashlib.sha256(chr(0).join(said).encode()).hexdigest()[:8]}"


LONGEST = 120
"""Characters of a folder's name, without the hash of a longer one."""


def results_home(results: Location, *, quick: bool) -> Location:
    """Folder under `results` for those of `run`, or of `run --quick`."""
    return results / "quick" if quick else results


def how_to_run(name: str, results: Location) -> str:
    """The command that makes the results of `name` in that home."""
    return f"`longfat run {name}{' --quick' if results.name == 'quick' else ''}`"


def paper_folder(what: str) -> Path:
    """The folder of a paper, or of what is kept as one is, by path or name. LongfatError where there is none."""
    for folder in (Path(what), *_named(what)):
        if (folder / "paper.py").is_file():
            return folder
    raise LongfatError(f"no paper is called {what!r}{_nearest(what, papers())}")


def papers() -> list[str]:
    """Names of every paper that can be found, and of what is kept as one is: experiments with theory beside them."""
    return _unique(path.parent.name for root in roots() for home in HOMES for path in sorted(root.glob(f"{home}/*/paper.py")))


def experiments() -> list[str]:
    """Names of every experiment that can be found, those of papers and other folders as `FOLDER/NAME`, however deep."""
    patterns = ("papers/*/*.toml", "papers/*/*/**/*.toml", "experiments/*/**/*.toml", "experiments/*.toml")
    return _unique(_source(path).name for root in roots() for pattern in patterns for path in sorted(root.glob(pattern)))


def names() -> list[str]:
    """Names that `longfat run` takes."""
    return papers() + experiments()


def _named(what: str) -> Iterator[Path]:
    """Yields the paths that `what` may mean as a name."""
    parts = Path(what).parts
    for root in roots():
        for home in HOMES:
            if len(parts) > 1 and parts[0] == home:
                yield root.joinpath(*parts)
            if parts:
                yield root / home / what
        if len(parts) == 1:
            yield from (root / folder / what for folder in BY_NAME)


def _source(file: Path) -> Source:
    """Makes the source of a file. Its name is the path from the folder that holds its paper, or from `papers` or `experiments`."""
    path = file.resolve().with_suffix("")
    if path.name in ("", ".", ".."):
        raise LongfatError(f"{file}: an experiment's results go by the name of its file, and this one leaves them none: rename it")
    home = next((f.parent for f in path.parents if (f / "paper.py").is_file()), None)
    home = home or next((f for f in path.parents if f.name in HOMES), path.parent)
    return Source(file, check_name("the name", path.relative_to(home).as_posix()))


def _unique(found: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(found))


def _nearest(what: str, known: list[str]) -> str:
    near = difflib.get_close_matches(what, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else "; `longfat list` shows what there is"
