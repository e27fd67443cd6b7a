"""Words of a table, and what they are in longfat: `[fit.columns]`, `[fit.words]` and `[fit.rows]` of a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Names:
    """Translation of a table of somebody else."""

    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    """Place or observable of a column (or of a published quantity), where it is called otherwise."""
    words: Mapping[str, str] = field(default_factory=dict[str, str])
    """Value of the experiment file for a word of the table: `"S-TCP" = "scalable"`."""
    rows: Mapping[str, str] = field(default_factory=dict[str, str])
    """Rows to read: value of a column."""

    def column(self, name: str) -> str:
        """The name of a column in longfat."""
        return self.columns.get(name, name)

    def word(self, text: str) -> str:
        """A cell in words of the experiment file."""
        return self.words.get(text, text)

    def wanted(self, row: Mapping[str, str]) -> bool:
        """True for a row that is to be read."""
        return all(row.get(name) == text for name, text in self.rows.items())
