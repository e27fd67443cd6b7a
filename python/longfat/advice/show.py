"""Advice as a table, as text, as HTML and as JSON."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import io
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from markupsafe import Markup

from longfat.advice import linux
from longfat.advice.cells import FEWEST, Cell
from longfat.advice.lengths import Length
from longfat.advice.plan import WINDOW_LIMIT, Plan
from longfat.advice.question import Question
from longfat.advice.ranking import is_whole, judged, kept, retransmits, short_transfers, wastes, worst_case
from longfat.advice.verdict import rate, short_times
from longfat.lazy import pd
from longfat.plot.units import with_unit
from longfat.results.results import Results

if TYPE_CHECKING:
    from rich.console import Console

    from longfat.advice.advise import Advice

TOLD = ("queue_elsewhere", "edge_not_faster")
"""Warnings of runs that matter to who asks; the others are in the verdict, or are what is asked."""
UNKNOWN_CELL = "–"
AT_MOST = "≤ "


def table(advice: Advice) -> pd.DataFrame:
    """Numbers: bit/s, seconds, shares."""
    rows: list[dict[str, object]] = []
    for one in advice.plan.candidates:
        own = [advice.cells.get((one.name, case.name)) for case in advice.plan.cases]
        row: dict[str, object] = {"candidate": one.name}
        for case, cell in zip(advice.plan.cases, own, strict=True):
            row |= {f"goodput_bps: {case.name}": cell.goodput if cell else math.nan}
            row |= {f"goodput_bps_ci: {case.name}": cell.half if cell else math.nan}
        worst, first = worst_case(advice.plan, advice.cells, one), own[0]
        row |= {"worst_bps": worst.goodput, "worst_case": worst.case, "whole": is_whole(advice.plan, advice.cells, one)}
        row |= {"delay_s": first.delay if first else math.nan, "retransmission_rate": first.retransmitted if first else math.nan}
        short = short_transfers(advice.plan, advice.cells, one)
        row |= {"short_p50_s": short.short_p50 if short else math.nan, "short_p95_s": short.short_p95 if short else math.nan}
        rows.append(row | {"rival_share": kept(advice.plan, advice.cells, one), "window_bytes": advice.plan.window(one)})
    return pd.DataFrame(rows)


def answers(advice: Advice) -> tuple[list[str], list[list[str]]]:
    """Titles and rows of the table: one row per candidate, the best first."""
    plan, cells = advice.plan, advice.cells
    rival = next((case for case in plan.cases if case.rivals), None)
    alone = " alone" if rival and len(plan.cases) > len(judged(plan)) else ""
    titles = [
        "candidate",
        "goodput" + (" of the site with least" if len(plan.question.rtts) > 1 else ""),
        f"in its worst case{alone}",
        "retransmitted",
        f"{advice.delay} ({plan.cases[0].name})",
    ]
    titles += [f"{rival.control} beside it keeps"] if rival else []
    has_short = any(short_transfers(plan, cells, one) for one in plan.candidates)
    titles += ["others' short transfers: median, 95 %"] if has_short else []
    rows: list[list[str]] = []
    for one in sorted(plan.candidates, key=lambda one: (one is not advice.found.best, -worst_case(plan, cells, one).goodput)):
        worst, first, most = worst_case(plan, cells, one), cells.get((one.name, plan.cases[0].name)), retransmits(plan, cells, one)
        row = [f"→ {one.name}" if one is advice.found.best else one.name]
        row += [("" if is_whole(plan, cells, one) else AT_MOST) + _said(worst), worst.case]
        row += [f"{100 * most.retransmitted:.2g} %" if most else UNKNOWN_CELL]
        row += [with_unit(first.delay, "s") if first and not math.isnan(first.delay) else UNKNOWN_CELL]
        share = kept(plan, cells, one)
        row += [f"{100 * share:.0f} %" if not math.isnan(share) else UNKNOWN_CELL] if rival else []
        short = short_transfers(plan, cells, one)
        rows.append(row + ([short_times(short) if short else UNKNOWN_CELL] if has_short else []))
    return titles, rows


def by_case(advice: Advice) -> tuple[list[str], list[list[str]]]:
    """Titles and rows of goodput by case, of the candidates that were run in every case; no rows where there is one case."""
    plan, cells = advice.plan, advice.cells
    whole = [one for one in plan.candidates if all((one.name, case.name) in cells for case in plan.cases)]
    titles = ["candidate", *(case.name for case in plan.cases)]
    rows = [[one.name, *(_said(cells[one.name, case.name]) for case in plan.cases)] for one in whole]
    return titles, rows if len(plan.cases) > 1 else []


def _said(cell: Cell) -> str:
    sites = f" ({' + '.join(with_unit(value, 'bit/s') for value in cell.sites)})" if len(cell.sites) > 1 else ""
    return rate(cell) + ("*" if cell.is_short else "") + sites


def supposed(advice: Advice) -> list[str]:
    """Lists the assumptions of the answer."""
    plan = advice.plan
    question = plan.question
    made = [
        *question.told,
        f"Path: {with_unit(question.rate, 'bit/s')} of IP packets of {question.mtu} bytes, {_sites(question)}: "
        f"{with_unit(question.bdp, 'iB', 4)} fill it, and it carries {with_unit(question.payload, 'bit/s', 4)} of payload.",
        f"Hosts have interfaces of {with_unit(question.edge, 'bit/s')} and take no time.",
        "Rates are payload, ± half of the 95 % interval over independent seeds. A rate without ± is of one run.",
        *(_length(one) for one in plan.lengths),
    ]
    if question.policer:
        own, burst = question.policer
        counted = min(one.duration - one.warmup for one in plan.lengths)
        made.append(
            f"A policer of {with_unit(own, 'bit/s')} with a bucket of {with_unit(burst, 'B')} drops what exceeds it. A bucket that is full "
            f"when counting begins adds up to {with_unit(8 * burst / counted, 'bit/s')} to the mean of {counted:.3g} s."
        )
    if question.load:
        made.append(f"Short transfers of others (sizes of web search) use {100 * question.load:g} % of the path in every case.")
        if not any(cell.short_count >= FEWEST for cell in advice.cells.values()):
            made.append(f"Fewer than {FEWEST} of them were short: too few to say how long these take (--duration, --thorough).")
    every = len(plan.candidates) * len(plan.cases)
    if missing := every - len(advice.cells):
        behind = f"{AT_MOST.strip()}: behind in this case already, so it was not run in all others"
        made.append(f"{behind} ({missing} of {every} runs; --all makes them).")
    if advice.copied:
        made.append(
            f"{len(advice.copied)} cells are those of a smaller buffer: its queue dropped nothing, so a larger one changes nothing."
        )
    return made


def _sites(question: Question) -> str:
    trips = " and ".join(with_unit(trip, "s") for trip in question.rtts)
    return f"sites at {trips}" if len(question.rtts) > 1 else trips


def _length(one: Length) -> str:
    kind = {"by rate": "of BBR ", "without loss": "of the others without loss ", "with loss": "of the others with loss "}.get(one.name, "")
    return f"Runs {kind}are {one.duration:g} s long, of which the last {one.duration - one.warmup:.3g} count: {one.why}."


def traps(plan: Plan, results: Results) -> list[str]:
    """Lists what would make the answer wrong, or the path other than it looks."""
    question = plan.question
    made: list[str] = []
    if question.bdp > WINDOW_LIMIT:
        most = WINDOW_LIMIT * 8 / question.rtt
        need = math.ceil(question.bdp / WINDOW_LIMIT)
        made.append(
            f"One stream gets at most {with_unit(most, 'bit/s')} here: no window is over 1 GiB (RFC 7323 section 2.3), and "
            f"{with_unit(question.bdp, 'iB')} fill the path. It takes {need} streams at least."
        )
    if question.edge <= question.rate:
        made.append("The hosts' interfaces are no faster than the path: queues grow in them, and the path's buffer does not matter.")
    total = dict.fromkeys(TOLD, 0)
    for warning in results.warnings:
        if warning.name in TOLD:
            total[warning.name] += len(warning.runs)
            if total[warning.name] == len(warning.runs):
                made.append(f"{warning.text} ({warning.name})")
    return made


def released(advice: Advice) -> str:
    """Names what a released kernel has, and what it wastes."""
    stock = advice.found.stock
    most = retransmits(advice.plan, advice.cells, stock)
    wasted = f", which retransmits {100 * most.retransmitted:.2g} %" if most and wastes(advice.plan, advice.cells, stock) else ""
    return f"With a released kernel: {stock.name}{wasted}"


def print_advice(console: Console, advice: Advice) -> None:
    """Prints what to set, why, the lines for Linux, the table of candidates, and then how sure it is."""
    from longfat.report.terminal import escape

    def say(text: str, style: str = "") -> None:
        console.print(f"[{style}]{escape(text)}[/]" if style else escape(text), soft_wrap=True)

    found = advice.found
    say(advice.experiment.title, "bold")
    for sentence in found.reasons:
        say(f"  {sentence}")
    for trap in advice.warnings:
        console.print(f"  [yellow]warning:[/] {escape(trap)}", soft_wrap=True)
    say("\nOn Linux", "bold")
    if not found.best.untouched:
        say(f"  {linux.arithmetic(advice.plan, found.best)}")
    _print_lines(console, linux.lines(advice.plan, found.best))
    if found.stock is not found.best:
        say(f"\n{released(advice)}", "bold")
        _print_lines(console, linux.lines(advice.plan, found.stock))
    say("\nCandidates", "bold")
    _print_table(console, *answers(advice))
    for one in advice.plan.candidates:
        say(f"  {one.name}: {one.what}{f' ({one.kernel})' if one.kernel else ''}", "dim")
    titles, rows = by_case(advice)
    if rows:
        say("\nGoodput by case", "bold")
        _print_table(console, titles, rows)
    say("\nHow sure", "bold")
    for sentence in [*found.notes, *supposed(advice)]:
        say(f"  {sentence}")


def _print_table(console: Console, titles: list[str], rows: list[list[str]]) -> None:
    from longfat.report.columns import Column, print_columns
    from longfat.report.terminal import escape

    columns = [Column(escape(title), [escape(row[i]) for row in rows], left=i == 0) for i, title in enumerate(titles)]
    print_columns(console, columns[:1], columns[1:])


def _print_lines(console: Console, lines: list[linux.Line]) -> None:
    from longfat.report.terminal import escape

    if not lines:
        console.print("  Nothing: it is what Linux does by itself.")
    for line in lines:
        console.print(f"  {escape(line.text)}", soft_wrap=True)
        console.print(f"    [dim]{escape(line.why)} ({escape(line.source)})[/]", soft_wrap=True)


def text(advice: Advice) -> str:
    """Returns the text that `longfat advise` prints."""
    from longfat.report.terminal import ENDLESS, Terminal

    file = io.StringIO()
    print_advice(Terminal(file=file, width=ENDLESS, highlight=False), advice)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def html(advice: Advice) -> str:
    """Makes the table for notebooks."""
    titles, rows = answers(advice)
    head = Markup("").join(Markup("<th>{}</th>").format(title) for title in titles)
    body = Markup("").join(
        Markup("<tr>{}</tr>").format(Markup("").join(Markup("<td>{}</td>").format(cell) for cell in row)) for row in rows
    )
    code = "\n".join(f"{line.text}  # {line.why}" for line in advice.lines)
    said = Markup("").join(Markup("<p>{}</p>").format(one) for one in [*advice.found.sentences, *advice.warnings])
    return str(
        Markup("<h4>{}</h4>{}<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table><pre>{}</pre>").format(
            advice.experiment.title, said, head, body, code
        )
    )


def as_json(advice: Advice) -> dict[str, Any]:
    """Rates in bit/s, times in seconds, sizes in bytes; None where there is no value, or where a short transfer did not finish."""
    plan = advice.plan
    cells = [{name: _plain(value) for name, value in asdict(cell).items()} for cell in advice.cells.values()]
    return {
        "question": asdict(plan.question) | {"bdp_bytes": plan.question.bdp, "payload_bps": plan.question.payload},
        "best": advice.best,
        "decided": advice.found.decided,
        "verdict": advice.found.sentences,
        "window_bytes": plan.window(advice.found.best),
        "lines": [asdict(line) for line in advice.lines],
        "released_kernel": advice.found.stock.name,
        "candidates": [asdict(one) for one in plan.candidates],
        "cases": [asdict(case) | {"name": case.name} for case in plan.cases],
        "delay": advice.delay,
        "cells": cells,
        "not_run": [[one.name, case.name] for one in plan.candidates for case in plan.cases if (one.name, case.name) not in advice.cells],
        "copied": [list(key) for key in sorted(advice.copied)],
        "warnings": advice.warnings,
        "lengths": [asdict(one) for one in plan.lengths],
        "experiment": advice.experiment.text,
    }


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(one) for one in cast("tuple[object, ...]", value)]
    return None if isinstance(value, float) and not math.isfinite(value) else value
