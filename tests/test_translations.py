"""Lines of docs/from-other-tools.md: each is a line that an experiment file takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import longfat
import pytest

PAGE = Path(__file__).parent.parent / "docs" / "from-other-tools.md"
MEASURE = '\n[measure]\nduration = "1 s"\n'
LINK = '[path]\npreset = "dumbbell"\nbottleneck = {{ {rest}{line} }}\nedge = {{ rate = "10 Gbit/s", delay = "5 ms" }}\n[[flow]]' + MEASURE
FLOW = '[path]\npreset = "dumbbell"\nrtt = "20 ms"\nbottleneck = {{ rate = "10 Mbit/s" }}\n[[flow]]\nstack = "rfc"\n{line}' + MEASURE


def rows() -> Iterator[tuple[str, str]]:
    """The head of the table's second column, and the code of that column, of each row."""
    head = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            head = ""
            continue
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not head:
            head = cells[-1].rstrip("| ")
        elif not line.startswith("|---"):
            codes = re.findall("`([^`]+)`", cells[-1])
            assert len(codes) == 1, line
            yield head, codes[0]


def file_of(head: str, code: str) -> str:
    """An experiment file with the line in it."""
    if head == "in the flow":
        return FLOW.format(line=code)
    rest = "" if code.startswith("rate") else 'rate = "1 Gbit/s", '
    return LINK.format(rest=rest, line=code)


def test_the_page_has_its_tables() -> None:
    heads = [head for head, _ in rows()]
    assert heads.count("at the link") > 30
    assert heads.count("in the flow") > 15


@pytest.mark.parametrize(("head", "code"), list(rows()))
def test_each_line_is_taken(head: str, code: str) -> None:
    experiment = longfat.Experiment(file_of(head, code), name="translated")
    assert experiment.run_count == 1


def test_netem_carries_what_its_limit_lets_through() -> None:
    """A packet of 1500 bytes holds its place for 20 ms and its transmission. 136 places: 81 Mbit/s, whatever the rate and the queue."""
    for limit in (136, 34, 6):
        line = f'delay = "20 ms", limit_in_delay = "{limit} packets", queue = {{ kind = "droptail", limit = "1000 packets" }}'
        text = LINK.format(rest='rate = "100 Mbit/s", ', line=line).replace('"1 s"', '"10 s"')
        udp = 'traffic = { kind = "udp", rate = "99 Mbit/s", size = "1500 bytes" }'
        run = longfat.Experiment(text.replace("[[flow]]", f"[[flow]]\n{udp}"), name="netem").run()
        carried = float(run.links["wire_bytes"].iloc[0]) * 8 / 10
        expected = limit * 1500 * 8 / (0.020 + 1500 * 8 / 100e6)
        assert carried == pytest.approx(expected, rel=0.02), limit
