"""The documents are true: what they show is run, what they link to is there, every algorithm has its page.

The README, the tutorial and the pages named in `PAGES` are run from top to bottom, each in a folder of its own:

- a block marked `toml NAME` or `pkt NAME` becomes the file NAME;
- a block marked `console` is a session: its lines that begin with `$ longfat` are run, and the lines under each are what
  was printed. A block in which something else than longfat is called is left alone;
- a block marked `python` is run, all of a document in one namespace; a block marked `output` holds what it printed.

- a block between `<!-- parameters -->` and `<!-- end -->` holds the parameters of the page's entry, from the registry.

`python tests/test_docs.py` writes what is printed now into the documents: read the difference before you commit it.
`python tests/test_docs.py parameters` writes the parameters alone.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import longfat
import pytest

ROOT = Path(__file__).parent.parent
PAGES = ("tutorial.md", "advise.md", "by-hand.md", "explain.md", "python-control.md", "python.md", "scripts.md")
RUN = [ROOT / "README.md", *(ROOT / "docs" / name for name in PAGES)]
DOCUMENTS = [
    path
    for pattern in ("*.md", "docs/**/*.md", "papers/*/*.md", "experiments/**/*.md", "crates/*/*.md", "notebook/*.md")
    for path in sorted(ROOT.glob(pattern))
]
FENCE = re.compile(r"^```(\w+)(?: ([^\n]*))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
PICTURE = re.compile(r'<(?:img|source)\b[^>]*?\b(?:src|srcset)="([^"]+)"')
SOURCE = re.compile(r"`(?:crates/)?(core|tcp|model|record|experiment|sim|script|capture)/(?:src/)?([\w/]+(?:\.rs|/))`")
WIDTH = "118"


PLAIN = [ROOT / "README.md", ROOT / "docs" / "tutorial.md", *sorted((ROOT / "docs" / "cookbook").glob("*.md"))]
"""Pages that a newcomer reads first."""
LONGEST = 30
"""Most words of a sentence there."""


def sentences(text: str) -> Iterator[str]:
    """The sentences of a document: without its code, tables and headings, and of links what is shown."""
    text = re.sub(r"^\|.*$|^#.*$", "", FENCE.sub("\n\n", text), flags=re.MULTILINE)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    for block in re.split(r"\n\s*\n|\n(?=\s*[-*] |\s*\d+\. )", text):
        yield from re.split(r"(?<=[.!?])\s+(?=\S)", " ".join(block.split()))


@pytest.mark.parametrize("path", PLAIN, ids=lambda path: path.name)
def test_sentences_are_short(path: Path) -> None:
    long = [one for one in sentences(path.read_text(encoding="utf-8")) if len(one.split()) > LONGEST]
    assert not long


class Session:
    """One document, run in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, Any] = {}
        self.printed = ""

    def run(self, text: str) -> str:
        """The document as it should be: with what its blocks print now."""
        return FENCE.sub(self._block, text)

    def _block(self, block: re.Match[str]) -> str:
        language, name, body = block[1], block[2], block[3]
        if language in ("toml", "pkt") and name:
            (self.folder / name).write_text(body, encoding="utf-8")
        elif language == "console":
            body = self._console(body)
        elif language == "python":
            self.printed = self._python(body)
        elif language == "output":
            body = self.printed
        return f"```{language}{f' {name}' if name else ''}\n{body}```"

    def _console(self, body: str) -> str:
        commands = [line[2:] for line in body.splitlines() if line.startswith("$ ")]
        if not all(command.startswith("longfat ") for command in commands):
            return body
        return "".join(f"$ {command}\n{self._command(command)}" for command in commands)

    def _command(self, command: str) -> str:
        call = [sys.executable, "-m", "longfat", *shlex.split(command)[1:]]
        environment = {**os.environ, "COLUMNS": WIDTH, "NO_COLOR": "1"}
        done = subprocess.run(call, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=300, check=False)
        # An error a document shows on purpose is as much part of it as a table, and so is a packet script that fails.
        assert done.returncode == 0 or done.stderr.startswith("error: ") or command.startswith("longfat script "), done.stderr
        return self._tidy(done.stdout + done.stderr)

    def _python(self, body: str) -> str:
        printed = io.StringIO()
        path = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(printed), patch.dict(os.environ, path):
            exec(compile(body, "<document>", "exec"), self.names)
        return self._tidy(printed.getvalue())

    def _tidy(self, text: str) -> str:
        """Replaces what differs from machine to machine."""
        text = text.replace(str(self.folder.resolve()), "/home/you/lab")
        text = re.sub(r" on \d+ cores?", " on 2 cores", text)
        return "".join(f"{line.rstrip()}\n" for line in text.strip("\n").splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("path", RUN, ids=lambda path: path.name)
def test_what_a_document_shows_is_what_is_printed(path: Path, tmp_path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    now = Session(tmp_path).run(text)
    assert text.splitlines() == now.splitlines(), "if the change is meant, `python tests/test_docs.py` writes it into the document"


def headings(path: Path) -> set[str]:
    """The anchors of a document, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def links(path: Path) -> Iterator[tuple[str, str]]:
    """Path and anchor of each relative link."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    for target in [*LINK.findall(text), *PICTURE.findall(text)]:
        if "://" not in target and not target.startswith("mailto:"):
            file, _, anchor = target.partition("#")
            yield file, anchor


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(path: Path) -> None:
    for file, anchor in links(path):
        target = path.parent / file if file else path
        assert target.exists(), f"{path.relative_to(ROOT)} links to {file}, which is not there"
        if anchor and target.suffix == ".md":
            assert anchor in headings(target), f"{path.relative_to(ROOT)}: {file or 'the page'} has no heading #{anchor}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_source_file_that_a_page_names_is_there(path: Path) -> None:
    if path.name in ("CONTRIBUTING.md", "extending.md"):
        pytest.skip("its walk-throughs name files that are yet to be written")
    named = SOURCE.findall(path.read_text(encoding="utf-8"))
    if path.name == "rfc-coverage.md":
        assert named, "it says where each RFC is"
    for crate, file in named:
        assert (ROOT / "crates" / crate / "src" / file).exists(), f"{path.relative_to(ROOT)} names {crate}/{file}"


def test_the_index_reaches_every_page() -> None:
    lists = (ROOT / "docs" / "index.md", ROOT / "notebook" / "README.md")
    reached = {(page.parent / file).resolve() for page in lists for file, _ in links(page)}
    missing = [str(path.relative_to(ROOT)) for path in DOCUMENTS if path != lists[0] and path.resolve() not in reached]
    assert not missing, f"neither docs/index.md nor notebook/README.md links to {', '.join(missing)}"


def test_the_index_counts_what_the_papers_pages_count() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").replace("\n  ", " ")
    lines = re.findall(r"^- .*\(\.\./papers/(\w+)/README\.md\): (.*)$", index, flags=re.MULTILINE)
    assert len(lines) == len(list(ROOT.glob("papers/*/README.md")))
    for paper, verdict in lines:
        page = " ".join((ROOT / "papers" / paper / "README.md").read_text(encoding="utf-8").split("## Figures")[0].split())
        counts = re.findall(r"(\d+) of (\d+)", verdict)
        assert counts, f"{paper}: how many numbers hold?"
        for held, of in counts:
            in_words = f"{held} of {of} " in page or f"The {of} claims count more: {held} hold" in page
            assert in_words, f"docs/index.md: {held} of {of} is not what papers/{paper} says"


FOLDERS = {
    "stacks": "stacks",
    "congestion_controls": "congestion",
    "window_sizings": "window-sizing",
    "queues": "queues",
    "discards": "discard",
}
KEYS = {"congestion_controls": "congestion_control", "window_sizings": "window_sizing", "queues": "queue", "discards": "discard"}
PARAMETERS = re.compile(r"(?<=<!-- parameters -->\n).*?(?=<!-- end -->)", re.DOTALL)


def with_parameters(text: str, kind: str, entry: dict[str, Any]) -> str:
    """The page of an entry with the parameters that the registry has."""
    head = f"| name | default | meaning ([values](../experiment/{KEYS[kind]}.md)) |\n|---|---|---|\n"
    rows = [
        f"| `{param['name']}` | {'' if param['default'] == 'auto' else param['default']} | {param['doc']} |\n" for param in entry["params"]
    ]
    return PARAMETERS.sub(lambda _: head + "".join(rows), text)


@pytest.mark.parametrize("kind", KEYS)
def test_parameters_are_those_of_the_registry(kind: str) -> None:
    for entry in longfat.registries()[kind]:
        page = ROOT / "docs" / FOLDERS[kind] / f"{entry['name']}.md"
        text = page.read_text(encoding="utf-8")
        assert bool(PARAMETERS.search(text)) == bool(entry["params"]), page
        assert text == with_parameters(text, kind, entry), "`python tests/test_docs.py parameters` writes them"


@pytest.mark.parametrize(("kind", "folder"), FOLDERS.items())
def test_every_algorithm_has_its_page_with_every_parameter(kind: str, folder: str) -> None:
    for entry in longfat.registries()[kind]:
        page = ROOT / "docs" / folder / f"{entry['name']}.md"
        text = page.read_text(encoding="utf-8")
        assert re.findall(r"^## (.*)$", text, flags=re.MULTILINE) == ["Model", "References", "Parameters", "Example", "Validation"], page
        for param in entry["params"]:
            rows = [line for line in text.splitlines() if line.startswith(f"| `{param['name']}` |")]
            assert rows, f"{page}: no row for {param['name']}"
            assert kind != "stacks" or f"`{param['default']}`" in rows[0], f"{page}: {param['name']} is {param['default']}"


REMEDY = re.compile(r"(?<=<!-- remedy -->\n).*?(?=<!-- end -->)", re.DOTALL)


def with_remedies(text: str) -> str:
    """The page of the warnings with the advice that the registry has."""
    advice = {warning["name"]: warning["advice"] for warning in longfat.registries()["warnings"]}

    def section(part: str) -> str:
        name = re.match(r"## `(\w+)`", part)
        remedy = textwrap.fill(f"Remedy: {advice[name[1]]}.", 118, break_on_hyphens=False, break_long_words=False) if name else ""
        return REMEDY.sub(lambda _: f"{remedy}\n", part)

    return "".join(section(part) for part in re.split(r"^(?=## )", text, flags=re.MULTILINE))


def test_remedies_are_those_of_the_registry() -> None:
    text = (ROOT / "docs" / "warnings.md").read_text(encoding="utf-8")
    assert len(REMEDY.findall(text)) == len(longfat.registries()["warnings"])
    assert text == with_remedies(text), "`python tests/test_docs.py parameters` writes them"


NO_VALIDATION = re.compile(r"\W*(none|nothing|no|not|todo|tbd|to do|missing)\b", re.IGNORECASE)


def says_how(validation: str) -> bool:
    """Returns true if the section says by which tests, runs or numbers an entry was checked."""
    return len(validation.split()) >= 8 and not NO_VALIDATION.match(validation)


@pytest.mark.parametrize("folder", ["stacks", "congestion", "window-sizing", "queues", "discard"])
def test_every_page_of_an_algorithm_says_how_it_was_validated(folder: str) -> None:
    for page in sorted((ROOT / "docs" / folder).glob("*.md")):
        validation = page.read_text(encoding="utf-8").split("\n## Validation\n")[-1].split("\n## ")[0]
        assert says_how(validation), f"{page.relative_to(ROOT)}: Validation names no test, run or number: {validation.strip()!r}"


@pytest.mark.parametrize(
    "empty", ["None yet.", "", "TODO", "- Nothing so far, since there is no published number to compare this with.", "Unit tests."]
)
def test_a_validation_that_says_nothing_is_none(empty: str) -> None:
    assert not says_how(empty)


def test_each_rule_of_the_stack_linux_says_whose_it_is() -> None:
    """And what is as Linux has a source."""
    text = (ROOT / "docs" / "linux-rules.md").read_text(encoding="utf-8")
    rules = [[cell.strip() for cell in line.strip("| \n").split(" | ")] for line in text.splitlines() if line.startswith("| ")][1:]
    assert len(rules) > 30
    for rule, here, *source in rules:
        verdict = re.match(r"as Linux|as the RFC|as RFC \d+|as its paper|unknown", here)
        assert verdict, f"{rule}: {here}"
        assert verdict[0] != "as Linux" or len("".join(source)) > 10, f"{rule}: as Linux, by which source?"


def test_the_page_on_traffic_has_a_row_for_every_kind() -> None:
    text = (ROOT / "docs" / "traffic.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE)
    assert sorted(rows) == sorted(entry["name"] for entry in longfat.registries()["traffic"])


def test_every_warning_has_its_section_and_a_symptom() -> None:
    sections = headings(ROOT / "docs" / "warnings.md")
    troubleshooting = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    for warning in longfat.registries()["warnings"]:
        name = warning["name"]
        assert name in sections, f"docs/warnings.md has no section {name}"
        assert f"(warnings.md#{name})" in troubleshooting, f"docs/troubleshooting.md has no row for {name}"


def test_every_error_of_the_docs_is_one_that_longfat_prints() -> None:
    """`...` stands for what differs. Errors of files are looked for in the snapshots of their tests."""
    snapshots = sorted((ROOT / "crates" / "experiment" / "src" / "tests" / "snapshots").glob("*.snap"))
    printed = "\n".join(path.read_text(encoding="utf-8") for path in snapshots).replace("`", "")
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    sections = [part for part in page.split("\n## ") if part.startswith("Errors of ")]
    quoted = [
        one for part in sections for cell in re.findall(r"^\| (.*?) \|", part, flags=re.MULTILINE) for one in re.findall(r"`([^`]+)`", cell)
    ]
    assert len(quoted) > 30
    messages = [one for one in quoted if " " in one and not one.startswith('"')]
    missing = [one for one in messages if not re.search(".*".join(re.escape(part.strip()) for part in one.split("...")), printed)]
    assert not missing


WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


@pytest.mark.parametrize(("kind", "what"), [("congestion_controls", "congestion controls"), ("queues", "queues")])
def test_the_readme_counts_as_the_registries_do(kind: str, what: str) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    said = [word for word in re.findall(rf"(\w+) \[?{what}\b", text) if word.isdigit() or word in WORDS]
    n = len(longfat.registries()[kind])
    assert said, f"the README does not say how many {what} there are"
    assert set(said) <= {str(n), WORDS[n] if n < len(WORDS) else str(n)}, f"there are {n} {what}"


def test_each_control_says_which_variant_it_is() -> None:
    pages = sorted((ROOT / "docs" / "congestion").glob("*.md"))
    without = [page.name for page in pages if "\nVariant: " not in page.read_text(encoding="utf-8")]
    assert pages
    assert not without


def update_parameters() -> None:
    """Writes parameters and remedies of the registries into the pages."""
    warnings = ROOT / "docs" / "warnings.md"
    warnings.write_text(with_remedies(warnings.read_text(encoding="utf-8")), encoding="utf-8")
    for kind in KEYS:
        for entry in longfat.registries()[kind]:
            page = ROOT / "docs" / FOLDERS[kind] / f"{entry['name']}.md"
            page.write_text(with_parameters(page.read_text(encoding="utf-8"), kind, entry), encoding="utf-8")


def update() -> None:
    """Writes what is printed now into the documents."""
    for path in RUN:
        with tempfile.TemporaryDirectory() as folder:
            text = Session(Path(folder)).run(path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    update_parameters()
    if "parameters" not in sys.argv:
        update()
