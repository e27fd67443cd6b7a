"""Licences of everything that longfat brings along: they may be used as longfat's, by the list in `deny.toml`, and without a network."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from importlib.metadata import Distribution, distribution

import pytest
from conftest import ROOT
from packaging.requirements import Requirement

ALLOWED = set(tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))["licenses"]["allow"])
CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Python Software Foundation License": "PSF-2.0",
}
WORDS = {"BSD": "BSD-3-Clause"}
"""Licences meant where no expression is given (partd)."""
LICENCE = re.compile(r"\b(?!(?:AND|OR)\b)[\w.+-]+(?: WITH [\w.-]+)?")


def allowed(expression: str) -> bool:
    """Returns true if an SPDX expression leaves a choice that is allowed; `/` is how crates wrote OR once."""
    said = LICENCE.sub(lambda licence: str(licence[0] in ALLOWED), expression.replace("/", " OR "))
    return bool(eval(said.replace("AND", "and").replace("OR", "or"), {}))


def licence(package: Distribution) -> str:
    """Licence that a Python package names."""
    said = package.metadata
    classified = [one.split(" :: ")[-1] for one in said.get_all("Classifier") or [] if one.startswith("License ::")]
    return (
        said.get("License-Expression")
        or " AND ".join(CLASSIFIERS[one] for one in classified)
        or WORDS.get(said["License"], said["License"])
        or ""
    )


def needed(requirements: list[str], found: dict[str, Distribution]) -> dict[str, Distribution]:
    """The packages that these bring, with what those need."""
    for one in map(Requirement, requirements):
        if one.name not in found and (one.marker is None or one.marker.evaluate({"extra": ""})):
            found[one.name] = distribution(one.name)
            needed(found[one.name].requires or [], found)
    return found


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only AND MIT", False),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
        ("MIT/Apache-2.0", True),
    ],
)
def test_expressions(expression: str, expected: bool) -> None:
    assert allowed(expression) is expected


def test_the_crates_licences() -> None:
    call = ["cargo", "metadata", "--offline", "--locked", "--format-version", "1"]
    packages = json.loads(subprocess.run(call, cwd=ROOT, check=True, capture_output=True, timeout=120).stdout)["packages"]
    assert len(packages) > 50
    assert not [(one["name"], one["license"]) for one in packages if not allowed(one["license"] or "None")]


def test_the_packages_licences() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [requirement for group in project["optional-dependencies"].values() for requirement in group]
    packages = needed(project["dependencies"] + extras, {})
    assert len(packages) > 10
    assert not [(name, licence(one)) for name, one in packages.items() if not allowed(licence(one) or "None")]
