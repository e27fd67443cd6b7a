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


INSIDE = {"Papers": "Evidence", "Reference of the Python module": "Reference"}
"""Sections that stand inside another, which has a tab of its own."""


def tree() -> list[dict[str, Any]]:
    """Value of `nav` in the settings: titles with pages, or with more of the same."""
    sections = {name: [*_pages(head), *(entry for item in items for entry in _entries(item))] for name, (head, items) in _parts().items()}
    modules = [{page.removeprefix("# ").split("\n", 1)[0]: name} for name, page in reference.pages().items()]
    sections["Start"] = [*sections["Start"], {"Gallery": "docs/gallery.md"}, {"All pages": "docs/index.md"}]
    for name, outer in INSIDE.items():
        sections[outer].append({name: sections.pop(name, modules)})
    return [{"longfat": "README.md"}, *({name: pages} for name, pages in sections.items())]


def items(section: str) -> list[str]:
    """The lines of a section of the index."""
    return [f"- {' '.join(item.split())}" for item in _parts()[section][1]]


def _parts() -> dict[str, tuple[str, list[str]]]:
    """Sections of the index by name: the line that begins each, and its items."""
    parts = re.split(r"\n\n(?=\*\*)", INDEX.read_text(encoding="utf-8"))
    split = {name[1]: ITEM.split(part) for part in parts if (name := SECTION.match(part))}
    return {name: (head, items) for name, (head, *items) in split.items()}


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
