"""Checks that two versions of longfat give the same numbers: compares what `longfat compare PAPER --json` printed before and after.

    longfat compare ansnet --json > before/ansnet.json    # with the old version, and its results
    longfat compare ansnet --json > after/ansnet.json     # with the new one, and its own
    python bench/same_numbers.py before after

Prints each entry of which anything differs, and exits with 1 if there is one.
"""

import json
import sys
from pathlib import Path


def entries(path: Path) -> dict[str, dict[str, object]]:
    """The entries of a comparison, by what each is about."""
    return {f"{entry['id']} ({entry['where']})": entry for entry in json.loads(path.read_text(encoding="utf-8"))}


def main(before: Path, after: Path) -> int:
    """The number of entries that differ, over all papers in both folders."""
    papers = sorted(path.name for path in before.glob("*.json") if (after / path.name).exists())
    if not papers:
        sys.exit(f"no NAME.json is in both {before} and {after}")
    differ = 0
    for paper in papers:
        old, new = entries(before / paper), entries(after / paper)
        for name in sorted(old.keys() | new.keys()):
            if old.get(name) != new.get(name):
                differ += 1
                print(f"{paper}: {name}\n  before {old.get(name)}\n  after  {new.get(name)}")
        print(f"{paper}: {len(old)} entries before, {len(new)} after")
    return differ


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(min(main(Path(sys.argv[1]), Path(sys.argv[2])), 1))
