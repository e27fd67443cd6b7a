"""The lab in a browser: the module in WebAssembly gives what the native one gives, bit for bit, and says what `explain` says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import longfat
import pytest
from longfat.explain import explain
from selenium import webdriver
from selenium.webdriver.remote.webelement import WebElement
from test_report import browser as browser
from test_report import opened

ROOT = Path(__file__).parent.parent
GOLDEN = ROOT / "crates/sim/src/tests/golden.txt"
MODULE = ROOT / "target/web/longfat.wasm"

WHERE_MADE = os.environ.get("CI") == "true"
"""CI makes the page: there it must not be missing."""
under_node_only = pytest.mark.skipif(
    not WHERE_MADE and not (shutil.which("node") and MODULE.exists()), reason="needs Node.js and `make web`"
)


def under_node(runs: dict[str, str], columns: list[str] | None = None) -> dict[str, Any]:
    """Answers of the module for experiments by name, run in slices under Node.js."""
    asked = json.dumps({"runs": runs, "columns": columns})
    done = subprocess.run(
        ["node", str(ROOT / "crates/web/page/run.mjs"), str(MODULE)], input=asked, capture_output=True, text=True, check=False, timeout=500
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["found"]


@under_node_only
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


@under_node_only
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
built = pytest.mark.skipif(not WHERE_MADE and not PAGE.exists(), reason="needs `make web`")
RIGHT = "\ue014"
"""The key "arrow right", for WebDriver."""


def until(holds: Callable[[], bool]) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.1)
    pytest.fail("nothing of this within a minute")


def shown(browser: webdriver.Chrome, width: int = 1280, fragment: str = "", *, dark: bool = False) -> webdriver.Chrome:
    """The page once its first run is over."""
    browser.get("about:blank")  # A fragment alone would load nothing.
    opened(browser, PAGE, width, dark=dark, fragment=fragment)
    until(lambda: browser.find_element("id", "state").text.startswith("Done: "))
    return browser


def slider(browser: webdriver.Chrome, name: str) -> WebElement:
    return browser.find_element("css selector", f"input[aria-label={name}]")


def errors(browser: webdriver.Chrome) -> list[str]:
    log: Any = browser.get_log("browser")
    return [entry["message"] for entry in log if entry["level"] == "SEVERE"]


@built
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_runs_a_lesson_and_says_no_error(browser: webdriver.Chrome, width: int, dark: bool) -> None:
    # A fragment that is no experiment does nothing.
    shown(browser, width, "x=<script>alert(1)</script>", dark=dark)
    assert "delivered" in browser.find_element("id", "told").text
    assert not errors(browser)
    assert browser.execute_script("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    overlap = """const box = id => document.getElementById(id).getBoundingClientRect(), [a, b] = [box('metrics'), box('file')];
        return a.right > b.left && b.right > a.left && a.bottom > b.top && b.bottom > a.top;"""
    assert not browser.execute_script(overlap)
    back = browser.find_element("css selector", ".cm-gutters").value_of_css_property("background-color")
    assert back == browser.find_element("tag name", "body").value_of_css_property("background-color")


@built
def test_each_input_has_a_name_and_the_keyboard_moves_a_slider(browser: webdriver.Chrome) -> None:
    shown(browser)
    found = browser.find_elements("css selector", "input, select, button, [contenteditable=true]")
    inputs = [one for one in found if one.is_displayed()]
    assert len(inputs) > 10
    assert not [one.get_attribute("outerHTML") for one in inputs if not one.accessible_name]
    before = browser.find_element("id", "file").text
    slider(browser, "Rate").send_keys(RIGHT)
    until(lambda: slider(browser, "Rate").get_attribute("aria-valuetext") != "100 Mbit/s")
    assert browser.find_element("id", "file").text != before
    assert not errors(browser)


@built
def test_a_link_holds_the_experiment_and_the_run_beside_it(browser: webdriver.Chrome) -> None:
    shown(browser)
    alone = browser.current_url
    browser.find_element("id", "keep").click()
    until(lambda: browser.current_url != alone)
    one = browser.current_url
    slider(browser, "Buffer").send_keys(RIGHT)
    until(lambda: browser.current_url != one)
    browser.find_element("id", "link").click()
    link, file = browser.current_url, browser.find_element("id", "file").text
    shown(browser, fragment=link.split("#")[1])
    until(lambda: browser.find_element("id", "drop").is_displayed() and browser.find_element("id", "file").text == file)
    until(lambda: browser.find_element("id", "metrics").text.startswith("Metric B A"))
    assert not errors(browser)
