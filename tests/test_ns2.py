"""The paper on dynamic right-sizing simulated with ns-2: where ns-2 is installed, it and longfat count the same packets."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest
from longfat import load

PAPER = Path(__file__).parent.parent / "papers" / "drs"

pytestmark = pytest.mark.skipif(shutil.which("ns") is None, reason="no ns-2: `make system-packages` installs it")


@pytest.fixture(scope="module")
def ns2() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ns2", PAPER / "ns2" / "ns2.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_static_flow_of_figure_2(ns2: ModuleType) -> None:
    assert [flow.acked for flow in ns2.simulate("1+0")] == [145_527]
    assert [flow.acked for flow in ns2.simulate("1+0", rate="1000Mb", delay="16ms")] == [91_407]


@pytest.mark.parametrize("maxwnd", [100, 300, 400])
def test_a_static_and_a_dynamic_flow(ns2: ModuleType, maxwnd: int) -> None:
    experiment = load(PAPER / "figures-100m.toml")
    for kind in (0, 1):
        experiment[f"flow[{kind}].count"] = 1
        experiment[f"flow[{kind}].from"] = f"left{kind + 1}"
        experiment[f"flow[{kind}].to"] = f"right{kind + 1}"
    experiment["path.bottleneck.queue.limit"] = "100 packets"
    experiment["flow[1].window_sizing.maxwnd"] = f"{maxwnd} segments"
    # Its TCP has no handshake.
    experiment["measure.duration"] = "30.06 s"
    ours = experiment.run().flows.set_index("group")["acks_received"].to_dict()
    theirs = {flow.kind: flow.acked for flow in ns2.simulate("1+1", queue=100, maxwnd=maxwnd, seconds=30)}
    # As long as nothing is lost: then the two differ in when a clock ticks.
    assert ours == theirs
