"""Findings as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from longfat.plot.units import with_unit
from longfat.report import terminal
from longfat.text import clean
from longfat.tune.check import Row, State
from longfat.tune.simulate import FOLDED, Gain, Simulated
from longfat.tune.target import Target

if TYPE_CHECKING:
    from rich.console import Console

LONGEST = 8
"""Lines of one check that are shown; a host may have a hundred interrupts."""


def title(target: Target) -> str:
    """The path in a line."""
    question, route = target.question, target.route
    to = f" to {route.address}" if route.address else ""
    return f"{with_unit(question.rate, 'bit/s')} and {with_unit(question.rtt, 's')}{to} by {route.device}"


def print_rows(
    console: Console, target: Target, rows: Sequence[Row], simulated: Simulated | None, told: Sequence[str], *, why: bool
) -> None:
    """Prints the changes first, then the rest."""
    console.print(
        f"[bold]{terminal.escape(title(target))}[/]: {with_unit(target.question.bdp, 'iB', 3)} fill the path (BDP)", soft_wrap=True
    )
    for sentence in told:
        terminal.print_hanging(console, f"  {terminal.escape(sentence)}", 2)
    gains: Mapping[str, Gain] = simulated.gains if simulated else {}
    changes = [row for row in rows if row.found.state is State.CHANGE]
    folded = [row for row in changes if row.check.name in gains and _is_small(gains[row.check.name])]
    shown = [row for row in changes if row not in folded]
    if not changes:
        console.print("Nothing that a script can set needs a change.")
    if shown:
        console.print()
        _print_table(console, shown, gains if simulated else None)
        console.print()
        _print_lines(console, shown, why=why)
        console.print()
    if folded:
        names = ", ".join(f"{row.check.name} ({said(gains[row.check.name])})" for row in folded)
        terminal.print_hanging(console, f"Worth under {100 * FOLDED:.0f} % here: {terminal.escape(names)}", 2)
    if simulated:
        for gain in simulated.together:
            rates = f"{with_unit(gain.without, 'bit/s', 3)} → {with_unit(gain.with_, 'bit/s', 3)}"
            console.print(f"All together, {'sending' if gain.sends else 'receiving'}: {rates} of payload ({said(gain)})", soft_wrap=True)
        for sentence in simulated.told:
            terminal.print_hanging(console, f"  [dim]{terminal.escape(sentence)}[/]", 2)
    _print_others(console, rows, why=why)


def _print_table(console: Console, rows: Sequence[Row], gains: Mapping[str, Gain] | None) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("  change", "now", "wanted", *(["gain"] if gains is not None else [])):
        table.add_column(heading, justify="left", overflow="fold")
    for row in rows:
        cells = [f"  {row.check.name}", clean(row.found.now), clean(row.found.wanted)]
        if gains is not None:
            gain = gains.get(row.check.name)
            cells.append(said(gain) if gain else "–")
        table.add_row(*map(terminal.escape, cells))
    console.print(table)


def _print_lines(console: Console, rows: Sequence[Row], *, why: bool) -> None:
    for row in rows:
        lines = row.found.lines
        for line in lines[:LONGEST]:
            console.print(f"  {terminal.escape(clean(line.text))}", soft_wrap=True)
            if why:
                console.print(f"    [dim]{terminal.escape(clean(line.why))} ({terminal.escape(line.source)})[/]", soft_wrap=True)
        if len(lines) > LONGEST:
            console.print(f"  and {len(lines) - LONGEST} more like it (--json)")


def _print_others(console: Console, rows: Sequence[Row], *, why: bool) -> None:
    for row in rows:
        if row.found.state is State.BY_HAND:
            texts = "; ".join(clean(line.text) for line in row.found.lines[:LONGEST])
            sentence = f"By hand: {row.check.name}: {clean(row.found.now)}, wanted {row.found.wanted}: {texts}"
            terminal.print_hanging(console, terminal.escape(sentence), 2)
            if why:
                for line in row.found.lines[:LONGEST]:
                    console.print(f"    [dim]{terminal.escape(clean(line.why))} ({terminal.escape(line.source)})[/]", soft_wrap=True)
    dark = [f"{row.check.name} ({clean(row.found.now)})" for row in rows if row.found.state is State.UNREADABLE]
    if dark:
        terminal.print_hanging(console, f"Not readable here: {terminal.escape('; '.join(dark))}", 2)
    good = [f"{row.check.name} ({clean(row.found.now)})" for row in rows if row.found.state is State.FINE]
    if good:
        terminal.print_hanging(console, f"Fine: {terminal.escape(', '.join(good))}", 2)


def _is_small(gain: Gain) -> bool:
    return gain.relative + gain.half < FOLDED


def said(gain: Gain) -> str:
    """A gain in words: `+12 %`, `3.4 times`."""
    if gain.relative >= 1:
        return f"{gain.relative + 1:.3g} times" + (f" ± {gain.half:.2g}" if gain.half else "")
    percent = round(100 * gain.relative, 1 if abs(gain.relative) < 0.1 else None)
    return (f"{percent:+g} %" if percent else "0 %") + (f" ± {100 * gain.half:.2g}" if gain.half else "")


def as_json(target: Target, rows: Sequence[Row], simulated: Simulated | None, told: Sequence[str]) -> dict[str, object]:
    """All of it: rates in bit/s, times in seconds, sizes in bytes; gains are relative."""
    question, route = target.question, target.route
    gains: Mapping[str, Gain] = simulated.gains if simulated else {}
    return {
        "path": {"rate_bps": question.rate, "rtt_s": question.rtt, "bdp_bytes": question.bdp, "window_bytes": target.window},
        "route": asdict(route),
        "told": [*told, *(simulated.told if simulated else ())],
        "checks": [
            {
                "check": row.check.name,
                "state": row.found.state.value,
                "now": row.found.now,
                "wanted": row.found.wanted,
                "reads": row.check.reads,
                "why": row.check.why,
                "source": row.check.source,
                "lines": [asdict(line) for line in row.found.lines],
                "gain": _gain(gains[row.check.name]) if row.check.name in gains else None,
            }
            for row in rows
        ],
        "together": [_gain(gain) for gain in simulated.together] if simulated else None,
    }


def _gain(gain: Gain) -> dict[str, object]:
    finite = gain.without > 0
    return {
        "direction": "sending" if gain.sends else "receiving",
        "without_bps": gain.without,
        "with_bps": gain.with_,
        "relative": gain.relative if finite else None,
        "relative_ci": gain.half,
    }
