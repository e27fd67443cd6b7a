"""The controls beside their theory, in the short form: what must be within 5 % is, and every claim that can be tested holds."""

from __future__ import annotations

import longfat
import pytest
from longfat import locate
from longfat.paper import Comparison, compare, load_measured, load_paper, load_published

pytestmark = [pytest.mark.slow, pytest.mark.papers]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Comparison]:
    """The comparison of the whole family in its short form."""
    root = tmp_path_factory.mktemp("validation")
    for source in locate.sources("validation"):
        experiment = longfat.load(source.file)
        experiment.quicken()
        experiment.sweep(root / source.name)
    folder = locate.paper_folder("validation")
    found = compare(load_paper(folder), load_published(folder), load_measured(folder, root))
    return {line.id: line for line in found}


def test_no_claim_differs(lines: dict[str, Comparison]) -> None:
    claims = [line for line in lines.values() if isinstance(line.published, str)]
    assert not [line for line in claims if line.verdict == "differs"]
    assert sum(line.verdict == "holds" for line in claims) >= 49


@pytest.mark.parametrize(
    "what", ["reno", "aimd", "highspeed", "cubic", "cubic-10ms", "scalable", "compound", "hybla", "illinois", "yeah", "bic", "htcp"]
)
def test_the_response_function_is_within_five_percent(what: str, lines: dict[str, Comparison]) -> None:
    assert lines[f"response-{what}-1e-5"].verdict == "holds"


@pytest.mark.parametrize("claim", ["response-reno-1e-3", "random-pftk", "response-marks-dctcp", "response-marks-prague"])
def test_timeouts_and_marks_are_what_theory_says(claim: str, lines: dict[str, Comparison]) -> None:
    assert lines[claim].verdict == "holds"


def test_where_a_cycle_is_short_the_loss_takes_its_round_trip(lines: dict[str, Comparison]) -> None:
    # At 1e-2 a cycle of Reno has 8 round trips: the theory, in which a loss takes none, has more.
    line = lines["rfc-3649-table-1-reno-1e-2"]
    assert isinstance(line.ours, float)
    assert 10 < line.ours < 11.4
