"""`longfat schema`: the JSON Schema of experiment files."""

from __future__ import annotations

from longfat._longfat import schema


def schema_command() -> None:
    """Print the JSON Schema of experiment files, for editors."""
    print(schema())
