"""The replication of files that are there."""

from __future__ import annotations

from typing import Any

import pytest

from howdah import errors
from howdah.testing.in_memory import InMemoryDatanode

Nodes = list[InMemoryDatanode]


@pytest.mark.req("FS-016")
def test_replication_of_a_file_can_be_changed(client: Any, nodes: Nodes) -> None:
    client.write("/a", 10)
    assert client.set_replication("/a", 3) is True
    assert client.status("/a").block_replication == 3


def test_replication_of_a_directory_cannot(client: Any) -> None:
    client.mkdirs("/d")
    assert client.set_replication("/d", 3) is False
    assert client.set_replication("/nothing", 3) is False


def test_replication_over_the_limit_is_refused(client: Any) -> None:
    client.create("/a")
    with pytest.raises(errors.RemoteError, match="exceeds maximum of 512"):
        client.set_replication("/a", 513)


def test_a_file_keeps_the_sticky_bit_though_it_means_nothing(client: Any) -> None:
    client.create("/f")
    client.chmod("/f", 0o1777)
    assert client.status("/f").permission.perm == 0o1777
