"""The paper on dynamic right-sizing, from runs shorter than its own."""

from __future__ import annotations

import longfat
import pytest
from longfat.locate import paper_folder
from longfat.paper import Comparison, Measured, compare, load_paper, load_published


@pytest.fixture(scope="module")
def short() -> dict[str, Comparison]:
    """What the short form of Figure 2 says."""
    experiment = longfat.load("drs/figure2")
    experiment.quicken()
    folder = paper_folder("drs")
    return {line.id: line for line in compare(load_paper(folder), load_published(folder), Measured({"figure2": experiment.sweep()}))}


def test_rates_and_shares_are_of_the_time_that_was_run(short: dict[str, Comparison]) -> None:
    # Not of 200 s: then a twentieth of it came out.
    assert short["4a-share-100m"].verdict == "holds"
    assert short["4a-bound-100m"].verdict == "holds"
    assert short["4a-window"].verdict == "holds"


def test_totals_of_200_s_are_not_in_the_short_form(short: dict[str, Comparison]) -> None:
    for id in ("4a-capacity-100m", "4a-static-100m"):
        assert short[id].verdict == "not testable"
        assert "not in the short form: counted in 200 s, and its runs are of 9.94 s" in short[id].note
