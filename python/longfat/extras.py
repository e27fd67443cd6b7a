"""Extras: libraries that only some of longfat needs, and that `pip install longfat` alone does not bring."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec

from longfat.errors import LongfatError

EXTRAS = {
    "report": ("jinja2", "matplotlib"),
    "dask": ("distributed",),
    "fit": ("emcee", "sklearn", "scipy"),
    "gym": ("gymnasium", "pettingzoo"),
}
"""The extras of `pyproject.toml`, each with the modules that it brings."""


def need(extra: str, what: str) -> None:
    """Raises LongfatError where a module of `extra` is missing; `what` needs it, and begins the message."""
    missing = [module for module in EXTRAS[extra] if find_spec(module) is None]
    if missing:
        raise LongfatError(f'{what} needs {" and ".join(missing)}, not installed here: pip install "longfat[{extra}]"')


def need_to_draw() -> None:
    """matplotlib, imported whatever `MPLBACKEND` says: the backend of a notebook may not be installed here."""
    need("report", "a figure")
    if "matplotlib" in sys.modules:
        return
    backend = os.environ.pop("MPLBACKEND", None)
    matplotlib = import_module("matplotlib")
    if backend is not None:
        os.environ["MPLBACKEND"] = backend
        with suppress(ValueError):
            matplotlib.rcParams["backend"] = backend
