"""`longfat watch`: the report of a sweep that runs, for this machine alone."""

from __future__ import annotations

import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from conftest import SWEEP
from longfat import Experiment
from longfat.cli.watch import MOST, Watched, serve
from longfat.store import Store
from longfat.sweep.work import timed
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait
from test_report import browser  # noqa: F401


def get(address: str, **headers: str) -> str:
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=30) as answer:
        return answer.read().decode()


@pytest.fixture
def under_way(tmp_path: Path) -> tuple[Store, Experiment]:
    """A sweep that has begun, and of which nothing is finished."""
    store, experiment = Store(tmp_path / "sweep"), Experiment(SWEEP)
    store.begin("Two flows", ["window"], SWEEP, experiment.sweep().provenance)
    return store, experiment


def test_the_page_follows_the_sweep(under_way: tuple[Store, Experiment]) -> None:
    store, experiment = under_way
    with serve(store.folder) as address, store.writer() as writer:
        before = get(f"{address}state")
        assert "none of the 3 runs of its sweep is finished" in get(address)
        assert get(f"{address}state") == before
        writer.keep(experiment.resolve_all()[0], "Two flows", *timed(experiment.resolve_all()[0]))
        assert get(f"{address}state") != before
        page = get(address)
        assert "1 of the 3 runs of this sweep: it is still running." in page
        assert f"data-state='{get(f'{address}state')}'" in page
    experiment.sweep(store.folder)
    with serve(store.folder) as address:
        assert "of this sweep" not in get(address)


@pytest.mark.slow
def test_a_browser_follows_the_sweep(under_way: tuple[Store, Experiment], browser: webdriver.Chrome) -> None:  # noqa: F811
    store, experiment = under_way

    # A page that has just been loaded anew takes the body that was found with it.
    wait = WebDriverWait(browser, 60, ignored_exceptions=[WebDriverException])

    def says(words: str) -> None:
        wait.until(lambda _: words in browser.find_element(By.TAG_NAME, "body").text)

    with serve(store.folder) as address:
        with store.writer() as writer:
            browser.get(address)
            says("none of the 3 runs of its sweep is finished")
            for number, run in enumerate(experiment.resolve_all()[:2], 1):
                writer.keep(run, "Two flows", *timed(run))
                says(f"{number} of the 3 runs of this sweep: it is still running.")
        experiment.sweep(store.folder)
        wait.until(lambda _: "of this sweep" not in browser.find_element(By.TAG_NAME, "body").text)


def test_a_page_is_made_once(under_way: tuple[Store, Experiment], monkeypatch: pytest.MonkeyPatch) -> None:
    store, experiment = under_way
    experiment.sweep(store.folder)
    watched = Watched(store.folder)
    first = watched.page()
    monkeypatch.setattr("longfat.cli.watch.results_page", None)
    assert watched.page() is first


@pytest.mark.slow
def test_a_page_that_takes_long_to_make_comes_all_the_same(
    under_way: tuple[Store, Experiment],
    browser: webdriver.Chrome,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every two seconds the page was asked for anew, and what was on its way was given up: of a large sweep no news ever came."""
    store, experiment = under_way
    made, count = Watched.page, [0]

    def slowly(self: Watched) -> str:
        count[0] += 1
        time.sleep(5)
        return made(self)

    with serve(store.folder) as address:
        browser.get(address)
        monkeypatch.setattr(Watched, "page", slowly)
        with store.writer() as writer:
            runs = experiment.resolve_all()
            writer.keep(runs[0], "Two flows", *timed(runs[0]))
            time.sleep(3)
            # While the page is made there is more news, and what is shown stays.
            writer.keep(runs[1], "Two flows", *timed(runs[1]))
            assert "none of the 3 runs" in browser.find_element(By.TAG_NAME, "body").text
            wait = WebDriverWait(browser, 30, ignored_exceptions=[WebDriverException])
            wait.until(lambda _: "2 of the 3 runs" in browser.find_element(By.TAG_NAME, "body").text)
    assert count[0] <= 2


def test_nobody_else_is_answered(under_way: tuple[Store, Experiment]) -> None:
    with serve(under_way[0].folder) as address:
        assert address.startswith("http://127.0.0.1:")
        for path, headers, code in [("", {"Host": "example.org"}, 403), ("../etc/passwd", {}, 404), ("state/x", {}, 404)]:
            with pytest.raises(urllib.error.HTTPError) as refused:
                get(address + path, **headers)
            assert refused.value.code == code
            refused.value.close()


def test_a_head_has_no_body(under_way: tuple[Store, Experiment]) -> None:
    with serve(under_way[0].folder) as address:
        place = urlsplit(address)
        answers: list[bytes] = []
        for method in ("GET", "HEAD"):
            with socket.create_connection((place.hostname, place.port), timeout=30) as client:
                client.sendall(f"{method} /state HTTP/1.0\r\nHost: {place.netloc}\r\n\r\n".encode())
                answers.append(b"".join(iter(lambda client=client: client.recv(4096), b"")))
        head, _, body = answers[0].partition(b"\r\n\r\n")
        assert body
        assert re.sub(rb"Date: .*", b"", answers[1].removesuffix(b"\r\n\r\n")) == re.sub(rb"Date: .*", b"", head)


def test_who_says_nothing_and_who_goes_away_shut_nobody_out(under_way: tuple[Store, Experiment], capfd: pytest.CaptureFixture[str]) -> None:
    with serve(under_way[0].folder) as address, ExitStack() as stack:
        place = urlsplit(address)
        clients = [stack.enter_context(socket.create_connection((place.hostname, place.port), timeout=30)) for _ in range(4 * MOST)]
        assert threading.active_count() < 2 * MOST
        assert get(f"{address}state")
        # The newest of those that are silent are still heard, and the oldest were hung up on.
        clients[-1].sendall(f"GET /state HTTP/1.0\r\nHost: {place.netloc}\r\n\r\n".encode())
        assert clients[-1].recv(100).startswith(b"HTTP/1.0 200")
        assert clients[0].recv(100) == b""
        for said in (
            b"GET / HTTP/1.0\r\nHo",
            b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n",
            b"\0" * 70_000,
            b"GET //[ HTTP/1.0\r\nHost: localhost\r\n\r\n",
        ):
            for _ in range(20):
                with socket.create_connection((place.hostname, place.port)) as client, suppress(OSError):
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    client.sendall(said)
        assert get(f"{address}state")
    assert capfd.readouterr().err == ""


def test_a_client_has_only_so_long(under_way: tuple[Store, Experiment], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longfat.cli.watch.PATIENCE_S", 0.3)
    with serve(under_way[0].folder) as address:
        place = urlsplit(address)
        with socket.create_connection((place.hostname, place.port), timeout=30) as client:
            client.sendall(b"GET / HTTP/1.0\r\n")
            assert client.recv(100) == b""


def test_a_port_that_is_taken_is_one_line(under_way: tuple[Store, Experiment]) -> None:
    with serve(under_way[0].folder) as address:
        port = address.rstrip("/").rsplit(":", 1)[1]
        arguments = [sys.executable, "-m", "longfat", "watch", str(under_way[0].folder), "--port", port]
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert f"cannot serve at port {port}: Address already in use" in done.stderr
    assert "Traceback" not in done.stderr


def test_ctrl_c_ends_it(under_way: tuple[Store, Experiment]) -> None:
    arguments = [sys.executable, "-m", "longfat", "watch", str(under_way[0].folder)]
    # The tests themselves may have been started with Ctrl-C ignored.
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=_heeds_ctrl_c) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = next(word for word in line.split() if word.startswith("http://"))
        assert "longfat" in get(address)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "Traceback" not in errors


def _heeds_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
