"""Places of results: a folder, or a URL of an object store.

Both hold files by name. A file appears whole or not at all: in a folder it is written beside its name, put on the disk and renamed; an
object store shows an object when all of it has come. Object stores are reached through `pyarrow.fs`, which finds credentials where each
provider's own tools look for them.
"""

# pyarrow comes without types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false, reportMissingTypeStubs=false

from __future__ import annotations

import errno
import hashlib
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import unquote, urlsplit

from longfat.errors import StorageError
from longfat.lazy import pa, pafs
from longfat.store import checksums

SCHEMES = {"s3": "s3", "gs": "gs", "az": "abfs"}
"""Schemes of URLs, and pyarrow's names for them."""
UNFINISHED = ".unfinished-"
AWAY = (
    *("NETWORK_CONNECTION", "REQUEST_TIMEOUT", "SLOW_DOWN", "SERVICE_UNAVAILABLE", "HTTP status 50"),  # S3
    *(
        "Fail to get a new connection",
        "Error while sending request",
        "Error while reading response",
        "Connection closed",
        "ServerBusy",
    ),  # Azure
    "Could not connect to server",  # libcurl, for all of them
)
"""Words for a store that does not answer."""
CUT_OFF = ("during UploadPart", "during CompleteMultipartUpload", "LeaseNotPresent", "LeaseAlreadyPresent")
"""Words for the failure of something begun earlier: a store restarted meanwhile may have forgotten it, or may have ended it."""
WAITS = "longfat waits for a store"
PATIENCE_S = 300.0
"""Seconds for which a writer goes on trying to reach an object store that does not answer."""

Done = TypeVar("Done")


@dataclass(frozen=True)
class Url:
    """A URL under which results are kept; put together as paths are."""

    text: str

    def __truediv__(self, name: str) -> Url:
        """URL of `name` under it; options after a `?` stay at the end."""
        path, mark, options = self.text.partition("?")
        return Url(f"{path.rstrip('/')}/{name}{mark}{options}")

    def __str__(self) -> str:
        """Returns the text as it was given."""
        return self.text

    @property
    def name(self) -> str:
        """Last part of the URL."""
        return self.text.partition("?")[0].rstrip("/").rsplit("/", 1)[-1]


Location = Path | Url
"""A folder, or a URL."""


def location(text: str | Path | Url) -> Location:
    """The folder or the URL that is meant. StorageError for a URL of another kind, and for what can be neither."""
    if not isinstance(text, str):
        return text
    scheme, found, _ = text.partition("://")
    if not text or "\0" in (unquote(text) if found else text):
        raise StorageError(f"results are kept in a folder, or at a URL, and {text!r} is neither")
    if not found:
        word, colon, rest = text.partition(":")
        if colon and word in (*SCHEMES, "file"):
            meant = f"file://{Path(rest).absolute()}" if word == "file" else f"{word}://{rest.lstrip('/')}"
            raise StorageError(f"{text}: expected a URL such as {meant}; a folder of that name is ./{text}")
        return Path(text)
    parts = urlsplit(text)
    if scheme == "file":
        if parts.netloc not in ("", "localhost") or not parts.path:
            raise StorageError(f"{text}: a file URL has three slashes and a path, such as file:///home/me/results")
        return Path(unquote(parts.path))
    if scheme not in SCHEMES:
        raise StorageError(f"{text}: results are kept in a folder, or at a URL of {', '.join(f'{one}://' for one in (*SCHEMES, 'file'))}")
    if not parts.netloc:
        raise StorageError(f"{text}: expected the name of a bucket, such as {scheme}://bucket/results")
    return Url(text)


class Place(Protocol):
    """Files by name. Every method raises OSError where the system refuses; FileNotFoundError where there is no such file."""

    where: Location
    local: Path
    """Folder where this machine keeps its journals and locks for this place."""

    def read(self, name: str) -> bytes:
        """Reads a whole file."""
        ...

    def open(self, name: str) -> Any:
        """A file to be read here and there, for pyarrow."""
        ...

    def put(self, name: str, content: bytes | Path) -> None:
        """Makes a file of these bytes, or of what is in another file, in the place of one of that name. Whole or not at all."""
        ...

    def put_all(self, files: Mapping[str, bytes | Path]) -> None:
        """Puts several files, as `put` does. Where one cannot be written, a folder gets none."""
        ...

    def remove(self, name: str) -> None:
        """Removes a file; one that is gone already is no error."""
        ...

    def names(self, folder: str) -> list[tuple[str, int]]:
        """Names and sizes of the files in a folder; none where there is no such folder."""
        ...

    def has(self, name: str) -> bool:
        """Returns true if there is such a file."""
        ...


class Folder:
    """A place in this machine's file system."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.where: Location = path
        self.local = path

    def read(self, name: str) -> bytes:
        """Reads a whole file."""
        return (self.path / name).read_bytes()

    def open(self, name: str) -> Any:
        """A file to be read here and there."""
        # pyarrow opens no file whose name is not text.
        return pa.PythonFile((self.path / name).open("rb"), mode="r")

    def put(self, name: str, content: bytes | Path) -> None:
        """A file of these bytes; one that is given is moved."""
        self._put({name: content})

    def put_all(self, files: Mapping[str, bytes | Path]) -> None:
        """Several files, all of which are on the disk before the first has its name."""
        self._put(files)

    def _put(self, files: Mapping[str, bytes | Path]) -> None:
        paths = {name: self.path / name for name in files}
        unfinished = {name: path.with_name(f"{UNFINISHED}{os.getpid()}-{path.name}") for name, path in paths.items()}
        try:
            for name, content in files.items():
                paths[name].parent.mkdir(parents=True, exist_ok=True)
                if isinstance(content, bytes):
                    unfinished[name].write_bytes(content)
                else:
                    content.replace(unfinished[name])
                checksums.sync(unfinished[name])
            for name, path in paths.items():
                unfinished[name].replace(path)
            for folder in {path.parent for path in paths.values()}:
                checksums.sync(folder)
        except BaseException:
            for path in unfinished.values():
                with suppress(OSError):
                    path.unlink()
            raise

    def remove(self, name: str) -> None:
        """Removes a file."""
        (self.path / name).unlink(missing_ok=True)

    def names(self, folder: str) -> list[tuple[str, int]]:
        """Names and sizes of the files in a folder."""
        found: list[tuple[str, int]] = []
        try:
            for entry in os.scandir(self.path / folder):
                with suppress(FileNotFoundError):  # gone since
                    if entry.is_file() and not entry.name.startswith(UNFINISHED):
                        found.append((entry.name, entry.stat().st_size))
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(found)

    def has(self, name: str) -> bool:
        """Returns true if there is such a file."""
        return (self.path / name).is_file()


class Bucket:
    """A place in an object store."""

    def __init__(self, url: Url) -> None:
        self.where: Location = url
        scheme, _, rest = url.text.partition("://")
        try:
            if scheme == "az" and "@" not in rest and "?" not in rest:
                self.system, self.prefix = azure(os.environ), unquote(rest)
            else:
                self.system, self.prefix = _interruptibly(lambda: pafs.FileSystem.from_uri(f"{SCHEMES[scheme]}://{rest}"))
        except (pa.ArrowException, ValueError, OSError) as error:
            raise StorageError(f"cannot reach {url}: {error}") from error
        home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
        self.local = home / "longfat" / "unsent" / hashlib.sha256(url.text.encode()).hexdigest()[:16]

    def _path(self, name: str) -> str:
        return f"{self.prefix.rstrip('/')}/{name}".rstrip("/")

    def read(self, name: str) -> bytes:
        """Reads a whole object."""
        return patiently(lambda: self.system.open_input_file(self._path(name)).readall())

    def open(self, name: str) -> Any:
        """An object of which parts are read."""
        return patiently(lambda: self.system.open_input_file(self._path(name)))

    def put(self, name: str, content: bytes | Path) -> None:
        """An object of these bytes. A store that does not answer is asked again for some minutes."""
        data = content if isinstance(content, bytes) else content.read_bytes()

        def send() -> None:
            stream = self.system.open_output_stream(self._path(name))
            stream.write(data)
            stream.close()  # this makes the object; what fails before it makes none

        for is_last in (False, False, True):
            try:
                patiently(send)
                break
            except FileNotFoundError:
                # No bucket; or, of Google's, an upload that was begun, which a store that was started anew does not know.
                if is_last:
                    raise
                time.sleep(0.5)
        if isinstance(content, Path):
            content.unlink()

    def put_all(self, files: Mapping[str, bytes | Path]) -> None:
        """Several objects, one after the other."""
        for name, content in files.items():
            self.put(name, content)

    def remove(self, name: str) -> None:
        """Removes an object."""
        try:
            patiently(lambda: self.system.delete_file(self._path(name)))
        except OSError:
            # The object may be gone, and only what pyarrow puts in the place of a last object be refused.
            if self.has(name):
                raise

    def names(self, folder: str) -> list[tuple[str, int]]:
        """Names and sizes of the objects right under a prefix."""
        found = patiently(lambda: self.system.get_file_info(pafs.FileSelector(self._path(folder), allow_not_found=True)))
        return sorted((info.base_name, info.size) for info in found if info.type == pafs.FileType.File)

    def has(self, name: str) -> bool:
        """Returns true if there is such an object."""
        return patiently(lambda: self.system.get_file_info(self._path(name))).type == pafs.FileType.File


def azure(settings: Mapping[str, str]) -> Any:
    """The storage account of `az://container/path`, found as Azure's own tools find it.

    Settings: AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_SAS_TOKEN or AZURE_STORAGE_KEY; without a token
    and a key, whoever is logged in on this machine.

    ValueError where no account is named.
    """
    # A connection string counts alone, and a token before a key.
    if text := settings.get("AZURE_STORAGE_CONNECTION_STRING"):
        parts = (part.partition("=") for part in text.split(";"))
        said = {name.strip(): value.strip() for name, _, value in parts}
    else:
        names = {"AccountName": "ACCOUNT", "AccountKey": "KEY", "SharedAccessSignature": "SAS_TOKEN"}
        said = {name: settings.get(f"AZURE_STORAGE_{word}", "") for name, word in names.items()}
    account, key, token = (said.get(name) for name in ("AccountName", "AccountKey", "SharedAccessSignature"))
    if not account:
        raise ValueError("say whose storage it is: AZURE_STORAGE_ACCOUNT, or AZURE_STORAGE_CONNECTION_STRING")
    options: dict[str, str] = {"sas_token": token} if token else {"account_key": key} if key else {}
    if endpoint := said.get("BlobEndpoint"):
        scheme, authority, *_ = urlsplit(endpoint)
        for kind in ("blob", "dfs"):
            options |= {f"{kind}_storage_authority": authority, f"{kind}_storage_scheme": scheme}
    elif suffix := said.get("EndpointSuffix"):
        options |= {f"{kind}_storage_authority": f".{kind}.{suffix}" for kind in ("blob", "dfs")}
    return pafs.AzureFileSystem(account, **options)


def place_of(where: Location) -> Place:
    """The place at a location."""
    return Bucket(where) if isinstance(where, Url) else Folder(where)


def patiently(call: Callable[[], Done]) -> Done:
    """Result of `call`, which is tried again for `PATIENCE_S` while nobody answers. Ctrl-C ends it at once."""
    for pause in _pauses():
        try:
            return _interruptibly(call)
        except (FileNotFoundError, PermissionError):
            raise
        except OSError as error:
            if not _is_away(error):
                raise
            time.sleep(pause)
    return _interruptibly(call)


def _interruptibly(call: Callable[[], Done]) -> Done:
    """Result of `call`, made by another thread: pyarrow ignores Ctrl-C while it waits for a server, and the main thread hears it."""
    if threading.current_thread() is not threading.main_thread():
        return call()
    made: Future[Done] = Future()

    def work() -> None:
        try:
            made.set_result(call())
        except BaseException as error:
            made.set_exception(error)

    threading.Thread(target=work, name=WAITS, daemon=True).start()
    return made.result()


def _pauses() -> Iterator[float]:
    end, pause = time.monotonic() + PATIENCE_S, 0.2
    while time.monotonic() < end:
        yield pause
        pause = min(2 * pause, 10.0)


def _is_away(error: OSError) -> bool:
    """Returns true if a store has not answered, or has no answer for now: a later attempt may succeed."""
    if error.errno in (errno.ECONNREFUSED, errno.ECONNRESET, errno.ETIMEDOUT, errno.EPIPE):
        return True
    said = str(error)
    return any(word in said for word in (*AWAY, *CUT_OFF))


def is_refused(error: BaseException) -> bool:
    """Returns true if the system or a server says no. For a file that is gone or damaged, pyarrow gives no number."""
    return isinstance(error, OSError) and (error.errno not in (None, errno.ENOENT) or _is_away(error))


def machine() -> str:
    """Returns this machine's name as it stands in names of files."""
    name = "".join(sign if sign.isalnum() else "-" for sign in os.uname().nodename if sign.isascii())
    return (name or "machine")[:40]


def new_name() -> str:
    """A name that no other file has: of this machine, and sorted by time."""
    return f"{machine()}-{time.time_ns():016x}-{uuid.uuid4().hex[:8]}"
