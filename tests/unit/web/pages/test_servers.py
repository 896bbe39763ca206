"""Pages of datanodes, journal nodes, routers and of all namespaces, as they are made of facts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from howdah.router.state.namenodes.membership import Namenode, State
from howdah.router.state.overview import RouterFacts, entries_found
from howdah.router.state.overview import overview as router_page
from howdah.router.state.table.mount_table import Destination, MountEntry
from howdah.web.pages import cluster, datanode, encryption, explorer, journalnode, snapshots
from howdah.web.pages.cluster import Member
from howdah.web.pages.datanode import DatanodeFacts, NamenodeFacts, ScanFacts, VolumeFacts
from howdah.web.pages.html import Child, joined
from howdah.web.pages.journalnode import JournalFacts
from howdah.web.status import (
    NO_ENCRYPTION,
    EncryptionStatus,
    OneSnapshot,
    SnapshotsOf,
    ZoneStatus,
)

BAD = "<script>alert(1)</script>"


def level(body: list[Child]) -> str:
    """Of the verdict."""
    text = joined(body)
    return next(each for each in ("bad", "warn", "ok") if f'class="verdict {each}"' in text)


# -- datanode --------------------------------------------------------------------------

DATANODE = DatanodeFacts(
    name="d1:9866",
    uuid="u1",
    volumes=[VolumeFacts("/disk1", "DISK", 100, 40, 60)],
    pools={"BP-1": 3},
    namenodes=[NamenodeFacts("east", "n1:8020", True)],
)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, "ok"),
        ({"volumes": [VolumeFacts("/disk1", "DISK", failure="EIO")]}, "bad"),
        ({"volumes": [VolumeFacts("/disk1", "DISK", 100, 40, 60, hangs=True)]}, "warn"),
        ({"namenodes": []}, "bad"),
        ({"namenodes": [*DATANODE.namenodes, NamenodeFacts("w", "n2:8020", False)]}, "warn"),
        ({"scans": [ScanFacts("/disk1", 9, 1, 0, 5)]}, "warn"),
        ({"scans": [ScanFacts("/disk1", 9, 0, 0, 5)]}, "ok"),
    ],
)
@pytest.mark.req("FS-280")
def test_a_datanode_says_whether_its_volumes_work(more: dict[str, Any], expected: str) -> None:
    assert level(datanode.overview(replace(DATANODE, **more))) == expected


@pytest.mark.req("FS-283")
def test_what_a_datanode_shows_is_escaped() -> None:
    hostile = DatanodeFacts(
        name=BAD,
        uuid=BAD,
        volumes=[VolumeFacts(BAD, "DISK", failure=BAD)],
        pools={BAD: 1},
        namenodes=[NamenodeFacts(BAD, BAD, False)],
        scans=[ScanFacts(BAD, 1, 1, 1, 1)],
        slow_peers=[BAD],
        slow_disks=[BAD],
    )
    assert "<script" not in joined(datanode.overview(hostile))


# -- journal node ----------------------------------------------------------------------

JOURNAL = JournalFacts("east", 90, 90, 0, 2, 2, True, "", 1000, 90, 0)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, "ok"),
        ({"trouble": "EIO"}, "bad"),
        ({"has_vote": False}, "warn"),
        ({"missing": 4}, "warn"),
        ({"name": BAD, "trouble": BAD}, "bad"),
    ],
)
@pytest.mark.req("FS-280")
def test_a_journal_node_says_how_its_journals_are(more: dict[str, Any], expected: str) -> None:
    body = journalnode.overview([replace(JOURNAL, **more)], 5000)
    assert level(body) == expected
    assert "<script" not in joined(body)


def test_a_journal_that_lags_shows_by_how_much() -> None:
    body = joined(journalnode.overview([replace(JOURNAL, committed_txid=1_090)], 61_000))
    assert ">1,000<" in body
    assert "60 s ago" in body


# -- router ----------------------------------------------------------------------------


def router_facts(**more: Any) -> RouterFacts:
    namenodes = [
        Namenode("east", "nn1", ("e1", 8020), State.ACTIVE, contact_s=5.0),
        Namenode("east", "nn2", ("e2", 8020), State.STANDBY, contact_s=5.0),
    ]
    return replace(RouterFacts(namenodes, (), [], 0, {}, "east", False, 6.0), **more)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, "ok"),
        ({"safe_mode": True}, "bad"),
        ({"disabled": ("east",)}, "warn"),
        ({"namenodes": [Namenode("east", "nn1", ("e1", 1), State.STANDBY)]}, "bad"),
        (
            {
                "namenodes": [
                    *router_facts().namenodes,
                    Namenode("east", "nn3", ("e3", 1), State.UNAVAILABLE, why=BAD),
                ]
            },
            "warn",
        ),
    ],
)
@pytest.mark.req("FS-280")
def test_a_router_says_which_namespaces_it_reaches(more: dict[str, Any], expected: str) -> None:
    body = router_page(router_facts(**more), BAD)
    assert level(body) == expected
    assert "<script" not in joined(body)


def test_an_empty_mount_table_says_how_to_fill_it() -> None:
    assert "There is no mount point yet: howdah routeradmin" in joined(
        router_page(router_facts(), "")
    )
    filtered = joined(router_page(router_facts(entry_count=3), "x"))
    assert "No mount point is like that." in filtered


def test_of_many_mount_points_those_are_shown_that_were_asked_for() -> None:
    entries = {
        f"/m{number:04}": MountEntry(f"/m{number:04}", (Destination("east", f"/at/{number}"),))
        for number in range(2000)
    }
    assert len(entries_found(entries, "")) == 500
    assert [each.source for each in entries_found(entries, "/AT/1999")] == ["/m1999"]


# -- cluster ---------------------------------------------------------------------------

ACTIVE = Member("east", "nn1", "e1:9870", state="active", live=3, capacity_bytes=9)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ([ACTIVE], "ok"),
        ([ACTIVE, Member("east", "nn2", "e2:9870", "refused")], "warn"),
        ([Member("east", "nn1", "e1:9870", "refused")], "bad"),
        ([replace(ACTIVE, state="standby")], "bad"),
        ([ACTIVE, replace(ACTIVE, name="nn2")], "bad"),
        ([replace(ACTIVE, missing=1)], "bad"),
        ([replace(ACTIVE, low=1)], "warn"),
        ([replace(ACTIVE, dead=1)], "warn"),
        ([ACTIVE, replace(ACTIVE, nameservice="west", missing=2)], "bad"),
        (
            [replace(ACTIVE, cluster_id="a"), replace(ACTIVE, nameservice="w", cluster_id="b")],
            "warn",
        ),
        ([replace(ACTIVE, name=BAD, version=BAD, state=BAD)], "bad"),
        ([], "ok"),
    ],
)
@pytest.mark.req("FS-284")
def test_the_worst_namespace_decides(members: list[Member], expected: str) -> None:
    body = cluster.page(members)
    assert level(body) == expected
    assert "<script" not in joined(body)


def test_what_is_low_and_what_is_corrupt_are_told_where_there_are_such() -> None:
    def said(low: int, corrupt: int) -> str:
        return joined(cluster.page([replace(ACTIVE, low=low, corrupt=corrupt)]))

    assert "4 blocks low on replicas<" in said(4, 0)
    assert "1 block with a corrupt replica<" in said(0, 1)
    assert "4 blocks low on replicas, 1 block with a corrupt replica<" in said(4, 1)


@pytest.mark.req("FS-280", "FS-283")
def test_files_that_lost_blocks_are_listed_and_a_block_is_found() -> None:
    lines = ["blk_1073741825\t3\t/a <b>/c#d", "blk_7\t/s/.snapshot/one/c"]
    body = joined(explorer.blocks_page(lines, 100, "blk_7", "Block Id: <blk_7>"))
    assert 'href="/explorer#/a%20%3Cb%3E/c%23d">/a &lt;b&gt;/c#d</a>' in body
    assert 'href="/blocks?id=blk_1073741825">blk_1073741825</a>' in body
    assert "/s/.snapshot/one/c</a>" in body
    assert "Block Id: &lt;blk_7&gt;" in body
    assert "There may be more" not in body
    assert "There may be more" in joined(explorer.blocks_page(lines, 2, "", ""))
    assert "No file has lost a block" in joined(explorer.blocks_page([], 100, "", ""))


def test_the_tree_of_files_sends_the_header_that_is_configured() -> None:
    body = joined(explorer.page(has_webhdfs=True, own_header="X-Own", are_users_proven=False))
    assert 'data-own-header="X-Own"' in body


@pytest.mark.parametrize(("are_users_proven", "parameter"), [(False, "user.name"), (True, "doas")])
def test_who_proves_who_he_is_acts_for_the_user_that_he_names(
    are_users_proven: bool, parameter: str
) -> None:
    made = explorer.page(has_webhdfs=True, own_header="X", are_users_proven=are_users_proven)
    assert f'data-parameter="{parameter}"' in joined(made)


def test_names_with_half_a_character_do_not_take_the_page_away() -> None:
    """As Hadoop's images may have them."""
    body = joined(explorer.blocks_page(["blk_1\t3\t/a\ud800", "blk_2\t3\t/b"], 100, "", ""))
    assert '<a href="/explorer#/a%ED%A0%80">/a\\ud800</a>' in body
    assert ">/b</a>" in body
    newest = [OneSnapshot("s\udfff", 1, 1)]
    shown = joined(snapshots.page([SnapshotsOf("/a\ud800", "root", 1, newest)], 1))
    assert "/explorer#/a%ED%A0%80/.snapshot/s%ED%BF%BF" in shown


# -- encryption zones --------------------------------------------------------------------

ENCRYPTION = EncryptionStatus(
    "kms://http@k1:9600/kms", answered=12, keys_ready={"payroll": 480}, reencrypted=1234
)
ZONES = [
    ZoneStatus("/plain", "payroll"),
    ZoneStatus("/now", "payroll", "processing", "payroll@1", 1000, 0, 1234, 0, "/now/a/b"),
    ZoneStatus("/done", "payroll", "completed", "payroll@1", 1000, 2000, 99, 0),
]


def test_zones_their_re_encryption_and_ready_keys_are_shown() -> None:
    body = encryption.page(ENCRYPTION, ZONES, 4)
    text = joined(body)
    assert level(body) == "ok"
    for words in ("/now/a/b", "payroll@1", "processing, begun", "completed", "480", "never"):
        assert words in text
    assert "1 more are not shown" in text


@pytest.mark.parametrize(
    ("status", "total", "expected", "words"),
    [
        (NO_ENCRYPTION, 0, "ok", "neither key servers nor zones"),
        (NO_ENCRYPTION, 1, "bad", "zones take no new files"),
        (replace(ENCRYPTION, is_failing=True, last_failure="k1 is silent"), 1, "bad", "k1 is sil"),
        (replace(ENCRYPTION, unsupported="jceks: is not supported"), 1, "bad", "jceks: is not"),
        (replace(ENCRYPTION, reencryption_failures=3), 1, "warn", "3 files kept their keys"),
    ],
)
def test_what_is_wrong_with_key_servers_is_said_first(
    status: EncryptionStatus, total: int, expected: str, words: str
) -> None:
    body = encryption.page(status, [], total)
    assert level(body) == expected
    assert words in joined(body)


def test_names_of_zones_are_not_markup() -> None:
    zones = [ZoneStatus(BAD, BAD, "processing", BAD, 1, 0, 0, 0, BAD)]
    assert BAD not in joined(encryption.page(replace(ENCRYPTION, last_failure=BAD), zones, 1))
