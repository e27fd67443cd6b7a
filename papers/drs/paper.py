"""Dynamic right-sizing 2001 beside longfat: numbers, tables, claims, figures.

`cells.py` says what is counted, `README.md` what came out.
"""

from __future__ import annotations

from longfat.paper import Agreement, Layout

# Each registers its own on the paper: the report has them in this order, what is beyond the paper last.
from . import figures, hoarders, numbers, server
from .cells import Cells
from .study import FOLDER, paper

__all__ = ["figures", "hoarders", "numbers", "paper", "server"]

paper.not_results(caption="a figure, drawn in the report")
paper.tables.append(
    Layout("Table I", "thousand packets acknowledged, queue 100, maxwnd 650", {"acked_thousand": ""}, rows=("kind",), columns="flow")
)

paper.agreements.append(Agreement("Table I", "acked_thousand", by="kind"))

paper.claims_of(FOLDER / "claims.csv", Cells)
