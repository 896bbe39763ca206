"""A zone whose re-encryption one kind of namenode begins, and the other one ends.

How far it has come is in the zone's attribute, so the namenode that is started on the same image
and log goes on from there.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from howdah.cli.main import main
from howdah.fs.hdfs.encryption import ReencryptionStatus
from howdah.protocol.encryption_zones.provider_address import ProviderAddress
from howdah.runtime.users.current import process_user
from howdah.security.key_servers import KeyServers
from howdah.testing.waiting import wait_until
from tests.support.hadoop.mixed import MixedCluster
from tests.support.key_server import KEY_ACCESS, key_server
from tests.support.zone_files import create_empty_files

pytestmark = [pytest.mark.torture, pytest.mark.timeout(600)]

FILES: Final = 1500
BATCH: Final = 20
SLOWLY: Final[dict[str, str | int]] = {
    "dfs.namenode.reencrypt.batch.size": BATCH,
    "dfs.namenode.reencrypt.edek.threads": 1,
    # So that it is not over when the namenode is stopped.
    "dfs.namenode.reencrypt.throttle.limit.updater.ratio": "0.01",
}
AT_ONCE: Final[dict[str, str]] = {"dfs.namenode.reencrypt.throttle.limit.updater.ratio": "1.0"}


@pytest.mark.parametrize("first", ["hadoop", "ours"])
def test_what_one_namenode_began_the_other_one_ends(
    first: str, hadoop_classpath: str, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        provider = stack.enter_context(key_server(tmp_path / "kms", KEY_ACCESS))
        assert main(["key", "create", "payroll", "-provider", provider]) == 0
        cluster = stack.enter_context(
            MixedCluster(
                hadoop_classpath,
                ["namenode"] if first == "hadoop" else [],
                namenodes=1,
                datanodes=1,
                conf={"hadoop.security.key.provider.path": provider, **SLOWLY},
            )
        )
        fs = stack.enter_context(cluster.connect())
        fs.mkdirs("/zone")
        fs.create_encryption_zone("/zone", "payroll")
        paths = [f"/zone/{number % 7}/{number:04}" for number in range(FILES)]
        create_empty_files(fs, paths)
        before = {path: fs.get_file_encryption_info(path) for path in paths}
        assert main(["key", "roll", "payroll", "-provider", provider]) == 0
        fs.reencrypt_zone("/zone")

        def status() -> ReencryptionStatus:
            [only] = fs.list_reencryption()
            return only

        wait_until(lambda: status().reencrypted >= 2 * BATCH, 120)
        counted = status()
        assert counted.state != "Completed", "it was over before the namenode was stopped"
        cluster.configure(AT_ONCE)
        cluster.exchange("namenode", is_hadoops=first != "hadoop")
        cluster.wait_ready()
        assert status().reencrypted >= counted.reencrypted
        wait_until(lambda: status().state == "Completed", 120)

        assert status().failures == 0
        # What was changed and not counted when the first one stopped is not counted at all.
        assert FILES - 2 * BATCH <= status().reencrypted <= FILES
        servers = KeyServers(ProviderAddress.of(provider), cluster.conf, process_user())
        stack.callback(servers.close)
        for number, path in enumerate(paths):
            old, new = before[path], fs.get_file_encryption_info(path)
            assert old is not None
            assert new is not None
            assert (old.version_name, new.version_name) == ("payroll@0", "payroll@1"), path
            assert new.iv == old.iv
            if number % 97 == 0:
                fs.open(path).close()
