"""The directory of records that routers share."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.proto import router_pb2 as pb
from howdah.router.settings import Settings, store_directory
from howdah.router.state_store import StateStore
from howdah.router.table.mount_table import Destination, MountEntry, Order, Quota
from howdah.router.table.records import entry_from_proto, entry_to_proto, from_lines

pytestmark = pytest.mark.req("LM-020")

ENTRY = MountEntry(
    "/a/b",
    (Destination("n1", "/x"), Destination("n2", "/y")),
    Order.RANDOM,
    True,
    True,
    "eve",
    "staff",
    0o750,
    Quota(5, -1),
    1,
    2,
)


@pytest.fixture
def store(tmp_path: Path) -> StateStore:
    found = StateStore(tmp_path)
    found.prepare()
    return found


def test_an_entry_comes_back_as_it_was(store: StateStore) -> None:
    assert store.add_mount(ENTRY)
    assert store.mount_entries() == [ENTRY]
    assert not store.add_mount(ENTRY)
    assert store.remove_mount(ENTRY.source)
    assert not store.remove_mount(ENTRY.source)
    assert not store.update_mount(ENTRY)


def test_a_record_is_where_hadoop_looks_for_it(store: StateStore) -> None:
    store.add_mount(ENTRY)
    data = (store.directory / "MountTable" / "0SLASH0a0SLASH0b").read_bytes()
    record = pb.MountTableRecordProto.FromString(base64.b64decode(data))
    assert record.srcPath == "/a/b"


def test_what_is_half_written_is_no_record(store: StateStore) -> None:
    store.add_mount(ENTRY)
    (store.directory / "MountTable" / "0SLASH0c.tmp").write_bytes(b"half")
    assert store.mount_entries() == [ENTRY]


@pytest.mark.parametrize("content", [b"!!\n", b"", bytes((1 << 20) + 1)])
def test_a_damaged_record_is_named(store: StateStore, content: bytes) -> None:
    """Left out, it would send new files to the place behind it."""
    store.add_mount(ENTRY)
    (store.directory / "MountTable" / "0SLASH0a0SLASH0b0SLASH0c").write_bytes(content)
    with pytest.raises(OSError, match=r"a damaged record: .*0SLASH0a0SLASH0b0SLASH0c"):
        store.mount_entries()
    assert store.remove_mount("/a/b/c")
    assert store.mount_entries() == [ENTRY]


def test_nameservices_are_disabled_and_enabled(store: StateStore) -> None:
    store.disable("n1")
    assert store.disabled_nameservices() == ["n1"]
    assert store.enable("n1")
    assert not store.enable("n1")


def test_a_record_of_many_or_odd_texts_is_refused() -> None:
    record = entry_to_proto(ENTRY)
    record.ownerName = "a\nb"
    with pytest.raises(errors.IllegalArgument, match="control characters"):
        entry_from_proto(record)
    record = entry_to_proto(ENTRY)
    record.destinations.extend([record.destinations[0]] * 300)
    with pytest.raises(errors.IllegalArgument, match="302 destinations"):
        entry_from_proto(record)
    with pytest.raises(errors.IllegalArgument, match="no record"):
        from_lines(b"# nothing\n", pb.MountTableRecordProto)


BASE = {
    "dfs.nameservices": "n1,n2",
    "dfs.namenode.rpc-address.n1": "h1:8020",
    "dfs.ha.namenodes.n2": "a,b",
    "dfs.namenode.rpc-address.n2.a": "h2:8020",
    "dfs.namenode.rpc-address.n2.b": "h3:8020",
    "dfs.federation.router.store.driver.file.directory": "/srv/store",
}


def test_settings_have_the_namenodes_of_all_nameservices() -> None:
    settings = Settings.of(Configuration(BASE))
    assert settings.namenodes == {
        "n1": {"": ("h1", 8020)},
        "n2": {"a": ("h2", 8020), "b": ("h3", 8020)},
    }
    assert (settings.rpc, settings.admin) == (("127.0.0.1", 8888), ("127.0.0.1", 8111))
    assert settings.default_nameservice == ""


@pytest.mark.parametrize(
    ("values", "default"),
    [
        ({"dfs.federation.router.default.nameserviceId": "n2"}, "n2"),
        ({"dfs.federation.router.monitor.namenode": "n2.a"}, "n2"),
        (
            {
                "dfs.federation.router.default.nameserviceId": "n2",
                "dfs.federation.router.default.nameservice.enable": "false",
            },
            "",
        ),
    ],
)
def test_the_default_nameservice(values: dict[str, str], default: str) -> None:
    assert Settings.of(Configuration({**BASE, **values})).default_nameservice == default


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"dfs.federation.router.default.nameserviceId": "n3"}, "n3 is not a nameservice"),
        ({"dfs.federation.router.monitor.namenode": "n3"}, "names n3"),
        ({"dfs.nameservices": ""}, "a router needs nameservices"),
        ({"dfs.federation.router.store.driver.file.directory": ""}, "needs a directory"),
        (
            {"dfs.federation.router.store.driver.class": "x.y.StateStoreZooKeeperImpl"},
            "StateStoreZooKeeperImpl is not supported",
        ),
    ],
)
def test_settings_that_cannot_be_are_named(values: dict[str, str], problem: str) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=problem):
        Settings.of(Configuration({**BASE, **values}))


def test_the_directory_of_the_store_may_be_a_uri() -> None:
    values = {**BASE, "dfs.federation.router.store.driver.file.directory": "file:///srv/s"}
    assert store_directory(Configuration(values)) == Path("/srv/s")
