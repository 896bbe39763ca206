"""A file that is fetched over HTTP, where that fails."""

from __future__ import annotations

import errno
import os
import socket
from typing import Any, NoReturn

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.runtime.tls.client import ClientTls
from howdah.web.http_client import fetch


@pytest.mark.parametrize("number", [errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ECONNREFUSED])
def test_no_way_to_a_host_is_nobody_there(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(socket, "create_connection", refuse)
    tls = ClientTls(Configuration({}))
    with pytest.raises(errors.Unreachable, match=os.strerror(number)):
        fetch("http://h:1/a", print, tls=tls, connect_timeout_s=1.0, read_timeout_s=1.0)
