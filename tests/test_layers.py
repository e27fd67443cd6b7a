"""The Python package looks in one direction only, as the crates do."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import longfat

PACKAGE = Path(longfat.__file__).parent

LAYERS = (
    ("_longfat",),
    ("errors", "cores", "lazy"),
    ("text", "extras", "iperf3"),
    ("results",),
    ("theory", "sweep"),
    ("store",),
    ("executors", "locate"),
    ("experiment",),
    ("simulation", "control"),
    ("plot", "gym"),
    ("paper",),
    ("report",),
    ("capture", "evaluate"),
    ("advice", "explain", "fit"),
    ("live",),
    ("tune",),
    ("cli",),
    ("__init__", "__main__"),
)
"""A unit is a module or a folder of the package. It may name units of lower layers, and no other."""

DOORS = {
    ("results", "plot"),
    ("results", "report"),
    ("experiment", "report"),
}
"""Methods of the public classes that show something: `plot`, `_repr_html_`. Each loads what draws when it is called."""

FLOOR = {unit: floor for floor, units in enumerate(LAYERS) for unit in units}


def units() -> list[str]:
    return sorted(path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file())


def named(unit: str) -> Iterator[tuple[Path, int, str, bool]]:
    """Each import of the package in a unit: file, line, the unit it names, and whether it waits for a call or is for types alone."""
    folder = PACKAGE / unit
    for file in sorted(folder.rglob("*.py")) if folder.is_dir() else [PACKAGE / f"{unit}.py"]:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        at_once = {id(node) for node in tree.body}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module == "longfat":
                names = [f"longfat.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            else:
                continue
            for name in names:
                if name.startswith("longfat."):
                    yield file, node.lineno, name.split(".")[1], id(node) not in at_once


def test_each_unit_has_a_layer() -> None:
    assert units() == sorted(set(FLOOR) - {"_longfat"})


def test_units_look_down_only() -> None:
    upward = [
        f"{file.relative_to(PACKAGE)}:{line}: {unit} names {other}"
        for unit in units()
        for file, line, other, waits in named(unit)
        if other != unit and FLOOR[other] >= FLOOR[unit] and not (waits and (unit, other) in DOORS)
    ]
    assert not upward, "\n".join(upward)


def test_every_door_is_used() -> None:
    assert {(unit, other) for unit in units() for _, _, other, waits in named(unit) if waits and (unit, other) in DOORS} == DOORS
