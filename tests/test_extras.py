"""A plain `pip install longfat` simulates and prints tables; what needs more says what to install."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from conftest import ROOT
from longfat.errors import LongfatError
from longfat.extras import EXTRAS, need
from longfat.plot import Axis, Plot, save

WITHOUT = """
import sys
for module in {modules}:
    sys.modules[module] = None  # importing it fails, as where it is not installed
from longfat.__main__ import main
main()
"""


def without(*arguments: object) -> subprocess.CompletedProcess[str]:
    """`longfat` where the modules of no extra are installed."""
    program = WITHOUT.format(modules=[module for modules in EXTRAS.values() for module in modules])
    return subprocess.run([sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.slow
def test_without_extras_everything_but_pages_works(sweep_file: Path, tmp_path: Path) -> None:
    home = ("--results", tmp_path / "results")
    for arguments in (("run", sweep_file, *home), ("show", tmp_path / "results" / "small"), ("list", "papers"), ("schema",)):
        done = without(*arguments)
        assert done.returncode == 0, done.stderr
    for arguments in (("report", tmp_path / "results" / "small"), ("watch", tmp_path / "results" / "small")):
        done = without(*arguments)
        assert done.returncode == 1
        assert done.stderr == 'error: a report needs jinja2 and matplotlib, not installed here: pip install "longfat[report]"\n'


def test_a_figure_without_matplotlib_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    plot = Plot("p", "title", Axis("x"), Axis("y"))
    for draw in (lambda: plot.save(tmp_path / "p.svg"), plot._repr_svg_, lambda: save(plot, tmp_path)):
        with pytest.raises(LongfatError, match=r'^a figure needs matplotlib, not installed here: pip install "longfat\[report\]"$'):
            draw()


def test_extras_are_those_of_the_package() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    modules = {"scikit-learn": "sklearn"}
    names = {
        extra: tuple(modules.get(name, name) for name in (requirement.split(">")[0] for requirement in requirements))
        for extra, requirements in declared.items()
    }
    assert names == EXTRAS
    for extra in EXTRAS:
        need(extra, "a test")
