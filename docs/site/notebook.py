"""The tutorial as a notebook: `python docs/site/notebook.py` writes `docs/tutorial.ipynb` from `docs/tutorial.md`.

What the page says becomes Markdown cells. Its files, commands and Python become code cells, with the outputs that the page shows, which
a test makes again at each change. Its pictures are part of the notebook; its links lead to the pages of a clone.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

PAGE = Path(__file__).parent.parent / "tutorial.md"
FENCE = re.compile(r"^```(\S+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IMAGE = re.compile(r"(!\[[^]]*\]\()(\S+/)?(\S+\.png)\)")
QUIET = "%env TERM=dumb"
"""Terminal of the cells: another would make each state of a progress bar a line of the cell's output."""
INTRODUCTION = "Installed as `pip install longfat[report]` or `make build` do it, `longfat` is on the path of this notebook's kernel."


def notebook(text: str) -> str:
    """The page as a notebook of format 4.5."""
    cells: list[nbformat.NotebookNode] = []
    at = 0
    for fence in FENCE.finditer(text):
        cells += _prose(text[at : fence.start()])
        at = fence.end()
        kind, name, body = fence.groups()
        if kind == "console" and "make build" in body:
            cells += [new_markdown_cell(f"{fence.group()}\n\n{INTRODUCTION}"), new_code_cell(QUIET)]
        elif kind == "console":
            cells += _commands(body)
        elif kind == "python":
            cells.append(new_code_cell(body.rstrip("\n")))
        elif kind == "output":
            cells[-1].outputs = [new_output("stream", text=body)]
        elif name:
            cells.append(new_code_cell(f"%%writefile {name}\n{body.rstrip()}"))
        else:
            cells.append(new_markdown_cell(fence.group()))
    cells += _prose(text[at:])
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    made = new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})
    nbformat.validate(made)
    return nbformat.writes(made) + "\n"


def _prose(text: str) -> Iterator[nbformat.NotebookNode]:
    if text.strip():
        cell = new_markdown_cell(IMAGE.sub(r"\1attachment:\3)", text.strip()))
        pictures = {name: (PAGE.parent / (folder or "") / name).read_bytes() for _, folder, name in IMAGE.findall(text)}
        if pictures:
            cell.attachments = {name: {"image/png": base64.b64encode(content).decode()} for name, content in pictures.items()}
        yield cell


def _commands(body: str) -> Iterator[nbformat.NotebookNode]:
    """A cell for each command of a console, with what it printed."""
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        outputs = [new_output("stream", text=printed)] if printed.strip() else []
        yield new_code_cell(f"!{command}", outputs=outputs)


if __name__ == "__main__":
    PAGE.with_suffix(".ipynb").write_text(notebook(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
