"""`make audit`: a known vulnerability fails, what cannot be asked is said, and neither is taken for the other."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import pytest
from conftest import ROOT


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit", ROOT / ".ci" / "audit.py")
    assert spec
    assert spec.loader
    made = importlib.util.module_from_spec(spec)
    sys.modules["audit"] = made  # dataclasses look for it there
    spec.loader.exec_module(made)
    return made


CLEAN: dict[str, Any] = {"name": "rich", "version": "15.0.0", "vulns": []}
BAD: dict[str, Any] = {"name": "jinja2", "version": "2.4.1", "vulns": [{"id": "PYSEC-2014-8", "fix_versions": ["2.7.2"]}]}
UNKNOWN: dict[str, Any] = {"name": "numpy", "skip_reason": "Dependency not found on PyPI and could not be audited: numpy (2.4.6)"}


def answered(audit: ModuleType, *packages: dict[str, Any], code: int = 0) -> Any:
    return audit.of_pip_audit(audit.Said(code, json.dumps({"dependencies": packages, "fixes": []}), ""))


@pytest.mark.parametrize(
    ("packages", "known", "checked", "unchecked", "code", "complete"),
    [
        ([CLEAN], [], ["1 Python packages"], [], 0, 0),
        ([CLEAN, BAD], ["jinja2 2.4.1: PYSEC-2014-8 (fixed in 2.7.2)"], ["2 Python packages"], [], 1, 1),
        ([CLEAN, UNKNOWN], [], ["1 Python packages"], ["1 of 2 Python packages, of which the index has no data here: numpy"], 0, 1),
        # pip-audit itself says "No known vulnerabilities found" of this, and ends with 0.
        ([UNKNOWN], [], [], ["1 of 1 Python packages, of which the index has no data here: all"], 0, 1),
        ([], [], [], ["Python packages: pip-audit was told of none"], 0, 1),
    ],
)
def test_what_pip_audit_answers(
    audit: ModuleType, packages: list[dict[str, Any]], known: list[str], checked: list[str], unchecked: list[str], code: int, complete: int
) -> None:
    found = answered(audit, *packages)
    assert (found.known, found.checked, found.unchecked) == (known, checked, unchecked)
    assert audit.report([found], complete=False) == code
    assert audit.report([found], complete=True) == complete


def test_a_breakdown_is_no_vulnerability_though_its_exit_code_is_the_same(audit: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    found = audit.of_pip_audit(audit.Said(1, "", "Traceback\nrequests.exceptions.ConnectionError: no route\n"))
    assert audit.report([found], complete=False) == 0
    assert capsys.readouterr().out == (
        "audit: not checked: Python packages: pip-audit had no answer (requests.exceptions.ConnectionError: no route)\n"
    )
    assert audit.report([found], complete=True) == 1


def test_without_a_package_index_it_says_so(audit: ModuleType) -> None:
    def no_index(command: Sequence[str]) -> Any:
        assert "install" in command
        return audit.Said(1, "", "ERROR: No matching distribution found for pip-audit")

    found = audit.python_packages(no_index)
    assert found.unchecked == ["Python packages: pip-audit cannot be installed (ERROR: No matching distribution found for pip-audit)"]
    assert not found.known
    assert not found.checked


@pytest.mark.parametrize(
    ("rules", "advisories", "known", "checked", "unchecked"),
    [
        ((0, ""), (0, ""), 0, 2, 0),
        ((0, ""), (1, "[ERROR] failed to fetch advisory database https://github.com/RustSec/advisory-db"), 0, 1, 1),
        ((0, ""), (1, "error[vulnerability]: Potential segfault in `time`"), 1, 1, 0),
        ((4, "error[rejected]: failed to satisfy license requirements"), (0, ""), 1, 1, 0),
    ],
)
def test_what_cargo_deny_answers(
    audit: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    rules: tuple[int, str],
    advisories: tuple[int, str],
    known: int,
    checked: int,
    unchecked: int,
) -> None:
    monkeypatch.setattr(audit.shutil, "which", lambda _: "/usr/bin/cargo-deny")

    def deny(command: Sequence[str]) -> Any:
        code, err = advisories if command[-1] == "advisories" else rules
        return audit.Said(code, "", err)

    found = audit.crates(deny)
    assert (len(found.known), len(found.checked), len(found.unchecked)) == (known, checked, unchecked)


def test_without_cargo_deny_it_says_so(audit: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit.shutil, "which", lambda _: None)
    found = audit.crates(audit.run)
    assert [line.split(":")[0] for line in found.unchecked] == ["crates"]
    assert not found.known
