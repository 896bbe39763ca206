"""A namenode's status, as Prometheus gets it."""

from __future__ import annotations

import pytest

from howdah.namenode.service.monitoring.activity_bean import OPERATIONS, operation_of
from howdah.namenode.service.monitoring.families import of_status, of_top
from howdah.runtime.metrics.top_users import TopUsers
from howdah.web.monitoring.families import Family
from howdah.web.status import (
    EditsDirectoryStatus,
    EncryptionStatus,
    JournalNodeStatus,
    NamenodeStatus,
    NodeStatus,
)

STATUS = NamenodeStatus(
    version="1.0",
    cluster_id="CID-1",
    block_pool_id="BP-1",
    safe_mode=True,
    safe_mode_status="why",
    last_txid=120,
    durable_txid=119,
    inodes=7,
    blocks=3,
    under_replicated_blocks=6,
    corrupt_blocks=0,
    missing_blocks=2,
    open_files=1,
    edits_directories=[
        EditsDirectoryStatus("/b", required=False, failure="disk full"),
        EditsDirectoryStatus(
            "q",
            True,
            "",
            [
                JournalNodeStatus("jn1", 90, "it lags"),
                JournalNodeStatus("jn2", 90, "", silent="no answer"),
            ],
        ),
    ],
    datanodes=[
        NodeStatus("a:9866", "/r1", True, 0.4, 1000, 100, 900, 3),
        NodeStatus("b:9866", "/r2", False, 900.0, 5000, 500, 100, 0),
    ],
    ha_state="standby",
    encryption_zones=3,
    encryption=EncryptionStatus(
        "kms://http@k1:9600/kms",
        answered=5,
        failed=2,
        is_failing=True,
        keys_ready={"payroll": 480},
        reencrypting=1,
        reencrypted=70,
        reencryption_failures=4,
    ),
)


def values(families: list[Family]) -> dict[str, object]:
    found: dict[str, object] = {}
    for family in families:
        for labels, value in family.samples:
            found[" ".join([family.name, *labels.values()])] = value
    return found


@pytest.mark.req("FS-261")
def test_state_of_the_namespace_is_told() -> None:
    found = values(list(of_status(STATUS)))
    assert found["howdah_ha_state standby"] == 1
    assert found["howdah_ha_state active"] == 0
    assert found["howdah_safe_mode"] == 1
    assert found["howdah_blocks missing"] == 2
    assert found["howdah_blocks low_redundancy"] == 6
    assert found["howdah_capacity_bytes total"] == 1000
    assert found["howdah_datanodes live"] == found["howdah_datanodes dead"] == 1
    assert found["howdah_journal_failed /b"] == 1
    assert found["howdah_journal_node_left_out q jn1"] == 1
    assert found["howdah_journal_node_silent q jn1"] == 0
    assert found["howdah_journal_node_silent q jn2"] == 1
    assert found["howdah_transaction_id durable"] == 119


@pytest.mark.req("FS-263")
def test_users_of_the_shortest_window_are_told() -> None:
    top = TopUsers([60_000, 300_000], 10, 10)
    top.add(0, {"create": {"ann": 3}})
    found = values([of_top(top.top(0))])
    assert found == {"howdah_top_user_calls * ann 1m": 3, "howdah_top_user_calls create ann 1m": 3}


@pytest.mark.req("FS-263")
def test_operations_are_named_as_in_the_audit_log() -> None:
    assert operation_of("getFileInfo") == "getfileinfo"
    assert operation_of("getBlockLocations") == "open"
    assert operation_of("rename2") == "rename"
    assert operation_of("sendHeartbeat") is None
    assert all(OPERATIONS.values())


def test_encryption_zones_and_key_servers_are_counted() -> None:
    found = values(list(of_status(STATUS)))
    assert found["howdah_encryption_zones all"] == 3
    assert found["howdah_encryption_zones reencrypting"] == 1
    assert found["howdah_reencrypted_files done"] == 70
    assert found["howdah_reencrypted_files failed"] == 4
    assert found["howdah_zone_keys_ready payroll"] == 480
    assert found["howdah_key_server_calls answered"] == 5
    assert found["howdah_key_server_calls failed"] == 2
    assert found["howdah_key_servers_failing"] == 1
