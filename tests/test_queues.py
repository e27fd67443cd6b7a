"""The queues beside what was published of them, in the short form: every claim holds that can be tested, but those whose cause is told."""

from __future__ import annotations

import longfat
import pytest
from longfat import locate
from longfat.paper import compare, load_measured, load_paper, load_published

pytestmark = [pytest.mark.slow, pytest.mark.papers]


def test_no_claim_differs_but_those_that_are_told(tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("queues")
    for source in locate.sources("queues"):
        experiment = longfat.load(source.file)
        experiment.quicken()
        experiment.sweep(root / source.name)
    folder = locate.paper_folder("queues")
    found = compare(load_paper(folder), load_published(folder), load_measured(folder, root))
    claims = {line.id: line.verdict for line in found if isinstance(line.published, str)}
    # The sender of 2020 did not take a short path for a longer one, as its draft of 2024 has it: docs/queues-published.md.
    assert [id for id, verdict in claims.items() if verdict == "differs"] == ["l4s-fq", "l4s-dualpi2-rtt"]
    assert sum(verdict == "holds" for verdict in claims.values()) >= 19
    # fq_codel is even, as theirs is.
    even = [line for line in found if line.id.startswith("l4s-") and "-fq_codel-" in line.id and not isinstance(line.published, str)]
    assert len(even) == 48
    assert sum(line.verdict == "holds" for line in even) >= 40
