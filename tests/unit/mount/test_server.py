"""How a mount ends."""

from __future__ import annotations

import socket
import threading

import pytest

from howdah.mount import device, server
from howdah.mount.calls import Calls
from howdah.mount.protocol.operations import Operation
from howdah.mount.session import Session
from tests.support.fake_kernel import init, request

OWN = device.Mounted("/mnt", "0:50", device.KIND, "hdfs://nn/data")
ANOTHER = device.Mounted("/mnt", "0:51", device.KIND, "hdfs://nn/data")


@pytest.mark.parametrize(("there", "ended"), [(OWN, ["/mnt"]), (ANOTHER, []), (None, [])])
def test_only_the_own_mount_is_ended(
    there: device.Mounted | None, ended: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was unmounted lazily ends when nobody uses it any more: another process may have
    mounted the same directory by then."""
    done: list[str] = []
    monkeypatch.setattr(device, "mounted_at", lambda directory: there)
    monkeypatch.setattr(device, "unmount", lambda directory, *, lazy: done.append(directory))
    server.unmount("/mnt", OWN)
    assert done == ended


def test_a_session_knows_that_it_was_unmounted(calls: Calls) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ended = threading.Event()
    with ours, theirs:
        ours.send(request(Operation.INIT, init()))
        session = Session(theirs.fileno(), calls, ended.set, 2)
        session.start()
        assert not session.is_unmounted
        ours.shutdown(socket.SHUT_RDWR)
        assert ended.wait(30)
        assert session.is_unmounted
        assert session.join(30)
