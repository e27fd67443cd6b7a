"""Lines of docs/from-*.md: each is a line that an experiment file takes."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import longfat
import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGES = ("from-other-tools.md", "from-tc.md", "from-ns-3.md")
TEXT = "\n".join((DOCS / name).read_text(encoding="utf-8") for name in PAGES)
MEASURE = '\n[measure]\nduration = "1 s"\n'
LINK = '[path]\npreset = "dumbbell"\nbottleneck = {{ {rest}{line} }}\nedge = {{ rate = "10 Gbit/s", delay = "5 ms" }}\n[[flow]]' + MEASURE
FLOW = '[path]\npreset = "dumbbell"\nrtt = "20 ms"\nbottleneck = {{ rate = "10 Mbit/s" }}\n[[flow]]\nstack = "rfc"\n{line}' + MEASURE


def rows() -> Iterator[tuple[str, str]]:
    """The head of the table's second column, and the code of that column, of each row."""
    head = ""
    for line in TEXT.splitlines():
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


def test_the_pages_have_their_tables() -> None:
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


FILES = {
    "iperf3.json": json.dumps(
        {"intervals": [{"sum": {"start": start, "bits_per_second": rate}} for start, rate in ((0, 9.5e6), (1.0001, 4.25e6), (2.0002, 7e6))]}
    ).encode(),
    "test.flent.gz": gzip.compress(
        json.dumps(
            {
                "x_values": [0.0, 0.2, 0.4, 0.6],
                "results": {"TCP download": [None, 40.5, 41.0, None], "Ping (ms) ICMP": [None, 20.0, None, 31.0]},
            }
        ).encode()
    ),
    "ping.txt": b"PING h (10.0.0.1) 56(84) bytes of data.\n"
    b"64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=20.4 ms\n64 bytes from 10.0.0.1: icmp_seq=2 ttl=64 time=31 ms\n",
}
"""Output of the tools, in so far as the commands of the page read it."""


@pytest.mark.skipif(shutil.which("jq") is None, reason="the commands need jq")
def test_the_commands_for_measured_series_make_traces(tmp_path: Path) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    commands = re.findall(r"^\$ (.*)$", TEXT, re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        subprocess.run(["bash", "-o", "pipefail", "-ec", command], cwd=tmp_path, check=True)
    assert (tmp_path / "rate.csv").read_text().splitlines() == ["time_s,rate_bps", "0,9500000", "1.0001,4250000", "2.0002,7000000"]
    assert (tmp_path / "download.csv").read_text().splitlines() == ["time_s,rate_mbps", "0,40.5", "0.2,41"]
    for trace in (
        'rate_trace = { kind = "csv", file = "rate.csv" }',
        'rate_trace = { kind = "csv", file = "download.csv" }',
        'rate = "1 Gbit/s", delay_trace = { kind = "csv", file = "delay.csv" }',
        'rate = "1 Gbit/s", delay_trace = { kind = "lines", file = "delays.txt", value = "delay_ms", interval = "200 ms" }',
    ):
        assert longfat.Experiment(LINK.format(rest="", line=trace), file=str(tmp_path / "traced.toml")).run_count == 1
    for given in ("iperf3.json", "test.flent.gz"):
        with pytest.raises(longfat.ExperimentError, match="from-other-tools"):
            longfat.Experiment(
                LINK.format(rest="", line=f'rate_trace = {{ kind = "csv", file = "{given}" }}'), file=str(tmp_path / "traced.toml")
            )
