"""The landing page: the README's words with its doors as cards, pictures of questions, and the papers with their verdicts."""

from __future__ import annotations

import re

import gallery
import navigation

DOORS = "## What do you come with?\n"
HEAD = "---\nhide: [navigation, toc]\n---\n"


def page(readme: str) -> str:
    """The page of the README, at its place. ValueError where the README has no doors."""
    before, found, after = readme.partition(DOORS)
    if not found:
        raise ValueError(f"README.md has no heading {DOORS.strip()!r}")
    doors, _, rest = after.strip().partition("\n\n")
    title, sentence, start = before.split("\n\n", 2)
    papers = "\n".join(navigation.items("Papers")).replace("](../", "](")
    pictures = "".join(entry.figure(gallery.ROOT) for entry in gallery.cookbook() if entry.picture.stem in gallery.FIRST)
    return "\n\n".join(
        [
            f"{HEAD}{title}",
            sentence,
            cards(doors),
            start.strip(),
            "## Questions, each with its picture",
            f'<div class="gallery" markdown>\n\n{pictures}</div>',
            "[All fifteen questions](docs/cookbook/index.md) and [the whole gallery](docs/gallery.md).",
            "## Five papers, run again",
            cards(papers),
            rest,
        ]
    )


def cards(items: str) -> str:
    """A list as cards: what an item names first is its title."""

    def card(item: re.Match[str]) -> str:
        return f"\n- {item[1]}\n\n    {item[2].upper()}"

    titled = re.sub(r"^- (\*\*.+?\*\*|\[.+?\]\(.+?\)):? (.)", card, items, flags=re.MULTILINE)
    return f'<div class="grid cards" markdown>\n\n{titled}\n\n</div>'
