"""A replica that cannot be opened whole is not opened, and leaves no descriptor."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import pytest

from howdah.datanode.replicas.open_replica import OpenReplica

Lab = Any


def open_below(directory: Path) -> list[str]:
    """The files that this process has open there."""
    found: list[str] = []
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # That of the listing is closed.
            found.append(os.readlink(f"/proc/self/fd/{descriptor}"))
    return sorted(path for path in found if path.startswith(f"{directory}/"))


def test_a_replica_whose_last_sum_cannot_be_read_is_not_opened(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = lab.node()
    lab.write_block(node, lab.block(), b"x" * 1000)

    def fail(opened: OpenReplica) -> None:
        raise OSError("the meta file cannot be read")

    with node.store.open(lab.block()):
        assert len(open_below(tmp_path)) > 1, "else nothing would be seen"
    monkeypatch.setattr(OpenReplica, "_note_last_sum", fail)
    before = open_below(tmp_path)
    with pytest.raises(OSError, match="cannot be read"):
        node.store.open(lab.block())
    assert open_below(tmp_path) == before
