"""Files at the top of results: the experiment, where they come from, and the tables that users see.

experiment.toml         the experiment as it was given
provenance.json         how, where and by what code it was run; format_version
sweep.json              while a sweep is under way, or was stopped: what it is of
runs.parquet            one row per run; see longfat.results.results for the columns of each table
flows.parquet links.parquet hosts.parquet
SHA256SUMS              what these files were when they were written
"""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import errno
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from longfat._longfat import Document, read_text
from longfat.errors import DamagedError, ExperimentError, StorageError
from longfat.lazy import pd
from longfat.store import checksums
from longfat.store.files import FORMAT_VERSION, json_bytes, read_json, read_table, reason, version_of
from longfat.store.place import Folder, Place

TABLES = ("runs", "flows", "links", "hosts")
PROVENANCE = "provenance.json"
EXPERIMENT = "experiment.toml"
SWEEP = "sweep.json"
DIGEST = "sha256"
"""Key of `SWEEP`: the digest of the rest, as the file stands for itself."""
AGAIN = "run the experiment again: what is whole is kept, and is not run again"


def _whole_text(file: str) -> str:
    """The experiment in a file, with its base."""
    return Document(read_text(file), file).text


class Top:
    """The files at the top of a place."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def check_format(self) -> None:
        """StorageError if a newer longfat wrote here."""
        version = version_of(self._provenance_if_whole())
        if version > FORMAT_VERSION:
            raise StorageError(
                f"{self.place.where} has results of format {version}, and this longfat knows formats up to {FORMAT_VERSION}: "
                "use a newer longfat, or give another folder with --results"
            )

    def check_source(self, file: str) -> None:
        """StorageError if what is here came from another file than `file`, one that is still there and says something else.

        The tables and a sweep that is under way, or was stopped, may each have come from a file of their own.
        """
        with suppress(DamagedError):
            self._check_came_from(file, self.note())
        self._check_came_from(file, self._provenance_if_whole())

    def _check_came_from(self, file: str, facts: Mapping[str, Any]) -> None:
        other = facts.get("file", "")
        if not (file and other) or other == file or not Path(other).exists():
            return  # moved, or gone: then this one is what is left of it
        try:
            same = _whole_text(other) == _whole_text(file)
        except (OSError, ExperimentError):
            same = False
        if not same:
            raise StorageError(
                f"{self.place.where} has the results of {other}, and {file} is another experiment of that name: "
                "give another folder with --results, or rename one of them"
            )

    def provenance(self) -> dict[str, Any]:
        """The parsed provenance.json; empty where there is none. DamagedError where it is not what was written."""
        try:
            known = checksums.read(self.place)
            facts = read_json(self.place, PROVENANCE, "title", "axes")
            checksums.check(self.place, [PROVENANCE], known)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise StorageError(f"cannot read {self.place.where / PROVENANCE}: {reason(error)}") from error
        except DamagedError as error:
            raise DamagedError(f"{error}; {AGAIN}") from error
        return facts

    def _provenance_if_whole(self) -> dict[str, Any]:
        try:
            return self.provenance()
        except DamagedError:
            return {}

    def text(self) -> str:
        """The experiment as it was given. DamagedError where that is not what was written."""
        try:
            checksums.check(self.place, [EXPERIMENT], checksums.read(self.place))
            return self.place.read(EXPERIMENT).decode("utf-8")
        except DamagedError as error:
            raise DamagedError(f"{error}; {AGAIN}") from error
        except (OSError, UnicodeDecodeError) as error:
            raise DamagedError(f"cannot read {self.place.where / EXPERIMENT}: {error}; {AGAIN}") from error

    def note(self) -> dict[str, Any]:
        """Source of the sweep that is under way or was stopped; empty where there is none. DamagedError."""
        try:
            facts = read_json(self.place, SWEEP, "title", "axes", "text")
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise StorageError(f"cannot read {self.place.where / SWEEP}: {reason(error)}") from error
        except DamagedError as error:
            raise DamagedError(f"{error}; {AGAIN}") from error
        if facts.pop(DIGEST, None) != checksums.of_bytes(json_bytes(facts)):
            raise DamagedError(f"{self.place.where / SWEEP} is damaged: it is not what was written; {AGAIN}")
        return facts

    def begin(self, facts: Mapping[str, Any]) -> None:
        """Notes what a sweep is of that starts."""
        facts = {"format_version": FORMAT_VERSION, **facts}
        self.place.put(SWEEP, json_bytes(facts | {DIGEST: checksums.of_bytes(json_bytes(facts))}))

    def end(self) -> None:
        """The sweep is done."""
        self.place.remove(SWEEP)

    def table(self, name: str) -> pd.DataFrame:
        """A table. DamagedError where it is not what was written."""
        file = f"{name}.parquet"
        try:
            checksums.check(self.place, [file], checksums.read(self.place))
            return read_table(self.place, file)
        except DamagedError:
            raise
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno not in (None, errno.ENOENT):
                raise StorageError(f"cannot read {self.place.where / file}: {reason(error)}") from error
            raise DamagedError(f"{self.place.where / file} is damaged: {error}") from error

    def write(self, tables: Mapping[str, Path], provenance: dict[str, Any], text: str | None = None) -> None:
        """Moves the tables there, and writes `provenance`, and the experiment where its text is given; each file whole or not at all."""
        files: dict[str, bytes | Path] = {f"{name}.parquet": table for name, table in tables.items()}
        files[PROVENANCE] = json_bytes(provenance)
        digests = {}
        with suppress(DamagedError):
            digests = checksums.read(self.place)
        if text is not None:
            files[EXPERIMENT] = text.encode()
        for name, content in files.items():
            digests[name] = (
                checksums.of_bytes(content) if isinstance(content, bytes) else checksums.digest(Folder(content.parent), content.name)
            )
        files[checksums.NAME] = checksums.text(digests).encode("ascii")
        self.place.put_all(files)
