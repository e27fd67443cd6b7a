"""Every public name on the site's pages of the Python module has a docstring, and types of all that goes in and comes out."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import longfat
import pytest
from conftest import ROOT


def _reference() -> Any:
    """The module that says which names stand on which page."""
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "site" / "reference.py")
    assert spec
    assert spec.loader
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


reference = _reference()
GROUPS: dict[str, tuple[str, ...]] = reference.GROUPS
MODULES: tuple[str, ...] = reference.MODULES

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def names() -> Iterator[tuple[str, Any]]:
    """Yields every function and class that a page shows, with its name there."""
    for group in GROUPS.values():
        yield from ((f"longfat.{name}", getattr(longfat, name)) for name in group)
    for module in MODULES:
        of = importlib.import_module(f"longfat.{module}")
        public = getattr(of, "__all__", None) or [name for name in vars(of) if not name.startswith("_")]
        made = [(name, getattr(of, name)) for name in public]
        yield from (
            (f"longfat.{module}.{name}", one)
            for name, one in made
            if (inspect.isclass(one) or inspect.isfunction(one)) and one.__module__.startswith("longfat")
        )


@cache
def tree(module: str) -> ast.Module:
    """The source of a module; of the compiled one, its stub."""
    compiled = module in ("longfat._longfat", "builtins")
    file = ROOT / "python/longfat/_longfat.pyi" if compiled else Path(importlib.import_module(module).__file__ or "")
    return ast.parse(file.read_text(encoding="utf-8"))


def definition(one: Any) -> Definition | None:
    """Where it is defined; of an overloaded function, its last definition."""
    found = [node for node in ast.walk(tree(one.__module__)) if isinstance(node, Definition) and node.name == one.__name__]
    return found[-1] if found else None


def lacks(node: Definition) -> Iterator[str]:
    """Yields what a definition lacks, with the place."""
    if not ast.get_docstring(node):
        yield f"{node.name}: docstring"
    if not isinstance(node, ast.ClassDef):
        yield from types_of(node)
        return
    for part in node.body:
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) and (not part.name.startswith("_") or part.name == "__init__"):
            overloaded = any("overload" in ast.unparse(mark) for mark in part.decorator_list)
            described = part.name == "__init__" or overloaded or ast.get_docstring(part)
            yield from (f"{node.name}.{fault}" for fault in [*([] if described else [f"{part.name}: docstring"]), *types_of(part)])


def types_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """Yields the parameters without a type, and a result without one."""
    args = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, *filter(None, (node.args.vararg, node.args.kwarg))]
    yield from (f"{node.name}: type of {arg.arg}" for arg in args if arg.annotation is None and arg.arg not in ("self", "cls"))
    if node.returns is None:
        yield f"{node.name}: type of its result"


@pytest.mark.parametrize(("name", "one"), [pytest.param(name, one, id=name) for name, one in names()])
def test_a_public_name_has_types_and_a_docstring(name: str, one: Any) -> None:
    node = definition(one)
    assert node, f"{name} has no source"
    assert not list(lacks(node))


@pytest.mark.parametrize("name", [name for group in GROUPS.values() for name in group])
def test_a_field_of_a_class_of_longfat_says_its_meaning(name: str) -> None:
    node = definition(getattr(longfat, name))
    if not isinstance(node, ast.ClassDef):
        return
    parts = [*node.body, ast.Pass()]
    fields = [(one.target, after) for one, after in pairwise(parts) if isinstance(one, ast.AnnAssign)]
    names = {ast.unparse(target) for target, after in fields if not (isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant))}
    assert not {one for one in names if not one.startswith("_")}


def test_there_are_as_many_names_as_the_pages_show() -> None:
    assert len(dict(names())) > 100


def test_what_is_missing_is_seen() -> None:
    node = ast.parse("class A:\n    def f(self, x, *, y: int): ...\n").body[0]
    assert isinstance(node, ast.ClassDef)
    assert list(lacks(node)) == ["A: docstring", "A.f: docstring", "A.f: type of x", "A.f: type of its result"]
