"""A router over two clusters: our client sees one tree."""

from __future__ import annotations

import errno
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.request import urlopen

import pytest

from howdah import errors
from howdah.cli.router import admin as routeradmin
from howdah.fs.api import FileSystem
from howdah.fs.hdfs import HdfsFileSystem
from howdah.fsspec import HowdahFileSystem
from howdah.proto import client_namenode_pb2 as pb
from howdah.router.namenodes.connections import CLIENT_PROTOCOL
from howdah.router.state.table.mount_table import Destination, MountEntry, Order
from howdah.router.store.factory import store_at
from howdah.rpc.client import RpcClient
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.routers import Routers

pytestmark = [pytest.mark.req("LM-020"), pytest.mark.timeout(180)]

ENTRIES = (
    MountEntry("/east", (Destination("east", "/router/e"),), owner="eve", group="staff"),
    MountEntry("/west", (Destination("west", "/router/w"),)),
    MountEntry("/deep/er/mount", (Destination("west", "/router/deep"),)),
    MountEntry("/east/inner", (Destination("west", "/router/inner"),)),
    MountEntry("/fixed", (Destination("east", "/router/fixed"),), read_only=True),
    MountEntry(
        "/both",
        (Destination("east", "/router/both"), Destination("west", "/router/both")),
        Order.HASH_ALL,
    ),
    MountEntry(
        "/tolerant",
        (Destination("east", "/router/tolerant"), Destination("west", "/router/tolerant")),
        Order.HASH_ALL,
        fault_tolerant=True,
    ),
    MountEntry(
        "/hashed", (Destination("east", "/router/hashed"), Destination("west", "/router/hashed"))
    ),
)


@pytest.fixture(scope="module")
def west() -> Iterator[MiniCluster]:
    conf = {
        "dfs.replication": 1,
        "dfs.ls.limit": 3,
        "dfs.namenode.list.cache.pools.num.responses": 2,
        "dfs.namenode.list.cache.directives.num.responses": 2,
    }
    with MiniCluster(datanodes=1, conf=conf) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def routers(
    howdah_cluster: MiniCluster, west: MiniCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Routers]:
    directory = tmp_path_factory.mktemp("routers")
    conf = {
        "dfs.federation.router.quota.enable": "true",
        "dfs.federation.router.quota-cache.update.interval": "1s",
        "dfs.namenode.http-address.east": howdah_cluster.http.removeprefix("http://"),
        "dfs.namenode.http-address.west": west.http.removeprefix("http://"),
    }
    with Routers(directory, {"east": howdah_cluster, "west": west}, conf) as found:
        store = store_at(directory / "store")
        store.prepare()
        for entry in ENTRIES:
            store.add_mount(entry)
            for each in entry.destinations:
                cluster = howdah_cluster if each.nameservice == "east" else west
                with cluster.connect() as fs:
                    fs.mkdirs(each.path)
        found.start()
        yield found
    with howdah_cluster.connect() as fs:
        fs.delete("/router", recursive=True)


@pytest.fixture(scope="module")
def fs(routers: Routers) -> Iterator[FileSystem]:
    with routers.connect() as found:
        yield found


def names(fs: FileSystem, path: str) -> list[str]:
    return [each.path.rpartition("/")[2] for each in fs.list_status(path)]


def test_a_file_is_written_and_read_through_the_router(
    fs: FileSystem, howdah_cluster: MiniCluster, west: MiniCluster
) -> None:
    for mount, cluster, below in (("east", howdah_cluster, "e"), ("west", west, "w")):
        data = mount.encode() * 100_000
        with fs.create(f"/{mount}/file", overwrite=True) as out:
            out.write(data)
        with fs.open(f"/{mount}/file") as file:
            assert file.read() == data
        with cluster.connect() as direct, direct.open(f"/router/{below}/file") as file:
            assert file.read() == data


def jmx(http: str) -> dict[str, Any]:
    with urlopen(f"{http}/jmx", timeout=60) as answer:
        return {bean["name"].partition("name=")[2]: bean for bean in json.load(answer)["beans"]}


@pytest.mark.req("FS-260")
def test_the_router_tells_what_it_passes_on_and_what_namenodes_say(
    routers: Routers, fs: FileSystem, howdah_cluster: MiniCluster, west: MiniCluster
) -> None:
    http = f"http://{routers.http_addresses['router']}"
    before = jmx(http)
    fs.mkdirs("/east/told")
    with pytest.raises(errors.AccessDenied):
        fs.mkdirs("/fixed/refused")
    found = jmx(http)
    rpc, earlier = found["FederationRPC"], before["FederationRPC"]
    assert rpc["ProxyOps"] > earlier["ProxyOps"]
    assert rpc["RouterFailureReadOnlyOps"] > earlier["RouterFailureReadOnlyOps"]
    assert found["RouterClientActivity"]["MkdirsOps"] > before["RouterClientActivity"]["MkdirsOps"]
    assert found["NameserviceActivity-east"]["ProxyOp"] >= 1
    assert found["StateStore"]["ReadOps"] >= 1
    assert found["StateStoreActivity"]["CacheMountTableSize"] >= len(ENTRIES)

    def sums_fit() -> bool:
        """The namenodes go on, and what they say is kept for a moment."""
        systems = [jmx(each.http)["FSNamesystem"] for each in (howdah_cluster, west)]
        state = jmx(http)["FederationState"]
        return all(
            state[name] == sum(system[of] for system in systems)
            for name, of in (
                ("NumFiles", "FilesTotal"),
                ("NumLiveNodes", "NumLiveDataNodes"),
                ("TotalCapacity", "CapacityTotal"),
            )
        )

    wait_until(sums_fit, 60)


@pytest.mark.req("FS-260")
def test_the_router_tells_which_namenode_is_in_safe_mode(
    routers: Routers, west: MiniCluster
) -> None:
    http = f"http://{routers.http_addresses['router']}"

    def is_safe() -> bool:
        namenodes = json.loads(jmx(http)["FederationState"]["Namenodes"])
        return bool(namenodes["west"]["isSafeMode"])

    assert not is_safe()
    with west.connect() as direct:
        assert isinstance(direct, HdfsFileSystem)
        direct.set_safe_mode("enter")
        wait_until(is_safe, 60)
        with urlopen(f"{http}/", timeout=60) as answer:
            assert "west is in safe mode" in answer.read().decode()
        direct.set_safe_mode("leave")
        wait_until(lambda: not is_safe(), 60)


def test_the_root_lists_mount_points_and_ways_to_them(fs: FileSystem) -> None:
    assert names(fs, "/") == [
        "both",
        "deep",
        "east",
        "fixed",
        "hashed",
        "tolerant",
        "west",
    ]
    assert names(fs, "/deep") == ["er"]
    assert names(fs, "/deep/er") == ["mount"]
    assert fs.get_file_status("/deep/er").is_directory


def test_a_mount_point_within_another_is_listed_with_what_is_there(fs: FileSystem) -> None:
    fs.mkdirs("/east/real")
    assert {"inner", "real"} <= set(names(fs, "/east"))


def test_an_error_names_the_path_of_the_router_and_keeps_its_class(fs: FileSystem) -> None:
    with pytest.raises(FileNotFoundError, match="/east/absent") as raised:
        fs.open("/east/absent")
    assert "/router/e" not in str(raised.value)
    with pytest.raises(errors.NoLocation, match="/nowhere"):
        fs.get_file_status("/nowhere")


def test_a_rename_stays_within_a_nameservice(fs: FileSystem) -> None:
    fs.write_bytes("/west/one", b"1")
    fs.rename("/west/one", "/deep/er/mount/two")
    assert fs.read_bytes("/deep/er/mount/two") == b"1"
    with pytest.raises(errors.AcrossMountPoints, match="no eligible destination") as raised:
        fs.rename("/deep/er/mount/two", "/east/two")
    assert raised.value.errno == errno.EXDEV
    assert fs.exists("/deep/er/mount/two")


def test_what_fsspec_moves_to_another_nameservice_is_copied(
    routers: Routers, fs: FileSystem
) -> None:
    url = routers.uri("router").replace("hdfs://", "howdah://")
    hfs = HowdahFileSystem(**HowdahFileSystem._get_kwargs_from_urls(url))
    hfs.pipe({"/west/moving/f": b"1", "/west/moving/d/g": b"2", "/west/alone": b"3"})
    hfs.makedirs("/west/moving/empty")
    hfs.mv("/west/moving", "/east/moved", recursive=True)
    hfs.mv("/west/alone", "/east/moved/")
    assert fs.read_bytes("/east/moved/d/g") == b"2"
    assert sorted(names(fs, "/east/moved")) == ["alone", "d", "empty", "f"]
    assert not fs.exists("/west/moving")
    assert not fs.exists("/west/alone")


@pytest.mark.parametrize("path", ["/east", "/deep", "/deep/er/mount"])
def test_mount_points_and_ways_to_them_are_not_removed(fs: FileSystem, path: str) -> None:
    with pytest.raises((PermissionError, errors.NoLocation)):
        fs.delete(path, recursive=True)
    assert fs.exists(path)


def test_a_read_only_mount_point_refuses_writes(fs: FileSystem) -> None:
    with pytest.raises(PermissionError, match="read only mount point"):
        fs.write_bytes("/fixed/file", b"")
    assert names(fs, "/fixed") == []


def test_files_of_one_directory_are_spread_and_listed_as_one(
    fs: FileSystem, howdah_cluster: MiniCluster, west: MiniCluster
) -> None:
    wanted = [f"f{number:02}" for number in range(12)]
    for name in wanted:
        fs.write_bytes(f"/both/dir/{name}", name.encode())
    assert names(fs, "/both/dir") == wanted
    with howdah_cluster.connect() as one, west.connect() as other:
        parts = names(one, "/router/both/dir"), names(other, "/router/both/dir")
    assert sorted(parts[0] + parts[1]) == wanted
    assert all(parts)
    assert [fs.read_bytes(f"/both/dir/{name}") for name in wanted] == [
        name.encode() for name in wanted
    ]
    summary = fs.content_summary("/both/dir")
    assert summary.file_count == 12
    assert fs.delete("/both/dir", recursive=True)
    assert not fs.exists("/both/dir")
    assert names(fs, "/both") == []


def test_a_directory_of_a_hashed_mount_point_is_in_one_nameservice(
    fs: FileSystem, howdah_cluster: MiniCluster, west: MiniCluster
) -> None:
    fs.write_bytes("/hashed/a/b/c", b"x")
    with howdah_cluster.connect() as one, west.connect() as other:
        assert [each.exists("/router/hashed/a") for each in (one, other)].count(True) == 1
    fs.rename("/hashed/a/b/c", "/hashed/a/d")
    assert fs.read_bytes("/hashed/a/d") == b"x"


# -- administration ------------------------------------------------------------------------


@pytest.fixture
def admin(routers: Routers, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs `howdah routeradmin`; what it prints, behind its exit code if that is not 0."""

    def run(*words: str) -> str:
        capsys.readouterr()
        code = routeradmin.main(list(words), routers.admin_conf())
        said = capsys.readouterr()
        return f"{code}: " * bool(code) + said.out + said.err

    return run


def test_a_mount_point_is_added_shown_and_removed(
    fs: FileSystem, howdah_cluster: MiniCluster, admin: Callable[..., str]
) -> None:
    with howdah_cluster.connect() as direct:
        direct.write_bytes("/router/added/file", b"there")
    said = admin("-add", "/more/added", "east", "/router/added", "-owner", "eve", "-group", "dev")
    assert said == "Successfully added mount point /more/added\n"
    assert fs.read_bytes("/more/added/file") == b"there"
    table = admin("-ls", "/more").splitlines()
    assert table[0] == "Mount Table Entries:"
    assert table[1].split() == ["Source", "Destinations", "Owner", "Group", "Mode", "Quota/Usage"]
    assert table[2].split()[:5] == [
        "/more/added",
        "east->/router/added",
        "eve",
        "dev",
        "rwxr-xr-x",
    ]
    assert admin("-getDestination", "/more/added/file") == "Destination: east\n"
    assert "Successfully updated" in admin("-update", "/more/added", "-readonly", "true")
    with pytest.raises(PermissionError):
        fs.delete("/more/added/file")
    assert "Read-Only" in admin("-ls", "-d", "/more/added")
    assert admin("-rm", "/more/added") == "Successfully removed mount point /more/added\n"
    assert not fs.exists("/more")


def test_many_mount_points_are_added_in_one_call(fs: FileSystem, admin: Callable[..., str]) -> None:
    one = ["/many/one", "east", "/router/m1", "-readonly", "-owner", "eve"]
    two = ["/many/two", "east,west", "/router/m2", "-order", "RANDOM"]
    assert admin("-addAll", *one, ",", *two) == "Successfully added all mount points \n"
    assert names(fs, "/many") == ["one", "two"]
    table = admin("-ls", "-d", "/many").splitlines()
    assert table[2].split()[:3] == ["/many/one", "east->/router/m1", "eve"]
    assert "Read-Only" in table[2]
    assert "RANDOM" in table[3]
    three = ["/many/three", "west", "/router/m3"]
    said = admin("-addAll", *one, ",", *three)
    assert said == "255: Cannot add mount points: [/many/one]\n"
    assert names(fs, "/many") == ["one", "three", "two"]
    assert admin("-addAll", *one, ",", *one).endswith("Multiple inputs for mount: /many/one\n")
    admin("-rm", "/many/one", "/many/two", "/many/three")


def test_what_a_router_has_to_read_anew_it_says(
    routers: Routers, admin: Callable[..., str]
) -> None:
    place = routers.admin_addresses["router"]
    said = admin("-refreshSuperUserGroupsConfiguration")
    assert said == f"Successfully updated superuser proxy groups on router {place}\n"
    assert "this router has no call queue" in admin("-refreshCallQueue")
    said = admin("-refreshRouterArgs", place, "RefreshFairnessPolicyController")
    assert "255: " in said
    assert "Identifier 'RefreshFairnessPolicyController' does not exist" in said


def test_links_of_a_view_become_mount_points(
    routers: Routers,
    fs: FileSystem,
    howdah_cluster: MiniCluster,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with howdah_cluster.connect() as direct:
        direct.mkdirs("/router/view", 0o750)
        direct.write_bytes("/router/view/file", b"there")
        authority = direct.uri.removeprefix("hdfs://").rstrip("/")
        owner = direct.get_file_status("/router/view").owner
    prefix = "fs.viewfs.mounttable"
    links = {
        f"{prefix}.one.link./views/a": f"hdfs://{authority}/router/view",
        f"{prefix}.one.link./views/local": "file:///srv",
        f"{prefix}.one.linkFallback": "hdfs://east/",
        f"{prefix}.two.link./views/b": "hdfs://east/router/view",
        f"{prefix}.two.homedir": "/home",
        f"{prefix}.default.name.key": "one",
    }
    conf = routers.admin_conf().with_values(links)

    def run(cluster: str) -> tuple[int, list[str], str]:
        capsys.readouterr()
        code = routeradmin.main(["-initViewFsToMountTable", cluster], conf)
        said = capsys.readouterr()
        return code, said.out.splitlines(), said.err

    code, out, problems = run("one")
    assert (code, out) == (255, ["Added mount point /views/a"])
    assert f"{prefix}.one.linkFallback is left out" in problems
    assert f"Added Mount Point failed {prefix}.one.link./views/local: Only supports" in problems
    assert fs.read_bytes("/views/a/file") == b"there"
    code, out, problems = run("two")
    assert (code, problems) == (0, "")
    assert out == ["Added mount point /views/b", "Successfully init ViewFs mapping to router two"]
    capsys.readouterr()
    assert routeradmin.main(["-ls", "/views"], conf) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[:3] for row in rows] == [
        ["/views/a", "east->/router/view", owner],
        ["/views/b", "east->/router/view", owner],
    ]
    assert {row[4] for row in rows} == {"rwxr-x---"}
    assert run("allClusters")[1] == ["Added mount point /views/a", "Added mount point /views/b"]
    assert run("three")[:2] == (0, ["There is no ViewFs mapping to initialize."])
    assert routeradmin.main(["-initViewFsToMountTable", "one", "two"], conf) == 255
    assert "Max=1 argument allowed" in capsys.readouterr().err
    routeradmin.main(["-rm", "/views/a", "/views/b"], conf)


def test_a_lease_is_renewed_where_the_file_is(
    routers: Routers, rpc: RpcClient, fs: FileSystem
) -> None:
    assert isinstance(fs, HdfsFileSystem)
    with fs.create("/west/leased", overwrite=True) as out:
        out.write(b"1")
        assert fs.client.namespaces() == ["west"]
        with fs.create("/east/leased", overwrite=True):
            assert fs.client.namespaces() == ["east", "west"]
    with fs.append("/west/leased"):
        assert fs.client.namespaces() == ["west"]
    for named in (["west"], ["unknown"], []):
        request = pb.RenewLeaseRequestProto(clientName="nobody", namespaces=named)
        rpc.call("renewLease", request, pb.RenewLeaseResponseProto)


def test_the_state_store_is_dumped(admin: Callable[..., str]) -> None:
    dumped = admin("-dumpState")
    assert "---- MountTable ----" in dumped
    assert "  /east:\n    srcPath:" in dumped


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["-add", "/x", "east"], "Not enough parameters specificed for cmd -add"),
        (["-add", "/x", "south", "/"], "add: Invalid entry, south is none of the nameservices"),
        (["-add", "/x", "east,west", "/a,/b,/c"], "is not matched with the number of namespaces 2"),
        (["-update", "/absent", "-readonly", "true"], "update: /absent doesn't exist."),
        (["-setQuota", "/east", "-nsQuota", "0"], "should be a positive number"),
        (["-safemode", "maybe"], "safemode: Invalid argument: maybe"),
        (["-odd"], "odd: Unknown Command: -odd"),
    ],
)
def test_what_cannot_be_done_is_said(
    admin: Callable[..., str], words: list[str], problem: str
) -> None:
    said = admin(*words)
    assert said.startswith("255: ")
    assert problem in said


def test_others_change_what_is_theirs_alone(
    admin: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    admin("-add", "/theirs", "east", "/router/theirs", "-owner", "bob", "-mode", "0700")
    monkeypatch.setenv("HADOOP_USER_NAME", "bob")
    assert "does not have WRITE permissions" in admin("-add", "/bobs", "east", "/router/bobs")
    assert "does not have WRITE permissions" in admin("-rm", "/east")
    assert "bob is not a super user" in admin("-safemode", "enter")
    assert admin("-add", "/theirs/own", "east", "/router/own").startswith("Successfully")
    monkeypatch.setenv("HADOOP_USER_NAME", "mallory")
    shown = [line.split()[0] for line in admin("-ls", "/theirs").splitlines()[2:]]
    assert shown == ["/theirs/own"]
    monkeypatch.setenv("HADOOP_USER_NAME", "bob")
    assert admin("-rm", "/theirs/own", "/theirs").count("Successfully") == 2


def test_in_safe_mode_nothing_is_changed(fs: FileSystem, admin: Callable[..., str]) -> None:
    assert admin("-safemode", "enter") == "Successfully enter safe mode.\n"
    try:
        assert admin("-safemode", "get") == "Safe Mode: true\n"
        assert fs.exists("/east")
        with pytest.raises(errors.StandbyError, match="is in safe mode"):
            fs.mkdirs("/east/in-safe-mode")
    finally:
        assert admin("-safemode", "leave") == "Successfully leave safe mode.\n"
    fs.mkdirs("/east/in-safe-mode")


def test_a_nameservice_that_is_disabled_is_not_asked(
    fs: FileSystem, admin: Callable[..., str]
) -> None:
    assert admin("-nameservice", "disable", "west") == "Successfully disabled nameservice west\n"
    try:
        assert admin("-getDisabledNameservices") == "List of disabled nameservices:\nwest\n"
        with pytest.raises(errors.NoLocation):
            fs.read_bytes("/west/file")
        assert fs.exists("/east")
        assert "west" in names(fs, "/")
    finally:
        assert admin("-nameservice", "enable", "west") == "Successfully enabled nameservice west\n"
    assert fs.list_status("/west") is not None
    assert admin("-nameservice", "enable", "west").endswith("Cannot enable west\n")


def test_the_quota_of_a_mount_point_is_over_all_its_destinations(
    fs: FileSystem, admin: Callable[..., str], howdah_cluster: MiniCluster, west: MiniCluster
) -> None:
    for cluster in (howdah_cluster, west):
        with cluster.connect() as direct:
            direct.mkdirs("/router/limited")
    admin("-add", "/limited", "east,west", "/router/limited", "-order", "HASH_ALL")
    said = admin("-setQuota", "/limited", "-nsQuota", "8", "-ssQuota", "10g")
    assert said == "Successfully set quota for mount point /limited\n"
    for number in range(6):
        fs.write_bytes(f"/limited/{number}", b"x")
    wait_until(lambda: "[NsQuota: 8/8, SsQuota: 10 GB/" in admin("-ls", "/limited"), 60)
    with pytest.raises(errors.NamespaceQuotaExceeded, match="/limited is exceeded: quota=8"):
        fs.mkdirs("/limited/one-more")
    fs.delete("/limited/0")
    assert admin("-clrQuota", "/limited") == "Successfully clear quota for mount point /limited\n"
    fs.mkdirs("/limited/one-more")
    admin("-rm", "/limited")


def test_storage_types_of_a_mount_point_have_quotas(
    fs: FileSystem, admin: Callable[..., str], howdah_cluster: MiniCluster, west: MiniCluster
) -> None:
    destinations = (howdah_cluster, west)
    for cluster in destinations:
        with cluster.connect() as direct:
            direct.mkdirs("/router/typed/below")
    admin("-add", "/typed", "east,west", "/router/typed", "-order", "HASH_ALL")
    admin("-setQuota", "/typed", "-nsQuota", "50")
    said = admin("-setStorageTypeQuota", "/typed", "-storageType", "disk", "1m")
    assert said == "Successfully set storage type quota for mount point /typed\n"

    def limits() -> list[dict[str, int]]:
        found = []
        for cluster in destinations:
            with cluster.connect() as direct:
                types = direct.quota_usage("/router/typed").type_quotas
                set_ones = {each.storage_type: each.quota for each in types if each.quota >= 0}
                found.append(set_ones)
        return found

    assert limits() == [{"DISK": 1 << 20}] * 2
    usage = fs.quota_usage("/typed")
    assert usage.quota == 50, "the other quotas stay"
    assert [(each.storage_type, each.quota) for each in usage.type_quotas] == [("DISK", 1 << 20)]
    fs.set_quota("/typed/below", space_bytes=1 << 19, storage_type="DISK")
    types = fs.quota_usage("/typed/below").type_quotas
    (below,) = [each for each in types if each.quota >= 0]
    assert (below.storage_type, below.quota) == ("DISK", 1 << 19)
    said = admin("-clrStorageTypeQuota", "/typed")
    assert said == "Successfully clear storage type quota for mount point /typed\n"
    assert limits() == [{}] * 2
    assert fs.quota_usage("/typed").quota == 50
    for words in (("RAM_DISK", "1m"), ("TAPE", "1m"), ("SSD", "0"), ("SSD", "much")):
        assert admin("-setStorageTypeQuota", "/typed", "-storageType", *words).startswith("255: ")
    assert admin("-setStorageTypeQuota", "/typed", "-type", "SSD", "1m").startswith("255: ")
    admin("-rm", "/typed")


def test_a_second_router_has_the_same_table_and_learns_of_changes(
    routers: Routers, admin: Callable[..., str]
) -> None:
    routers.start("second")
    try:
        with routers.connect("second") as fs:
            assert "east" in names(fs, "/")
            admin("-add", "/late", "east", "/router/late")
            wait_until(lambda: "late" in names(fs, "/"), 60)
            admin("-rm", "/late")
            conf = routers.admin_conf("second")
            assert routeradmin.main(["-refresh"], conf) == 0
            assert "late" not in names(fs, "/")
    finally:
        routers.kill("second")


def write_several(fs: FileSystem, directory: str) -> None:
    for number in range(8):
        fs.write_bytes(f"{directory}/{number}", b"x")


def test_a_namenode_that_is_down_takes_only_its_mounts_along(
    fs: FileSystem, west: MiniCluster
) -> None:
    fs.write_bytes("/west/kept", b"kept")
    west.kill("namenode")
    try:
        with pytest.raises(errors.NoNamenodes, match="under nameservice west"):
            fs.read_bytes("/west/kept")
        assert {"east", "west"} <= set(names(fs, "/"))
        fs.write_bytes("/east/meanwhile", b"m")
        assert fs.read_bytes("/east/meanwhile") == b"m"
        assert names(fs, "/both") == []
        write_several(fs, "/tolerant")
        assert len(names(fs, "/tolerant")) == 8
        with pytest.raises(errors.NoNamenodes):
            write_several(fs, "/both")
    finally:
        west.restart("namenode")
    assert fs.read_bytes("/west/kept") == b"kept"


# -- calls ---------------------------------------------------------------------------------


@pytest.fixture
def rpc(routers: Routers) -> Iterator[RpcClient]:
    host, _, port = routers.addresses["router"].rpartition(":")
    client = RpcClient((host, int(port)), CLIENT_PROTOCOL)
    yield client
    client.close()


def test_a_call_that_is_repeated_is_answered_and_not_done_again(
    fs: FileSystem, rpc: RpcClient
) -> None:
    for path in ("/east/once", "/both/once"):
        fs.write_bytes(path, b"1")
        number = rpc.next_call_id()
        request = pb.DeleteRequestProto(src=path, recursive=False)
        for attempt in range(3):
            answer = rpc.call(
                "delete", request, pb.DeleteResponseProto, call_id=number, retry_count=attempt
            )
            assert answer.result, (path, attempt)
        assert not rpc.call("delete", request, pb.DeleteResponseProto).result


def test_a_rename_that_is_repeated_is_answered(fs: FileSystem, rpc: RpcClient) -> None:
    fs.write_bytes("/both/from", b"1")
    number = rpc.next_call_id()
    request = pb.RenameRequestProto(src="/both/from", dst="/both/to")
    for attempt in range(2):
        answer = rpc.call(
            "rename", request, pb.RenameResponseProto, call_id=number, retry_count=attempt
        )
        assert answer.result
    assert fs.delete("/both/to")


class Nameless:
    """The identity of a client that names no client id, and counts as all of them do."""

    def __init__(self, client_id: bytes) -> None:
        self.client_id = client_id
        self._numbers = itertools.count(7)

    def next_call_id(self) -> int:
        return next(self._numbers)


@pytest.mark.parametrize("client_id", [b"", b"short", b"x" * 17], ids=["none", "short", "long"])
def test_callers_without_a_client_id_are_not_taken_for_each_other(
    routers: Routers, fs: FileSystem, client_id: bytes
) -> None:
    fs.mkdirs("/east/nameless")
    fs.set_permission("/east/nameless", 0o777)
    host, _, port = routers.addresses["router"].rpartition(":")
    for user in ("ann", "bob"):
        fs.write_bytes(f"/east/nameless/{user}", b"1")
        identity: Any = Nameless(client_id)
        rpc = RpcClient((host, int(port)), CLIENT_PROTOCOL, user=user, identity=identity)
        request = pb.DeleteRequestProto(src=f"/east/nameless/{user}", recursive=False)
        assert rpc.call("delete", request, pb.DeleteResponseProto).result
        rpc.close()
    assert names(fs, "/east/nameless") == []


def test_the_user_goes_along(routers: Routers, fs: FileSystem) -> None:
    fs.mkdirs("/both/open")
    fs.set_permission("/both/open", 0o777)
    with routers.connect(user="bob") as bobs:
        bobs.write_bytes("/both/open/file", b"")
        with pytest.raises(PermissionError, match="bob"):
            bobs.mkdirs("/both/not-his/dir")
    assert fs.get_file_status("/both/open/file").owner == "bob"
    fs.delete("/both/open", recursive=True)


def test_directories_of_several_nameservices_are_listed_in_one_call(
    fs: FileSystem, rpc: RpcClient
) -> None:
    for path in ("/east/batch", "/west/batch"):
        for number in range(5):
            fs.write_bytes(f"{path}/{number}", b"")
    paths = ["/east/batch", "/nowhere", "/west/batch", "/deep"]
    found: dict[int, list[bytes]] = {}
    failed: dict[int, str] = {}
    start = b""
    while True:
        request = pb.GetBatchedListingRequestProto(
            paths=paths, startAfter=start, needLocation=False
        )
        answer = rpc.call("getBatchedListing", request, pb.GetBatchedListingResponseProto)
        for part in answer.listings:
            found.setdefault(part.parentIdx, []).extend(each.path for each in part.partialListing)
            if part.HasField("exception"):
                failed[part.parentIdx] = part.exception.className
        if not answer.hasMore:
            break
        start = answer.startAfter
    five = [str(number).encode() for number in range(5)]
    assert found == {0: five, 1: [], 2: five, 3: [b"er"]}
    assert list(failed) == [1]
    assert "NoLocationException" in failed[1]


def test_statistics_are_those_of_all_nameservices(
    fs: FileSystem, howdah_cluster: MiniCluster, west: MiniCluster
) -> None:
    nodes = fs.datanode_report("live")
    assert len(nodes) == 4
    assert {node.rack.split("/")[1] for node in nodes} == {"east", "west"}
    with howdah_cluster.connect() as one, west.connect() as other:
        parts = one.get_status().capacity + other.get_status().capacity
    assert fs.get_status().capacity == parts


def test_what_a_router_refuses_it_names(rpc: RpcClient) -> None:
    request = pb.ListEncryptionZonesRequestProto(id=0)
    inode = pb.GetFileInfoRequestProto(src="/.reserved/.inodes/16385")
    with pytest.raises(errors.UnsupportedOperation, match="listEncryptionZones"):
        rpc.call("listEncryptionZones", request, pb.ListEncryptionZonesResponseProto)
    with pytest.raises(errors.UnsupportedOperation, match="belong to one namenode"):
        rpc.call("getFileInfo", inode, pb.GetFileInfoResponseProto)


def routed(fs: HdfsFileSystem) -> list[str]:
    """The cache pools of this test: a cluster that tests share may have others."""
    names = [pool.name for pool in fs.list_cache_pools()]
    return [name for name in names if name.startswith("routed")]


@pytest.mark.req("FS-241")
def test_a_cache_pool_is_one_in_all_nameservices(
    fs: FileSystem, howdah_cluster: MiniCluster, west: MiniCluster
) -> None:
    assert isinstance(fs, HdfsFileSystem)
    pools = [f"routed{number}" for number in range(5)]
    with howdah_cluster.connect() as east_fs, west.connect() as west_fs:
        assert isinstance(east_fs, HdfsFileSystem)
        assert isinstance(west_fs, HdfsFileSystem)
        # One is there already, as after a call that not all nameservices heard of.
        west_fs.add_cache_pool(pools[0])
        for name in pools:
            fs.add_cache_pool(name, limit_bytes=1000)
        for each in (east_fs, fs):
            assert routed(each) == pools
        fs.modify_cache_pool(pools[1], limit_bytes=7)
        for each in (east_fs, west_fs, fs):
            assert {pool.name: pool.limit_bytes for pool in each.list_cache_pools()}[pools[1]] == 7
        with pytest.raises(errors.InvalidRequest, match="already exists"):
            fs.add_cache_pool(pools[0])
        east_fs.remove_cache_pool(pools[0])
        for name in pools:
            fs.remove_cache_pool(name)
        assert routed(east_fs) == routed(west_fs) == []
        with pytest.raises(errors.InvalidRequest):
            fs.remove_cache_pool(pools[0])


@pytest.mark.req("FS-241")
def test_a_cache_directive_is_that_of_its_paths_nameservice(
    fs: FileSystem, howdah_cluster: MiniCluster, west: MiniCluster
) -> None:
    assert isinstance(fs, HdfsFileSystem)
    fs.add_cache_pool("routed")
    with howdah_cluster.connect() as east_fs, west.connect() as west_fs:
        assert isinstance(east_fs, HdfsFileSystem)
        assert isinstance(west_fs, HdfsFileSystem)
        # What is mounted nowhere is not the router's, and fills whole pages.
        for number in range(3):
            west_fs.add_cache_directive(f"/unmounted{number}", "routed")
        made = {}
        for mount in ("/east", "/west"):
            for number in range(3):
                path = f"{mount}/cached{number}"
                made[fs.add_cache_directive(path, "routed")] = path
        assert len(made) == 6
        assert {each.directive_id: each.path for each in fs.list_cache_directives()} == made
        assert {each.path for each in east_fs.list_cache_directives()} == {
            f"/router/e/cached{number}" for number in range(3)
        }
        for number, path in made.items():
            assert [each.path for each in fs.list_cache_directives(directive_id=number)] == [path]
            assert [each.directive_id for each in fs.list_cache_directives(path=path)] == [number]
        # Both namenodes count from 1: only the one that is meant loses its directive.
        first, *rest = made
        fs.remove_cache_directive(first)
        assert [each.directive_id for each in fs.list_cache_directives()] == sorted(rest)
        with pytest.raises(errors.InvalidRequest, match=str(first)):
            fs.remove_cache_directive(first)
        with pytest.raises(errors.InvalidRequest, match="No directive with ID 1 found"):
            fs.remove_cache_directive(1)
        moved = next(number for number, path in made.items() if path == "/west/cached0")
        fs.modify_cache_directive(moved, path="/deep/er/mount/x", replication=2)
        (found,) = fs.list_cache_directives(directive_id=moved)
        assert (found.path, found.replication) == ("/deep/er/mount/x", 2)
        with pytest.raises(errors.InvalidRequest, match="is not in it"):
            fs.modify_cache_directive(moved, path="/east/x")
        with pytest.raises(errors.NoLocation):
            fs.add_cache_directive("/nowhere", "routed")
        with pytest.raises(errors.InvalidRequest):
            fs.add_cache_directive("/both/x", "absent")
        # In all destinations, or in none.
        twice = fs.add_cache_directive("/both/x", "routed")
        paths = [each.path for each in fs.list_cache_directives(path="/both/x")]
        assert paths == ["/both/x"] * 2
        assert twice in {each.directive_id for each in fs.list_cache_directives(path="/both/x")}
    fs.remove_cache_pool("routed")
    assert fs.list_cache_directives() == []


def test_snapshots_have_the_routers_paths(fs: FileSystem) -> None:
    assert isinstance(fs, HdfsFileSystem)
    fs.mkdirs("/west/snapped")
    fs.allow_snapshot("/west/snapped")
    fs.write_bytes("/west/snapped/file", b"old")
    assert str(fs.create_snapshot("/west/snapped", "s1")).endswith("/west/snapped/.snapshot/s1")
    fs.delete("/west/snapped/file")
    assert fs.read_bytes("/west/snapped/.snapshot/s1/file") == b"old"
    listed = fs.list_snapshottable_directories()
    assert "/west/snapped" in str(listed)
    assert "/router/w" not in str(listed)
    assert "/west/snapped" in str(fs.list_snapshots("/west/snapped"))
    differences = fs.snapshot_diff("/west/snapped", "s1")
    assert "/router/w" not in str(differences)
    fs.delete_snapshot("/west/snapped", "s1")
    fs.disallow_snapshot("/west/snapped")
