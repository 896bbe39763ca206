"""100,000 files of an encryption zone are re-encrypted while namenodes are killed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from howdah.cli.main import main
from howdah.fs.hdfs.encryption import ReencryptionStatus
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.encryption_zones.messages import EncryptedKey, encrypted_key_of
from howdah.protocol.encryption_zones.provider_address import ProviderAddress
from howdah.runtime.users.current import process_user
from howdah.security.key_servers import KeyServers
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.key_server import KEY_ACCESS, key_server
from tests.support.zone_files import create_empty_files

pytestmark = [pytest.mark.torture, pytest.mark.timeout(1800)]

FILES: Final = 100_000
IN_A_DIRECTORY: Final = 1000
SAMPLE: Final = 997
"""Of so many files one is looked into."""
KILLED_AT: Final = (10_000, 40_000)
TAKEOVER_S: Final = 120.0
"""A namenode that comes back reads the edits of all files, on a machine that has other work."""


def _paths() -> Iterator[str]:
    for number in range(FILES):
        yield f"/zone/{number // IN_A_DIRECTORY:03}/{number % IN_A_DIRECTORY:04}"


def _keys(fs: HdfsFileSystem) -> dict[str, EncryptedKey]:
    """Of all files, by their paths."""
    found: dict[str, EncryptedKey] = {}
    for number in range(FILES // IN_A_DIRECTORY):
        directory, behind = f"/zone/{number:03}", b""
        while True:
            request = pb.GetListingRequestProto(
                src=directory, startAfter=behind, needLocation=False
            )
            listed = fs.client.namenode.call(
                "getListing", request, pb.GetListingResponseProto
            ).dirList
            for entry in listed.partialListing:
                path = f"{directory}/{entry.path.decode()}"
                found[path] = encrypted_key_of(entry.fileEncryptionInfo)
            if not listed.remainingEntries:
                break
            behind = listed.partialListing[-1].path
    return found


def test_every_file_has_a_new_key_after_two_failovers(tmp_path: Path) -> None:
    with ExitStack() as stack:
        provider = stack.enter_context(key_server(tmp_path / "kms", KEY_ACCESS))
        assert main(["key", "create", "payroll", "-provider", provider]) == 0
        conf: dict[str, str | int] = {
            "hadoop.security.key.provider.path": provider,
            # A batch and its edits take some time, so that the kills come between them.
            "dfs.namenode.reencrypt.batch.size": 500,
            "dfs.namenode.reencrypt.edek.threads": 2,
            # And so that it is not over before a killed namenode is back.
            "dfs.namenode.reencrypt.throttle.limit.updater.ratio": "0.2",
        }
        cluster = stack.enter_context(MiniCluster(datanodes=1, namenodes=2, conf=conf))
        fs = stack.enter_context(cluster.connect())
        fs.mkdirs("/zone")
        fs.create_encryption_zone("/zone", "payroll")
        create_empty_files(fs, _paths())
        before = _keys(fs)
        assert len(before) == FILES
        assert main(["key", "roll", "payroll", "-provider", provider]) == 0
        fs.reencrypt_zone("/zone")

        def status() -> ReencryptionStatus:
            [only] = fs.list_reencryption()
            return only

        def is_over() -> bool:
            return status().state == "Completed"

        kills = 0
        for count in KILLED_AT:
            wait_until(lambda count=count: is_over() or status().reencrypted >= count, 600)  # type: ignore[misc]
            kills += not is_over()
            active = cluster.active()
            cluster.kill(active)
            cluster.active(but=active, timeout_s=TAKEOVER_S)
            cluster.start(active)
            # It takes over from the next one that is killed.
            wait_until(lambda name=active: cluster.ha_states()[name] == "standby", TAKEOVER_S)  # type: ignore[misc]
        assert kills, "it was over before anything was killed"
        wait_until(is_over, 600)

        after = _keys(fs)
        assert after.keys() == before.keys()
        assert {key.version_name for key in after.values()} == {"payroll@1"}
        assert all(after[path].iv == before[path].iv for path in before)
        assert status().failures == 0
        # What a killed namenode had not counted is not counted: a batch or two for each kill.
        assert FILES - 4 * 500 * len(KILLED_AT) <= status().reencrypted <= FILES
        servers = KeyServers(ProviderAddress.of(provider), cluster.conf, process_user())
        stack.callback(servers.close)
        for path in list(before)[::SAMPLE]:
            assert servers.decrypt(after[path]) == servers.decrypt(before[path])
