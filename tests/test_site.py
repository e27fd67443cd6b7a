"""The documentation site: made from the repository, whole, and opened in a browser as files, without a network."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import longfat
import pytest
from conftest import ROOT
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait
from test_report import browser, opened  # noqa: F401

pytestmark = pytest.mark.slow

SHOWN = (
    "index.html",
    "docs/gallery.html",
    "docs/validation.html",
    "docs/reference/longfat.html",
    "papers/ansnet/index.html",
    "papers/slac/index.html",
)
"""Pages that are opened: pictures, wide tables, code, long signatures."""
LOOK = """
return {
    broken: [...document.images].filter(image => !image.complete || !image.naturalWidth).map(image => image.src),
    wider: document.documentElement.scrollWidth - innerWidth,
    headings: [...document.querySelectorAll('h1')].map(heading => heading.textContent),
}
"""
HITS = """
const found = root => [...root.querySelectorAll('*')].flatMap(
    one => [...(one.shadowRoot ? found(one.shadowRoot) : []), ...(one.matches('a') ? [one] : [])]);
return [...document.querySelectorAll('*')].filter(one => one.shadowRoot).flatMap(one => found(one.shadowRoot)).map(link => link.href);
"""


class Parts(HTMLParser):
    """Parts of a page: its links, what it loads, and the places in it that can be linked to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links = list[str]()
        self.loads = list[str]()
        self.places = set[str]()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value for name, value in attrs if value is not None}
        self.places |= {said[name] for name in ("id", "name") if name in said}
        if tag == "a" and "href" in said:
            self.links.append(said["href"])
        elif tag == "link" and "href" in said:
            self.loads.append(said["href"])
        elif "src" in said:
            self.loads.append(said["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, short_runs: Callable[[str], Path]) -> Path:
    """The site, with a gallery of the runs that `test_ready.py` looks at."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    (results,) = {short_runs(file.stem).parent for file in (ROOT / "experiments").glob("*.toml")}
    subprocess.run([sys.executable, ROOT / "docs" / "site" / "build.py", folder, results], check=True, capture_output=True, timeout=1200)
    return folder


@pytest.fixture(scope="module")
def parts(site: Path) -> dict[Path, Parts]:
    return {page: Parts(page) for page in sorted(site.rglob("*.html"))}


def test_no_link_is_dead(parts: dict[Path, Parts]) -> None:
    def dead(page: Path, link: str) -> bool:
        target = urlsplit(link)
        file = (page.parent / unquote(target.path)).resolve() if target.path else page
        return not file.is_file() or bool(target.fragment and file in parts and unquote(target.fragment) not in parts[file].places)

    def outside(link: str) -> bool:
        return bool(urlsplit(link).scheme)

    assert len(parts) > 100
    assert not [(page.name, link) for page, found in parts.items() for link in found.links if not outside(link) and dead(page, link)]
    # Pictures and scripts of a page are in the site: none of them come from elsewhere.
    assert not [
        (page.name, link) for page, found in parts.items() for link in found.loads if not link.startswith("data:") and dead(page, link)
    ]


def test_every_document_and_every_public_name_has_its_place(site: Path) -> None:
    written = [path.relative_to(ROOT) for pattern in ("docs/*.md", "docs/*/*.md", "papers/*/README.md") for path in ROOT.glob(pattern)]
    pages = [path.with_name("index.md") if path.name == "README.md" else path for path in written]
    assert not [page for page in pages if not (site / page).with_suffix(".html").is_file()]
    reference = Parts(site / "docs" / "reference" / "longfat.html").places
    names = {f"longfat.{name}" for name in longfat.__all__} - {"longfat.__version__", "longfat.advise"}
    assert not (names | {"longfat.advice.advise.advise", "longfat.Experiment.sweep", "longfat.Ack.cwnd_limited"}) - reference


def test_every_ready_experiment_has_its_picture(site: Path, parts: dict[Path, Parts]) -> None:
    shown = {Path(link).stem for link in parts[site / "docs" / "gallery.html"].loads}
    assert {path.stem for path in (ROOT / "experiments").glob("*.toml")} <= shown


def test_every_paper_shows_its_figures_and_none_is_left_out(site: Path, parts: dict[Path, Parts]) -> None:
    shown = dict[str, set[Path]]()
    for readme in (ROOT / "papers").glob("*/README.md"):
        page = site / "papers" / readme.parent.name / "index.html"
        shown[readme.parent.name] = {(page.parent / unquote(link)).resolve() for link in parts[page].loads if "docs/papers/" in link}
    assert shown
    assert not [paper for paper, pictures in shown.items() if not pictures]
    # The pictures in the repository are those on the pages, each on its own paper's.
    kept = {path.relative_to(ROOT) for path in (ROOT / "docs" / "papers").rglob("*.*")}
    assert {path.relative_to(site.resolve()) for pictures in shown.values() for path in pictures} == kept
    assert all({path.parent.name for path in pictures} == {paper} for paper, pictures in shown.items())
    assert all(
        path.read_bytes() == (ROOT / path.relative_to(site.resolve())).read_bytes() for pictures in shown.values() for path in pictures
    )


def requests(driver: webdriver.Chrome) -> Iterator[str]:
    """Yields the addresses that the opened pages have asked for."""
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            yield message["params"]["request"]["url"]


@pytest.mark.parametrize("width", [1300, 390])
def test_pages_in_a_browser(browser: webdriver.Chrome, site: Path, width: int) -> None:  # noqa: F811
    for name in SHOWN:
        opened(browser, site / name, width)
        look = browser.execute_script(LOOK)
        assert not look["broken"], name
        assert look["wider"] <= 0, f"{name} is wider than the screen"
        assert len(look["headings"]) == 1, name
        assert not browser.get_log("browser"), name
        assert {urlsplit(url).scheme for url in requests(browser)} <= {"file", "data", "blob"}, name


QUESTIONS = {
    "BDP": "which-window",
    "L4S": "dualpi2",
    "QUIC": "docs/faq",
    "Starlink": "access-links",
    "TSO": "docs/hosts",
    "bbr vs cubic": "bbr-beside-cubic",
    "buffer size": "router-buffer",
    "bufferbloat": "cookbook/bufferbloat",
    "confidence interval": "docs/sweeps",
    "csv": "docs/python",
    "data transfer node": "transfer-node",
    "dscp": "docs/classes",
    "fairness": "docs/results-explained",
    "fq_codel": "queues/fq_codel",
    "glossary": "glossary",
    "hystart": "slow-start",
    "install": "install",
    "iperf3": "from-other-tools",
    "jumbo frames": "jumbo-frames",
    "kernel 5.15": "linux-versions",
    "latex": "docs/report",
    "limit_output_bytes": "experiment/host",
    "my own congestion control": "python-control",
    "netem": "from-tc",
    "ns-3": "from-ns-3",
    "packet loss": "experiment/loss",
    "pandas": "docs/python",
    "parallel streams": "parallel-streams",
    "random seed": "docs/sweeps",
    "rwnd": "glossary",
    "satellite": "cookbook/satellite",
    "slow transfer": "docs/captures",
    "slurm": "cluster",
    "tcp_rmem": "which-window",
    "transfer node": "transfer-node",
    "unit is missing": "docs/errors",
    "wifi": "access-links",
    "window_below_path": "docs/warnings",
    "wireshark": "docs/captures",
    "without root": "docs/testbed",
}
"""Words of a reader who has not seen the pages, and the page that answers."""
FIRST = 3
"""Results that a reader looks at."""


@pytest.mark.parametrize(("words", "page"), QUESTIONS.items())
def test_the_search_finds_the_page_of_a_word(browser: webdriver.Chrome, site: Path, words: str, page: str) -> None:  # noqa: F811
    opened(browser, site / "index.html", 1300)
    browser.find_element(By.CSS_SELECTOR, ".md-search__button").click()
    WebDriverWait(browser, 20).until(lambda driver: driver.switch_to.active_element.tag_name not in ("body", "button"))
    browser.switch_to.active_element.send_keys(words)

    def among_the_first(driver: webdriver.Chrome) -> bool:
        pages = [urlsplit(link).path for link in driver.execute_script(HITS)]
        return any(found.endswith(f"{page}.html") for found in list(dict.fromkeys(pages))[:FIRST])

    assert WebDriverWait(browser, 20).until(among_the_first)


def test_every_page_is_two_clicks_from_the_start(site: Path, parts: dict[Path, Parts]) -> None:
    def linked(pages: set[Path]) -> set[Path]:
        targets = {
            (page.parent / unquote(urlsplit(link).path)).resolve() for page in pages for link in parts[page].links if "://" not in link
        }
        return targets & {page.resolve() for page in parts}

    first = linked({site / "index.html"})
    second = linked({page for page in parts if page.resolve() in first})
    answers = {page.resolve() for page in (site / "docs").rglob("*.html") if not re.search(r"\.(toml|py|csv|rs|pkt)\.html$", page.name)}
    assert len(answers) > 150
    assert not [str(page) for page in answers - first - second - {site / "index.html"}]


def test_the_search_has_neither_listings_nor_evidence(site: Path) -> None:
    found = {urlsplit(item["location"]).path for item in json.loads((site / "search.json").read_text(encoding="utf-8"))["items"]}
    assert {"index.html", "docs/faq.html", "docs/experiment/queue.html"} <= found
    assert not [page for page in found if page.startswith(("notebook/", "papers/")) or re.search(r"\.(toml|py|csv|rs|pkt)\.html$", page)]


def test_the_landing_page_has_doors_pictures_papers_and_the_version(site: Path, parts: dict[Path, Parts]) -> None:
    landing = parts[site / "index.html"]
    doors = {"docs/advise.html", "docs/captures.html", "docs/python-control.html"}
    papers = {f"papers/{path.parent.name}/index.html" for path in (ROOT / "papers").glob("*/README.md")}
    assert doors | papers | {"docs/gallery.html"} <= {link.removeprefix("./") for link in landing.links}
    assert sum("docs/cookbook/" in link for link in landing.loads) == 6
    text = (site / "index.html").read_text(encoding="utf-8")
    assert f"longfat {longfat.__version__}" in text
    assert "Edit this page" in text


def test_the_notebook_is_the_tutorial() -> None:
    """Every command and line of Python of the page is a cell."""
    spec = importlib.util.spec_from_file_location("notebook", ROOT / "docs" / "site" / "notebook.py")
    assert spec
    assert spec.loader
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    cells = json.loads(made.notebook(page))["cells"]
    code = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
    commands = re.findall(r"^\$ (longfat .*)$", page, re.MULTILINE)
    assert ["".join(cell)[1:] for cell in code if "".join(cell).startswith("!")] == commands
    assert sum("import longfat" in "".join(cell) for cell in code) == 1
    # Without bars that fill its outputs, with its pictures inside, and with links to files of a clone.
    assert [made.QUIET] in code
    prose = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    targets = [target for text in prose for target in re.findall(r"\]\(([^)#]+)", text)]
    pictures = {name for cell in cells for name in cell.get("attachments", ())}
    assert {target.removeprefix("attachment:") for target in targets if target.startswith("attachment:")} == pictures != set()
    gone = [target for target in targets if not (target.startswith("attachment:") or (ROOT / "docs" / target).is_file())]
    assert gone == []
