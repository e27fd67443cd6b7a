"""The paper that numbers and figures are registered on."""

from __future__ import annotations

from pathlib import Path

from longfat.paper import Paper, load_published

from .cells import Cells

FOLDER = Path(__file__).parent
PUBLISHED = load_published(FOLDER)

paper = Paper(
    title="Evaluation of Advanced TCP Stacks on Fast Long-Distance Production Networks",
    citation="H. Bulot, R. L. Cottrell and R. Hughes-Jones: Evaluation of Advanced TCP Stacks on Fast Long-Distance Production Networks. "
    "2004",
)
cells = Cells.of


def table1() -> dict[tuple[str, int, str], float]:
    """The published cells of Table 1 by path, size and stack."""
    rows = [row for row in PUBLISHED if row.quantity == "throughput"]
    return {(row["path"], int(row["size"]), row["stack"]): row.value for row in rows if row.value is not None}
