"""The tool of pScheduler: its programs on inputs as pScheduler gives them, and both participants of a run over loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TOOL = Path(__file__).parents[1] / "contrib" / "pscheduler-tool-longfat"
SPEC = {"schema": 1, "source": "127.0.0.1", "dest": "127.0.0.1", "duration": "PT2S"}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="measurements between two hosts need Linux")


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    longfat = tmp_path / "longfat"
    longfat.write_text(f'#!/bin/sh\nexec {sys.executable} -m longfat "$@"\n')
    longfat.chmod(0o755)
    return {**os.environ, "LONGFAT": str(longfat)}


def call(program: str, asked: Any, env: dict[str, str] | None = None) -> dict[str, Any]:
    text = asked if isinstance(asked, str) else json.dumps(asked)
    done = subprocess.run([sys.executable, TOOL / program], input=text, env=env, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_program_is_there_and_can_be_started() -> None:
    for program in ("enumerate", "can-run", "duration", "participant-data", "run", "merged-results"):
        assert os.access(TOOL / program, os.X_OK), program
    told = call("enumerate", "")
    assert (told["name"], told["tests"]) == ("longfat", ["throughput"])


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"type": "throughput", "spec": SPEC}, None),
        ({"type": "throughput", "spec": {**SPEC, "reverse": True, "congestion": "cubic", "interval": "PT1S"}}, None),
        ({"type": "rtt", "spec": SPEC}, "not rtt"),
        ({"type": "throughput", "spec": {**SPEC, "udp": True}}, "no option udp"),
        ({"type": "throughput", "spec": {**SPEC, "duration": "PT1S"}}, "2 to 3600 s"),
        ({"type": "throughput", "spec": {**SPEC, "duration": "soon"}}, "PT10S"),
        ({"type": "throughput", "spec": {**SPEC, "interval": "PT5S"}}, "intervals of 1 s"),
    ],
)
def test_a_test_is_taken_or_refused_with_the_reason(asked: Any, reason: str | None) -> None:
    told = call("can-run", asked)
    assert told["can-run"] is (reason is None), told
    assert reason is None or reason in " ".join(told["reasons"])


def test_the_duration_is_longer_than_the_flow() -> None:
    assert call("duration", {**SPEC, "duration": "PT1M30S"}) == {"duration": "PT105S"}
    assert call("duration", {**SPEC, "link-rtt": "PT1S"}) == {"duration": "PT37S"}


@pytest.mark.alone
@pytest.mark.parametrize("reverse", [False, True])
def test_both_participants_make_one_result(env: dict[str, str], reverse: bool) -> None:
    data = [call("participant-data", {"participant": number}, env) for number in (0, 1)]
    data[1]["port"] = 5377
    spec = {**SPEC, "reverse": reverse}
    asked = {"test": {"type": "throughput", "spec": spec}, "participant-data": data, "schedule": {"duration": "PT17S"}}
    with subprocess.Popen([sys.executable, TOOL / "run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True) as far:
        assert far.stdin is not None
        far.stdin.write(json.dumps({**asked, "participant": 1}))
        far.stdin.close()
        near = call("run", {**asked, "participant": 0}, env)
        assert far.stdout is not None
        served = json.loads(far.stdout.read())
    assert near["succeeded"], near
    assert served["succeeded"], served
    result = call("merged-results", {"test": asked["test"], "results": [near, served]})
    assert len(result["intervals"]) >= 1
    whole = result["summary"]["summary"]
    assert whole["throughput-bits"] > 1e6
    assert whole["end"] == pytest.approx(2, abs=0.5)
    assert "1 flow" in result["diags"], "the server's line"
    assert data[1]["_key"] not in json.dumps([near, served, result]), "no key is in a result"


def test_a_failure_is_a_sentence_in_the_result(env: dict[str, str]) -> None:
    data = [{"schema": 1}, {"schema": 1, "port": 1, "_key": "longfat-key-1:" + "0" * 64}]
    asked = {"test": {"type": "throughput", "spec": SPEC}, "participant-data": data, "schedule": {"duration": "PT17S"}}
    near = call("run", {**asked, "participant": 0}, env)
    assert not near["succeeded"]
    assert near["error"]
    both = {"results": [near, {"succeeded": False, "error": "the port is taken", "diags": "x", "intervals": [], "summary": {}}]}
    merged = call("merged-results", both)
    assert "the port is taken" in merged["error"]
    assert call("merged-results", {"results": [None, None]})["succeeded"] is False
    done = subprocess.run([sys.executable, TOOL / "run"], input="{", capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("run: ")
