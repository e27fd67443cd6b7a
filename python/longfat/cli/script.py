"""Packet scripts: which files, and their reports together."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longfat._longfat import read_text, run_script
from longfat.errors import LongfatError
from longfat.report import terminal
from longfat.text import encodable

if TYPE_CHECKING:
    from longfat._longfat import ScriptReport


VERSIONS = ("ipv4", "ipv6", "ipv4-mapped-ipv6")
"""Versions of IP, as `--ip-version` calls them; `all` is all of them."""


VERDICTS = ("pass", "fail", "not supported", "error")
"""Verdicts of a script."""


def scripts(paths: Iterable[Path]) -> list[Path]:
    """The files, and of folders every `*.pkt` below them."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            below = sorted(path.rglob("*.pkt"))
            if not below:
                raise LongfatError(f"{path} holds no packet script (*.pkt)")
            found += below
        elif path.is_file():
            found.append(path)
        else:
            raise LongfatError(f"there is no file or folder {path}")
    return found


def run(
    file: Path,
    versions: Sequence[str] = (),
    *,
    settings: Sequence[tuple[str, str]] = (),
    verbose: bool = False,
    init_scripts: Sequence[Path] = (),
    go_on: bool = False,
) -> list[ScriptReport]:
    """Runs one script under each of the versions of IP, or IPv4; a script that says its own, under that alone.

    With `go_on`, past what is not as expected.
    """
    try:
        source = read_text(file)
    except OSError as error:
        raise LongfatError(f"cannot read {file}: {error}") from error
    init = [str(path) for path in init_scripts]
    reports: dict[str, ScriptReport] = {}
    for version in versions or [None]:
        report = run_script(
            source, encodable(str(file)), ip_version=version, settings=list(settings), verbose=verbose, init_scripts=init, all=go_on
        )
        reports.setdefault(report["ip_version"], report)
    return list(reports.values())


def text(report: ScriptReport, *, say_version: bool = False, each: bool = False) -> str:
    """Report on one script; empty where it passes in silence. With `each`, every failed expectation is in it."""
    lines = list(report["printed"])
    lines += [f"{report['file']}:{line}: warning: {warning}" for line, warning in report["warnings"]]
    version = f" ({report['ip_version']})" if say_version else ""
    if report["verdict"] != "pass":
        unmet = [one for one in report["expectations"] if one["verdict"] != "pass"] if each else []
        for one in unmet or [report]:
            lines.append(f"{report['file']}:{one['line']}:{one['column']}: {one['verdict']}{version}: {one['message']}")
            lines += [f"  {line}" for line in one["details"]]
        lines += [f"  note: line {line}: {note}" for line, note in report["notes"]]
    if each:
        met = sum(one["verdict"] == "pass" for one in report["expectations"])
        lines.append(f"{report['file']}: {met:,} of {len(report['expectations']):,} expectations met{version}")
    return "\n".join(lines)


def suite(reports: Sequence[ScriptReport], folders: Sequence[Path]) -> str:
    """A table of the scripts of a suite by folder, and a line with the reason for each that did not pass."""
    roots = [str(folder) for folder in folders]
    by_folder: dict[str, Counter[str]] = {}
    reasons: list[str] = []
    for report in reports:
        root = next((root for root in roots if report["file"].startswith(root)), "")
        name = report["file"].removeprefix(root).lstrip("/") or Path(report["file"]).name
        by_folder.setdefault(str(Path(name).parent), Counter())[report["verdict"]] += 1
        if report["verdict"] != "pass":
            reasons.append(f"{name}:{report['line']}: {report['verdict']}: {report['message']}")
    heads = ("folder", "passed", "failed", "not supported", "errors")
    rows = [[folder, *(str(counts[verdict]) for verdict in VERDICTS)] for folder, counts in sorted(by_folder.items())]
    widths = [max(len(row[i]) for row in [list(heads), *rows]) for i in range(len(heads))]
    lines = [
        "  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths, strict=True)))
        for row in [list(heads), *rows]
    ]
    return "\n".join([*lines, "", *reasons] if reasons else lines)


def summary(reports: list[ScriptReport]) -> str:
    """`41 passed, 1 failed, 2 not supported`."""
    counts = Counter(report["verdict"] for report in reports)
    parts = [f"{counts['pass']:,} passed", f"{counts['fail']:,} failed", f"{counts['not supported']:,} not supported"]
    if counts["error"]:
        parts.append(f"{counts['error']:,} with errors")
    return ", ".join(parts)


def script_command(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Packet scripts, or folders of them (*.pkt).")],
    versions: Annotated[
        list[str] | None,
        typer.Option(
            "--ip-version",
            "--ip_version",
            metavar="VERSION",
            help="IP version to run with: ipv4, ipv6, ipv4-mapped-ipv6 or all; repeatable.",
        ),
    ] = None,
    options: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="NAME=VALUE", help="Option for scripts that do not set it at their head, such as push=any."),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Print every packet.")] = False,
    init_scripts: Annotated[
        list[Path] | None,
        typer.Option("--init-scripts", "--init_scripts", metavar="FILE", help="Shell script whose sysctls hold for all scripts."),
    ] = None,
    go_on: Annotated[bool, typer.Option("--all", help="Continue after a failed expectation, and report each.")] = False,
    as_suite: Annotated[
        bool, typer.Option("--suite", help="Print a table by folder, and a line with the reason for each script that does not pass.")
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="JSON: a list of {file, ip_version, verdict, line, column, message, details, expectations, warnings, notes, printed}.",
        ),
    ] = False,
) -> None:
    """Run packet scripts against the TCP endpoint; exit code 1 if one fails."""
    reports: list[ScriptReport] = []
    asked = versions or []
    if unknown := [version for version in asked if version not in (*VERSIONS, "all")]:
        raise LongfatError(f"--ip-version {unknown[0]}: expected {', '.join(VERSIONS)} or all")
    chosen = VERSIONS if "all" in asked else asked
    settings = [(name, value) for name, _, value in (option.partition("=") for option in options or [])]
    for file in scripts(files):
        done = run(file, chosen, settings=settings, verbose=verbose, init_scripts=init_scripts or (), go_on=go_on)
        reports += done
        if not as_json and not as_suite:
            for said in filter(None, (text(report, say_version=len(chosen) > 1, each=go_on) for report in done)):
                print(terminal.clean(said))
    if as_json:
        print(json.dumps(reports, indent=2))
    else:
        if as_suite:
            print(terminal.clean(suite(reports, files)))
        print(summary(reports))
    if any(report["verdict"] in ("fail", "error") for report in reports):
        raise typer.Exit(1)
