"""`longfat watch`: the report of a sweep while it runs, on a web server of this machine alone."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Annotated, Any

import typer

from longfat.cli.options import RESULTS, QuickOption, ResultsOption, results_of
from longfat.errors import LongfatError
from longfat.extras import need
from longfat.locate import results_home
from longfat.report import terminal
from longfat.report.page import render, results_page
from longfat.store import Location, Store, location

HOST = "127.0.0.1"
MOST = 64
"""Clients at a time. A browser has six connections."""
PATIENCE_S = 10
"""How long a client has to say what it wants, or to take some of it."""
EVERY_S = 2
"""How often the page asks for news."""

CLOSED = "default-src 'none'"
"""How a report's policy begins."""

SCRIPT = f"""<script>
"use strict";
(() => {{
  const shown = document.currentScript.dataset.state, place = "longfat " + location.origin;
  scrollTo(0, Number(sessionStorage.getItem(place) ?? 0));
  let asks = false;
  setInterval(async () => {{
    if (asks) return;
    asks = true;
    try {{
      if (await (await fetch("/state")).text() !== shown) {{
        // To make the page of a large sweep takes a while. The old page stays until the new one is there.
        await (await fetch("/")).text();
        sessionStorage.setItem(place, String(scrollY));
        if (location.pathname === "/made") location.reload();
        else location.replace("/made" + location.hash);
        return;
      }}
    }} catch {{ /* the server is gone: what is shown stays */ }}
    asks = false;
  }}, {EVERY_S * 1000});
}})();
</script>"""


class Watched:
    """The page of a results folder, made again when another run is finished."""

    def __init__(self, folder: Location) -> None:
        self.store = Store(folder)
        self._lock = threading.Lock()
        self._made: tuple[str, str] = ("", "")

    def state(self) -> str:
        """Changes when there is more to show, or the sweep ends: how many runs are finished, and what its tables are."""
        return json.dumps([len(self.store.finished()), *self.store.state(), self.store.is_written_to()])

    def page(self) -> str:
        """The report as of now. One at a time: a request that comes while it is made waits for it."""
        with self._lock:
            state = self.state()
            if self._made[0] != state:
                try:
                    html = results_page(self.store.load_so_far(), self.store.text_so_far()).html
                except LongfatError as error:
                    html = render(title="longfat", form=str(error))
                script = SCRIPT.replace("<script>", f"<script data-state='{state}'>")
                # A report fetches nothing; this one asks where it came from whether there is news.
                html = html.replace(CLOSED, f"{CLOSED}; connect-src 'self'", 1)
                self._made = state, html.replace("</body>", f"{script}</body>")
            return self._made[1]

    def made(self) -> str:
        """The report as it was made last, at once, whatever has come since."""
        return self._made[1] or self.page()


class _Server(ThreadingHTTPServer):
    """Answers `MOST` clients at once. For one more, the one that has been silent for longest is hung up on."""

    daemon_threads = True
    request_queue_size = MOST

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self._lock = threading.Lock()
        self._clients: set[Any] = set()
        self._silent: dict[Any, None] = {}
        """Clients that have not asked yet, in order."""

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            if len(self._clients) >= MOST:
                if not self._silent:
                    super().shutdown_request(request)
                    return
                longest = next(iter(self._silent))
                self._forget(longest)
                with suppress(OSError):  # it has gone
                    longest.shutdown(socket.SHUT_RDWR)
            self._clients.add(request)
            self._silent[request] = None
        super().process_request(request, client_address)

    def has_asked(self, request: Any) -> None:
        """It has a right to its answer."""
        with self._lock:
            self._silent.pop(request, None)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._forget(request)
        super().shutdown_request(request)

    def _forget(self, request: Any) -> None:
        self._clients.discard(request)
        self._silent.pop(request, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # it has gone, or was hung up on
            super().handle_error(request, client_address)


@contextmanager
def serve(folder: Location, port: int = 0) -> Generator[str]:
    """Serves the report of `folder` until the block ends; its address. Port 0: any that is free. OSError where the port is taken."""
    need("report", "a report")
    watched = Watched(folder)

    class Handler(BaseHTTPRequestHandler):
        timeout = PATIENCE_S

        def do_GET(self) -> None:
            server.has_asked(self.request)
            # A page elsewhere that has this address under a name of its own is not answered.
            if self.headers.get("Host", "").rsplit(":", 1)[0] not in (HOST, "localhost"):
                self.send_error(HTTPStatus.FORBIDDEN)
                return
            match self.path.partition("?")[0]:
                case "/":
                    self._answer(watched.page(), "text/html")
                case "/made":
                    self._answer(watched.made(), "text/html")
                case "/state":
                    self._answer(watched.state(), "application/json")
                case _:
                    self.send_error(HTTPStatus.NOT_FOUND)

        do_HEAD = do_GET

        def _answer(self, text: str, kind: str) -> None:
            content = text.encode()
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing of each request."""

    server = _Server((HOST, port), Handler)
    thread = threading.Thread(target=server.serve_forever, name="longfat watch", daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


out = terminal.console()


def watch_command(
    what: Annotated[str, typer.Argument(metavar="RESULTS|NAME", help="A results folder, or the name of an experiment.")],
    results: ResultsOption = RESULTS,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port on 127.0.0.1; 0 takes any free one.")] = 0,
    quick: QuickOption = False,
) -> None:
    """Show the report of a sweep while it runs, in a browser on this machine."""
    folder = results_of(what, results_home(location(results), quick=quick))
    try:
        with serve(folder, port) as address:
            out.print(f"the report is at {address} and follows the sweep; Ctrl-C ends it", soft_wrap=True)
            with suppress(KeyboardInterrupt):
                threading.Event().wait()
    except OSError as error:
        raise LongfatError(f"cannot serve at port {port}: {error.strerror or error}") from error
