"""Errors a user can cause and fix. Their text is the whole message: what, where, what would be right."""

from typing import Any

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C ended: as shells count SIGINT."""


class LongfatError(Exception):
    """Base of every error that longfat raises for its user's sake."""


class ExperimentError(LongfatError):
    """An experiment cannot be what its file says; the message names file, line, key and the nearest valid name."""


class StorageError(LongfatError):
    """Results cannot be written or read: no right to, no space, a newer format, another process at work there."""


class NoResultsError(StorageError):
    """A folder holds no finished run (yet)."""


class DamagedError(StorageError):
    """A file of results is not what was written: cut short, changed or gone."""


class LostError(LongfatError):
    """The far host of a run, or the path to it, was lost while it was measured."""

    result: Any = None
    """`Result` of the time until then, of `Experiment.run`: its verdict is `invalid`."""


class CaptureError(LongfatError):
    """A capture cannot be read or made: no such file or place, no capture at all, nothing recorded."""


class Stopped(LongfatError):
    """Ctrl-C, with what was kept and how to go on."""
