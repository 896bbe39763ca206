"""The directory of records that routers share."""

from __future__ import annotations

import base64
import fcntl
import hashlib
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.config.value_types import Address
from howdah.formats.tokens.identifiers import DelegationKey
from howdah.java import NoJava
from howdah.local.zookeeper import NoZooKeeper as NoServer
from howdah.proto import router_pb2 as pb
from howdah.protocol.data_transfer.blocks import StorageType
from howdah.protocol.zookeeper import NoZooKeeper, Session
from howdah.router.administration import dumped_store
from howdah.router.settings import Settings
from howdah.router.state.table.mount_table import Destination, MountEntry, Order, Quota
from howdah.router.state.table.records import entry_from_proto, entry_to_proto, from_lines
from howdah.router.store.factory import store_at, store_place
from howdah.router.store.files import FileRecords
from howdah.router.store.state_store import StateStore
from howdah.router.store.zookeeper import ZooKeeperPlace
from tests.support.zookeeper import zookeeper_server

pytestmark = pytest.mark.req("LM-020")

ZOOKEEPER = {"dfs.federation.router.store.driver.class": "x.y.StateStoreZooKeeperImpl"}
ENTRY = MountEntry(
    "/a/b",
    (Destination("n1", "/x"), Destination("n2", "/y")),
    Order.RANDOM,
    True,
    True,
    "eve",
    "staff",
    0o750,
    Quota(5, -1, ((StorageType.SSD, 9), (StorageType.ARCHIVE, 0))),
    1,
    2,
)


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    pytest.importorskip("kazoo", reason="a state store in ZooKeeper needs kazoo")
    try:
        with zookeeper_server(tmp_path_factory.mktemp("zookeeper")) as address:
            yield address
    except (NoServer, NoJava) as error:
        pytest.skip(str(error))


def in_zookeeper(address: Address, parent: str) -> Configuration:
    values = {
        "dfs.federation.router.store.driver.class": "x.y.StateStoreZooKeeperImpl",
        "dfs.federation.router.store.driver.zk.parent-path": parent,
        "hadoop.zk.address": f"{address[0]}:{address[1]}",
    }
    return Configuration(values)


@dataclass
class Kept:
    """A state store, and what is where it keeps its records."""

    store: StateStore
    put: Callable[[str, bytes], object]
    """A record of the mount table."""
    get: Callable[[str], bytes]
    lose: Callable[[], object]
    """All records of the mount table, and what they are in."""


_parents = count()


@pytest.fixture(params=["files", "zookeeper"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kept]:
    if request.param == "files":
        found = store_at(tmp_path)
        found.prepare()
        table = tmp_path / "MountTable"
        yield Kept(
            found,
            lambda name, content: (table / name).write_bytes(content),
            lambda name: (table / name).read_bytes(),
            lambda: shutil.rmtree(table),
        )
        return
    parent = f"/federations/f{next(_parents)}"
    place = store_place(in_zookeeper(request.getfixturevalue("zookeeper"), parent))
    assert isinstance(place, ZooKeeperPlace)
    session = Session(place.ensemble)

    def get(name: str) -> bytes:
        znode = session.read(f"{parent}/MountTable/{name}")
        assert znode is not None
        return znode.content

    found = store_at(place)
    try:
        found.prepare()
        yield Kept(
            found,
            lambda name, content: session.create(f"{parent}/MountTable/{name}", content),
            get,
            lambda: session.remove(f"{parent}/MountTable", recursive=True),
        )
    finally:
        found.close()
        session.close()


@pytest.fixture
def store(kept: Kept) -> StateStore:
    return kept.store


def test_an_entry_comes_back_as_it_was(store: StateStore) -> None:
    assert store.add_mount(ENTRY)
    assert store.mount_entries() == [ENTRY]
    assert not store.add_mount(ENTRY)
    changed = replace(ENTRY, read_only=False)
    assert store.update_mount(changed)
    assert store.mount_entries() == [changed]
    assert store.remove_mount(ENTRY.source)
    assert not store.remove_mount(ENTRY.source)
    assert not store.update_mount(ENTRY)


def test_a_record_is_where_hadoop_looks_for_it(kept: Kept) -> None:
    kept.store.add_mount(ENTRY)
    data = kept.get("0SLASH0a0SLASH0b")
    record = pb.MountTableRecordProto.FromString(base64.b64decode(data))
    assert record.srcPath == "/a/b"


def test_reads_changes_and_failures_are_counted(kept: Kept) -> None:
    store, figures = kept.store, kept.store.figures
    store.add_mount(ENTRY)
    store.update_mount(ENTRY)
    store.mount_entries()
    store.remove_mount(ENTRY.source)
    assert [each.count for each in (figures.reads, figures.writes, figures.removes)] == [1, 2, 1]
    assert figures.failures.count == 0


def test_a_store_that_is_gone_counts_as_a_failure(tmp_path: Path) -> None:
    store = store_at(tmp_path / "store")
    with pytest.raises(OSError, match="store"):
        store.mount_entries()
    assert (store.figures.reads.count, store.figures.failures.count) == (0, 1)


def test_a_table_that_is_lost_is_no_empty_one(kept: Kept) -> None:
    """With an empty table all paths would be in the default nameservice."""
    kept.store.add_mount(ENTRY)
    kept.lose()
    with pytest.raises(FileNotFoundError, match="MountTable"):
        kept.store.mount_entries()


def test_what_is_half_written_is_no_record(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    store.prepare()
    store.add_mount(ENTRY)
    (tmp_path / "MountTable" / "0SLASH0c.tmp").write_bytes(b"half")
    assert store.mount_entries() == [ENTRY]


@pytest.mark.parametrize("content", [b"!!\n", b"", bytes((1 << 20) + 1)])
def test_a_damaged_record_is_named(kept: Kept, content: bytes) -> None:
    """Left out, it would send new files to the place behind it."""
    store = kept.store
    store.add_mount(ENTRY)
    try:
        kept.put("0SLASH0a0SLASH0b0SLASH0c", content)
    except NoZooKeeper:
        if len(content) < 1 << 20:
            raise
        pytest.skip("ZooKeeper takes no znode of that size")
    with pytest.raises(OSError, match=r"a damaged record: .*0SLASH0a0SLASH0b0SLASH0c"):
        store.mount_entries()
    assert store.remove_mount("/a/b/c")
    assert store.mount_entries() == [ENTRY]


def test_routers_see_in_zookeeper_what_others_do(zookeeper: Address) -> None:
    place = store_place(in_zookeeper(zookeeper, "/shared"))
    with closing(store_at(place)) as one, closing(store_at(place)) as other:
        one.prepare()
        other.prepare()
        assert one.add_mount(ENTRY)
        assert not other.add_mount(ENTRY)
        other.disable("n1")
        assert one.disabled_nameservices() == ["n1"]
        assert other.mount_entries() == [ENTRY]
        assert [kind for kind, _ in dumped_store(in_zookeeper(zookeeper, "/shared"))] == [
            "DisabledNameservice",
            "MountTable",
        ]


def digest(credentials: str) -> str:
    name = credentials.partition(":")[0]
    sha1 = hashlib.sha1(credentials.encode()).digest()
    return f"digest:{name}:{base64.b64encode(sha1).decode()}:cdrwa"


def closed(address: Address, parent: str, acl: str = digest("routers:secret")) -> Configuration:
    """As after the change to Kerberos."""
    auth = {"hadoop.zk.acl": acl, "hadoop.zk.auth": "digest:routers:secret"}
    return in_zookeeper(address, parent).with_values(auth)


def session_of(conf: Configuration) -> closing[Session]:
    place = store_place(conf)
    assert isinstance(place, ZooKeeperPlace)
    return closing(Session(place.ensemble))


def test_records_that_strangers_could_write_are_protected_at_the_start(
    zookeeper: Address, caplog: pytest.LogCaptureFixture
) -> None:
    before = in_zookeeper(zookeeper, "/opened")
    with closing(store_at(store_place(before))) as store:
        store.prepare()
        assert store.add_mount(ENTRY)
    with closing(store_at(store_place(closed(zookeeper, "/opened")))) as store:
        store.prepare()
        assert store.mount_entries() == [ENTRY]
    assert "1 records of /opened/MountTable had another ACL" in caplog.text
    with (
        session_of(before) as stranger,
        pytest.raises(errors.ServiceFailed, match="NoAuth"),
    ):
        stranger.replace("/opened/MountTable/0SLASH0a0SLASH0b", b"x")


@pytest.mark.parametrize("acl", [digest("routers:secret"), "auth::cdrwa", ""])
def test_what_routers_alone_could_write_may_be_prepared_again(
    zookeeper: Address, acl: str, caplog: pytest.LogCaptureFixture
) -> None:
    conf = closed(zookeeper, f"/again-{next(_parents)}", acl)
    for _ in range(2):
        with closing(store_at(store_place(conf))) as store:
            store.prepare_for_tokens()
            store.prepare()
            store.add_key(DelegationKey(1, 2, b"key"))
            store.add_mount(ENTRY)
    assert "another ACL" not in caplog.text


@pytest.mark.parametrize("planted", ["", "/DelegationKey", "/DelegationKey/7"])
def test_keys_that_strangers_may_have_planted_are_refused(zookeeper: Address, planted: str) -> None:
    parent = f"/planted-{next(_parents)}"
    conf = closed(zookeeper, parent)
    with closing(store_at(store_place(conf))) as store:
        store.prepare_for_tokens()
        store.add_key(DelegationKey(7, 2, b"key"))
    with session_of(conf.with_values({"hadoop.zk.acl": "world:anyone:cdrwa"})) as session:
        session.protect([f"{parent}{planted}"])
    for _ in range(2):
        with (
            closing(store_at(store_place(conf))) as store,
            pytest.raises(PermissionError, match=r"planted keys.*deleteall"),
        ):
            store.prepare_for_tokens()
    with session_of(conf) as session:
        session.remove(f"{parent}/DelegationKey", recursive=True)
        session.remove(f"{parent}/DelegationToken", recursive=True)
    with closing(store_at(store_place(conf))) as store:
        store.prepare_for_tokens()


def plant_by_mode(record: Path) -> None:
    record.chmod(0o666)


def plant_by_link(record: Path) -> None:
    record.rename(record.parent.parent / "elsewhere")
    record.symlink_to(record.parent.parent / "elsewhere")


@pytest.mark.parametrize("plant", [plant_by_mode, plant_by_link])
def test_files_of_keys_that_others_can_write_are_refused(
    tmp_path: Path, plant: Callable[[Path], None]
) -> None:
    store = store_at(tmp_path)
    store.prepare_for_tokens()
    store.add_key(DelegationKey(7, 2, b"key"))
    store.prepare_for_tokens()
    plant(tmp_path / "DelegationKey" / "7")
    with pytest.raises(PermissionError, match="may have planted a key") as caught:
        store.prepare_for_tokens()
    assert caught.value.filename == str(tmp_path / "DelegationKey" / "7")


def test_a_zookeeper_that_is_away_is_told_by_the_key_that_names_it() -> None:
    pytest.importorskip("kazoo", reason="a state store in ZooKeeper needs kazoo")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        conf = in_zookeeper(silent.getsockname(), "/away").with_values(
            {"hadoop.zk.timeout-ms": "200"}
        )
        with (
            closing(store_at(store_place(conf))) as store,
            pytest.raises(OSError, match=r"no ZooKeeper server answered .*hadoop\.zk\.address"),
        ):
            store.mount_entries()


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
        (ZOOKEEPER, r"hadoop\.zk\.address is not set"),
        (
            {**ZOOKEEPER, "hadoop.zk.address": "zk", "hadoop.zk.acl": "all"},
            r"hadoop\.zk\.acl: 'all'",
        ),
        (
            {
                **ZOOKEEPER,
                "hadoop.zk.address": "zk",
                "dfs.federation.router.store.driver.zk.parent-path": "/",
            },
            r"zk\.parent-path = .* is the root",
        ),
        (
            {"dfs.federation.router.store.driver.class": "x.y.StateStoreMySQLImpl"},
            "StateStoreMySQLImpl is not supported",
        ),
    ],
)
def test_settings_that_cannot_be_are_named(values: dict[str, str], problem: str) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=problem):
        Settings.of(Configuration({**BASE, **values}))


def test_the_directory_of_the_store_may_be_a_uri() -> None:
    values = {**BASE, "dfs.federation.router.store.driver.file.directory": "file:///srv/s"}
    assert store_place(Configuration(values)) == Path("/srv/s")


def test_a_router_that_holds_the_lock_for_ever_is_not_waited_for(tmp_path: Path) -> None:
    with closing(StateStore(FileRecords(tmp_path, lock_limit_s=0.01))) as store:
        store.prepare()
        with (tmp_path / ".lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with pytest.raises(OSError, match=r"another router has held the lock for 0\.01 s"):
                store.add_mount(ENTRY)
            assert store.mount_entries() == [], "reading needs no lock"
        assert store.add_mount(ENTRY)


def test_the_lock_is_opened_by_its_owner_alone(tmp_path: Path) -> None:
    with closing(store_at(tmp_path)) as store:
        store.prepare()
        store.add_mount(ENTRY)
        assert (tmp_path / ".lock").stat().st_mode & 0o777 == 0o600
        (tmp_path / ".lock").chmod(0o644)
        store.remove_mount(ENTRY.source)
        assert (tmp_path / ".lock").stat().st_mode & 0o777 == 0o600
