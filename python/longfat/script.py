"""Packet scripts: which files, and their reports together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from longfat._longfat import read_text, run_script
from longfat.errors import LongfatError
from longfat.text import encodable

if TYPE_CHECKING:
    from longfat._longfat import ScriptReport


VERSIONS = ("ipv4", "ipv6", "ipv4-mapped-ipv6")
"""Of IP, as `--ip-version` calls them; `all` is all of them."""


VERDICTS = ("pass", "fail", "not supported", "error")
"""What a script can come to."""


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
    """What there is to say of one script; nothing where it passes in silence. With `each`, of everything that was not as expected."""
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
