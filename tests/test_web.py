"""The lab in a browser: the module in WebAssembly gives what the native one gives, bit for bit, and says what `explain` says."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import longfat
import pytest
from longfat.explain import explain

ROOT = Path(__file__).parent.parent
GOLDEN = ROOT / "crates/sim/src/tests/golden.txt"
MODULE = ROOT / "target/web/longfat.wasm"

pytestmark = pytest.mark.skipif(not (shutil.which("node") and MODULE.exists()), reason="needs Node.js and `make web`")


def under_node(runs: dict[str, str], columns: list[str] | None = None) -> dict[str, Any]:
    """Answers of the module for experiments by name, run in slices under Node.js."""
    asked = json.dumps({"runs": runs, "columns": columns})
    done = subprocess.run(
        ["node", str(ROOT / "crates/web/page/run.mjs"), str(MODULE)], input=asked, capture_output=True, text=True, check=False, timeout=500
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["found"]


def test_golden_runs_have_the_same_bits_in_webassembly() -> None:
    lines = [line for line in GOLDEN.read_text().splitlines() if not line.startswith("#")]
    columns = lines[1].removeprefix("columns ").split(" ")
    wanted = {line[4:].rsplit(" = ", 1)[0]: line.rsplit(" = ", 1)[1] for line in lines if line.startswith("run ")}
    printed = subprocess.run(
        ["cargo", "run", "--quiet", "-p", "longfat-web", "--example", "golden"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    runs = json.loads(printed.stdout)
    assert runs.keys() == wanted.keys()
    assert len(runs) > 100
    found = under_node(runs, columns)
    assert {name: answer["fingerprint"] for name, answer in found.items()} == wanted


TOLD = {
    "window": '[path]\npreset = "dumbbell"\nrtt = "80 ms"\nbottleneck = { rate = "100 Mbit/s" }\n[[flow]]\nwindow = "256 KiB"\n',
    "two controls": '[path]\npreset = "dumbbell"\nrtt = "20 ms"\nbottleneck = { rate = "10 Mbit/s" }\n[[flow]]\nname = "a"\n'
    '[[flow]]\nname = "b"\ncongestion_control = "cubic"\n',
    "many": '[path]\npreset = "dumbbell"\nrtt = "20 ms"\nbottleneck = { rate = "10 Mbit/s" }\n[[flow]]\ncount = 5\nstagger = "70 ms"\n',
    "volume": '[path]\npreset = "dumbbell"\nrtt = "20 ms"\nbottleneck = { rate = "10 Mbit/s" }\n[[flow]]\n'
    'traffic = { kind = "ttcp", volume = "1 MB" }\n',
    "only a ping": '[path]\npreset = "dumbbell"\nrtt = "20 ms"\nbottleneck = { rate = "10 Mbit/s" }\n[[flow]]\n'
    'traffic = { kind = "ping", interval = "20 ms" }\n',
    "bbr": '[path]\npreset = "dumbbell"\nrtt = "40 ms"\nbottleneck = { rate = "50 Mbit/s" }\n[[flow]]\ncongestion_control = "bbr"\n',
}


def test_sentences_are_those_of_explain(tmp_path: Path) -> None:
    runs = {name: f'{text}\n[measure]\nduration = "8 s"\n' for name, text in TOLD.items()}
    found = under_node(runs)
    for name, text in runs.items():
        file = tmp_path / "one.toml"
        file.write_text(text)
        said = [one.sentence.text for one in explain(longfat.load(file).run()).told]
        missing = [sentence for sentence in found[name]["told"] if sentence not in said]
        assert not missing, f"{name}: {missing} not in {said}"
        assert found[name]["told"][0] == said[0]


PAGE = ROOT / "target/web/lab.html"


@pytest.mark.skipif(not (PAGE.exists() and shutil.which("chromedriver")), reason="needs Chromium's driver and `make web`")
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_runs_a_lesson_and_says_no_error(width: int) -> None:
    from selenium import webdriver
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.wait import WebDriverWait

    options = webdriver.ChromeOptions()
    for one in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--window-size={width},900"):
        options.add_argument(one)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with webdriver.Chrome(options=options) as driver:
        # A fragment that is no experiment does nothing.
        driver.get(f"{PAGE.as_uri()}#x=<script>alert(1)</script>")
        WebDriverWait(driver, 60).until(lambda d: "Done: " in d.find_element(By.TAG_NAME, "body").text)
        assert "delivered" in driver.find_element(By.TAG_NAME, "body").text
        errors = [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
        assert not errors
        assert driver.execute_script("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")
