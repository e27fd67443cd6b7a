"""Makes the documentation site: `make docs` writes it to `site/`, and `site/index.html` opens without a server.

    python docs/site/build.py [FOLDER [RESULTS]]

Its pages are the Markdown of the repository, at the paths they have there. Added are the navigation, taken from `docs/index.md`; the
landing page, in place of the README; the reference of the Python module, from its docstrings; the gallery; words for the search; and a page
for each other file that a page links to. Zensical renders all of it, by `mkdocs.yml`, which Material for MkDocs reads as well. Pictures of
the gallery are drawn first, from runs kept in `results/`, or from those in RESULTS: a folder per experiment, however short. With the
address of a public repository in the variable REPOSITORY, each page has a link to edit it there; without, the path of its file.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import finding
import gallery
import landing
import longfat
import navigation
import reference
from dialect import for_zensical, targets

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PAGES = ("*.md", "docs/**/*.md", "papers/*/README.md", "notebook/*.md")
LAB = ROOT / "target/web/lab.html"
AS_IT_IS = (".png", ".svg")
LANGUAGES = {".py": "python", ".json": "json", ".toml": "toml"}


def pages() -> dict[str, str]:
    """Every page, by its path in the repository: as it is written there, or made."""
    files = [file for pattern in PAGES for file in sorted(ROOT.glob(pattern))]
    written = {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in files}
    return written | {"README.md": landing.page(written["README.md"])} | reference.pages() | gallery.pages()


def linked(found: Mapping[str, str]) -> Iterator[str]:
    """Files of the repository that pages link to or show, and that are no pages."""
    files = {((ROOT / page).parent / target).resolve() for page, text in found.items() for target in targets(text)}
    names = {file.relative_to(ROOT).as_posix() for file in files if file.is_file()}
    yield from sorted(names - found.keys())


def listing(name: str) -> str:
    """The page of a file that is no page."""
    file = ROOT / name
    return f"# {file.name}\n\n`{name}`\n\n```{LANGUAGES.get(file.suffix, 'text')}\n{file.read_text(encoding='utf-8')}```\n"


def edit(name: str) -> str:
    """The last line of a page: where to edit its file. Nothing under a page that has none."""
    if not (ROOT / name).is_file():
        return ""
    repository = os.environ.get("REPOSITORY", "").rstrip("/")
    words = f"[Edit this page]({repository}/edit/main/{name})" if repository else f"Edit this page: `{name}`"
    return f"\n\n{words}\n{{ .edit data-search-exclude }}\n"


def stage(folder: Path) -> None:
    """Writes what Zensical reads: pages and pictures in `folder/docs`, and its settings."""
    found = pages()
    listed = set[str]()
    for name in linked(found):
        if Path(name).suffix in AS_IT_IS:
            _file(folder / "docs" / name).write_bytes((ROOT / name).read_bytes())
        else:
            found[f"{name}.md"] = listing(name)
            listed.add(f"{name}.md")
    if missing := finding.ALIASES.keys() - found.keys():
        raise ValueError(f"ALIASES in finding.py names pages that are not there: {', '.join(sorted(missing))}")
    if LAB.exists():
        shutil.copy(LAB, folder / "docs")
        head, found_it, rest = found["docs/browser.md"].partition("\n\n")
        found["docs/browser.md"] = f"{head}{found_it}[Open the lab](../lab.html).{found_it}{rest}"
    for name, text in found.items():
        page = finding.told(for_zensical(text, name, found), name, listing=name in listed) + edit(name)
        _file(folder / "docs" / name).write_text(page, encoding="utf-8")
    for file in (HERE / "style.css", HERE / "vendor" / "iframe-worker.js"):
        shutil.copy(file, folder / "docs")
    (folder / "python").symlink_to(ROOT / "python")
    settings = (HERE / "mkdocs.yml").read_text(encoding="utf-8")
    # JSON is YAML.
    name = f"longfat {longfat.__version__}"
    (folder / "mkdocs.yml").write_text(f"site_name: {name}\n{settings}nav: {json.dumps(navigation.tree())}\n", encoding="utf-8")


def build(site: Path, results: Path | None = None) -> None:
    """Renders the site into a folder, in place of what was there. `results` has runs for the gallery: without it, they are made."""
    gallery.draw(results)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        stage(folder)
        subprocess.run([sys.executable, "-m", "zensical", "build", "--clean"], cwd=folder, check=True)
        shutil.rmtree(site, ignore_errors=True)
        (folder / "site" / "404.html").unlink()  # it is for a server whose root is the site
        shutil.copytree(folder / "site", site)
        if not LAB.exists():
            print("The site has no lab in a browser: `make web` builds it (needs rustup and Node.js). Run it, then `make docs` again.")


def _file(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


if __name__ == "__main__":
    folder, *results = map(Path, sys.argv[1:] or [ROOT / "site"])
    build(folder, *results)
