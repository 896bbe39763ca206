"""A replica that cannot be opened whole is not opened, and leaves no descriptor."""

from __future__ import annotations

import os
from typing import Any

import pytest

from howdah.datanode.replicas.open_replica import OpenReplica

Lab = Any


def test_a_replica_whose_last_sum_cannot_be_read_is_not_opened(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = lab.node()
    lab.write_block(node, lab.block(), b"x" * 1000)

    def fail(opened: OpenReplica) -> None:
        raise OSError("the meta file cannot be read")

    monkeypatch.setattr(OpenReplica, "_note_last_sum", fail)
    before = sorted(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError, match="cannot be read"):
        node.store.open(lab.block())
    assert sorted(os.listdir("/proc/self/fd")) == before
