"""A page as PDF, printed by the Chromium or Chrome of this machine: figures are drawn by scripts, which needs a browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from longfat.errors import LongfatError

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "msedge",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
PATIENCE = 120.0
"""Seconds after which a browser is given up."""
DRAWING = 10_000
"""Milliseconds of the page's own time in which its scripts may draw."""


def browser() -> str:
    """Returns the path of a browser that prints. Raises LongfatError where there is none."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise LongfatError("a PDF needs Chromium or Chrome, not found here: install one of them, or print the HTML page from your browser")
    return found


def write_pdf(html: str, file: Path) -> None:
    """Prints a page to `file`. Raises LongfatError where there is no browser, or where it fails."""
    command = [browser(), "--headless", "--disable-gpu", "--no-pdf-header-footer", f"--virtual-time-budget={DRAWING}"]
    with tempfile.TemporaryDirectory(prefix="longfat-pdf-") as folder:
        page, made = Path(folder) / "page.html", Path(folder) / "page.pdf"
        page.write_text(html, encoding="utf-8")
        command += [f"--user-data-dir={folder}/profile", f"--print-to-pdf={made}"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:  # Chromium refuses its sandbox to root
            command.append("--no-sandbox")
        try:
            done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=PATIENCE, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise LongfatError(f"{command[0]} did not print {file}: {error}") from error
        if not made.is_file():
            said = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
            raise LongfatError(f"{command[0]} did not print {file}: {said[0]}")
        try:
            shutil.copyfile(made, file)
        except OSError as error:
            raise LongfatError(f"{file} cannot be written: {error.strerror}") from error
