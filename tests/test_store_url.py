"""Results at a URL, on an S3 server of this machine: it is killed, and comes back."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import longfat
import pandas as pd
import pyarrow.fs as fs
import pytest
from conftest import ONE, SWEEP, command
from longfat import Experiment, StorageError, prune
from longfat.store import Store, Url, location, place
from longfat.store.shards import FAN
from longfat.sweep import execute

MOTO = shutil.which("moto_server", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))


class Server:
    """An S3 server at one port. It notes what it is asked; after a kill it comes to the same state again before it is heard."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.notes = folder / "requests"
        self.target: int | None = None
        self.door = socket.create_server(("127.0.0.1", 0))
        self.port = self.door.getsockname()[1]
        threading.Thread(target=self._let_in, daemon=True).start()
        self.start()
        self._ask(self.port, "PUT", "bucket")

    def start(self) -> None:
        assert MOTO
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        env = {**os.environ, "MOTO_RECORDER_FILEPATH": str(self.notes)}
        call = [MOTO, "-H", "127.0.0.1", "-p", str(port)]
        self.process = subprocess.Popen(call, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(1200):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.05)
        if self.notes.exists():
            self._ask(port, "POST", "moto-api/recorder/replay-recording", json.dumps({"target_host": f"http://127.0.0.1:{port}"}).encode())
        self._ask(port, "POST", "moto-api/recorder/start-recording")
        self.target = port

    def _ask(self, port: int, method: str, path: str, body: bytes | None = None) -> None:
        request = urllib.request.Request(f"http://127.0.0.1:{port}/{path}", body, method=method)
        with urllib.request.urlopen(request, timeout=120) as answer:
            assert answer.status == 200

    def _let_in(self) -> None:
        while True:
            try:
                client, _ = self.door.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.target)) if self.target else None
            except OSError:
                server = None
            if server is None:
                client.close()
                continue
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=_pass_on, args=(one, other), daemon=True).start()

    def kill(self) -> None:
        self.target = None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(1 << 16):
            other.sendall(data)
    for end in (one, other):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    if MOTO is None:
        pytest.skip("needs moto_server: in an environment of its own, pip install 'moto[server]'")
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
    made.door.close()


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
    fs.copy_files("s3://bucket/results/small", str(tmp_path / "copy"))
    pd.testing.assert_frame_equal(longfat.load_results(f"file://{tmp_path}/copy")[1].flows, here[1].flows, check_exact=True)
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
        while not done.wait(2):
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
    assert len([name for name, _ in store.place.names("shards") if name.endswith(".json")]) < FAN


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
