"""Asks for known vulnerabilities of what longfat stands on: `make audit`, and the last step of `.ci/run`.

    python .ci/audit.py [--complete]

pip-audit asks the package index about every version in requirements-dev.txt; cargo-deny, where it is installed, looks at Cargo.lock by
`deny.toml`. A known vulnerability fails. What could not be asked, as without a network, is said in a line that begins with "not checked",
and fails only with `--complete`, as before a release.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "requirements-dev.txt"
RELEASE = ROOT / "requirements-release.txt"
NO_DATABASE = tuple(f"failed to {what} advisory database" for what in ("fetch", "open", "load"))
"""What cargo-deny says when it has nothing to go by."""
PATIENCE_S = 300


@dataclass
class Verdict:
    """What was found, what was asked about, and what was not."""

    known: list[str] = field(default_factory=list[str])
    checked: list[str] = field(default_factory=list[str])
    unchecked: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class Said:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def last(self) -> str:
        """Its last line."""
        lines = [line.strip() for line in f"{self.out}\n{self.err}".splitlines() if line.strip()]
        return lines[-1] if lines else f"exit code {self.code}"


Run = Callable[[Sequence[str]], Said]


def run(command: Sequence[str]) -> Said:
    """Runs a command to its end, and not for longer than `PATIENCE_S`."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Said(1, "", str(error))
    return Said(done.returncode, done.stdout, done.stderr)


def of_pip_audit(said: Said) -> Verdict:
    """What pip-audit's JSON says. Its exit code is 0 also where it could ask about nothing, and 1 also where it broke down."""
    try:
        packages: list[dict[str, Any]] = json.loads(said.out)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return Verdict(unchecked=[f"Python packages: pip-audit had no answer ({said.last})"])
    known = [f"{one['name']} {one['version']}: {_advisory(entry)}" for one in packages for entry in one.get("vulns", [])]
    skipped = [one["name"] for one in packages if "skip_reason" in one]
    found = Verdict(known)
    if asked := len(packages) - len(skipped):
        found.checked.append(f"{asked} Python packages")
    if skipped:
        which = "all" if not asked else ", ".join(skipped)
        found.unchecked.append(f"{len(skipped)} of {len(packages)} Python packages, of which the index has no data here: {which}")
    elif not packages:
        found.unchecked.append("Python packages: pip-audit was told of none")
    return found


def _advisory(entry: Mapping[str, Any]) -> str:
    fixed = f"fixed in {', '.join(entry['fix_versions'])}" if entry.get("fix_versions") else "not fixed yet"
    return f"{entry['id']} ({fixed})"


def python_packages(run: Run) -> Verdict:
    """Installs pip-audit in an environment of its own, at the versions of a release, and asks."""
    with tempfile.TemporaryDirectory(prefix="longfat-audit-") as home:
        venv.create(home, with_pip=False)
        python = str(Path(home) / "bin" / "python")
        pins = [option for file in (REQUIREMENTS, RELEASE) for option in ("--constraint", str(file))]
        pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check"]
        installed = run([*pip, *pins, "pip-audit"])
        if installed.code:
            return Verdict(unchecked=[f"Python packages: pip-audit cannot be installed ({installed.last})"])
        audit = [python, "-m", "pip_audit", "--progress-spinner", "off", "--format", "json"]
        return of_pip_audit(run([*audit, "--requirement", str(REQUIREMENTS), "--no-deps", "--disable-pip"]))


def crates(run: Run) -> Verdict:
    """Asks cargo-deny, where it is: advisories need its database; licences, bans and sources only what was built from."""
    if not shutil.which("cargo-deny"):
        return Verdict(unchecked=["crates: cargo-deny is not installed (cargo install cargo-deny --locked); a test checks their licences"])
    found = Verdict()
    rules = run(["cargo", "deny", "check", "bans", "licenses", "sources"])
    (found.known if rules.code else found.checked).append(
        f"crates break the rules of deny.toml\n{rules.err or rules.out}" if rules.code else "licences and sources of crates"
    )
    advisories = run(["cargo", "deny", "check", "advisories"])
    if not advisories.code:
        found.checked.append("advisories of crates")
    elif any(words in f"{advisories.out}{advisories.err}" for words in NO_DATABASE):
        found.unchecked.append(f"advisories of crates: cargo-deny has no database ({advisories.last})")
    else:
        found.known.append(f"advisories of crates\n{advisories.err or advisories.out}")
    return found


def report(verdicts: Sequence[Verdict], *, complete: bool) -> int:
    """Prints what was found; the exit code."""
    for verdict in verdicts:
        for words, some in (
            ("audit: checked", verdict.checked),
            ("audit: not checked", verdict.unchecked),
            ("audit: FOUND", verdict.known),
        ):
            for one in some:
                print(f"{words}: {one}", flush=True)
    known = any(verdict.known for verdict in verdicts)
    unchecked = any(verdict.unchecked for verdict in verdicts)
    return int(known or (complete and unchecked))


if __name__ == "__main__":
    raise SystemExit(report([python_packages(run), crates(run)], complete="--complete" in sys.argv[1:]))
