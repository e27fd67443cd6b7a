"""The paper on TCP over ATM, from runs shorter than its own."""

from __future__ import annotations

import longfat
from longfat.locate import paper_folder
from longfat.paper import Measured, compare, load_paper, load_published


def test_a_choice_that_the_short_form_leaves_out_is_no_result() -> None:
    experiment = longfat.load("atm/plain")
    experiment.quicken()
    folder = paper_folder("atm")
    lines = compare(load_paper(folder), load_published(folder), Measured({"plain": experiment.sweep()}))
    told = [line for line in lines if "the short form of plain has no choice of" in line.note]
    assert told
    assert {line.verdict for line in told} == {"not testable"}
