"""Bulk work between our cluster and one of Hadoop's own servers, and on theirs alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.copy.options import attributes
from howdah.fs.acl import parse_acl
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.administration import Administration
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.registry import connect
from howdah.fs.webhdfs.filesystem import WebHdfsFileSystem
from howdah.spark import Options, Outcome, compact, distcp, namespace, verify
from howdah.testing import MiniCluster
from howdah.testing.trees import Tree, make_tree, read_tree
from tests.support.hadoop.distcp import HadoopCluster, HadoopDistCp
from tests.support.replicas import replicas_of

pytestmark = pytest.mark.timeout(240)

MIB = 1 << 20
ALL = attributes("rbugpcaxt")
TREE: Tree = {
    "plain": b"1" * 1000,
    "d": None,
    "d/two words, 50%20": b"22",
    "d/e": None,
    "d/e/ü\n": b"3",
    "empty": b"",
    "none": None,
    "big": bytes(range(251)) * 20 * 1024,
}
CODED, CODED_UNITS = "XOR-2-1-1024k", 3
DIRECTIONS = ["to Apache's", "from Apache's"]


TO_APACHES = pytest.mark.parametrize("pair", DIRECTIONS[:1], indirect=True)


@pytest.fixture(scope="module")
def apache(java: HadoopDistCp, tmp_path_factory: pytest.TempPathFactory) -> HadoopCluster:
    return java.start_cluster(tmp_path_factory.mktemp("apache"), CODED_UNITS)


@dataclass
class Pair:
    """A directory of the test's own on two clusters, one of them Apache's."""

    spark: Any
    here: FileSystem
    there: FileSystem
    root: str
    conf: Configuration

    def copy(self, source: str, target: str, **options: Any) -> Outcome:
        return distcp(
            self.spark,
            f"{self.here.uri}{self.root}/{source}",
            f"{self.there.uri}{self.root}/{target}",
            options=Options(**options),
            conf=self.conf,
        )


@pytest.fixture(params=DIRECTIONS)
def pair(
    spark: Any, howdah_cluster: MiniCluster, apache: HadoopCluster, request: Any
) -> Iterator[Pair]:
    root = "/apache/" + re.sub(r"\W", "_", request.node.name)
    conf = Configuration({**dict(howdah_cluster.conf.items()), "fs.trash.interval": "60"})
    with howdah_cluster.connect() as ours, connect(apache.uri, conf=conf) as theirs:
        here, there = (ours, theirs) if request.param == DIRECTIONS[0] else (theirs, ours)
        for fs in (here, there):
            fs.mkdirs("/user")
            fs.mkdirs(root)
        yield Pair(spark, here, there, root, conf)


def make(fs: FileSystem, path: str) -> None:
    """The tree, with something of every attribute."""
    make_tree(fs, path, TREE)
    big = TREE["big"]
    assert big is not None
    with fs.create(f"{path}/big", overwrite=True, replication=1, block_size=MIB) as out:
        out.write(big)
    fs.set_xattr(f"{path}/plain", "user.mark", b"x")
    fs.set_xattr(f"{path}/d", "user.empty", b"")
    fs.set_acl(f"{path}/d", parse_acl("user::rwx,user:bob:r-x,group::---,other::---"))
    for name, mode in (("/plain", 0o640), ("/none", 0o1055), ("", 0o700)):
        fs.set_permission(path + name, mode)
        fs.set_owner(path + name, "anna", "staff")
        fs.set_times(path + name, 1_500_000_000_000 + mode)


def seen(fs: FileSystem, path: str) -> dict[str, tuple[Any, ...]]:
    """All that `-p` preserves, and what files have in them."""
    found: dict[str, tuple[Any, ...]] = {}
    statuses = [fs.get_file_status(path)]
    for _, directories, files in fs.walk(path):
        statuses += directories + files
    for status in statuses:
        checksum = None
        if status.length:
            checksum = fs.get_file_checksum(status.path, combine_mode="MD5MD5CRC")
        found[status.path.removeprefix(path)] = (
            checksum,
            status.permission,
            status.owner,
            status.group,
            status.replication,
            status.block_size,
            status.modification_time_ms,
            fs.get_xattrs(status.path),
            fs.get_acl_status(status.path).all_entries() if status.has_acl else None,
        )
    return found


@pytest.mark.req("FS-158", "LM-022", "LM-063")
def test_tree_is_the_same_on_the_other_cluster_and_once_copied_not_copied_again(
    pair: Pair,
) -> None:
    make(pair.here, f"{pair.root}/src")
    pair.copy("src", "dst", preserve=ALL)
    assert seen(pair.there, f"{pair.root}/dst") == seen(pair.here, f"{pair.root}/src")
    assert read_tree(pair.there, f"{pair.root}/dst") == TREE
    again = pair.copy("src", "dst", update=True, preserve=ALL).counters
    assert (again.files_copied, again.files_skipped) == (0, 5)
    assert again.skipped_by_checksum == 4  # and an empty one


@TO_APACHES
def test_large_file_is_copied_in_parts_and_joined_on_the_other_cluster(pair: Pair) -> None:
    make(pair.here, f"{pair.root}/src")
    pair.copy("src/big", "big", blocks_per_chunk=2)
    with pair.there.open(f"{pair.root}/big") as stream:
        assert stream.read() == TREE["big"]
    assert pair.there.get_file_status(f"{pair.root}/big").block_size == MIB


@pytest.mark.req("FS-164")
def test_update_appends_and_moves_to_the_trash_on_the_other_cluster(pair: Pair) -> None:
    make_tree(pair.here, f"{pair.root}/src", {"log": b"one", "same": b"2"})
    make_tree(pair.there, f"{pair.root}/dst", {"log": b"one", "same": b"2", "old/f": b"3"})
    with pair.here.append(f"{pair.root}/src/log") as out:
        out.write(b"two")
    done = pair.copy("src", "dst", update=True, append=True, delete=True).counters
    assert read_tree(pair.there, f"{pair.root}/dst") == {"log": b"onetwo", "same": b"2"}
    assert (done.bytes_copied, done.files_skipped, done.entries_deleted) == (3, 1, 1)
    home = pair.there.home_directory()
    assert pair.there.exists(f"{home}/.Trash/Current{pair.root}/dst/old/f")


@TO_APACHES
def test_atomic_copy_appears_as_a_whole_on_the_other_cluster(pair: Pair) -> None:
    make_tree(pair.here, f"{pair.root}/src", TREE)
    pair.copy("src", "new/dst", atomic=True)
    assert read_tree(pair.there, f"{pair.root}/new") == {
        "dst": None,
        **{f"dst/{name}": content for name, content in TREE.items()},
    }


@pytest.mark.req("FS-158", "LM-022")
def test_hadoops_own_distcp_moves_a_tree_between_the_clusters(
    pair: Pair, java: HadoopDistCp
) -> None:
    make(pair.here, f"{pair.root}/src")
    words = [f"{pair.here.uri}{pair.root}/src", f"{pair.there.uri}{pair.root}/dst"]
    assert java.run(["-prbugpcaxt", *words]).exit_code == 0
    assert seen(pair.there, f"{pair.root}/dst") == seen(pair.here, f"{pair.root}/src")
    # Each takes what the other one has copied for what it is.
    again = java.run(["-update", *words])
    assert (again.exit_code, again.files_copied, again.files_skipped) == (0, 0, 5)
    assert pair.copy("src", "dst", update=True).counters.files_copied == 0


def coded(fs: FileSystem, path: str) -> dict[str, tuple[str | None, str | None]]:
    """The policy and the checksum of each file and directory."""
    own = fs.get_file_status(path).erasure_coding_policy
    found: dict[str, tuple[str | None, str | None]] = {"": (own, None)}
    for _, directories, files in fs.walk(path):
        for status in directories:
            name = status.path.removeprefix(path)
            found[name] = (status.erasure_coding_policy, None)
        for status in files:
            name = status.path.removeprefix(path)
            found[name] = (
                status.erasure_coding_policy,
                str(fs.get_file_checksum(status.path, combine_mode="COMPOSITE_CRC")),
            )
    return found


@pytest.mark.req("FS-158")
def test_erasure_coding_policies_are_kept_on_the_other_cluster(
    pair: Pair, java: HadoopDistCp
) -> None:
    for fs in (pair.here, pair.there):
        assert isinstance(fs, HdfsFileSystem)
        fs.client.namenode.enable_erasure_coding_policy(CODED)
    source = f"{pair.root}/src"
    pair.here.mkdirs(f"{source}/d/e")
    pair.here.set_erasure_coding_policy(f"{source}/d", CODED)
    make_tree(pair.here, source, {"d/tiny": b"1" * 10, "d/e/long": bytes(range(251)) * 20_000})
    make_tree(pair.here, source, {"plain": b"2" * 1000})
    expected = coded(pair.here, source)
    assert {name: policy for name, (policy, _) in expected.items()} == {
        "": None,
        "/plain": None,
        **dict.fromkeys(("/d", "/d/e", "/d/tiny", "/d/e/long"), CODED),
    }
    pair.copy("src", "ours", preserve=attributes("e"))
    assert coded(pair.there, f"{pair.root}/ours") == expected
    words = [f"{pair.here.uri}{source}", f"{pair.there.uri}{pair.root}/hadoops"]
    assert java.run(["-pe", *words]).exit_code == 0
    assert coded(pair.there, f"{pair.root}/hadoops") == expected
    # Each takes what the other one has copied for what it is.
    again = pair.copy("src", "hadoops", update=True, preserve=attributes("e")).counters
    assert (again.files_copied, again.files_skipped) == (0, 3)
    words[-1] = f"{pair.there.uri}{pair.root}/ours"
    done = java.run(["-update", "-pe", *words])
    assert (done.exit_code, done.files_copied, done.files_skipped) == (0, 0, 3)
    # Without -pe they are replicated, and by their composite checksums the same.
    pair.copy("src", "replicated")
    assert {policy for policy, _ in coded(pair.there, f"{pair.root}/replicated").values()} == {None}
    again = pair.copy("src", "replicated", update=True).counters
    assert (again.files_copied, again.skipped_by_checksum) == (0, 3)


# -- on Apache's cluster alone -------------------------------------------------------------


@pytest.fixture
def theirs(apache: HadoopCluster) -> Iterator[HdfsFileSystem]:
    with connect(apache.uri, conf=apache.conf) as fs:
        assert isinstance(fs, HdfsFileSystem)
        yield fs


def test_verify_finds_a_damaged_replica_of_apaches(
    spark: Any, apache: HadoopCluster, theirs: HdfsFileSystem
) -> None:
    for name in ("sound", "damaged"):
        make_tree(theirs, f"/verify/{name}", {"f": b"x" * 5000})
    for name in ("sound", "damaged"):
        with theirs.create(f"/verify/{name}/f", overwrite=True, replication=2) as out:
            out.write(name.encode() * 1000)
    replicas_of(apache, "/verify/damaged/f")[0][0].flip(1000)
    with verify(spark, "/verify", conf=apache.conf) as found:
        assert found.sums.replicas == {"corrupt": 1, "sound": 3}
        (problem,) = found.problems(10)
        assert (problem.path, problem.verdict) == (b"/verify/damaged/f", "corrupt")


def test_namespace_of_apaches_live_and_from_its_image(
    spark: Any, apache: HadoopCluster, theirs: HdfsFileSystem
) -> None:
    make(theirs, "/namespace")
    theirs.set_safe_mode("enter")
    Administration(theirs.client.namenode).save_namespace()
    theirs.set_safe_mode("leave")
    live = namespace(spark, "/namespace", conf=apache.conf)
    image = namespace(spark, apache.image().as_uri(), conf=apache.conf)
    shown = ["path", "type", "length", "space", "blocks", "permission", "owner"]
    expected = {tuple(row) for row in live.select(shown).collect()}
    below = image.where("path = '/namespace' or path like '/namespace/%'").select(shown)
    assert {tuple(row) for row in below.collect()} == expected
    assert {path for path, *_ in expected} == {
        "/namespace",
        *(f"/namespace/{name}" for name in TREE),
    }
    live.unpersist()
    image.unpersist()


def test_small_files_of_apaches_are_compacted(
    spark: Any, apache: HadoopCluster, theirs: HdfsFileSystem
) -> None:
    make_tree(theirs, "/compact", {f"f{i}.txt": b"line %d\n" % i for i in range(8)})
    compact(spark, "/compact", conf=apache.conf)
    (content,) = read_tree(theirs, "/compact").values()
    assert content == b"".join(b"line %d\n" % i for i in range(8))


def test_an_erasure_coded_file_is_copied_with_its_policy_or_without(
    spark: Any, apache: HadoopCluster, theirs: HdfsFileSystem, java: HadoopDistCp
) -> None:
    java.make_striped("/striped")
    make_tree(theirs, "/whole", {"f": b"x" * 100_000})
    # Their checksums are of another kind.
    words = ["-update", "-skipcrccheck", f"{apache.uri}/whole", f"{apache.uri}/striped"]
    assert java.run(words).exit_code == 0
    keep = Options(preserve=attributes("e"))
    distcp(spark, "/striped", "/kept", options=keep, conf=apache.conf)
    distcp(spark, "/striped", "/copied", conf=apache.conf)
    for target, is_coded in (("/kept", True), ("/copied", False)):
        (content,) = read_tree(theirs, target).values()
        assert content == b"x" * 100_000
        assert theirs.get_file_status(f"{target}/f").is_erasure_coded is is_coded


BEFORE: Tree = {"same": b"1", "a": b"2", "b": b"3", "d": None, "d/x": b"4", "gone": b"5"}
AFTER: Tree = {"same": b"1", "a": b"3", "b": b"2", "n": None, "n/d": None, "n/d/x": b"44"}


@pytest.mark.req("FS-158")
def test_target_follows_snapshots_and_goes_back(pair: Pair) -> None:
    src, dst = f"{pair.root}/src", f"{pair.root}/dst"
    here, there = pair.here, pair.there
    assert isinstance(here, HdfsFileSystem)
    assert isinstance(there, HdfsFileSystem)
    for fs, path in ((here, src), (there, dst)):
        make_tree(fs, path, BEFORE)
        fs.allow_snapshot(path)
        fs.create_snapshot(path, "s1")
    for old, new in (("a", "t"), ("b", "a"), ("t", "b")):
        here.rename(f"{src}/{old}", f"{src}/{new}")
    make_tree(here, f"{src}/n", {})
    here.rename(f"{src}/d", f"{src}/n/d")
    here.delete(f"{src}/gone")
    make_tree(here, src, {"n/d/x": b"44"})
    here.create_snapshot(src, "s2")
    outcome = pair.copy("src", "dst", update=True, diff=("s1", "s2"))
    assert read_tree(there, dst) == AFTER
    assert (outcome.counters.entries_renamed, outcome.counters.files_copied) == (3, 1)
    there.create_snapshot(dst, "s2")
    pair.copy("src", "dst", update=True, reverse_diff=("s2", "s1"))
    assert read_tree(there, dst) == BEFORE


@pytest.mark.req("FS-250", "FS-251")
def test_our_client_over_http_at_apaches_servers(
    apache: HadoopCluster, theirs: HdfsFileSystem
) -> None:
    """Not of Spark, but this is where Apache's servers run."""
    address = apache.http_address.removeprefix("http://").rstrip("/")
    data = bytes(range(251)) * 20_000
    with connect(f"webhdfs://{address}/", conf=Configuration({})) as web:
        assert isinstance(web, WebHdfsFileSystem)
        path = "/web/d/a b+c%20;ü"
        with web.create(path, block_size=MIB, replication=2, permission=0o640) as out:
            out.write(data)
        with pytest.raises(errors.PathExists):
            web.create(path).close()
        with web.append(path) as out:
            out.write(b"more")
        with web.open(path) as stream:
            assert stream.pread(MIB - 10, 20) == data[MIB - 10 : MIB + 10]
            stream.seek(-3, 2)
            assert stream.read() == b"ore"
            stream.seek(0)
            assert stream.read() == data + b"more"
        web.set_xattr("/web/d", "user.mark", b"\x00\xff")
        web.set_times(path, 5000, 6000)
        web.set_storage_policy("/web/d", "COLD")
        web.allow_snapshot("/web/d")
        web.create_snapshot("/web/d", "s0")
        web.create("/web/d/new").close()
        web.create_snapshot("/web/d", "s1")
        for name in ("/web", "/web/d", path, "/web/d/new"):
            assert web.get_file_status(name) == theirs.get_file_status(name)
            assert web.list_status(name) == theirs.list_status(name)
            # Their JSON leaves out types of storage without a quota.
            assert web.content_summary(name) == replace(
                theirs.content_summary(name), type_quotas=()
            )
            assert web.get_xattrs(name) == theirs.get_xattrs(name)
            assert web.get_storage_policy(name) == theirs.get_storage_policy(name)
        assert web.get_file_checksum(path) == theirs.get_file_checksum(path)
        assert [each.offset for each in web.block_locations(path)] == [
            each.offset for each in theirs.block_locations(path)
        ]
        assert web.snapshot_diff("/web/d", "s0", "s1") == theirs.snapshot_diff("/web/d", "s0", "s1")
        assert web.list_snapshots("/web/d") == theirs.list_snapshots("/web/d")
        assert web.get_storage_policies() == theirs.get_storage_policies()
        assert web.server_defaults() == theirs.server_defaults()
        assert web.home_directory() == theirs.home_directory()
        web.rename(path, "/web/moved")
        with pytest.raises(errors.PathNotFound):
            web.open(path)
        for name in ("s0", "s1"):
            web.delete_snapshot("/web/d", name)
        web.disallow_snapshot("/web/d")
        assert web.delete("/web", recursive=True)
