"""The navigation of the site: the sections and links of `docs/index.md`, in their order."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

import reference

INDEX = Path(__file__).parent.parent / "index.md"
SECTION = re.compile(r"^\*\*(.+?)\*\*")
ITEM = re.compile(r"^- ", re.MULTILINE)
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#]+)")


def tree() -> list[dict[str, Any]]:
    """Value of `nav` in the settings: titles with pages, or with more of the same."""
    sections: list[dict[str, Any]] = [{"longfat": "README.md"}, {"All documents": "docs/index.md"}, {"Gallery": "docs/gallery.md"}]
    for part in re.split(r"\n\n(?=\*\*)", INDEX.read_text(encoding="utf-8")):
        if name := SECTION.match(part):
            head, *items = ITEM.split(part)
            sections.append({name[1]: [*_pages(head), *(entry for item in items for entry in _entries(item))]})
    modules = [{page.removeprefix("# ").split("\n", 1)[0]: name} for name, page in reference.pages().items()]
    return [*sections, {"Reference of the Python module": modules}]


def _entries(item: str) -> list[dict[str, Any]]:
    """A line of the index: a page, or a page or a word with the pages that follow it in a list of links."""
    pages = _pages(item)
    listed = re.match(r"(\[[^\]]*\]\([^)]*\)|\w[\w ]*): \[", item)
    if len(pages) < 2 or not listed:
        return pages[:1]
    head = pages[0] if item.startswith("[") else None
    title = next(iter(head)) if head else listed[1]
    return [{title: [{"Overview": head[title]}, *pages[1:]] if head else pages}]


def _pages(text: str) -> list[dict[str, Any]]:
    return [
        {words[0].upper() + words[1:] if " " in words else words: posixpath.normpath(f"docs/{target}")}
        for words, target in LINK.findall(text)
    ]
