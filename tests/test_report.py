"""The report in a real browser: it draws, it fits, it fetches nothing."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from longfat.report import write_report
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait
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
    # As root, as in a container, Chromium refuses its sandbox; the pages are our own.
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


def opened(browser: webdriver.Chrome, page: Path, width: int, *, dark: bool = False) -> webdriver.Chrome:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(page.as_uri())
    return browser


def all_drawn(browser: webdriver.Chrome) -> None:
    """Waits until every figure of the page is drawn, as it is when nobody does anything for a while."""
    script = "return [...document.querySelectorAll('[data-pack]')].every(host => charts.get(host))"
    WebDriverWait(browser, 20).until(lambda driver: driver.execute_script(script))


def inked(browser: webdriver.Chrome, host: WebElement) -> int:
    """How many pixels of a figure, between its axes, have the colour of one of its series or cells."""
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
    assert shown() == ["w8", "w16"]
    browser.find_element(By.ID, "only-differs").click()
    assert shown() == ["w8"]


def test_text_of_a_paper_is_text(browser: webdriver.Chrome, home: Path) -> None:  # noqa: F811
    page = write_report("mine", home / "results", home / "reports").page
    opened(browser, page, 1440)
    assert browser.find_element(By.TAG_NAME, "h1").text == "A </script> paper & <b>more</b>"
    all_drawn(browser)
    assert inked(browser, browser.find_element(By.ID, "figure1"))
    cells = [cell.text for cell in browser.find_elements(By.CSS_SELECTOR, "td.differs")]
    assert cells == ["differs"]


@pytest.mark.slow
def test_files_for_print_lie_beside_the_page(report: Path) -> None:
    names = {path.name for path in (report.parent / "figures").iterdir()}
    assert names
    assert {Path(name).stem for name in names if name.endswith(".png")} == {Path(name).stem for name in names if name.endswith(".svg")}
