"""Results at a URL, on an S3 server of this machine: it goes away, and comes back."""

from __future__ import annotations

import shutil
import socket
import subprocess
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
from conftest import ONE, ROOT, SWEEP, command
from longfat import Experiment, StorageError, prune
from longfat.store import Store, Url, location, place
from longfat.store.shards import FAN
from longfat.sweep import execute

MOTO = ROOT / "target" / "moto" / "bin" / "moto_server"


class Server:
    """An S3 server behind a door. While that is closed nobody is let in, and whatever was under way is cut off.

    A server that forgets its buckets when it is killed could not show that nothing is lost; to a client this is the same.
    """

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.behind = free.getsockname()[1]
        call = [str(MOTO), "-H", "127.0.0.1", "-p", str(self.behind)]
        self.process = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(1200):
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.behind), timeout=1):
                break
            time.sleep(0.05)
        request = urllib.request.Request(f"http://127.0.0.1:{self.behind}/bucket", method="PUT")
        urllib.request.urlopen(request, timeout=120).close()
        self.is_open = True
        self.inside: list[socket.socket] = []
        self.door = socket.create_server(("127.0.0.1", 0))
        self.port = self.door.getsockname()[1]
        threading.Thread(target=self._let_in, daemon=True).start()

    def _let_in(self) -> None:
        while True:
            try:
                client, _ = self.door.accept()
            except OSError:
                return
            if not self.is_open:
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self.behind))
            self.inside += [client, server]
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=_pass_on, args=(one, other), daemon=True).start()

    def close(self) -> None:
        """Cuts off what is under way, and lets nobody in."""
        self.is_open = False
        for one in self.inside:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self.inside.clear()

    def open(self) -> None:
        """Lets in again."""
        self.is_open = True

    def end(self) -> None:
        self.close()
        self.door.close()
        self.process.kill()
        self.process.wait()


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(1 << 12):
            other.sendall(data)
    for end in (one, other):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    if not MOTO.exists():
        pytest.skip("needs moto's S3 server: make target/moto/bin/moto_server")
    made = Server()
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
    made.end()


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
def test_a_server_that_goes_away_while_runs_are_written(server: Server, tmp_path: Path) -> None:
    """Runs one by one, each a shard of its own; the server is gone for a while again and again."""
    text = SWEEP.replace('title = "Two flows and two windows"', 'title = "x"\nrepeats = 4')
    runs = Experiment(text).resolve_all()
    done = threading.Event()
    kills = 0

    def kill() -> None:
        nonlocal kills
        while not done.wait(1):
            server.close()
            kills += 1
            time.sleep(0.5)
            server.open()

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
    server.close()
    with pytest.raises(StorageError, match=r"cannot write results to s3://bucket.*could not be sent are in .*sent by the next longfat"):
        store.__exit__(None, None, None)
    server.open()
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
