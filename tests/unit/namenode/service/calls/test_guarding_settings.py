"""Settings that say who may do what, and how much there may be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.namenode.server.process.format import format_namenode
from howdah.namenode.server.process.settings import settings_from
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2
from howdah.testing.in_memory import InMemoryDatanode

KEEP = (1 << 63) - 1


def change(client: Any, **settings: object) -> None:
    namesystem = client.namenode.namesystem
    namesystem.settings = replace(namesystem.settings, **settings)


def set_quota(client: Any, path: str, user: str) -> None:
    request = pb.SetQuotaRequestProto(path=path, namespaceQuota=9, storagespaceQuota=KEEP)
    client.call("setQuota", request, user=user)


def test_keys_arrive() -> None:
    settings = settings_from(
        Configuration(
            {
                "dfs.namenode.max.objects": "7",
                "dfs.namenode.startup.delay.block.deletion.sec": "60",
                "dfs.permissions.allow.owner.set.quota": "true",
                "dfs.storage.policy.permissions.superuser-only": "true",
            }
        ),
        "BP-1",
    )
    assert (settings.max_objects, settings.deletions_after_ms) == (7, 60_000)
    assert settings.owners_set_quotas
    assert settings.policies_are_superusers


def test_owner_of_the_directory_above_sets_quotas_where_that_is_allowed(client: Any) -> None:
    client.mkdirs("/home/d")
    client.chown("/home", "joe")
    client.chown("/home/d", "eve")
    with pytest.raises(errors.AccessDenied, match="Superuser privilege is required"):
        set_quota(client, "/home/d", "joe")
    change(client, owners_set_quotas=True)
    for user, path in (("eve", "/home/d"), ("joe", "/home"), ("joe", "/")):
        with pytest.raises(errors.AccessDenied, match="owner of parent folder"):
            set_quota(client, path, user)
    set_quota(client, "/home/d", "joe")
    set_quota(client, "/home", "root")


@pytest.mark.parametrize(
    ("method", "request_of"),
    [
        ("setStoragePolicy", pb.SetStoragePolicyRequestProto(src="/d", policyName="COLD")),
        ("unsetStoragePolicy", pb.UnsetStoragePolicyRequestProto(src="/d")),
    ],
)
def test_storage_policies_may_be_the_superusers(
    client: Any, method: str, request_of: object
) -> None:
    client.mkdirs("/d", 0o777)
    client.call(method, request_of, user="joe")
    change(client, policies_are_superusers=True)
    with pytest.raises(errors.AccessDenied, match="Superuser privilege is required"):
        client.call(method, request_of, user="joe")
    client.call(method, request_of)


def test_there_are_no_more_objects_than_there_may_be(
    client: Any, nodes: list[InMemoryDatanode]
) -> None:
    client.mkdirs("/d")
    client.write("/d/f", 10)  # with the root and the block four
    client.namenode.namesystem.limits.max_objects = 5
    client.create("/d/g")
    makers: list[Callable[[], object]] = [
        lambda: client.mkdirs("/e"),
        lambda: client.create("/d/h"),
        lambda: client.add_block("/d/g"),
    ]
    for refused in makers:
        with pytest.raises(errors.RemoteError, match="configured number of objects 5"):
            refused()
    client.delete("/d/f")
    client.mkdirs("/e")


def test_no_replica_is_deleted_just_after_a_start(
    client: Any, nodes: list[InMemoryDatanode]
) -> None:
    client.namenode.namesystem.block_manager.deletions_after_ms = 60_000
    client.write("/f", 10)
    (node,) = [node for node in nodes if any(node.replicas.values())]
    client.delete("/f")
    client.namenode.namesystem.reap()
    assert node.heartbeat() == []
    client.namenode.clock.advance(60_000)
    (order,) = node.heartbeat()
    assert order.blkCmd.action == datanode_namenode_pb2.BlockCommandProto.INVALIDATE


def test_what_holds_something_is_not_formatted_again(tmp_path: Path) -> None:
    conf = Configuration(
        {
            "dfs.namenode.name.dir": str(tmp_path / "name"),
            "fs.defaultFS": "hdfs://localhost:8020",
            "dfs.reformat.disabled": "true",
        }
    )
    format_namenode(conf)
    with pytest.raises(errors.InconsistentStorage):
        format_namenode(conf, force=True)
    format_namenode(conf.with_values({"dfs.reformat.disabled": "false"}), force=True)
