"""The registry of a paper: its numbers and claims as fixed before anything was run (`registered.csv`), and the edits since.

A registry that can be edited after a run can be made to agree with it. The contents of every row of `claims.csv` and `published/*.csv`
were hashed in the commit that fixed them; each edit since then stands in `notebook/NAME-method.md` with its reason, and a test compares.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

NAME = "registered.csv"
COLUMNS = ("id", "where", "sha256")
CLAIM = ("where", "says", "inequality")
"""Columns of a claim that are registered. Its id, and why it cannot be tested, may be reworded."""
WORDS = ("id", "page", "unit", "note")
"""Columns of a number that may be reworded: its value, its conditions and its uncertainty may not."""


@dataclass(frozen=True)
class Edit:
    """A row that is not what was registered."""

    id: str
    what: str
    """`added or changed`, or `removed or changed`."""


def contents(read: Callable[[str], str], files: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yields for each row of these files (by their places in a paper's folder): its id, where it stands, a hash of what it says."""
    for name in files:
        for row in csv.DictReader(read(name).splitlines()):
            said = (
                [row[column] for column in CLAIM]
                if name == "claims.csv"
                else [f"{key}={value}" for key, value in row.items() if key not in WORDS]
            )
            yield row["id"], row["where"], hashlib.sha256("\0".join(said).encode()).hexdigest()


def files_of(folder: Path) -> list[str]:
    """The files of a paper that are registered."""
    claims = ["claims.csv"] if (folder / "claims.csv").is_file() else []
    return claims + [f"published/{path.name}" for path in sorted((folder / "published").glob("*.csv"))]


def now(folder: Path) -> list[tuple[str, str, str]]:
    """Contents of the folder, as `contents` gives them."""
    return list(contents(lambda name: (folder / name).read_text(encoding="utf-8"), files_of(folder)))


def edits(folder: Path) -> list[Edit]:
    """Differences between the folder and its registry, whatever the ids are called now."""
    with (folder / NAME).open(newline="", encoding="utf-8") as file:
        registered = [(row["id"], row["sha256"]) for row in csv.DictReader(file)]
    today = [(id, digest) for id, _, digest in now(folder)]
    then, there = {digest for _, digest in registered}, {digest for _, digest in today}
    made = [Edit(id, "added or changed") for id, digest in today if digest not in then]
    return made + [Edit(id, "removed or changed") for id, digest in registered if digest not in there]


def write(folder: Path, rows: list[tuple[str, str, str]]) -> None:
    """Registers `rows`: once, before anything is run."""
    with (folder / NAME).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)
