"""Claims and published numbers are closed: what has been edited since they were fixed stands in the notebook, or beside them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from longfat import locate
from longfat.paper import registered

ROOT = Path(__file__).parent.parent
PAPERS = sorted(path.parent.name for home in ("papers", "experiments") for path in (ROOT / home).glob("*/registered.csv"))
HEADING = "## Edits since the claims were fixed"


def test_every_paper_has_one() -> None:
    # The validation is kept as a paper is, and nobody published it.
    assert set(PAPERS) == set(locate.papers()) - {"validation"}


@pytest.mark.parametrize("name", PAPERS)
def test_every_edit_is_told_and_no_other(name: str) -> None:
    folder = locate.paper_folder(name)
    method = ROOT / "notebook" / f"{name}-method.md"
    page = (method if method.is_file() else folder / "README.md").read_text(encoding="utf-8")
    (section,) = re.findall(rf"^{HEADING}$(.*?)(?=^## |\Z)", page, flags=re.M | re.S)
    told = {
        one
        for line in section.splitlines()
        if line.startswith("- `")
        for one in re.findall(r"`([^`]+)`", line.split(":")[0].split(" was ")[0])
    }
    assert told == {edit.id for edit in registered.edits(folder)}


def test_an_edit_is_found_whatever_the_row_is_called(tmp_path: Path) -> None:
    folder = tmp_path / "atm"
    shutil.copytree(locate.paper_folder("atm"), folder)
    registered.write(folder, registered.now(folder))
    assert registered.edits(folder) == []
    claims = (folder / "claims.csv").read_text(encoding="utf-8")
    first = claims.splitlines()[1].split(",")[0]
    (folder / "claims.csv").write_text(claims.replace(f"\n{first},", "\nanother-name,"), encoding="utf-8")
    assert registered.edits(folder) == []
    (folder / "claims.csv").write_text(claims.replace(" > ", " >= ", 1), encoding="utf-8")
    assert {edit.what for edit in registered.edits(folder)} == {"added or changed", "removed or changed"}
    (folder / "claims.csv").write_text("\n".join(claims.splitlines()[:-1]) + "\n", encoding="utf-8")
    assert [edit.what for edit in registered.edits(folder)] == ["removed or changed"]


def test_a_paper_without_a_table_of_claims_is_closed_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "published").mkdir()
    numbers = tmp_path / "published" / "text.csv"
    numbers.write_text("id,where,page,quantity,value,unit,uncertainty,note\na,section 2,,rate,0.9,Mb/s,,\n", encoding="utf-8")
    registered.write(tmp_path, registered.now(tmp_path))
    numbers.write_text(numbers.read_text(encoding="utf-8").replace("Mb/s,,", "Mbit/s,,said so"), encoding="utf-8")
    assert registered.edits(tmp_path) == []
    numbers.write_text(numbers.read_text(encoding="utf-8").replace("0.9", "0.8"), encoding="utf-8")
    assert [edit.id for edit in registered.edits(tmp_path)] == ["a", "a"]
