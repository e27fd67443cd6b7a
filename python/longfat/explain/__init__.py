"""Explanations: what happened in a run or a captured connection, and why, in a dozen sentences and a figure.

import longfat
from longfat.explain import explain, explain_capture

told = explain(longfat.load("my-path.toml").run())
print(told)
told.save("story.svg")
print(explain_capture("transfer.pcapng"))
"""

from __future__ import annotations

from longfat.capture import Capture, packets, read
from longfat.capture.reader import Files, Progress, chosen
from longfat.explain.explanation import Explanation, Told, explain_story
from longfat.explain.model import Sentence, Story
from longfat.explain.of_capture import story_of_capture
from longfat.explain.of_run import story_of_run
from longfat.results.result import Result

__all__ = ["Explanation", "Sentence", "Story", "Told", "explain", "explain_capture"]


def explain(result: Result, note: str = "") -> Explanation:
    """Explains a run from what it recorded: `measure.interval` and `measure.events` make it complete. `note` is on how it was recorded."""
    return explain_story(story_of_run(result, note))


def explain_capture(
    files: Files, connection: int | None = None, *, found: Capture | None = None, progress: Progress | None = None
) -> Explanation:
    """Explains a connection of captures, by default the one with most data. CaptureError."""
    found = found or read(files, progress=progress)
    one = chosen(found, connection)
    return explain_story(story_of_capture(one, packets(files, one.number, progress=progress)))
