"""Text that other people wrote: titles, names, paths."""

from __future__ import annotations

import re

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that tell a terminal to do something (but new lines and tabs), or turn the direction of what follows."""


def clean(text: str) -> str:
    """`text` without what a terminal would obey."""
    return CONTROL.sub("", text)


def encodable(name: str) -> str:
    """A file's name for a message, with question marks for bytes that are no text."""
    return name.encode("utf-8", "replace").decode("utf-8")
