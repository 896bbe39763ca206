"""Clients that call from an address of their own: on one machine, from a datanode's."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import pytest


@contextmanager
def calls_from(source: str) -> Iterator[None]:
    """New connections for calls come from `source`. Skips the test where the system has no such
    address."""
    with socket.socket() as probe:
        try:
            probe.bind((source, 0))
        except OSError:
            pytest.skip(f"this system has no address {source}")
    plain = socket.create_connection

    def connect(place: tuple[str, int], timeout: float | None = None) -> socket.socket:
        return plain(place, timeout, (source, 0))

    with mock.patch.object(socket, "create_connection", connect):
        yield
