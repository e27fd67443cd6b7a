"""The paper on dynamic right-sizing, from runs shorter than its own."""

from __future__ import annotations

import longfat
import pytest
from longfat.locate import paper_folder
from longfat.paper import Comparison, Measured, compare, load_paper, load_published


@pytest.fixture(scope="module")
def short() -> dict[str, Comparison]:
    """Lines of the short form of Figure 2."""
    experiment = longfat.load("drs/figure2")
    experiment.quicken()
    folder = paper_folder("drs")
    return {line.id: line for line in compare(load_paper(folder), load_published(folder), Measured({"figure2": experiment.sweep()}))}


def test_rates_and_shares_are_of_the_time_that_was_run(short: dict[str, Comparison]) -> None:
    # The rate is not of 200 s: then a twentieth of it came out.
    assert short["4a-share-100m"].verdict == "holds"
    assert short["4a-bound-100m"].verdict == "holds"
    assert short["4a-window"].verdict == "holds"


def test_totals_of_200_s_are_not_in_the_short_form(short: dict[str, Comparison]) -> None:
    for id in ("4a-capacity-100m", "4a-static-100m"):
        assert short[id].verdict == "not testable"
        assert "not in the short form: counted in 200 s, and its runs are of 9.94 s" in short[id].note


@pytest.mark.slow
def test_a_twentieth_of_the_connections_holds_the_memory() -> None:
    experiment = longfat.load("drs/beyond/hoarders")
    experiment.quicken()
    experiment.set("measure.duration", "5 s")
    made, missing = load_paper(paper_folder("drs")).made_tables(Measured({"beyond/hoarders": experiment.sweep()}))
    table = next(table for _, table in made if table.title.startswith("auto-psc"))
    assert len(missing) == 2, "the tables of adoption"
    # At 1 and 5 s each. The more are right-sized, the more of what the others hold is with few, and the less the mean of these gets.
    assert len(table.rows) == 6
    goodput, _, most = zip(*(table.rows[f"{share} right-sized: at 5 s"] for share in ("0 %", "50 %", "75 %")), strict=True)
    assert most[0] < 90 < 99 < most[1] <= most[2] <= 100
    assert goodput[0] > 3 * goodput[1]
