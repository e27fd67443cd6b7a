"""Sentences keep the house rules of CONTRIBUTING.md, as far as a machine sees them.

Read are the prose of every page but the notebook, the docstrings and string literals of `python/longfat`, and the string literals of
`crates` outside tests. `python tests/test_words.py` prints the words of the pages by kind: the sections of `docs/index.md`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT

WORDS, COLUMNS, PAGE = 30, 120, 1500
FENCE = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
FIRST = re.compile(r"(What|Of|Those|As|That|So|By(?! (default|then)\b)|The same)\b(?!.*\?$)")
"""Words that begin no sentence; a question may begin with "What"."""
UNIT = r"(?:bytes|bits|cycles|instructions|events|\d [nuµm]?s|CPU|samples|allocations)"
RULES = {
    "sent again": re.compile(r"\bsent again\b", re.IGNORECASE),
    "per, not a": re.compile(rf"\b{UNIT} (?:a|an|each) (?:packet|segment|byte|second|round trip|run|cell|connection|core|ACK)\b"),
}
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
PAGES = ("*.md", "docs/**/*.md", "papers/*/README.md", "experiments/**/*.md", "crates/*/*.md")
OURS = [
    path
    for pattern in (*PAGES, "python/longfat/**/*.py", "crates/*/src/**/*.rs")
    for path in sorted(ROOT.glob(pattern))
    if path.name != "CHANGELOG.md" and "tests" not in path.parts and path.stem != "tests"
]


def prose(text: str) -> str:
    """A page without code, tables, headings, comments and advice of the registry; a link is its words."""
    text = re.sub(r"<!-- remedy -->.*?<!-- end -->", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", FENCE.sub("\n\n", text), flags=re.DOTALL)
    return re.sub(r"^\s*\|.*$|^#.*$", "", text, flags=re.MULTILINE)


def sentences(text: str) -> Iterator[str]:
    """The sentences of prose."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    for block in re.split(r"\n\s*\n|\n(?=\s*[-*] |\s*\d+\. )", text):
        yield from re.split(r"(?<=[.!?])\s+(?=\S)", re.sub(r"^([-*]|\d+\.) +", "", " ".join(block.split())))


def literals(path: Path) -> Iterator[str]:
    """Docstrings and other strings of a source file."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".rs":
        code = re.sub(r"^\s*//.*$", "", source.split("#[cfg(test)]\nmod tests {")[0], flags=re.MULTILINE)
        yield from STRING.findall(code)
    else:
        yield from (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant) and isinstance(node.value, str))


def faults(path: Path) -> Iterator[tuple[str, str]]:
    """Rules that a file breaks, each with the sentence or line."""
    is_page = path.suffix == ".md"
    texts = [prose(path.read_text(encoding="utf-8"))] if is_page else list(literals(path))
    for text in texts:
        if is_page:
            yield from (("columns", line) for line in text.splitlines() if len(line) > COLUMNS)
        for sentence in sentences(text):
            if is_page and len(sentence.split()) > WORDS:
                yield "long", sentence
            if FIRST.match(sentence) and len(sentence.split()) > 2:
                yield "first word", sentence
            yield from ((rule, sentence) for rule, pattern in RULES.items() if pattern.search(sentence))


GENERATED = re.compile(
    r"<!-- (?:columns|packet kinds|kinds|table|parameters|remedy)\b.*?<!-- end -->|<!-- (?:Generated|Below this line).*", re.DOTALL
)


def by_hand(text: str) -> int:
    """Words of a page that are written by hand: neither code, nor what a command writes into the page."""
    return len(re.findall(r"\S*\w\S*", GENERATED.sub("", FENCE.sub("", text))))


@pytest.mark.parametrize(
    "path", [*sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("papers/*/README.md"))], ids=lambda path: str(path.relative_to(ROOT))
)
def test_a_page_is_short(path: Path) -> None:
    words = by_hand(path.read_text(encoding="utf-8"))
    assert words <= PAGE, f"{words} words: a page has one reader; give another reader a page, a record the notebook"


WRITTEN = [path for pattern in (*PAGES, "notebook/*.md") for path in sorted(ROOT.glob(pattern))]


def by_chance(text: str) -> Iterator[str]:
    """Items of lists without the one before: a line of prose that a number with a full stop begins."""
    numbers = [int(match[1]) for match in re.finditer(r"^ *(\d+)[.)] ", FENCE.sub("", text), re.MULTILINE)]
    yield from (f"{number}." for number in numbers if number > 1 and number - 1 not in numbers)


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_line_is_an_item_by_chance(path: Path) -> None:
    assert not list(by_chance(path.read_text(encoding="utf-8")))


def test_an_item_by_chance_is_seen() -> None:
    assert list(by_chance("The buffers carry\n15. It costs more.")) == ["15."]
    assert not list(by_chance("Two:\n1. One.\n\n2. Two."))


def test_words_by_hand_leave_out_code_and_what_is_generated() -> None:
    parts = (
        "# A page",
        "<!-- parameters -->\n| `a` | b |\n<!-- end -->",
        "Three more words.",
        "```sh\nnot this\n```",
        "<!-- Generated -->\nno",
    )
    assert by_hand("\n\n".join(parts)) == 5


@pytest.mark.parametrize("path", OURS, ids=lambda path: str(path.relative_to(ROOT)))
def test_sentences_keep_the_rules(path: Path) -> None:
    assert not list(faults(path))


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("Of each host the window is set.", ["first word"]),
        ("What does it cost?", []),
        ("It takes 300 bytes a packet, and a segment is sent again.", ["sent again", "per, not a"]),
        ("It takes 300 bytes per packet.", []),
        (" ".join(["word"] * 31), ["columns", "long"]),
        ("A table:\n\n| Of each host |\n|---|\n\n```sh\nsent again\n```\n", []),
    ],
)
def test_each_rule_sees_its_fault(tmp_path: Path, text: str, rules: list[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    assert [rule for rule, _ in faults(page)] == rules


def test_comments_say_retransmitted() -> None:
    files = [path for path in sorted(ROOT.glob("crates/**/*.rs")) if "target" not in path.parts]
    assert len(files) > 300
    assert not [path for path in files if RULES["sent again"].search(path.read_text(encoding="utf-8"))]


INDEX = ROOT / "docs" / "index.md"
MOST = {"Start": 6_400, "Questions": 2_600, "How to": 11_600, "Reference": 35_500, "How it works": 7_000}
"""Most words by hand of the kinds of pages that users read; `TOGETHER` of all five."""
TOGETHER = 61_000


def by_kind(index: str) -> dict[str, dict[Path, int]]:
    """Words by hand of each page, by the sections of the index: bold lines. A page counts where it is linked first."""
    kinds: dict[str, dict[Path, int]] = {}
    seen = {INDEX, (INDEX.parent / "../README.md").resolve()}
    for part in re.split(r"\n(?=\*\*)", index)[1:]:
        name = re.match(r"\*\*(.+?)\*\*", part)
        assert name
        linked = [(INDEX.parent / target).resolve() for target in re.findall(r"\]\(([^)#]+\.md)\)", part)]
        pages = [page for page in dict.fromkeys(linked) if page not in seen]
        seen.update(pages)
        kinds[name[1]] = {page: by_hand(page.read_text(encoding="utf-8")) for page in pages}
    return kinds


def test_the_words_of_each_kind_are_within_bounds() -> None:
    words = {kind: sum(pages.values()) for kind, pages in by_kind(INDEX.read_text(encoding="utf-8")).items()}
    assert not {kind: words[kind] for kind, most in MOST.items() if words[kind] > most}
    assert sum(words[kind] for kind in MOST) <= TOGETHER


def test_every_page_of_docs_counts_in_one_kind() -> None:
    kinds = by_kind(INDEX.read_text(encoding="utf-8"))
    counted = [page for pages in kinds.values() for page in pages]
    assert len(counted) == len(set(counted))
    assert set(ROOT.glob("docs/**/*.md")) - set(counted) == {INDEX}


def print_words() -> None:
    """Prints pages and words of each kind, then the words of each page."""
    kinds = by_kind(INDEX.read_text(encoding="utf-8"))
    print(f"{'kind':15} {'pages':>6} {'words':>7} {'at most':>8}")
    for kind, pages in kinds.items():
        print(f"{kind:15} {len(pages):6} {sum(pages.values()):7,} {MOST.get(kind, ''):>8}")
    of_users = [words for kind in MOST for words in kinds[kind].values()]
    print(f"{'together':15} {len(of_users):6} {sum(of_users):7,} {TOGETHER:>8}, of the kinds with a bound\n")
    for kind, pages in kinds.items():
        for page, words in sorted(pages.items(), key=lambda one: -one[1]):
            print(f"{words:6,}  {kind:15} {page.relative_to(ROOT)}")


if __name__ == "__main__":
    print_words()
