"""Leaves in the wheels and source distributions of a folder what git has, and what a build makes; the rest of a working folder is nobody's.

Usage: python .ci/ship.py FOLDER
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINKED = re.compile(r"^python/longfat/(papers|experiments)/")
"""What these links hold is at the top."""
OF_A_WHEEL = re.compile(
    r"longfat/_longfat\.[^/]*so|longfat-[^/]+\.dist-info/(METADATA|WHEEL|RECORD|licenses/LICENSE-(MIT|APACHE)|sboms/[^/]+\.json)"
)
OF_AN_SDIST = "PKG-INFO"


def tracked() -> set[str]:
    """What git has, by its path from the top."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return set(listed.decode().split("\0"))


def source(name: str) -> str:
    """The file of ours that one in a wheel was."""
    name = re.sub(r"^longfat-[^/]+\.data/", "data/", name)
    return LINKED.sub(r"\1/", f"python/{name}")


def wheel(path: Path, ours: set[str]) -> None:
    """Writes the wheel again, with the extension stripped and without the place where it was built."""
    with zipfile.ZipFile(path) as archive:
        entries = [
            (one, archive.read(one)) for one in archive.infolist() if OF_A_WHEEL.fullmatch(one.filename) or source(one.filename) in ours
        ]
    record: list[str] = []
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for one, content in entries:
            if one.filename.endswith("/RECORD"):
                content = "\n".join([*record, f"{one.filename},,", ""]).encode()
            elif one.filename.endswith(".so"):
                content = stripped(content)
            elif "/sboms/" in one.filename:
                content = content.replace(f"file://{ROOT}".encode(), b"file://")
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{one.filename},sha256={digest},{len(content)}")
            archive.writestr(one, content, zipfile.ZIP_DEFLATED, 9)
    path.write_bytes(made.getvalue())


def stripped(library: bytes) -> bytes:
    """A shared library without what is for debuggers."""
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(library)
        file.flush()
        subprocess.run(["strip", "-S", "-x", file.name], check=True)
        return Path(file.name).read_bytes()


def sdist(path: Path, ours: set[str]) -> None:
    """Writes the source distribution again."""
    made = io.BytesIO()
    with tarfile.open(path) as archive, tarfile.open(fileobj=made, mode="w:gz", format=tarfile.PAX_FORMAT) as kept:
        for one in archive:
            name = one.name.partition("/")[2]
            if name == OF_AN_SDIST or name in ours or LINKED.sub(r"\1/", name) in ours:
                kept.addfile(one, archive.extractfile(one))
    path.write_bytes(made.getvalue())


def main() -> None:
    """Goes through the folder."""
    (folder,) = map(Path, sys.argv[1:])
    ours = tracked()
    for path in folder.glob("longfat-*.whl"):
        wheel(path, ours)
    for path in folder.glob("longfat-*.tar.gz"):
        sdist(path, ours)


if __name__ == "__main__":
    main()
