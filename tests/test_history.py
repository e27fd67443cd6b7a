"""The history of a path: its file, its page, and the command that keeps it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from longfat.cli.measure import measure_command
from longfat.errors import LongfatError
from longfat.live import history
from longfat.live.serving import serving

KEYS = ("goodput_bps", "rtt_idle_s", "rtt_loaded_s", "queue_delay_up_p95_s", "queue_delay_down_p95_s", "retransmission_rate")


def way(goodput: float, verdict: str = "valid") -> dict[str, Any]:
    values = dict(zip(KEYS, (goodput, 0.02, 0.03, 0.01, 0.002, 0.001), strict=True))
    return values | {"limited_by": "the congestion window", "verdict": verdict}


def record(hour: int, **more: Any) -> history.Record:
    path = {"routers": ["10.0.0.1", "", "10.0.2.1"], "links_up": 4.0, "links_down": 4.0, "mtu_up_bytes": 1500.0, "mtu_down_bytes": None}
    path["base_rtt_s"] = 0.02
    return {
        "time": f"2026-11-{28 + hour // 24:02}T{hour % 24:02}:00:00+00:00",
        "host": "dtn",
        "seconds": 10,
        "path": path,
        "up": way(90e6 + hour * 1e6),
        "down": way(40e6),
    } | more


def test_measurements_are_added_and_a_broken_line_costs_only_itself(tmp_path: Path) -> None:
    file = tmp_path / "dtn.jsonl"
    assert history.read(file) == []
    for hour in range(3):
        history.append(file, record(hour))
    assert [one["time"][11:13] for one in history.read(file)] == ["00", "01", "02"]
    with file.open("a", encoding="utf-8") as out:
        out.write('{"time": "2026-11-28T03:0')
    history.append(file, record(4))
    assert [one["time"][11:13] for one in history.read(file)] == ["00", "01", "02", "04"]
    assert len(file.read_text().splitlines()) == 5


def test_the_page_has_all_measurements_and_the_changes_of_the_path(tmp_path: Path) -> None:
    file = tmp_path / "dtn.jsonl"
    moved = record(1)["path"] | {"routers": ["10.0.0.1", "10.0.1.9", "10.0.2.7"], "mtu_up_bytes": 1400.0, "links_down": None}
    some = [
        record(0),
        record(1, path=moved),
        {"time": "2026-11-28T02:00:00+00:00", "host": "dtn", "seconds": 10, "error": "dtn: no connection </script>"},
        record(3, path=moved, down=way(41e6, "suspect"), both={"up": way(60e6), "down": way(30e6)}),
    ]
    for one in some:
        history.append(file, one)
    page = history.write_page(file, "dtn <b>")
    text = page.read_text(encoding="utf-8")
    assert page == tmp_path / "dtn.html"
    assert "dtn &lt;b&gt;" in text
    assert "<b>" not in text.split("</head>")[1].split("<script")[0] or "dtn <b>" not in text
    assert "no connection &lt;/script&gt;" in text
    assert "4 measurements from 2026-11-28 00:00 to 2026-11-28 03:00 UTC, of which 1 failed" in text
    assert "up: median 91.0 Mbit/s, from 90.0 to 93.0" in text
    assert "up, both at once: median 60.0 Mbit/s, from 60.0 to 60.0" in text
    assert history.line(some[3]).startswith("2026-11-28 03:00: up 93.0 Mbit/s; down 41.0 Mbit/s; up, both at once 60.0 Mbit/s; down, both")
    assert "router 3: 10.0.2.1, now 10.0.2.7" in text
    assert "MTU up: 1500, now 1400" in text
    assert "limit up" in text
    assert "dtn.jsonl" in text
    assert "parquet" not in text.split("<script")[0]
    assert "links down" not in text, "unknown once is no change"
    assert text.count("router 3: 10.0.2.1") == 1
    assert list(tmp_path.iterdir()) == [page, file] or set(tmp_path.iterdir()) == {page, file}


def test_a_history_that_cannot_be_kept_is_refused_before_a_measurement(tmp_path: Path) -> None:
    for file, said in ((tmp_path / "x.txt", r"\.jsonl"), (tmp_path / "none" / "x.jsonl", "folder that is there")):
        with pytest.raises(LongfatError, match=said):
            measure_command("127.0.0.1:1", kept=file)
    with pytest.raises(LongfatError, match="1h"):
        measure_command("127.0.0.1:1", every="often", kept=tmp_path / "x.jsonl")
    with pytest.raises(LongfatError, match="leave out"):
        measure_command("127.0.0.1:1", every="1h", as_json=True)
    assert not list(tmp_path.iterdir())
    assert history.name_of("[2001:db8::1]:5277").name == "2001_db8__1__5277.jsonl"


def test_a_host_that_is_not_there_is_a_line_of_the_history(tmp_path: Path) -> None:
    file = tmp_path / "none.jsonl"
    with pytest.raises(LongfatError, match="longfat serve"):
        measure_command("127.0.0.1:1", seconds=2, kept=file)
    [one] = history.read(file)
    assert "longfat serve" in one["error"]
    assert "longfat serve" in history.page_of(file).read_text(encoding="utf-8")


@pytest.mark.slow
def test_ctrl_c_keeps_what_there_is(tmp_path: Path) -> None:
    env = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
    longfat = [sys.executable, "-m", "longfat"]
    subprocess.run([*longfat, "key", "new", "test"], env=env, check=True, capture_output=True)
    file = tmp_path / "here.jsonl"
    with serving("--key", "test", env=env) as server:
        measure = [*longfat, "measure", server.at, "--key", "test", "--seconds", "2"]
        options = ["--direction", "up", "--every", "1s", "--history", str(file)]
        with subprocess.Popen([*measure, *options], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
            until = time.monotonic() + 100
            while len(history.read(file)) < 2 and time.monotonic() < until:
                time.sleep(0.2)
            client.send_signal(signal.SIGINT)
            out, err = client.communicate(timeout=60)
    kept = history.read(file)
    assert len(kept) >= 2, out + err
    assert kept[0]["up"]["goodput_bps"] > 0
    assert "down" not in kept[0]
    assert kept[0]["path"]["mtu_up_bytes"] > 1000
    assert kept[0]["path"]["links_up"] == 1
    assert f"{len(kept)} measurements kept" in err.replace("\n", " "), err
    assert history.page_of(file).is_file()
    assert json.loads(file.read_text().splitlines()[0])["host"].startswith("127.0.0.1:")


CONTRIB = Path(__file__).parents[1] / "contrib"


def test_the_timer_starts_the_command_as_it_is_called() -> None:
    start = re.search(r"^ExecStart=\S*/longfat (.*)$", (CONTRIB / "longfat-measure.service").read_text(encoding="utf-8"), re.MULTILINE)
    assert start
    words = start[1].split()
    assert words[0] == "measure"
    assert [word for word in words if word.startswith("--")] == ["--key", "--history"]
    timer = (CONTRIB / "longfat-measure.timer").read_text(encoding="utf-8")
    assert "OnCalendar=hourly" in timer
