"""The wheel, in an environment with what it asks for and nothing else, in an empty folder.

What it asks for comes from the environment of the tests, by links: nothing is downloaded.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path

import pytest
from conftest import ROOT
from packaging.requirements import Requirement

pytestmark = pytest.mark.slow


UNTRACKED = [Path(home) / name for home in ("python/longfat", "papers", "experiments") for name in (".env", "id_rsa", "original.pdf")]


@pytest.fixture(scope="module", autouse=True)
def untracked() -> Iterator[None]:
    """Files of a working folder that are nobody's: of each some that git ignores, and some that it does not know."""
    planted = [ROOT / path for path in UNTRACKED if not (ROOT / path).exists()]
    for path in planted:
        path.write_text("a secret")
    yield
    for path in planted:
        path.unlink()


def tracked(*homes: str) -> set[str]:
    listed = subprocess.run(["git", "ls-files", "-z", *homes], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return set(listed.split("\0")) - {""}


def ship(folder: Path) -> None:
    subprocess.run([sys.executable, ROOT / ".ci" / "ship.py", folder], check=True, timeout=300)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Packed from the extension that `make build` has compiled."""
    if not (ROOT / ".venv" / "requirements").exists():
        reason = "`make build` first: the wheel is packed from what it compiles"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("wheels")
    subprocess.run(["make", "wheel", f"WHEELS={folder}"], cwd=ROOT, check=True, timeout=900)
    (made,) = folder.glob("*.whl")
    return made


def required(of: Distribution, extras: tuple[str, ...], seen: dict[str, Distribution]) -> dict[str, Distribution]:
    """Distributions that a distribution needs, with what those need."""
    for text in of.requires or []:
        one = Requirement(text)
        asked = one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in ("", *extras))
        if asked and one.name not in seen:
            seen[one.name] = distribution(one.name)
            required(seen[one.name], tuple(one.extras), seen)
    return seen


def environment(folder: Path, wheel: Path, *extras: str) -> Path:
    """An environment with the wheel and these extras of it; its command `longfat`."""
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run(install, check=True, timeout=300)
    packages = next(folder.glob("lib/python*/site-packages"))
    (info,) = packages.glob("longfat-*.dist-info")
    for one in required(PathDistribution(info), extras, {}).values():
        for name in {file.parts[0] for file in one.files or []} - {"..", "__pycache__"}:
            if not (packages / name).exists():
                (packages / name).symlink_to(Path(str(one.locate_file(name))))
    return folder / "bin" / "longfat"


def test_the_wheel_works_in_an_empty_folder(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    home = tmp_path / "empty"
    home.mkdir()

    def call(longfat: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([longfat, *arguments], cwd=home, capture_output=True, text=True, timeout=300, check=False)

    plain = environment(tmp_path / "plain", wheel)
    listed = call(plain, "list").stdout
    assert all(name in listed for name in ("ansnet", "validation", "lfn", "live/slac-like", "bbr3"))
    # The paper's experiment that takes least.
    for arguments in (("run", "slac-like", "--quick", "--backend", "sim"), ("run", "ansnet/unequal-rtt"), ("compare", "ansnet")):
        done = call(plain, *arguments)
        assert done.returncode == 0, done.stderr
    assert "section 8: with too little queue" in done.stdout
    refused = call(plain, "report", "ansnet")
    assert (refused.returncode, 'pip install "longfat[report]"' in refused.stderr) == (1, True), refused.stderr

    done = call(environment(tmp_path / "full", wheel, "report"), "report", "ansnet")
    assert done.returncode == 0, done.stderr
    assert "Villamizar" in (home / "reports" / "ansnet" / "report.html").read_text(encoding="utf-8")
    assert {path.name for path in home.iterdir()} == {"results", "reports"}


def test_the_wheel_has_what_it_needs_and_no_more(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    ours = {name.removeprefix("python/") for name in tracked("python/longfat")} - {"longfat/papers", "longfat/experiments"}
    ours |= {f"longfat/{name}" for name in tracked("papers", "experiments")}
    made = {name for name in names if not name.startswith("longfat-")}
    assert {re.sub(r"_longfat\..*so", "_longfat.so", name) for name in made} == ours | {"longfat/_longfat.so"}
    info = {"METADATA", "WHEEL", "RECORD", "licenses/LICENSE-MIT", "licenses/LICENSE-APACHE"}
    info |= {f"sboms/{name}.json" for name in ("longfat-py.cyclonedx", "uplot.cdx")}
    assert {name.partition("/")[2] for name in names if ".dist-info/" in name} == info
    assert {name.partition("/")[2] for name in names if ".data/" in name} == {"scripts/longfat"}
    with zipfile.ZipFile(wheel) as archive:
        assert not [name for name in names if name.endswith((".json", "METADATA")) and str(ROOT).encode() in archive.read(name)]
        for line in archive.read(next(name for name in names if name.endswith("RECORD"))).decode().splitlines():
            name, digest, size = line.rsplit(",", 2)
            content = archive.read(name)
            if digest:
                made_of = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                assert (digest, int(size)) == (f"sha256={made_of}", len(content)), name
    assert wheel.stat().st_size < 6e6
    assert "longfat/templates/report.html.jinja" in names
    assert any(name.endswith("/sboms/longfat-py.cyclonedx.json") for name in names)
    assert any(name.endswith("/sboms/uplot.cdx.json") for name in names)
    assert not [name for name in names if "__pycache__" in name or name.startswith(("tests/", "docs/"))]


def test_the_source_distribution_has_all_that_a_wheel_is_made_of(tmp_path: Path) -> None:
    subprocess.run(
        [Path(sys.executable).parent / "maturin", "sdist", "--out", tmp_path], cwd=ROOT, check=True, capture_output=True, timeout=300
    )
    ship(tmp_path)
    (made,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(made) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    ours = tracked()
    assert not {name for name in names if re.sub(r"^python/longfat/(papers|experiments)/", r"\1/", name) not in ours} - {"PKG-INFO"}
    sources = [path for home in ("crates", "python/longfat") for path in (ROOT / home).rglob("*") if path.is_file()]
    papers = [path for home in ("papers", "experiments") for path in (ROOT / home).rglob("*") if path.is_file()]
    sources, papers = ([path for path in some if path.relative_to(ROOT).as_posix() in ours] for some in (sources, papers))
    wanted = {path.relative_to(ROOT).as_posix() for path in sources if path.suffix in (".rs", ".toml", ".py", ".jinja", ".js", ".css")}
    # The bench and the browser's module are no part of what is installed.
    wanted = {name for name in wanted if not name.startswith(("crates/bench/", "crates/web/"))}
    wanted |= {f"python/longfat/{path.relative_to(ROOT).as_posix()}" for path in papers if path.suffix in (".toml", ".py", ".csv")}
    assert not (wanted | {"Cargo.lock", "LICENSE-MIT", "LICENSE-APACHE"}) - names
