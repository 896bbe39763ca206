"""Views of Hadoop's ViewFileSystem and of ours, with one mount table: the same calls on
equal trees of two namespaces have the same outcome and leave the same trees.
"""

from __future__ import annotations

import dataclasses
import random
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pytest

import howdah
from howdah import errors
from howdah.config import Configuration
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.status import FsStatistics
from howdah.fs.viewfs.filesystem import ViewFileSystem
from howdah.spark import distcp, namespace
from howdah.testing import MiniCluster
from tests.support.views import Ours, Outcome, Theirs

pytestmark = pytest.mark.timeout(240)

SIDES = ("ours", "java")
BASE = "/viewfs-java"
TABLES: dict[str, dict[str, str]] = {
    # ONE and TWO are the namespaces' directories of a side.
    "usual": {
        "link./user": "ONE/user",
        "link./alias": "ONE/user",
        "link./other": "ONE/other",
        "link./share/data": "TWO/data",
        "link./share/more": "TWO/more",
        "link./gone": "ONE/gone",
    },
    "solid": {"link./user": "ONE/user", "link./share/data": "TWO/data"},
    "fallback": {
        "link./user": "ONE/user",
        "link./share/data": "TWO/data",
        "link./lonely/x": "ONE/other",
        "linkFallback": "ONE/rest",
    },
    "slash": {"linkMergeSlash": "TWO"},
    "nested": {"link./a": "ONE/user", "link./a/b/c": "TWO/data"},
    "regex": {r"linkRegex.^/u/(?<who>\w+)": "ONE/home/$who"},
    "replaced": {r"linkRegex.replaceresolveddstpath:_:-#.^/u/(\w+)": "ONE/home/$1"},
    "nfly": {"linkNfly../n": "ONE/user,TWO/more"},
    "home": {"homedir": "/home", "link./home": "TWO/data"},
}

Call = tuple[Any, ...]
Sides = tuple[Ours, Theirs]
DENIED = "org.apache.hadoop.security.AccessControlException"
NO_MOUNT = "org.apache.hadoop.fs.viewfs.NotInMountpointException"
NOT_FOUND = "java.io.FileNotFoundException"
IO_ERROR = "java.io.IOException"
UNSUPPORTED = "java.lang.UnsupportedOperationException"


@dataclass(frozen=True)
class Unlike:
    """A call whose outcomes are meant to differ, and why."""

    call: Call
    ours: Outcome
    java: Outcome
    why: str


STATUSES: list[Call | Unlike] = [
    *(
        (name, path)
        for name in ("status", "link_status", "acl", "block_size")
        for path in ("/", "/share", "/user", "/user/f", "/share/data/sub", "/nowhere", "/user/none")
    ),
    *(
        (name, path)
        for name in ("resolve", "capability")
        for path in ("/user", "/user/f", "/share/data/sub", "/nowhere")
    ),
    *(("resolve", path) for path in ("/", "/share")),
    Unlike(("resolve", "/user/none"), "ONE/user/none", NOT_FOUND, "where it would be"),
    Unlike(("capability", "/share"), False, "java.lang.RuntimeException", "a fault of Hadoop's"),
]
ALL_NAMES = ("/", "/share", "/user", "/user/f", "/share/data", "/nowhere", "/user/none")
SCENES: dict[str, tuple[str, list[Call | Unlike]]] = {
    "statuses": ("usual", STATUSES),
    "listings": (
        "usual",
        [
            *(("listing", path) for path in (*ALL_NAMES, "/user/d")),
            *(("glob", pattern) for pattern in ("/*", "/user/*", "/share/data/*", "/x*")),
            Unlike(("glob", "/u*/f"), ["/user/f"], [], "a mount point leads to a directory"),
        ],
    ),
    "reading": (
        "usual",
        [
            (name, path)
            for name in ("read", "checksum", "blocks")
            for path in ("/user/f", "/share", "/", "/nowhere/x", "/user/none")
        ],
    ),
    "making": (
        "usual",
        [
            *(("create_plain", path) for path in ("/share/data/new", "/user/a/b", "/user/f")),
            Unlike(
                ("create_plain", "/share/new"),
                (DENIED, "create"),
                IO_ERROR,
                "refused as any other new file, not as unknown to Hadoop's class",
            ),
            Unlike(("mkdirs", "/"), True, (DENIED, "mkdirs"), "it is there, as /share is"),
            *(
                (name, path)
                for name in ("create", "mkdirs")
                for path in (
                    "/new",
                    "/share",
                    "/share/new",
                    "/share/data",
                    "/share/data/new",
                    "/share/data/a/b",
                    "/user/f",
                    "/user/f/x",
                    "/nowhere/new",
                    "/nowhere/new/er",
                )
            ),
            ("create", "/"),
            ("create", "/user/f", True),
            ("append", "/user/f"),
            ("append", "/share"),
            ("append", "/user/none"),
            ("truncate", "/user/f"),
            ("truncate", "/share"),
        ],
    ),
    "deleting": (
        "usual",
        [
            *(("delete", path) for path in ("/", "/share", "/share/data", "/user", "/gone")),
            *(("delete", path) for path in ("/user/d", "/user/none", "/share/data/g")),
            Unlike(("delete", "/nowhere/x"), False, NOT_FOUND, "as all that is not there"),
        ],
    ),
    "attributes": (
        "usual",
        [
            (name, path)
            for name in (
                "set_permission",
                "set_owner",
                "set_times",
                "set_replication",
                "set_acl",
                "acl",
                "remove_acl",
                "set_xattr",
                "xattr",
                "xattrs",
                "remove_xattr",
                "set_policy",
                "policy",
                "unset_policy",
                "status",
            )
            for path in ("/", "/share", "/user/f", "/share/data/sub", "/nowhere/x", "/user/none")
        ],
    ),
    "access": (
        "usual",
        [
            ("access", path, mode)
            for path in ("/", "/share", "/user/f", "/user/d", "/nowhere/x")
            for mode in ("r", "x", "rx", "w", "rw")
        ],
    ),
    "satisfying": ("usual", [("satisfy_policy", "/"), ("satisfy_policy", "/share")]),
    "links": (
        "usual",
        [
            *(("link_target", path) for path in ("/user/f", "/user/none", "/nowhere/x")),
            Unlike(("link_target", "/share"), NO_MOUNT, UNSUPPORTED, "a kind of the same"),
            Unlike(("link_target", "/other"), "ONE/other", IO_ERROR, "as the listing has it"),
        ],
    ),
    "snapshots": (
        "usual",
        [
            *(("snapshot", path) for path in ("/share", "/share/data", "/user/none")),
            Unlike(
                ("snapshot", "/share/more"),
                "/share/more/.snapshot/s1",
                "SIDE/more/.snapshot/s1",
                "a path of the view, which can be read in it",
            ),
            *(
                (name, path)
                for name in ("rename_snapshot", "delete_snapshot")
                for path in ("/share", "/share/more", "/share/data", "/user/none")
            ),
        ],
    ),
    "summaries": (
        "solid",
        [("summary", path) for path in ("/", "/share", "/user", "/user/f", "/nowhere")],
    ),
    "room and quotas": (
        "solid",
        [
            *(("usage", path) for path in ("/user", "/user/f", "/share", "/", "/user/none")),
            # Of "/" and "/share" Hadoop answers for the very object InodeTree.SlashPath alone.
            *(("room", path) for path in ("/user", "/share/data", "/nowhere")),
            ("room",),
        ],
    ),
    "home and trash": (
        "usual",
        [
            ("home",),
            *(("trash", path) for path in ("/user/f", "/share/data/g")),
            ("children",),
        ],
    ),
    "home elsewhere": ("home", [("home",), ("listing", "/")]),
    "fallback": (
        "fallback",
        [
            *(("listing", path) for path in ("/", "/share", "/user", "/lonely")),
            *(("status", path) for path in ("/share", "/share/own", "/top", "/user/hidden")),
            ("read", "/top"),
            ("summary", "/share"),
            *(
                (name, path)
                for name in ("create", "mkdirs")
                for path in (
                    "/",
                    "/n1",
                    "/share/n2",
                    "/share/data",
                    "/user",
                    "/share",
                    "/deep/n3",
                    "/lonely/n4",
                    "/lonely",
                )
            ),
            ("rename", "/top", "/share/top"),
            ("rename", "/share/top", "/again"),
            Unlike(
                ("rename", "/again", "/share/data"),
                (DENIED, "rename"),
                IO_ERROR,
                "nothing takes the place of a mount point, whatever the strategy",
            ),
            ("rename", "/again", "/user/again"),
            ("rename", "/share", "/elsewhere"),
            ("rename", "/user", "/elsewhere"),
            ("rename", "/user/f", "/top2"),
            *(("delete", path) for path in ("/share", "/share/own", "/again", "/user", "/")),
            *(("resolve", path) for path in ("/", "/share", "/n1")),
            ("listing", "/"),
        ],
    ),
    "merge slash": (
        "slash",
        [
            # Hadoop lists what is in a target below its root under other paths.
            *(("status", path) for path in ("/", "/data/g", "/none")),
            *(("mkdirs", path) for path in ("/", "/n1", "/n1/n2")),
            *(("create", path) for path in ("/", "/f1", "/data")),
            Unlike(
                ("rename", "/", "/moved"),
                (DENIED, "rename"),
                "java.lang.IllegalStateException",
                "nobody can rename a mount point",
            ),
            ("rename", "/f1", "/moved"),
            ("summary", "/"),
            ("resolve", "/data"),
            ("trash", "/data/g"),
            ("set_permission", "/data"),
            ("delete", "/moved"),
            ("delete", "/"),
        ],
    ),
    "nested": (
        "nested",
        [
            *(("status", path) for path in ("/a", "/a/f", "/a/b/c", "/a/b/c/g")),
            *(("listing", path) for path in ("/", "/a", "/a/b/c")),
            ("create", "/a/n1"),
            ("create", "/a/b/c/n2"),
            ("mkdirs", "/a/b/c/n3/n4"),
            ("rename", "/a/b/c/n2", "/a/b/c/n5"),
            ("rename", "/a/n1", "/a/b/c/n6"),
            ("delete", "/a/b/c"),
            ("delete", "/a"),
            ("delete", "/a/n1"),
        ],
    ),
    "regex": (
        "regex",
        [
            *(("status", path) for path in ("/u/ada", "/u/ada/f", "/u/bob", "/u/bob/x")),
            *(("listing", path) for path in ("/u/ada",)),
            ("create", "/u/ada/new"),
            ("mkdirs", "/u/ada/d/e"),
            ("read", "/u/ada/new"),
            ("rename", "/u/ada/new", "/u/bob/new"),
            Unlike(
                ("rename", "/u/ada/new", "/u/ada/moved"),
                True,
                IO_ERROR,
                "one match is one mount point; Hadoop makes a target anew for every path",
            ),
            Unlike(("delete", "/u/ada/moved"), True, False, "as it could be renamed"),
            Unlike(("delete", "/u/ada/new"), False, True, "as it could not"),
            ("delete", "/u/ada/d"),
        ],
    ),
    "several targets": (
        "nfly",
        [
            ("create", "/n/new"),
            ("read", "/n/new"),
            *(("read", path) for path in ("/n/f", "/n/none")),
            ("mkdirs", "/n/a/b"),
            ("create", "/n/a/b/c"),
            ("rename", "/n/a/b/c", "/n/a/moved"),
            ("read", "/n/a/moved"),
            ("glob", "/n/a/*"),
            ("delete", "/n/a/moved"),
            ("delete", "/n/a"),
            ("delete", "/n/none"),
            ("delete", "/n"),
            ("create", "/n"),
        ],
    ),
    "replaced": ("replaced", [("status", "/u/a_da/f"), ("read", "/u/a_da/f")]),
}
RENAMES: list[Call] = [
    ("rename", "/user/f", "/user/g"),
    ("rename", "/user/g", "/user/d/g"),
    ("rename", "/user/d/g", "/alias/f"),
    ("rename", "/alias/f", "/user/h"),
    ("rename", "/user/h", "/user/f"),
    ("rename", "/user/f", "/other/f"),
    ("rename", "/other/f", "/user/f"),
    ("rename", "/user/f", "/share/data/f"),
    ("rename", "/share/data/g", "/share/more/g"),
    ("rename", "/share/more/g", "/share/data/g"),
    ("rename", "/user/none", "/user/x"),
    ("rename", "/user", "/other/user"),
    ("rename", "/user/f", "/share"),
    ("rename", "/user/f", "/share/f"),
    ("rename", "/user", "/user"),
    ("rename", "/share", "/user/share"),
    ("rename", "/user/f", "/nowhere/f"),
    ("rename", "/nowhere/f", "/user/x"),
    ("rename", "/user/d", "/user/none/d"),
]


@dataclass(frozen=True)
class Namespaces:
    """Two namespaces, and views of Hadoop's and of ours on directories of their own in them."""

    one: MiniCluster
    two: MiniCluster
    spark: Any

    def conf(self, side: str, extra: dict[str, str]) -> Configuration:
        values = dict(extra)
        for table, entries in TABLES.items():
            for entry, target in entries.items():
                values[f"fs.viewfs.mounttable.{table}-{side}.{entry}"] = target
        for name, cluster in (("ONE", self.one), ("TWO", self.two)):
            there = f"{cluster.uri}{BASE}/{side}"
            values = {key: re.sub(rf"\b{name}\b", there, each) for key, each in values.items()}
        return self.one.conf.with_values({**values, "dfs.replication": "1"})

    def views(self, table: str, extra: Mapping[str, str] = MappingProxyType({})) -> Sides:
        conf = {side: self.conf(side, dict(extra)) for side in SIDES}
        uris = {side: table if "://" in table else f"viewfs://{table}-{side}/" for side in SIDES}
        ours = howdah.connect(uris["ours"], conf=conf["ours"])
        return Ours(ours), Theirs(self.spark, uris["java"], conf["java"])

    def fill(self) -> None:
        """Equal trees for both sides."""
        with self.one.connect() as one, self.two.connect() as two:
            for fs in (one, two):
                assert isinstance(fs, HdfsFileSystem)
                if fs.exists(f"{BASE}/ours/more"):
                    fs.disallow_snapshot(f"{BASE}/ours/more")
                fs.delete(BASE, recursive=True)
            for side in SIDES:
                top = f"{BASE}/{side}"
                for path in ("user/d/e", "other", "rest/user/hidden", "rest/share/own", "home/ada"):
                    one.mkdirs(f"{top}/{path}")
                for path in ("data/sub", "more"):
                    two.mkdirs(f"{top}/{path}")
                for path in ("user/f", "rest/top", "home/ada/f"):
                    write(one, f"{top}/{path}", path.encode())
                for path in ("data/g", "data/sub/h"):
                    write(two, f"{top}/{path}", path.encode())
                write(one, f"{top}/home/a-da/f", b"replaced")

    def plain(self, outcome: Outcome) -> Outcome:
        """An outcome without the names of namespaces and sides in it."""
        if isinstance(outcome, str):
            for name, cluster in (("ONE", self.one), ("TWO", self.two)):
                outcome = re.sub(rf"{cluster.uri}{BASE}/(ours|java)\b", name, outcome)
            return re.sub(rf"{BASE}/(ours|java)\b|-(ours|java)\b", "SIDE", outcome)
        if isinstance(outcome, dict):
            return {key: self.plain(value) for key, value in outcome.items()}
        if isinstance(outcome, list):
            return [self.plain(each) for each in outcome]
        return outcome

    def trees(self, side: str) -> list[object]:
        found: list[object] = []
        for cluster in (self.one, self.two):
            with cluster.connect() as fs:
                for _, directories, files in fs.walk(f"{BASE}/{side}"):
                    for each in (*directories, *files):
                        path = each.path.removeprefix(f"{BASE}/{side}")
                        found.append(
                            (path, each.is_directory, each.length, each.permission, each.owner)
                        )
        return sorted(found, key=str)


def write(fs: FileSystem, path: str, data: bytes) -> None:
    with fs.create(path, overwrite=True, replication=1) as out:
        out.write(data)


@pytest.fixture(scope="module")
def namespaces(spark: Any, howdah_cluster: MiniCluster) -> Iterator[Namespaces]:
    with MiniCluster(datanodes=1) as two:
        yield Namespaces(howdah_cluster, two, spark)


def differences(
    namespaces: Namespaces, calls: list[Call | Unlike], ours: Ours, theirs: Theirs
) -> list[str]:
    """What was not the same, or not unlike as it is said to be, a line each."""
    found = []
    for call in calls:
        plain = call.call if isinstance(call, Unlike) else call
        outcomes = [namespaces.plain(side(*plain)) for side in (ours, theirs)]
        expected = [call.ours, call.java] if isinstance(call, Unlike) else outcomes[1:] * 2
        if outcomes != expected:
            found.append(f"{call}: ours {outcomes[0]}, java {outcomes[1]}")
    trees = [namespaces.trees(side) for side in SIDES]
    if trees[0] != trees[1]:
        found.append(f"only ours {set(trees[0]) - set(trees[1])}")
        found.append(f"only java {set(trees[1]) - set(trees[0])}")
    return found


@pytest.mark.req("FS-043", "FS-047")
@pytest.mark.parametrize("scene", SCENES)
def test_a_view_is_what_hadoops_is(scene: str, namespaces: Namespaces) -> None:
    table, calls = SCENES[scene]
    namespaces.fill()
    if scene == "snapshots":
        with namespaces.two.connect() as fs:
            assert isinstance(fs, HdfsFileSystem)
            for side in SIDES:
                fs.allow_snapshot(f"{BASE}/{side}/more")
    ours, theirs = namespaces.views(table)
    found = "\n".join(differences(namespaces, calls, ours, theirs))
    assert found == ""


@pytest.mark.req("FS-047")
@pytest.mark.parametrize(
    "strategy",
    ["SAME_MOUNTPOINT", "SAME_TARGET_URI_ACROSS_MOUNTPOINT", "SAME_FILESYSTEM_ACROSS_MOUNTPOINT"],
)
def test_renames_cross_mount_points_as_hadoops_do(strategy: str, namespaces: Namespaces) -> None:
    namespaces.fill()
    ours, theirs = namespaces.views("usual", {"fs.viewfs.rename.strategy": strategy})
    found = "\n".join(differences(namespaces, list(RENAMES), ours, theirs))
    assert found == ""


def test_mount_points_are_shown_as_what_they_lead_to_as_hadoops_are(namespaces: Namespaces) -> None:
    namespaces.fill()
    ours, theirs = namespaces.views("fallback", {"fs.viewfs.mount.links.as.symlinks": "false"})
    calls: list[Call | Unlike] = [("listing", path) for path in ("/", "/share", "/lonely")]
    calls += [("glob", pattern) for pattern in ("/*/*", "/share/*/*", "/u*/f")]
    found = "\n".join(differences(namespaces, calls, ours, theirs))
    assert found == ""


@pytest.mark.parametrize("table", ["usual", "fallback"])
def test_the_trash_inside_mount_points_is_where_hadoops_is(
    table: str, namespaces: Namespaces
) -> None:
    namespaces.fill()
    ours, theirs = namespaces.views(table, {"fs.viewfs.trash.force-inside-mount-point": "true"})
    calls: list[Call | Unlike] = [
        ("trash", path) for path in ("/user/f", "/share/data/g", "/user/d", "/share/data/sub/h")
    ]
    found = "\n".join(differences(namespaces, calls, ours, theirs))
    assert found == ""


@pytest.mark.req("FS-240")
def test_what_is_done_counts_where_it_is_done_as_hadoops(namespaces: Namespaces) -> None:
    """Hadoop counts by scheme, in the whole process; ours by target."""
    namespaces.fill()
    ours, theirs = namespaces.views("solid")
    assert isinstance(ours.fs, ViewFileSystem)
    of_scheme = theirs.hadoop.fs.FileSystem.getGlobalStorageStatistics().get

    def counted(scheme: str) -> dict[str, int]:
        names = [field.name for field in dataclasses.fields(FsStatistics)]
        words = [re.sub("_(.)", lambda found: found[1].upper(), name) for name in names]
        return {
            name: of_scheme(scheme).getLong(word) for name, word in zip(names, words, strict=True)
        }

    calls: list[Call] = [
        *((name, "/user/f") for name in ("status", "link_status", "checksum", "summary", "read")),
        *((name, "/user/f") for name in ("usage", "room", "policy", "xattrs", "acl")),
        *(("listing", path) for path in ("/user", "/share")),
        *(("access", "/share/data/g", mode) for mode in ("r", "w")),
        *((name, "/share/data/new") for name in ("mkdirs", "set_permission", "set_times")),
        *((name, "/share/data/g") for name in ("set_replication", "set_xattr", "set_acl")),
        ("create", "/user/new"),
        ("append", "/user/new"),
        ("truncate", "/user/new"),
        ("rename", "/user/new", "/user/newer"),
        ("delete", "/user/newer"),
        ("delete", "/user/none"),
        ("delete", "/share"),
        ("status", "/user/none"),
    ]
    differing = []
    for call in calls:
        before = ours.fs.statistics(), counted("hdfs"), counted("viewfs")
        ours(*call), theirs(*call)
        after = ours.fs.statistics(), counted("hdfs"), counted("viewfs")
        mine = {name: getattr(after[0], name) - getattr(before[0], name) for name in before[1]}
        their = {name: after[1][name] - before[1][name] for name in before[1]}
        if mine != their or before[2] != after[2]:
            differing.append((call, mine, their))
    assert differing == []
    by_target = ours.fs.statistics_by_target()
    assert set(by_target) == {namespaces.one.uri, namespaces.two.uri}
    assert all(each.write_ops for each in by_target.values())


LAID_OVER = {
    "fs.hdfs.impl": "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme",
    "fs.viewfs.overload.scheme.target.hdfs.impl": "org.apache.hadoop.hdfs.DistributedFileSystem",
}


def test_a_scheme_laid_over_is_what_hadoops_is(namespaces: Namespaces) -> None:
    namespaces.fill()
    host = namespaces.one.uri.removeprefix("hdfs://").rpartition(":")[0]
    table = {
        f"fs.viewfs.mounttable.{host}.{entry}": target
        for entry, target in {
            "link./user": "ONE/user",
            "link./share/data": "TWO/data",
            "linkFallback": "ONE/rest",
        }.items()
    }
    ours, theirs = namespaces.views(f"{namespaces.one.uri}/", {**LAID_OVER, **table})
    calls: list[Call | Unlike] = [
        *(("listing", path) for path in ("/", "/share", "/share/data", "/user")),
        *(("status", path) for path in ("/", "/share", "/user/f", "/top", "/nowhere")),
        *(("resolve", path) for path in ("/", "/user/f", "/share/data/g")),
        *((name, path) for name in ("create", "mkdirs") for path in ("/n1", "/share/n2", "/user")),
        ("rename", "/user/f", "/share/data/f"),
        ("rename", "/n1", "/share/n1"),
        ("summary", "/share"),
        ("home",),
        ("trash", "/share/data/g"),
        ("children",),
        *(("delete", path) for path in ("/share", "/share/n2", "/share/n1", "/user")),
    ]
    found = "\n".join(differences(namespaces, calls, ours, theirs))
    assert found == ""


def test_a_scheme_laid_over_without_a_table_is_what_hadoops_is(namespaces: Namespaces) -> None:
    namespaces.fill()
    ours, theirs = namespaces.views(f"{namespaces.two.uri}/", LAID_OVER)
    one = namespaces.two.uri
    calls: list[Call | Unlike] = [
        ("home",),
        ("children",),
        ("status", "/"),
        *(("status", f"{BASE}/none/{name}") for name in ("", "x")),
        *(("listing", f"{one}{BASE}"),),
    ]
    found = "\n".join(differences(namespaces, calls, ours, theirs))
    assert found == ""


@dataclass(frozen=True)
class LaidOver:
    """`hdfs://NAME/` as a table over both namespaces, for Hadoop's client and for ours."""

    name: str
    options: dict[str, str]
    conf: Configuration
    places: dict[str, str]
    """The directory behind each mount point, by its own URI."""

    def uri(self, path: str) -> str:
        return f"hdfs://{self.name}{path}"


@pytest.fixture
def laid_over(namespaces: Namespaces) -> Iterator[LaidOver]:
    # A name of its own: Java keeps filesystems by their authority, not by their settings.
    name = f"laid-{uuid.uuid4().hex[:8]}"
    root = f"/spark-{name}"
    places = {"/one": f"{namespaces.one.uri}{root}", "/two": f"{namespaces.two.uri}{root}"}
    links = {f"fs.viewfs.mounttable.{name}.link.{mount}": at for mount, at in places.items()}
    options = {**LAID_OVER, **links, "dfs.replication": "1"}
    conf = namespaces.one.conf.with_values(options)
    with namespaces.one.connect() as one, namespaces.two.connect() as two:
        for fs in (one, two):
            fs.mkdirs(root)
        yield LaidOver(name, options, conf, places)
        for fs in (one, two):
            fs.delete(root, recursive=True)


@pytest.mark.req("FS-047", "FS-242")
def test_spark_jobs_run_on_a_scheme_laid_over_two_namespaces(
    namespaces: Namespaces, laid_over: LaidOver
) -> None:
    spark, options = namespaces.spark, laid_over.options
    frame = spark.range(1000).selectExpr("id", "id % 4 as part").repartition(3)
    frame.write.options(**options).partitionBy("part").parquet(laid_over.uri("/one/table"))
    found = spark.read.options(**options).parquet(laid_over.uri("/one/table"))
    found.where("part = 3").write.options(**options).parquet(laid_over.uri("/two/some"))
    found.limit(10).write.options(**options).mode("overwrite").parquet(laid_over.uri("/two/some"))
    found.where("part < 2").write.options(**options).mode("append").parquet(
        laid_over.uri("/two/some")
    )
    # Behind the table it is there under the namespaces' own names.
    assert spark.read.parquet(f"{laid_over.places['/one']}/table").count() == 1000
    assert spark.read.parquet(f"{laid_over.places['/two']}/some").count() == 510
    with howdah.connect(laid_over.uri("/"), conf=laid_over.conf) as view:
        assert [each.path for each in view.list_status("/")] == ["/one", "/two"]
        assert view.exists("/one/table/part=3")
        assert view.exists("/two/some/_SUCCESS")


@pytest.mark.req("FS-047", "FS-242")
def test_our_jobs_run_on_a_scheme_laid_over_two_namespaces(
    namespaces: Namespaces, laid_over: LaidOver
) -> None:
    files = {f"d/{number}": b"%d" % number * 1000 for number in range(4)}
    with howdah.connect(laid_over.uri("/"), conf=laid_over.conf) as view:
        for name, data in files.items():
            view.write_bytes(f"/one/source/{name}", data)
        outcome = distcp(
            namespaces.spark,
            [laid_over.uri("/one/source")],
            laid_over.uri("/two/copy"),
            conf=laid_over.conf,
        )
        assert outcome.counters.files_copied == len(files)
        for name, data in files.items():
            assert view.read_bytes(f"/two/copy/{name}") == data
    with namespaces.two.connect() as two:
        (there,) = two.list_status(paths.parse(laid_over.places["/two"]).path)
        assert there.name == "copy"
    rows = namespace(namespaces.spark, laid_over.uri("/two/copy"), conf=laid_over.conf)
    assert rows.where("type = 'file'").count() == len(files)
    rows.unpersist()


@pytest.mark.parametrize(
    "entries",
    [
        {},
        {"linkMerge./m": "ONE/user,ONE/other"},
        {"link./": "ONE/user"},
        {"link.user": "ONE/user"},
        {"link./a": "ONE/user", "link./a/b/c": "ONE/other", "NESTED": "false"},
        {"linkMergeSlash": "ONE/user", "link./a": "ONE/other"},
        {"linkFallback./x": "ONE/user"},
        {"bogus./x": "ONE/user"},
    ],
    ids=str,
)
def test_tables_that_hadoop_refuses_are_refused(
    entries: dict[str, str], namespaces: Namespaces
) -> None:
    extra = {f"fs.viewfs.mounttable.wrong.{entry}": target for entry, target in entries.items()}
    nested = extra.pop("fs.viewfs.mounttable.wrong.NESTED", "true")
    extra["fs.viewfs.mounttable.nested.mount.point.supported"] = nested
    with pytest.raises(errors.HowdahError):
        howdah.connect("viewfs://wrong/", conf=namespaces.conf("ours", extra)).exists("/a/x")
    with pytest.raises(Exception, match=r"(?i)viewfs|mount|link|path|scheme"):
        Theirs(namespaces.spark, "viewfs://wrong/", namespaces.conf("java", extra)).fs.exists(
            namespaces.spark._jvm.org.apache.hadoop.fs.Path("/a/x")
        )


NAMES = {
    "solid": ("/user", "/user/f", "/user/d", "/user/d/e", "/share", "/share/data/g", "/user/n"),
    "fallback": ("/user/f", "/share", "/share/own", "/share/n", "/top", "/n", "/n/o", "/user/d"),
}


@pytest.mark.parametrize("table", NAMES)
def test_any_history_leaves_what_hadoops_leaves(table: str, namespaces: Namespaces) -> None:
    namespaces.fill()
    ours, theirs = namespaces.views(table)
    dice = random.Random(47)
    calls: list[Call | Unlike] = []
    different: list[str] = []
    while len(calls) < 60 and not different:
        kind = dice.choice(("create", "mkdirs", "delete", "rename", "listing", "status"))
        call: Call = (kind, dice.choice(NAMES[table]))
        if kind == "rename":
            source, target = call[1], dice.choice(NAMES[table])
            if ours.fs.exists(target) or paths.is_under(target, source):
                continue  # Java's rename goes into a directory, and says nothing but false
            call = (kind, source, target)
        calls.append(call)
        different = differences(namespaces, [call], ours, theirs)
    assert not different, (calls, different)
