"""What the streams of one client share."""

from __future__ import annotations

import contextlib
import os
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from howdah import errors
from howdah.client.settings.settings import ClientSettings
from howdah.config import Configuration
from howdah.options import CreateFlag
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType
from howdah.rpc.client import RpcClient
from howdah.testing.waiting import wait_until

FakeCluster = Any


def create(client: Any, path: str, **options: Any) -> Any:
    wanted: dict[str, Any] = {
        "masked": 0,
        "unmasked": 0,
        "overwrite": False,
        "create_parent": True,
        "replication": None,
        "block_size": None,
        **options,
    }
    return client.create(path, **wanted)


def test_what_nobody_set_is_as_the_namenode_says(cluster: FakeCluster) -> None:
    client = cluster.client()
    create(client, "/f").close()
    options = cluster.namenode.calls[0][2]
    assert (options["replication"], options["block_size"]) == (3, 64 * 1024)
    assert client.checksum_spec == ChecksumSpec(ChecksumType.CRC32C, 512)


def test_what_the_client_sets_wins_over_the_namenode(cluster: FakeCluster) -> None:
    client = cluster.client(
        replication=2, block_size=4096, checksum_type="CRC32", bytes_per_checksum=1024
    )
    create(client, "/f").close()
    options = cluster.namenode.calls[0][2]
    assert (options["replication"], options["block_size"]) == (2, 4096)
    assert client.checksum_spec == ChecksumSpec(ChecksumType.CRC32, 1024)


def test_a_forked_child_has_a_name_and_leases_of_its_own(cluster: FakeCluster) -> None:
    client = cluster.client()
    parent = client.client_name
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, client.client_name.encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 100).decode() != parent
    assert client.client_name == parent
    os.close(read)
    os.close(write)


def test_closing_closes_every_file_though_one_fails(cluster: FakeCluster) -> None:
    client = cluster.client(next_block_retries=0)
    streams = [create(client, f"/{number}") for number in range(3)]
    streams[1].write(b"x")
    cluster.namenode.add_block_errors = [errors.SpaceQuotaExceeded("full")]
    with pytest.raises(errors.SpaceQuotaExceeded):
        client.close()
    assert all(stream.closed for stream in streams)
    assert cluster.namenode.files["/0"].complete
    assert cluster.namenode.files["/2"].complete


def test_closing_twice_is_closing_once(cluster: FakeCluster) -> None:
    client = cluster.client()
    client.close()
    client.close()
    assert cluster.namenode.names() == ["close"]


def test_a_lease_is_held_while_a_file_is_open(cluster: FakeCluster) -> None:
    client = cluster.client()
    stream = create(client, "/f")
    assert client._identity.get().leases.is_running
    stream.close()
    assert client._identity.get().leases._files == set()


def test_a_closed_client_leaves_no_thread_behind(cluster: FakeCluster) -> None:
    client = cluster.client()
    create(client, "/f").close()
    leases = client._identity.get().leases
    client.close()
    wait_until(lambda: not leases.is_running, 30)


def test_appending_to_nothing_is_a_file_not_found_error(cluster: FakeCluster) -> None:
    cluster.namenode.append = lambda path, name, flags: (None, None)
    cluster.namenode.get_file_info = lambda path: None
    with pytest.raises(FileNotFoundError):
        cluster.client().append("/f")


def test_settings_come_from_hadoops_keys() -> None:
    settings = ClientSettings.from_configuration(
        Configuration(
            {
                "dfs.client.socket-timeout": "5s",
                "dfs.client.use.datanode.hostname": "true",
                "dfs.blocksize": "64m",
                "dfs.client-write-packet-size": "128k",
                "ipc.client.rpc-timeout.ms": "1500",
            }
        )
    )
    assert settings.socket_timeout_s == 5.0
    assert settings.use_datanode_hostname
    assert settings.block_size == 64 << 20
    assert settings.packet_data_bytes == 128 << 10
    assert settings.call_timeout_s == 1.5
    assert settings.replication is None


def test_leases_are_renewed_in_the_namespaces_that_a_router_names(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = cluster.namenode.create
    renewed = []

    def named_create(path: str, *arguments: Any, **named: Any) -> Any:
        status = plain(path, *arguments, **named)
        if path != "/unnamed":
            status.namespace = path[1:]
        return status

    monkeypatch.setattr(cluster.namenode, "create", named_create)
    monkeypatch.setattr(
        cluster.namenode, "renew_lease", lambda name, namespaces=(): renewed.append(namespaces)
    )
    client = cluster.client(lease_renewal_s=0.01)
    east, west = create(client, "/east"), create(client, "/west")
    wait_until(lambda: ["east", "west"] in renewed, 60)
    unnamed = create(client, "/unnamed")
    assert client.namespaces() == []
    for file in (east, west, unnamed):
        file.close()


def test_leases_are_renewed_at_half_of_the_limit_at_the_latest_and_every_30_seconds() -> None:
    for limit, interval_s in (("10s", 5.0), ("60s", 30.0), ("20m", 30.0)):
        conf = Configuration({"howdah.namenode.lease-soft-limit": limit})
        assert ClientSettings.from_configuration(conf).lease_renewal_s == interval_s


def test_no_call_waits_for_ever_even_if_the_configuration_says_so() -> None:
    settings = ClientSettings.from_configuration(Configuration({"ipc.client.rpc-timeout.ms": "0"}))
    assert 0 < settings.call_timeout_s < float("inf")


def test_packets_stay_under_what_datanodes_take() -> None:
    settings = ClientSettings.from_configuration(
        Configuration({"dfs.client-write-packet-size": "64m"})
    )
    assert settings.packet_data_bytes <= 8 << 20


@pytest.mark.req("LM-061")
def test_waiting_for_replicas_begins_with_short_pauses_and_ends() -> None:
    pauses = list(ClientSettings(next_block_retries=2).next_block_delays_s())
    assert pauses[0] < 0.01
    assert pauses[-2:] == [0.4, 0.8]
    assert pauses == sorted(pauses)


def in_a_fork(monkeypatch: pytest.MonkeyPatch, asks: Callable[[], Any]) -> list[Any]:
    """What two threads of a fresh child get that both ask for the first time.

    The child is this process under another id, and whatever takes a new id of its own waits
    until the other thread is as far.
    """
    both = threading.Barrier(2)
    made = uuid.uuid4

    def slowly() -> uuid.UUID:
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(1.0)
        return made()

    pid = os.getpid()
    monkeypatch.setattr("howdah.runtime.fork_safety.process_id", lambda: pid + 1)
    monkeypatch.setattr(uuid, "uuid4", slowly)
    with ThreadPoolExecutor(2) as threads:
        return [each.result(20) for each in [threads.submit(asks) for _ in range(2)]]


def test_two_threads_of_a_forked_child_have_one_name(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = cluster.client()
    parent = client.client_name
    first, second = in_a_fork(monkeypatch, lambda: client.client_name)
    assert first == second != parent


def test_two_threads_of_a_forked_child_number_their_calls_under_one_client_id(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rpc = RpcClient(("127.0.0.1", 1), "test")
    calls = in_a_fork(monkeypatch, lambda: (rpc.client_id, rpc.next_call_id()))
    assert calls[0][0] == calls[1][0] == rpc.client_id
    assert calls[0][1] != calls[1][1], "the retry cache would answer one with the other's answer"


def test_two_threads_that_read_first_share_connections_and_counts(cluster: FakeCluster) -> None:
    """As long as what they share is being made, another thread may come for it."""
    client = cluster.client()
    both = threading.Barrier(2)

    class Settings:
        keep_connections_s = 3.0

        @property
        def kept_connections(self) -> int:
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait(1.0)
            return 16

    client.settings = Settings()
    with ThreadPoolExecutor(2) as threads:
        asked = [threads.submit(lambda: client._peers) for _ in range(2)]
        first, second = (each.result(20) for each in asked)
    assert first is second


@pytest.mark.parametrize("flags", [CreateFlag.NONE, CreateFlag.NEW_BLOCK])
@pytest.mark.parametrize("content", [b"", b"a part of a block"])
def test_an_append_whose_checksums_do_not_fit_the_blocks_leaves_the_file_closed(
    cluster: FakeCluster, flags: CreateFlag, content: bytes
) -> None:
    """It had been opened for writing, and nobody else could write it before a lease was over."""
    cluster.put(content)
    with pytest.raises(errors.IllegalArgument, match="is not a multiple of the 768 bytes"):
        cluster.append(flags=flags, bytes_per_checksum=768)
    assert cluster.namenode.files["/f"].complete
    with cluster.append() as out:
        out.write(b"more")
    assert cluster.content() == content + b"more"
