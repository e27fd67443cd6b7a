"""Results at a URL, on a server of this machine, of each kind that is there: it is killed, and started again."""

# pyarrow comes without types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import longfat
import pandas as pd
import pyarrow.fs as fs
import pytest
from conftest import ONE, ROOT, SWEEP, command
from longfat import Experiment, StorageError
from longfat.cli import prune
from longfat.store import TABLES, Store, Url, location, place, writer
from longfat.store.shards import FAN
from longfat.sweep.work import Work
from torture import stop

S3S = ROOT / "target" / "s3s" / "bin" / "s3s-fs"
AZURITE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The key of the one account that Azurite has; its documentation gives it."""


class Server:
    """An object store that keeps its objects in a folder: killed with -9 and started again, it has what it had."""

    url = "s3://bucket/results/small"

    def __init__(self, home: Path) -> None:
        self.home = home
        (home / "bucket").mkdir(parents=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.start()

    @staticmethod
    def needs() -> str | None:
        """Names what is missing to start it."""
        return None if S3S.exists() else "an S3 server: make target/s3s/bin/s3s-fs"

    def call(self) -> list[str]:
        """The command that starts it."""
        return [str(S3S), "--host", "127.0.0.1", "--port", str(self.port), "--access-key", "key", "--secret-key", "secret", str(self.home)]

    def settings(self) -> dict[str, str]:
        """The environment that finds it."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def prepare(self) -> None:
        """Makes the bucket, where no folder is one."""

    def start(self) -> None:
        """Starts it on what is there."""
        self.process = subprocess.Popen(self.call(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.home)
        for _ in range(600):
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return
            time.sleep(0.05)
        raise AssertionError("the server does not answer")

    def kill(self) -> None:
        """Kills it as `kill -9` does."""
        self.process.kill()
        self.process.wait()


class Azurite(Server):
    """Azure's storage, as Azurite has it (`npm install --global azurite`)."""

    url = "az://bucket/results/small"

    @staticmethod
    def needs() -> str | None:
        """Names what is missing to start it."""
        return None if shutil.which("azurite-blob") else "azurite-blob (npm install --global azurite)"

    def call(self) -> list[str]:
        """The command that starts it."""
        options = ["--silent", "--skipApiVersionCheck", "--disableTelemetry", "--location", str(self.home)]
        return [shutil.which("azurite-blob") or "", *options, "--blobPort", str(self.port)]

    def kill(self) -> None:
        """Ends it politely: it holds its data in memory until it is told to end, whatever it has answered."""
        self.process.terminate()
        self.process.wait()

    def settings(self) -> dict[str, str]:
        """The environment that finds it."""
        account = f"AccountName=devstoreaccount1;AccountKey={AZURITE_KEY}"
        return {"AZURE_STORAGE_CONNECTION_STRING": f"{account};BlobEndpoint=http://127.0.0.1:{self.port}/devstoreaccount1;"}

    def prepare(self) -> None:
        """Makes the container."""
        place.azure(self.settings()).create_dir("bucket")


class Gcs(Server):
    """Google's storage, as fake-gcs-server has it (`go install github.com/fsouza/fake-gcs-server@latest`)."""

    @property
    def url(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Address of the results, with the options that find the server."""
        return f"gs://anonymous@bucket/results/small?scheme=http&endpoint_override=127.0.0.1%3A{self.port}"

    @staticmethod
    def needs() -> str | None:
        """Names what is missing to start it."""
        return None if shutil.which("fake-gcs-server") else "fake-gcs-server (go install github.com/fsouza/fake-gcs-server@latest)"

    def call(self) -> list[str]:
        """The command that starts it."""
        where = ["-host", "127.0.0.1", "-port", str(self.port), "-external-url", f"http://127.0.0.1:{self.port}"]
        return [
            shutil.which("fake-gcs-server") or "",
            "-scheme",
            "http",
            *where,
            "-backend",
            "filesystem",
            "-filesystem-root",
            str(self.home),
        ]

    def settings(self) -> dict[str, str]:
        """The environment that finds it: none is needed."""
        return {}


@pytest.fixture(params=[Server, Azurite, Gcs], ids=["s3", "az", "gs"])
def server(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    if needed := request.param.needs():
        pytest.skip(f"needs {needed}")
    made = request.param(tmp_path / "server")
    for name, value in (made.settings() | {"XDG_STATE_HOME": str(tmp_path / "state")}).items():
        monkeypatch.setenv(name, value)
    made.prepare()
    yield made
    made.kill()


@pytest.mark.slow
def test_results_at_a_url_are_those_of_a_folder(server: Server, tmp_path: Path) -> None:
    url = server.url
    there, here = Experiment(SWEEP, name="small").sweep(url), Experiment(SWEEP, name="small").sweep(tmp_path / "small")
    read = longfat.load_results(url)
    for name in ("runs", "flows", "links", "hosts"):
        for results in (there, read):
            pd.testing.assert_frame_equal(getattr(results, name), getattr(here, name), check_exact=True)
    pd.testing.assert_frame_equal(read[1].flow_series, here[1].flow_series, check_exact=True)
    assert all(Store(url).has(run) for run in here.runs["run"])
    # A folder that is copied to a bucket is the same, and the other way round.
    bucket = place.Bucket(Url(url))
    for info in bucket.system.get_file_info(fs.FileSelector(bucket.prefix, recursive=True)):
        if info.is_file:
            copy = tmp_path / "copy" / Path(info.path).relative_to(bucket.prefix)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(bucket.system.open_input_file(info.path).readall())
    pd.testing.assert_frame_equal(longfat.load_results(f"file://{tmp_path}/copy")[1].flows, here[1].flows, check_exact=True)
    shown = command("show", "small", "--results", url.replace("/small", ""))
    assert "64 KiB" in shown.stdout, shown.stderr
    Experiment(ONE, name="small").sweep(url)
    prune.remove(url, [one for one in prune.kept(url) if one.kind == "gone"])
    assert Store(url).finished() == {here.runs["run"][2]}


@pytest.mark.slow
def test_a_server_that_is_killed_again_and_again_while_a_sweep_writes(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each run a shard of its own, so that something is on its way at nearly every moment."""
    monkeypatch.setattr(writer, "JOURNAL_RUNS", 1)
    experiment = Experiment(f"repeats = 5\nseed = 3\n{SWEEP}", name="small")
    over, random, kills = threading.Event(), Random(1), 0

    def kill() -> None:
        nonlocal kills
        while not over.wait(random.uniform(0.1, 1.0)):
            server.kill()
            kills += 1
            time.sleep(random.uniform(0, 0.5))
            server.start()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        made = experiment.sweep(server.url)
    finally:
        over.set()
        killer.join()
    assert kills >= 5
    expected = experiment.sweep()
    for name in TABLES:
        pd.testing.assert_frame_equal(getattr(made, name), getattr(expected, name), check_exact=True)
    store = Store(server.url)
    assert sorted(one.run for one in store.kept()) == sorted(expected.runs["run"])
    assert all(store.has(run) for run in expected.runs["run"])
    assert len([name for name, _ in store.place.names("shards") if name.endswith(".json")]) < FAN
    assert not list((tmp_path / "state").rglob("*.journal"))


@pytest.mark.slow
def test_a_server_that_stays_away_loses_nothing(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "PATIENCE_S", 0.1)
    url, finished = server.url, list[int]()

    def kill(work: Work) -> None:
        finished.append(work.done)
        if work.done:
            server.kill()

    experiment = Experiment(SWEEP, name="small")
    with pytest.raises(
        StorageError, match=r"cannot write results to .*bucket.*could not be sent are in .*sent by the next longfat"
    ) as said:
        experiment.sweep(url, jobs=1, tick=kill)
    assert "\n" not in str(said.value)
    server.start()
    assert not Store(url).place.names("shards")
    with Store(url).writer():
        pass
    shutil.rmtree(tmp_path / "state")
    assert len(Store(url).finished()) >= max(finished) >= 1
    assert all(Store(url).has(run) for run in Store(url).finished())
    assert len(experiment.sweep(url)) == 3


def test_what_is_a_location(tmp_path: Path) -> None:
    assert location(f"file://{tmp_path}/with%20space") == tmp_path / "with space"
    assert location("results") == Path("results")
    assert str(Url("s3://bucket/a/") / "b") == "s3://bucket/a/b"
    with_options = Url("s3://bucket/a?region=eu-west-1") / "b"
    assert (str(with_options), with_options.name) == ("s3://bucket/a/b?region=eu-west-1", "b")
    for text, why in [
        ("ftp://host/x", "s3://, gs://, az://, file://"),
        ("s3:///x", "name of a bucket"),
        ("file://host/x", "three slashes"),
        ("", "'' is neither"),
        ("a\0b", "is neither"),
        (f"file://{tmp_path}/a%00b", "is neither"),
        ("file:here", "expected a URL such as file:///.*/here; a folder of that name is ./file:here"),
        ("s3:bucket/x", "expected a URL such as s3://bucket/x"),
        ("s3:/bucket/x", "expected a URL such as s3://bucket/x"),
    ]:
        with pytest.raises(StorageError, match=why):
            location(text)
    done = command("run", tmp_path / "none.toml", "--results", "ftp://host/x")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("words", [["run"], ["show"], ["gather"]])
def test_ctrl_c_ends_a_command_that_waits_for_a_server_that_says_nothing(
    tmp_path: Path, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "any")
    (tmp_path / "one.toml").write_text(ONE)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"s3://bucket/x?endpoint_override=127.0.0.1:{silent.getsockname()[1]}&scheme=http"
        process = stop.start(tmp_path, *words, "one.toml", "--results", url)
        silent.settimeout(60)
        with silent.accept()[0]:  # it asks
            before = time.monotonic()
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
    assert (process.returncode, said.strip()) == (130, "Stopped.")
    assert time.monotonic() - before < 10


@pytest.mark.parametrize("words", [["run"], ["gather"], ["show"], ["report"], ["watch"], ["prune"]])
def test_a_folder_that_cannot_be_read_is_one_message(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "one.toml").write_text(ONE.replace('"30 s"', '"1 s"'))
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    for results in ("loop", "x" * 300, "file", "file/x", "/proc/1/mem", "\x7f" * 300):
        done = command(*words, "one.toml", "--results", results, cwd=tmp_path)
        assert done.returncode == 1, results
        assert "Traceback" not in done.stderr
        assert "error: " in done.stderr
    done = command(*words, "y" * 300, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
