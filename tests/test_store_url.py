"""Results at a URL, on an S3 server of this machine: it is killed, and started again."""

from __future__ import annotations

import shutil
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
from longfat import Experiment, StorageError, prune
from longfat.store import TABLES, Store, Url, location, place, writer
from longfat.store.shards import FAN
from longfat.sweep import Work

S3S = ROOT / "target" / "s3s" / "bin" / "s3s-fs"


class Server:
    """An S3 server that keeps its objects in a folder: killed with -9 and started again, it has what it had."""

    def __init__(self, home: Path) -> None:
        self.home = home
        (home / "bucket").mkdir(parents=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.start()

    def start(self) -> None:
        """Starts it on what is there."""
        call = [S3S, "--host", "127.0.0.1", "--port", str(self.port), "--access-key", "key", "--secret-key", "secret", self.home]
        self.process = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return
            time.sleep(0.05)
        raise AssertionError("the S3 server does not answer")

    def kill(self) -> None:
        """As `kill -9` does it."""
        self.process.kill()
        self.process.wait()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    if not S3S.exists():
        pytest.skip("needs an S3 server: make target/s3s/bin/s3s-fs")
    made = Server(tmp_path / "s3")
    settings = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{made.port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    yield made
    made.kill()


URL = "s3://bucket/results/small"


@pytest.mark.slow
def test_results_at_a_url_are_those_of_a_folder(server: Server, tmp_path: Path) -> None:
    there, here = Experiment(SWEEP, name="small").sweep(URL), Experiment(SWEEP, name="small").sweep(tmp_path / "small")
    read = longfat.load_results(URL)
    for name in ("runs", "flows", "links", "hosts"):
        for results in (there, read):
            pd.testing.assert_frame_equal(getattr(results, name), getattr(here, name), check_exact=True)
    pd.testing.assert_frame_equal(read[1].flow_series, here[1].flow_series, check_exact=True)
    assert all(Store(URL).has(run) for run in here.runs["run"])
    # A folder that is copied to a bucket is the same, and the other way round.
    system, there_path = fs.FileSystem.from_uri("s3://bucket/results/small")
    for info in system.get_file_info(fs.FileSelector(there_path, recursive=True)):
        if info.is_file:
            copy = tmp_path / "copy" / Path(info.path).relative_to(there_path)
            copy.parent.mkdir(parents=True, exist_ok=True)
            fs.copy_files(f"s3://{info.path}", str(copy))
    pd.testing.assert_frame_equal(longfat.load_results(f"file://{tmp_path}/copy")[1].flows, here[1].flows, check_exact=True)
    shown = command("show", "small", "--results", "s3://bucket/results")
    assert "64 KiB" in shown.stdout, shown.stderr
    Experiment(ONE, name="small").sweep(URL)
    prune.remove(URL, [one for one in prune.kept(URL) if one.kind == "gone"])
    assert Store(URL).finished() == {here.runs["run"][2]}


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
        made = experiment.sweep(URL)
    finally:
        over.set()
        killer.join()
    assert kills >= 5
    expected = experiment.sweep()
    for name in TABLES:
        pd.testing.assert_frame_equal(getattr(made, name), getattr(expected, name), check_exact=True)
    store = Store(URL)
    assert sorted(one.run for one in store.kept()) == sorted(expected.runs["run"])
    assert all(store.has(run) for run in expected.runs["run"])
    assert len([name for name, _ in store.place.names("shards") if name.endswith(".json")]) < FAN
    assert not list((tmp_path / "state").rglob("*.journal"))


@pytest.mark.slow
def test_a_server_that_stays_away_loses_nothing(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "PATIENCE_S", 0.1)
    finished: list[int] = []

    def kill(work: Work) -> None:
        finished.append(work.done)
        if work.done:
            server.kill()

    experiment = Experiment(SWEEP, name="small")
    with pytest.raises(
        StorageError, match=r"cannot write results to s3://bucket.*could not be sent are in .*sent by the next longfat"
    ) as said:
        experiment.sweep(URL, jobs=1, tick=kill)
    assert "\n" not in str(said.value)
    server.start()
    assert not Store(URL).place.names("shards")
    with Store(URL).writer():
        pass
    shutil.rmtree(tmp_path / "state")
    assert len(Store(URL).finished()) >= max(finished) >= 1
    assert all(Store(URL).has(run) for run in Store(URL).finished())
    assert len(experiment.sweep(URL)) == 3


def test_what_is_a_location(tmp_path: Path) -> None:
    assert location(f"file://{tmp_path}/with%20space") == tmp_path / "with space"
    assert location("results") == Path("results")
    assert str(Url("s3://bucket/a/") / "b") == "s3://bucket/a/b"
    for text, why in [
        ("ftp://host/x", "s3://, gs://, az://, file://"),
        ("s3:///x", "name of a bucket"),
        ("file://host/x", "three slashes"),
    ]:
        with pytest.raises(StorageError, match=why):
            location(text)
    done = command("run", tmp_path / "none.toml", "--results", "ftp://host/x")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
