"""GitHub's Markdown, written as Zensical's: the same page, where the two read one text differently."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator

from markdown_it import MarkdownIt

FENCE = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
PICTURE = re.compile(r'<(?:img|source)\b[^>]*?\b(?:src|srcset)="([^"]+)"')
NAMED = re.compile(r"^( *```\w+) (\S.*)$", re.MULTILINE)
INDENT = 4


def targets(text: str) -> Iterator[str]:
    """Yields the targets of the relative links and pictures of a page, without anchors."""
    text = FENCE.sub("", text)
    named = [*(target for _, target, _ in LINK.findall(text)), *PICTURE.findall(text)]
    yield from (target for target in named if not _outside(target))


def for_zensical(text: str, page: str, found: Collection[str]) -> str:
    """The text of `page`, as Zensical needs it; `found` are all pages."""
    return _named_fences(_spaced_lists(_to_listings(text, page, found)))


def _to_listings(text: str, page: str, found: Collection[str]) -> str:
    """A link to a file leads to the page that lists it."""

    def link(match: re.Match[str]) -> str:
        before, target, after = match.groups()
        listing = posixpath.normpath(posixpath.join(posixpath.dirname(page), f"{target}.md"))
        return f"{before}{target}{'.md' if not _outside(target) and listing in found else ''}{after}"

    return LINK.sub(link, text)


def _spaced_lists(text: str) -> str:
    """A blank line before each list, and four columns of indent for what belongs to an item."""
    lines = text.split("\n")
    deeper = [0] * len(lines)
    begins = set()
    for token in MarkdownIt("commonmark").parse(text):
        if token.map is None:
            continue
        first, end = token.map
        if token.type in ("bullet_list_open", "ordered_list_open"):
            begins.add(first)
        if token.type == "list_item_open":
            marker = re.match(r" *(?:[-*+]|\d+[.)]) +", lines[first])
            assert marker
            own = len(lines[first]) - len(lines[first].lstrip())
            for number in range(first + 1, end):
                deeper[number] += INDENT - (len(marker[0]) - own)
    written = list[str]()
    for number, line in enumerate(lines):
        if number in begins and number and lines[number - 1].strip():
            written.append("")
        written.append(" " * deeper[number] + line if line.startswith(" ") else line)
    return "\n".join(written)


def _named_fences(text: str) -> str:
    """The name of a block becomes its title."""
    return NAMED.sub(r'\1 title="\2"', text)


def _outside(target: str) -> bool:
    return "://" in target or target.startswith("mailto:")
