"""The paper that numbers and figures are registered on."""

from __future__ import annotations

from pathlib import Path

from longfat.paper import Paper

from .cells import Cells

FOLDER = Path(__file__).parent

paper = Paper(
    title="Dynamic Right-Sizing in TCP: A Simulation Study",
    citation="E. H. Weigle and W. Feng: Dynamic Right-Sizing in TCP: A Simulation Study. Tenth IEEE International Conference on Computer "
    "Communications and Networks, 2001 (LA-UR-01-5062)",
)
cells = Cells.of
