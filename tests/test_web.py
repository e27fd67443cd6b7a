"""The lab in a browser: the module in WebAssembly gives what the native one gives, bit for bit, and says what `explain` says."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import longfat
import pytest
from longfat.explain import explain
from selenium import webdriver
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select
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
        ["node", str(MODULE.parent / "run.mjs"), str(MODULE)], input=asked, capture_output=True, text=True, check=False, timeout=500
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


LESSONS = json.loads((ROOT / "crates/web/page/lessons.json").read_text())
UTILIZATION, DELAY, AGAIN = "bottleneck_utilization", "bottleneck_queue_delay_mean_s", "retransmission_rate"
GOODPUT, JAIN = "goodput_total_bps", "jain_index"
Metrics = dict[str, float]
CLAIMS: list[Callable[[Metrics, Metrics, list[Metrics], list[Metrics]], bool]] = [
    lambda a, b, _f, _g: a[UTILIZATION] < 0.95 < b[UTILIZATION],
    lambda a, b, _f, _g: a[UTILIZATION] > 0.99 and b[UTILIZATION] < 0.8 and a[DELAY] > 10 * b[DELAY],
    lambda a, b, _f, _g: a[DELAY] > 0.3 and b[DELAY] < 0.01,
    lambda a, b, _f, _g: abs(a[GOODPUT] / 26.2e6 - 1) < 0.05 and a[AGAIN] == 0 and b[GOODPUT] > 3 * a[GOODPUT],
    lambda a, b, _f, _g: a[UTILIZATION] < 0.5 and b[GOODPUT] > 1.5 * a[GOODPUT],
    lambda a, b, _f, _g: a[UTILIZATION] < 0.5 and b[UTILIZATION] > 0.95 and b[AGAIN] > 10 * a[AGAIN],
    lambda a, b, f, _: f[1]["goodput_bps"] > 2 * f[0]["goodput_bps"] and b[JAIN] > 0.95 > a[JAIN],
    lambda a, b, f, g: f[0]["goodput_bps"] > 2 * f[1]["goodput_bps"] and g[1]["goodput_bps"] > g[0]["goodput_bps"],
    lambda a, b, _f, _g: a[AGAIN] < b[AGAIN] / 2,
    lambda a, b, _f, _g: a[JAIN] > b[JAIN],
    lambda a, b, _f, _g: a[UTILIZATION] > 2 * b[UTILIZATION],
    lambda a, b, _f, _g: abs(b[GOODPUT] / a[GOODPUT] - 1) < 0.05,
]
"""Claims of each lesson on the runs before and after its change, with the metrics of their flows."""


def changed(lesson: dict[str, Any]) -> str:
    """The file of a lesson with its change made."""
    return lesson["file"].replace(*lesson["change"])


@under_node_only
def test_lessons_say_what_their_runs_show() -> None:
    files = {"before": [lesson["file"] for lesson in LESSONS]}
    for lesson in LESSONS:
        old, new = lesson["change"]
        assert lesson["file"].count(old) == 1, lesson["title"]
        # The sentence and the change say the same.
        assert re.findall(r'"[^"]+"|\d+$', new)[-1].strip('"') in lesson["attempt"], lesson["title"]
    files["after"] = [changed(lesson) for lesson in LESSONS]
    runs = {f"{when} {i}": text for when, texts in files.items() for i, text in enumerate(texts)}
    found = under_node(runs)
    metrics = {name: {one["name"]: one["value"] for one in answer["metrics"]} for name, answer in found.items()}
    for name, text in runs.items():
        native = longfat.Experiment(text).run().metrics
        assert {metric: native[metric] for metric in metrics[name]} == metrics[name], name
    for i, holds in enumerate(CLAIMS):
        before, after = f"before {i}", f"after {i}"
        flows = found[before]["flow_metrics"], found[after]["flow_metrics"]
        assert holds(metrics[before], metrics[after], *flows), f"{LESSONS[i]['title']}: {metrics[before]} {metrics[after]} {flows}"


PAGE = ROOT / "target/web/lab.html"
built = pytest.mark.skipif(not WHERE_MADE and not PAGE.exists(), reason="needs `make web`")
LEFT, RIGHT, END, CONTROL, NULL, ENTER = "\ue012", "\ue014", "\ue010", "\ue009", "\ue000", "\ue007"
"""Keys, as WebDriver has them."""


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


def script(browser: Any, text: str) -> Any:
    """Result of a script in the page."""
    return browser.execute_script(text)


def file(browser: webdriver.Chrome) -> str:
    """Text of the editor, which is in a shadow root."""
    lines = "return [...document.getElementById('file').shadowRoot.querySelectorAll('.cm-line')].map(line => line.textContent)"
    return "\n".join(script(browser, lines))


def slider(browser: webdriver.Chrome, name: str) -> WebElement:
    return browser.find_element("css selector", f"input[aria-label={name}]")


def errors(browser: webdriver.Chrome) -> list[str]:
    driver: Any = browser
    log: list[dict[str, str]] = driver.get_log("browser")
    return [entry["message"] for entry in log if entry["level"] == "SEVERE"]


@built
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_runs_a_lesson_and_says_no_error(browser: webdriver.Chrome, width: int, dark: bool) -> None:
    # A fragment that is no experiment does nothing.
    shown(browser, width, "x=<script>alert(1)</script>", dark=dark)
    assert "delivered" in browser.find_element("id", "told").text
    assert not errors(browser)
    assert script(browser, "return document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    overlap = """const box = id => document.getElementById(id).getBoundingClientRect(), [a, b] = [box('metrics'), box('file')];
        return a.right > b.left && b.right > a.left && a.bottom > b.top && b.bottom > a.top;"""
    assert not script(browser, overlap)
    gutter = "return getComputedStyle(document.getElementById('file').shadowRoot.querySelector('.cm-gutters')).backgroundColor"
    assert script(browser, gutter) == script(browser, "return getComputedStyle(document.body).backgroundColor")


@built
def test_each_input_has_a_name_and_the_keyboard_moves_a_slider(browser: webdriver.Chrome) -> None:
    shown(browser)
    found = browser.find_elements("css selector", "input, select, button, [contenteditable=true]")
    inputs = [one for one in found if one.is_displayed()]
    assert len(inputs) > 10
    assert not [one.get_attribute("outerHTML") for one in inputs if not one.accessible_name]
    before = file(browser)
    slider(browser, "Rate").send_keys(RIGHT)
    until(lambda: slider(browser, "Rate").get_attribute("aria-valuetext") != "100 Mbit/s")
    assert file(browser) != before
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
    link, text = browser.current_url, file(browser)
    shown(browser, fragment=link.split("#")[1])
    until(lambda: browser.find_element("id", "drop").is_displayed() and file(browser) == text)
    until(lambda: browser.find_element("id", "metrics").text.startswith("Metric B A"))
    assert not errors(browser)


@built
def test_each_lesson_does_what_it_proposes(browser: webdriver.Chrome) -> None:
    """The keyboard does it. A is the run of the lesson's file, B that of the changed one; the first button works from anywhere."""
    shown(browser, fragment=link(LESSONS[3]["file"]))
    assert not browser.find_element("id", "try").is_displayed()
    for number in [*range(1, len(LESSONS)), 0]:
        tried(browser, number)
    assert not errors(browser)


def tried(browser: webdriver.Chrome, number: int) -> None:
    before, after = LESSONS[number]["file"], changed(LESSONS[number])
    Select(browser.find_element("id", "lesson")).select_by_value(str(number))
    button = browser.find_element("id", "try")
    assert (button.is_displayed(), button.accessible_name) == (True, "Try it")
    if number % 2:  # For the others the run of the file is under way.
        until(lambda: table(browser)[0] == ["Metric", "Value"] and browser.find_element("id", "state").text.startswith("Done: "))
    button.send_keys(ENTER)
    until(lambda: file(browser) == after)
    until(lambda: table(browser)[0] == ["Metric", "B", "A"] and any(b != a for _, b, a in table(browser)[1:]))
    native = [longfat.Experiment(text).run().metrics[GOODPUT] for text in (after, before)]
    cells = next(row for row in table(browser) if row[0].startswith(GOODPUT))[1:]
    assert [float(cell.replace(",", "")) for cell in cells] == pytest.approx(native, rel=1e-3)
    assert browser.find_element("id", "drop").is_displayed()
    # The link has both runs.
    until(lambda: linked(browser) == {"b": after, "a": before})


TABLE = "return [...document.querySelectorAll('#metrics tr')].map(row => [...row.children].map(cell => cell.textContent))"


def table(browser: webdriver.Chrome) -> list[list[str]]:
    """Cells of the table of metrics."""
    return script(browser, TABLE) or [[]]


def linked(browser: webdriver.Chrome) -> dict[str, str]:
    """Content of the fragment."""
    fragment = browser.current_url.split("#")[1]
    return json.loads(zlib.decompress(base64.urlsafe_b64decode(fragment + "=" * (-len(fragment) % 4)), wbits=-15))


def link(text: str, **more: Any) -> str:
    """Fragment that holds an experiment."""
    packed = zlib.compressobj(wbits=-15)
    return base64.urlsafe_b64encode(packed.compress(json.dumps({"b": text, **more}).encode()) + packed.flush()).decode().rstrip("=")


PATH = '[path]\npreset = "dumbbell"\nrtt = "20 ms"\n'
OFFERED = """return [...document.getElementById('file').shadowRoot.querySelectorAll('.cm-tooltip-autocomplete li .cm-completionLabel')]
    .map(one => one.textContent)"""


def offered(browser: webdriver.Chrome, text: str) -> list[str]:
    """Completions at the `|` of a text."""
    before, after = text.split("|")
    browser.get("about:blank")
    opened(browser, PAGE, 1280, fragment=link(before + after))
    until(lambda: file(browser) == before + after)
    content = browser.find_element("id", "file").shadow_root.find_element("css selector", ".cm-content")
    content.send_keys(CONTROL + END + NULL, LEFT * len(after), CONTROL + " " + NULL)
    until(lambda: bool(script(browser, OFFERED)))
    return script(browser, OFFERED)


@built
@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        (PATH + "bottleneck = { | }\n", {"rate", "queue", "loss"}, {"window", "rtt"}),
        (PATH + 'bottleneck = { queue = { kind = "red", | } }\n', {"target_delay", "limit"}, {"kind", "interval"}),
        (PATH + 'bottleneck = { queue = "|" }\n', {"droptail", "fq_codel"}, {"reno"}),
        (PATH + "[[flow]]\ncongestion_control = |\n", {"reno", "cubic", "bbr"}, {"droptail"}),
        (PATH + 'bottleneck = { rate = "100 |" }\n', {"100 Mbit/s", "100 Gbit/s"}, {"100 ms"}),
        ("[[flow]]\n[measure]\nwarm|\n", {"warmup"}, {"window"}),
        ("[path]\n|\n[[flow]]\n", {"preset"}, {"window"}),
        (PATH + '[[flow]]\ncongestion_control = { sweep = ["reno", "|"] }\n', {"cubic"}, {"droptail"}),
        (PATH + "[[flow]]\nsack = |\n", {"true", "false"}, {"reno"}),
    ],
)
def test_the_editor_offers_what_the_schema_allows(browser: webdriver.Chrome, text: str, wanted: set[str], unwanted: set[str]) -> None:
    found = set(offered(browser, text))
    assert wanted <= found
    assert not unwanted & found
    assert not errors(browser)


@built
def test_a_sweep_is_drawn_over_each_other_or_run_by_run(browser: webdriver.Chrome) -> None:
    text = PATH + 'bottleneck = { rate = "10 Mbit/s" }\n[[flow]]\ncongestion_control = { sweep = ["reno", "cubic", "bbr"] }\n'
    shown(browser, fragment=link(text + '[measure]\nduration = "2 s"\n', run=-1))
    head = browser.find_element("css selector", "#metrics tr").text
    assert all(control in head for control in ("reno", "cubic", "bbr"))
    choice = Select(browser.find_element("id", "run"))
    assert [option.get_attribute("value") for option in choice.options] == ["-1", "0", "1", "2"]
    choice.select_by_value("2")
    until(lambda: "(bbr)" in browser.find_element("id", "told").text)
    assert not errors(browser)


@built
def test_the_policy_lets_no_foreign_script_or_style_in(browser: webdriver.Chrome) -> None:
    policy = PAGE.read_text().split('content="default-src')[1].split('"')[0]
    assert "unsafe-inline" not in policy
    assert "nonce" not in policy
    assert "unsafe-eval" not in policy.replace("wasm-unsafe-eval", "")
    shown(browser)
    intrude = """const one = document.createElement('script'); one.textContent = 'window.intruded = true'; document.body.append(one);
        const sheet = document.createElement('style'); sheet.textContent = 'body { color: rgb(1, 2, 3) }'; document.head.append(sheet);
        return [window.intruded === true, getComputedStyle(document.body).color]"""
    ran, colour = script(browser, intrude)
    assert not ran
    assert colour != "rgb(1, 2, 3)"
