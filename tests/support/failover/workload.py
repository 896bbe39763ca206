"""Clients at work on a cluster while something befalls it, and what they say of it then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from howdah import errors
from howdah.config.value_types import parse_address
from howdah.fs.api import FileSystem
from howdah.fs.registry import connect
from howdah.proto import client_namenode_pb2 as pb
from howdah.rpc.client import RpcClient
from howdah.testing.minicluster import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.failover.write_ledger import FileWriter, LogWriter, Manifest, Reader

CLIENT_PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
TIMEOUT_S = 60.0
# A client that asks a namenode which says nothing for no longer than this.
IMPATIENT: Mapping[str, str] = {"ipc.client.rpc-timeout.ms": "1000"}
SOME_OPERATIONS = 20


@contextmanager
def working(
    cluster: MiniCluster,
    directory: str,
    seed: int = 1,
    conf: Mapping[str, str] | None = None,
) -> Iterator[Manifest]:
    """Writers and readers at work meanwhile; at the end all that was acknowledged is there.

    `conf` has further values for these clients.
    """

    def client() -> FileSystem:
        return connect(cluster.uri, conf=cluster.conf.with_values(conf or {}))

    with working_by(client, directory, seed) as manifest:
        yield manifest


@contextmanager
def working_by(
    client: Callable[[], FileSystem], directory: str, seed: int = 1
) -> Iterator[Manifest]:
    """The same by clients of the caller's."""
    manifest = Manifest()
    clients = [
        *(FileWriter(f"w{n}", client, manifest, seed, directory) for n in range(2)),
        LogWriter("log", client, manifest, seed, f"{directory}/log"),
        *(Reader(f"r{n}", client, manifest, seed) for n in range(2)),
    ]
    for each in clients:
        each.start()
    wait_until_they_go_on(manifest)
    try:
        yield manifest
        wait_until_they_go_on(manifest)
    finally:
        for each in clients:
            each.stop()
        for each in clients:
            each.join(TIMEOUT_S)
    assert not manifest.failures, manifest.failures
    with client() as fs:
        manifest.verify(fs)


def wait_until_they_go_on(manifest: Manifest) -> None:
    """Return when some more operations were acknowledged."""
    wanted = manifest.acknowledged + SOME_OPERATIONS
    wait_until(
        lambda: manifest.acknowledged > wanted or manifest.failures, TIMEOUT_S, "clients go on"
    )
    assert not manifest.failures, manifest.failures


def ask_directly(
    cluster: MiniCluster, name: str, path: str, timeout_s: float = TIMEOUT_S
) -> bool | None:
    """Whether namenode `name` says that there is a file; None where it says nothing of files."""
    server = cluster.process(name)
    if "rpc" not in server.addresses:
        return None
    client = RpcClient(parse_address(server.addresses["rpc"]), CLIENT_PROTOCOL)
    try:
        answer = client.call(
            "getFileInfo",
            pb.GetFileInfoRequestProto(src=path),
            pb.GetFileInfoResponseProto,
            timeout_s=timeout_s,
        )
    except (
        errors.StandbyError,
        errors.RetriableError,
        errors.Unreachable,
        errors.CallTimeout,
    ):
        return None
    finally:
        client.close()
    return answer.HasField("fs")
