"""Starting what a test talks to: a module of this room as a process, or a handler in threads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def started(
    name: str, *words: str, env: dict[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process, and the port that it prints; it ends when its standard input does."""
    process = subprocess.Popen(
        [sys.executable, "-m", f"tests.support.objects.{name}", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | (env or {}),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line.strip().isdigit():
            raise RuntimeError(f"{name} said {line!r} instead of its port")
        yield process, int(line)
    finally:
        process.stdin.close()
        process.stdout.close()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Server(ThreadingHTTPServer):
    """Its connections may end as their clients like, of whom some are killed."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def served(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """The port of this machine at which threads of this process answer."""
    server = Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
