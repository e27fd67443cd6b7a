"""The report in a real browser: it draws, it fits, it fetches nothing."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import longfat
import numpy as np
import pandas as pd
import pytest
from conftest import SWEEP
from longfat import Experiment
from longfat.errors import DamagedError
from longfat.plot import time_sequence
from longfat.report.page import figures_page, results_page, write_report
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait
from test_damage import flip_in, shard_file
from test_paper import home  # noqa: F401

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    if not (CHROMIUM and DRIVER):
        reason = "no Chromium: `make system-packages` installs chromium and chromium-driver"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    # Chromium refuses its sandbox as root, as in a container; the pages are our own.
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(params=["results", "paper"])
def report(request: pytest.FixtureRequest, swept: Path, tmp_path: Path) -> Path:
    if request.param == "results":
        return write_report(str(swept), tmp_path / "results", tmp_path / "reports").page
    request.getfixturevalue("home")
    return write_report("mine", tmp_path / "results", tmp_path / "reports").page


def opened(browser: webdriver.Chrome, page: Path, width: int, *, dark: bool = False, fragment: str = "") -> webdriver.Chrome:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(page.as_uri() + (f"#{fragment}" if fragment else ""))
    return browser


def all_drawn(browser: webdriver.Chrome) -> None:
    """Waits until every figure of the page is drawn, as it is when nobody does anything for a while."""
    script = "return [...document.querySelectorAll('[data-pack]')].every(host => charts.get(host))"
    WebDriverWait(browser, 20).until(lambda driver: driver.execute_script(script))


def inked(browser: webdriver.Chrome, host: WebElement) -> int:
    """Number of pixels of a figure, between its axes, that have the colour of one of its series or cells."""
    return browser.execute_script(
        """
        const chart = charts.get(arguments[0]), { ctx, bbox } = chart.plot;
        const { data } = ctx.getImageData(bbox.left, bbox.top, bbox.width, bbox.height);
        const rgb = colour => [1, 3, 5].map(i => parseInt(chart.ink(colour).slice(i, i + 2), 16));
        const wanted = new Set(chart.figure.series.map(one => rgb(one.colour).join()));
        let count = 0;
        for (let i = 0; i < data.length; i += 4)
            if (data[i + 3] === 255 && (chart.figure.heat || wanted.has([data[i], data[i + 1], data[i + 2]].join()))) count++;
        return count;
        """,
        host,
    )


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_in_a_browser(browser: webdriver.Chrome, report: Path, width: int, dark: bool) -> None:
    opened(browser, report, width, dark=dark)
    all_drawn(browser)
    hosts = browser.find_elements(By.CSS_SELECTOR, "[data-pack]")
    assert hosts
    for host in hosts:
        assert inked(browser, host), f"nothing drawn in {host.get_attribute('id')}"
        assert browser.execute_script("return arguments[0].getBoundingClientRect().right", host) <= width
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width, "the page scrolls sideways"
    assert browser.get_log("browser") == []
    # Only the page itself was asked for: no script, style, font or image from anywhere.
    requests = [entry["message"] for entry in browser.get_log("performance") if "Network.requestWillBeSent" in entry["message"]]
    urls = {url for message in requests for url in re.findall(r'"url":"((?:https?|file|ws)[^"]*)"', message)}
    assert urls <= {report.as_uri()}
    background = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") is not dark


def test_only_what_differs(browser: webdriver.Chrome, home: Path) -> None:  # noqa: F811
    page = write_report("mine", home / "results", home / "reports").page
    opened(browser, page, 1440)
    shown = lambda: [r.text.split()[0] for r in browser.find_elements(By.CSS_SELECTOR, "tr.line") if r.is_displayed()]  # noqa: E731
    assert shown() == [], "tables are folded"
    browser.find_element(By.CSS_SELECTOR, "#numbers summary").click()
    assert shown() == ["w8", "w16"]
    browser.find_element(By.ID, "only-differs").click()
    assert shown() == ["w8"]


def test_text_of_a_paper_is_text(browser: webdriver.Chrome, home: Path) -> None:  # noqa: F811
    page = write_report("mine", home / "results", home / "reports").page
    opened(browser, page, 1440)
    assert browser.find_element(By.TAG_NAME, "h1").text == "A </script> paper & <b>more</b>"
    all_drawn(browser)
    assert inked(browser, browser.find_element(By.ID, "figure1"))
    for fold in browser.find_elements(By.CSS_SELECTOR, "details.fold > summary"):
        fold.click()
    cells = [cell.text for cell in browser.find_elements(By.CSS_SELECTOR, "td.differs")]
    assert cells == ["differs"]


def run_charts(browser: webdriver.Chrome, side: int) -> list[str]:
    """The titles of the figures over time of a side, once the first of them is drawn."""
    drawn = f"return !!explorer?.sides[{side}]?.shown[0]?.chart?.plot"
    browser.execute_script("document.getElementById('explorer').scrollIntoView()")
    WebDriverWait(browser, 20).until(lambda driver: driver.execute_script(drawn))
    return browser.execute_script(f"return explorer.sides[{side}].shown.map(one => one.figure.title)")


def test_a_reader_picks_runs(browser: webdriver.Chrome, swept: Path, tmp_path: Path) -> None:
    page = write_report(str(swept), tmp_path / "results", tmp_path / "reports").page
    opened(browser, page, 1440)
    assert {"Goodput", "Congestion window", "Queue"} <= set(run_charts(browser, 0))
    # The best on the left, the worst on the right.
    selects = [Select(part) for part in browser.find_elements(By.CSS_SELECTOR, "#explorer select")]
    assert [select.first_selected_option.text for select in selects] == ["16 KiB", "8 KiB"]
    facts = [part.text for part in browser.find_elements(By.CSS_SELECTOR, "#explorer .facts")]
    selects[1].select_by_visible_text("64 KiB")
    WebDriverWait(browser, 10).until(lambda driver: driver.execute_script("return explorer.sides[1].run") == 2)
    run_charts(browser, 1)
    now = [part.text for part in browser.find_elements(By.CSS_SELECTOR, "#explorer .facts")]
    assert now[0] == facts[0]
    assert now[1] != facts[1]
    # Both sides have one scale.
    extents = browser.execute_script("return explorer.sides.map(side => JSON.stringify(side.shown[0].figure.extent))")
    assert extents[0] == extents[1]
    drops = browser.execute_script("return explorer.sides[1].shown.find(one => one.figure.title.startsWith('Drops')).figure.series")
    assert [one["name"] for one in drops] == ["bottleneck>"]
    assert browser.get_log("browser") == []


def test_a_figure_is_used_by_keyboard(browser: webdriver.Chrome, swept: Path, tmp_path: Path) -> None:
    page = write_report(str(swept), tmp_path / "results", tmp_path / "reports").page
    opened(browser, page, 1440)
    all_drawn(browser)
    host = browser.find_element(By.ID, "throughput")
    box = host.find_element(By.CSS_SELECTOR, ".plot")

    def seen() -> list[float]:
        return browser.execute_script("return charts.get(arguments[0]).seen().x", host)

    whole = seen()
    box.send_keys("+")
    zoomed = seen()
    assert zoomed[1] - zoomed[0] == pytest.approx((whole[1] - whole[0]) / 2)
    box.send_keys(Keys.ARROW_RIGHT)
    assert seen()[0] > zoomed[0]
    box.send_keys("0")
    assert seen() == whole
    assert "Throughput" in str(box.get_attribute("aria-label"))
    # Values that cannot be seen can be read.
    details = host.find_element(By.CSS_SELECTOR, "details.data")
    details.find_element(By.TAG_NAME, "summary").click()
    WebDriverWait(browser, 5).until(lambda _: len(details.find_elements(By.CSS_SELECTOR, "tbody tr")) == 3)
    # A line that is hidden says so.
    run_charts(browser, 0)
    button = browser.find_element(By.CSS_SELECTOR, "#explorer .legend button")
    browser.execute_script("arguments[0].click()", button)
    assert button.get_attribute("aria-pressed") == "false"


def test_the_first_screen(browser: webdriver.Chrome, swept: Path, tmp_path: Path) -> None:
    page = write_report(str(swept), tmp_path / "results", tmp_path / "reports").page
    opened(browser, page, 1440)
    drawing = browser.find_element(By.CSS_SELECTOR, "svg.path")
    assert "left1 to router1: 100 Mbit/s, 1 ms" in str(drawing.get_attribute("aria-label"))
    assert "10 Mbit/s" in drawing.text
    said = browser.find_element(By.CSS_SELECTOR, ".answer ul").text
    assert "The highest throughput is 9.27 Mbit/s, with window 16 KiB" in said
    assert "2.17 times the lowest, 4.28 Mbit/s, with window 8 KiB" in said
    assert browser.execute_script("return document.querySelector('.answer table').getBoundingClientRect().bottom") < 900
    for link in browser.find_elements(By.CSS_SELECTOR, "nav a"):
        assert browser.find_elements(By.CSS_SELECTOR, str(link.get_attribute("href")).split("report.html")[1])


def test_no_table_is_cut_off_on_paper(browser: webdriver.Chrome, tmp_path: Path) -> None:
    """Printed, the answer of a sweep of four axes lacked its last columns: the page cut them off."""
    axes = {
        "path.rtt": ["20 ms", "40 ms"],
        "path.bottleneck.rate": ["20 Mbit/s", "10 Mbit/s"],
        "flow.count": [1, 2],
        "flow.congestion_control": ["reno", "bbr"],
    }
    text = '[path]\npreset = "dumbbell"\nrtt = "20 ms"\nbottleneck = { rate = "10 Mbit/s" }\n[[flow]]\n[measure]\nduration = "1 s"\n'
    experiment = longfat.Experiment(text)
    for key, values in axes.items():
        experiment.vary(key, values)
    experiment.sweep(tmp_path / "results" / "four")
    opened(browser, write_report("four", tmp_path / "results", tmp_path / "reports").page, 718)  # A4 less Chromium's margins
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    script = """return [...document.querySelectorAll('table')].map(table => table.getBoundingClientRect())
        .filter(box => box.width).map(box => Math.ceil(box.right))"""
    rights = browser.execute_script(script)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert rights
    assert max(rights) <= 718


def test_what_is_printed_at_once_is_drawn_or_says_that_it_is_not(browser: webdriver.Chrome, swept: Path, tmp_path: Path) -> None:
    page = write_report(str(swept), tmp_path / "results", tmp_path / "reports").page
    # Nothing is drawn while nobody looks; what is printed is how many figures lack then.
    source = """
        window.requestIdleCallback = () => {};
        window.undrawn = () => [...document.querySelectorAll('[data-pack]')].filter(host => !charts.get(host)).length;
        window.print = () => { window.printed = undrawn(); };"""
    script = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": source})
    try:
        opened(browser, page, 390)
    finally:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
    assert browser.execute_script("return undrawn()") > 0
    # From the menu: a browser does not wait.
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    said = """return [...document.querySelectorAll('[data-undrawn]')].map(host => getComputedStyle(host, '::after').content)"""
    assert set(browser.execute_script(said)) == {'"Not drawn yet. Print the page once more."'}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    assert browser.execute_script(said) == []
    # The key for printing works, too: the page draws all, and then asks for it.
    browser.execute_script("dispatchEvent(new KeyboardEvent('keydown', { key: 'p', ctrlKey: true, cancelable: true }))")
    WebDriverWait(browser, 20).until(lambda driver: driver.execute_script("return window.printed === 0"))


HOSTILE = "</script><script>document.title = 'taken'</script><img src=x onerror=\"document.title = 'taken'\">"


def test_nothing_of_results_is_markup(browser: webdriver.Chrome, swept: Path, tmp_path: Path) -> None:
    results = longfat.load_results(swept)
    axis = f"window {HOSTILE}"

    def renamed(result: longfat.Result) -> longfat.Result:
        resolved = json.loads(result.resolved)
        resolved["path"]["hosts"] = [HOSTILE, "right1"]
        for link in resolved["path"]["link"]:
            link["rate"] = link["delay"] = HOSTILE
            link["from"] = link["from"].replace("left1", HOSTILE)
        for flow in resolved["flow"]:
            flow["from"] = HOSTILE
        return dataclasses.replace(
            result,
            labels={axis: f"{HOSTILE}{result.labels['window']}"},
            flows=result.flows.assign(group=HOSTILE),
            links=result.links.assign(name=HOSTILE),
            resolved=json.dumps(resolved),
        )

    runs = [renamed(result) for result in results]
    warning = {"name": HOSTILE, "text": HOSTILE, "count": 1, "runs": [runs[0].run]}
    made = longfat.Results.of(HOSTILE, [axis], runs, {**results.provenance, "warnings": [warning]})
    page = tmp_path / "report.html"
    page.write_text(results_page(made, f"description = {json.dumps(HOSTILE)}").html, encoding="utf-8")
    opened(browser, page, 1440)
    all_drawn(browser)
    run_charts(browser, 0)
    hover = "for (const chart of charts.values()) { chart.plot.setCursor({ left: 60, top: 60 }); chart.hover(chart.plot); }"
    browser.execute_script(f"for (const one of document.querySelectorAll('details')) one.open = true; {hover}")
    assert browser.title == HOSTILE
    assert browser.find_elements(By.TAG_NAME, "img") == []
    assert len(browser.find_elements(By.CSS_SELECTOR, "script:not([type])")) == 1
    assert browser.get_log("browser") == []


def test_a_page_with_much_in_it_opens_at_once(browser: webdriver.Chrome, tmp_path: Path) -> None:
    count = 200_000
    rows = pd.DataFrame({"time_s": np.arange(count) * 1e-5, "seq_bytes": np.arange(count) * 1448, "len_bytes": 1448})
    packets = rows.assign(event="sent", direction="forward", link=math.nan, ack_bytes=0.0, flow=0, ip_bytes=1500, flags=".", window=0)
    made = figures_page("Many segments", [time_sequence(packets)]).html
    page = tmp_path / "report.html"
    page.write_text(made, encoding="utf-8")
    # The library, our scripts and styles, without any data; and the data, packed.
    assert len(figures_page("", []).html) < 150_000
    assert len(made) < 2_000_000
    opened(browser, page, 1440)
    all_drawn(browser)
    (host,) = browser.find_elements(By.CSS_SELECTOR, "[data-pack]")
    assert inked(browser, host)
    # Into a thousandth of it: segments are apart, each a bar from its first byte to its last.
    browser.execute_script("const chart = charts.get(arguments[0]); for (let i = 0; i < 13; i++) chart.zoom(0.5)", host)
    seen = browser.execute_script("return charts.get(arguments[0]).seen()", host)
    assert seen["x"][1] - seen["x"][0] < 1e-3
    assert inked(browser, host)
    # The other axis followed: what is seen is what was sent in that time.
    assert seen["y"][1] - seen["y"][0] < 1.0


@pytest.mark.slow
def test_files_for_print_lie_beside_the_page_on_request(report: Path, swept: Path, tmp_path: Path) -> None:
    assert not (report.parent / "figures").exists()
    report = write_report(str(swept), tmp_path / "results", tmp_path / "reports", figures=True).page
    names = {path.name for path in (report.parent / "figures").iterdir()}
    assert names
    assert {Path(name).stem for name in names if name.endswith(".png")} == {Path(name).stem for name in names if name.endswith(".svg")}


def test_a_damaged_run_stops_no_report(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    Experiment(SWEEP).sweep(folder)
    # Two flows a run; and no second footer that would tell of the first.
    flip_in(shard_file(folder, "flows"), 3)
    (folder / "shards" / f"{shard_file(folder, 'runs').stem}.json").write_text("")
    shares: list[float] = []
    page = results_page(longfat.load_results(folder), "", shares.append)
    assert shares == pytest.approx([0, 1 / 3, 2 / 3])
    assert page.html.count("a run cannot be read, and has no figures") == 1
    assert [len(line.x) for plot in page.plots if plot.id == "throughput" for line in plot.series] == [2]
    for row in (0, 4):
        flip_in(shard_file(folder, "flows"), row)
    with pytest.raises(DamagedError):
        results_page(longfat.load_results(folder))
