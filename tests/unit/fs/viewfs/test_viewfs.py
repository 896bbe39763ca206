"""A view over files in memory."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import howdah
from howdah import errors
from howdah.config import Configuration
from howdah.fs.api import FileSystem
from howdah.fs.trash import Trash
from howdah.fs.viewfs import ViewFileSystem


class Places:
    """Filesystems in memory with names of this test alone, and views of them."""

    def __init__(self) -> None:
        self.id = uuid.uuid4().hex[:12]

    def uri(self, name: str) -> str:
        return f"mem://{name}-{self.id}"

    def fs(self, name: str) -> FileSystem:
        return howdah.connect(self.uri(name), conf=Configuration())

    def view(self, *entries: tuple[str, str], name: str = "c", **conf: str) -> ViewFileSystem:
        fs = howdah.connect(f"viewfs://{name}/", conf=self.conf(*entries, name=name, **conf))
        assert isinstance(fs, ViewFileSystem)
        return fs

    def conf(self, *entries: tuple[str, str], name: str = "c", **conf: str) -> Configuration:
        values = {
            f"fs.viewfs.mounttable.{name}.{key}": value.replace("{", "mem://").replace(
                "}", f"-{self.id}"
            )
            for key, value in entries
        }
        return Configuration(values | {k.replace("_", "."): v for k, v in conf.items()})


@pytest.fixture
def places() -> Places:
    return Places()


USUAL = (("link./user", "{one}/u"), ("link./share/data", "{two}/"))


@pytest.fixture
def view(places: Places) -> ViewFileSystem:
    places.fs("one").mkdirs("/u")
    return places.view(*USUAL)


def write(fs: FileSystem, path: str, data: bytes = b"data") -> None:
    with fs.create(path, overwrite=True) as out:
        out.write(data)


def read(fs: FileSystem, path: str) -> bytes:
    with fs.open(path) as stream:
        return bytes(stream.read())


@pytest.mark.req("FS-043", "FS-047")
def test_what_is_written_in_the_view_is_in_the_target(places: Places, view: ViewFileSystem) -> None:
    write(view, "/user/f", b"one")
    write(view, "viewfs://c/share/data/g", b"two")
    assert read(places.fs("one"), "/u/f") == b"one"
    assert read(places.fs("two"), "/g") == b"two"
    assert view.get_file_status("/user/f").path == "/user/f"
    assert [each.path for each in view.list_status("/user")] == ["/user/f"]
    assert [each.path for each in view.list_status("/user/f")] == ["/user/f"]


def test_internal_directories_belong_to_the_user_and_mount_points_are_links(
    places: Places, view: ViewFileSystem
) -> None:
    share, user = view.list_status("/")
    assert (share.path, share.is_directory, share.permission) == ("/share", True, 0o555)
    assert (user.path, user.symlink) == ("/user", places.uri("one") + "/u")
    assert share.owner == user.owner == view.user
    assert user.is_directory is False
    assert view.get_file_status("/user").is_directory
    assert view.get_file_status("/user").symlink is None
    assert view.get_acl_status("/share").permission == 0o555


def test_mount_points_can_be_listed_as_what_they_lead_to(places: Places) -> None:
    places.fs("one").mkdirs("/u", 0o700)
    conf = places.conf(*USUAL).with_values({"fs.viewfs.mount.links.as.symlinks": "false"})
    _, user = howdah.connect("viewfs://c", conf=conf).list_status("/")
    assert (user.path, user.is_directory, user.permission) == ("/user", True, 0o700)


def test_a_mount_point_whose_target_is_gone_hides_no_other_one(
    places: Places, caplog: pytest.LogCaptureFixture
) -> None:
    places.fs("two").write_bytes("/f", b"x")
    conf = places.conf(*USUAL, ("link./data", "{two}/"))
    conf = conf.with_values({"fs.viewfs.mount.links.as.symlinks": "false"})
    fs = howdah.connect("viewfs://c", conf=conf)
    listed = [(status.path, status.is_directory) for status in fs.list_status("/")]
    assert listed == [("/data", True), ("/share", True), ("/user", True)]
    assert "/user is listed as an empty directory" in caplog.text
    with pytest.raises(errors.PathNotFound):
        fs.list_status("/user")


@pytest.mark.parametrize(
    ("operation", "call"),
    [
        ("create", lambda fs: fs.create("/new")),
        ("create", lambda fs: fs.create("/share/data")),
        ("create", lambda fs: fs.create("/nowhere/new")),
        ("mkdirs", lambda fs: fs.mkdirs("/share/new")),
        ("mkdirs", lambda fs: fs.mkdir("/share/new")),
        ("append", lambda fs: fs.append("/share")),
        ("delete", lambda fs: fs.delete("/share", True)),
        ("delete", lambda fs: fs.delete("/share/data", True)),
        ("delete", lambda fs: fs.delete("/", True)),
        ("rename", lambda fs: fs.rename("/share", "/other")),
        ("rename", lambda fs: fs.rename("/user", "/share/user")),
        ("rename", lambda fs: fs.rename("/user/f", "/share/f")),
        ("truncate", lambda fs: fs.truncate("/share", 0)),
        ("setOwner", lambda fs: fs.set_owner("/share", "me")),
        ("setPermission", lambda fs: fs.set_permission("/", 0o777)),
        ("setReplication", lambda fs: fs.set_replication("/share", 2)),
        ("setTimes", lambda fs: fs.set_times("/share", 0, 0)),
        ("setAcl", lambda fs: fs.set_acl("/share", [])),
        ("removeAcl", lambda fs: fs.remove_acl("/share")),
        ("setXAttr", lambda fs: fs.set_xattr("/share", "user.a", b"")),
        ("removeXAttr", lambda fs: fs.remove_xattr("/share", "user.a")),
        ("setStoragePolicy", lambda fs: fs.set_storage_policy("/share", "HOT")),
        ("unsetStoragePolicy", lambda fs: fs.unset_storage_policy("/share")),
        ("setQuota", lambda fs: fs.set_quota("/share", names=1)),
        ("createSnapshot", lambda fs: fs.create_snapshot("/share")),
        ("renameSnapshot", lambda fs: fs.rename_snapshot("/share", "a", "b")),
        ("deleteSnapshot", lambda fs: fs.delete_snapshot("/share", "a")),
    ],
)
def test_internal_directories_are_read_only(
    operation: str, call: Callable[[Any], object], view: ViewFileSystem
) -> None:
    write(view, "/user/f")
    words = (
        f"InternalDir of ViewFileSystem is readonly, operation {operation} not permitted on path"
    )
    with pytest.raises(errors.AccessDenied, match=words):
        call(view)
    assert view.exists("/user/f")
    assert view.exists("/share/data")


@pytest.mark.parametrize(
    ("operation", "call"),
    [
        ("getXAttr", lambda fs: fs.get_xattr("/share", "user.a")),
        ("listXAttrs", lambda fs: fs.list_xattrs("/share")),
        ("getStoragePolicy", lambda fs: fs.get_storage_policy("/share")),
        ("getServerDefaults", lambda fs: fs.server_defaults()),
        ("getLinkTarget", lambda fs: fs.get_link_target("/share")),
        ("hasPathCapability", lambda fs: fs.has_path_capability("/nope", "hsync")),
    ],
)
def test_internal_directories_have_no_answer_to_what_a_target_knows(
    operation: str, call: Callable[[Any], object], view: ViewFileSystem
) -> None:
    with pytest.raises(errors.NotInMountPoint, match=operation):
        call(view)


@pytest.mark.parametrize(
    "call",
    [
        lambda fs: fs.open("/share"),
        lambda fs: fs.get_file_checksum("/share"),
        lambda fs: fs.block_locations("/share"),
        lambda fs: fs.is_file_closed("/share"),
    ],
)
def test_internal_directories_are_no_files(
    call: Callable[[Any], object], view: ViewFileSystem
) -> None:
    with pytest.raises(errors.PathNotFound, match="Path points to dir not a file"):
        call(view)


def test_internal_directories_can_be_read_and_entered_but_not_written(view: ViewFileSystem) -> None:
    view.access("/share", os.R_OK | os.X_OK)
    with pytest.raises(errors.AccessDenied, match="Permission denied"):
        view.access("/share", os.W_OK)


def test_making_a_directory_that_the_table_has_is_no_change(view: ViewFileSystem) -> None:
    assert view.mkdirs("/share")
    assert view.mkdirs("/share/data")
    with pytest.raises(errors.PathExists):
        view.mkdir("/share/data")


def test_what_is_not_there_is_deleted_with_false(view: ViewFileSystem) -> None:
    assert not view.delete("/user/nothing")
    assert not view.delete("/nowhere/nothing")


def test_errors_are_about_paths_of_the_view(view: ViewFileSystem) -> None:
    with pytest.raises(errors.PathNotFound) as caught:
        view.get_file_status("/user/nothing")
    assert caught.value.filename == "/user/nothing"
    assert "/user/nothing" in str(caught.value)
    assert "/u/nothing" not in str(caught.value)
    view.mkdirs("/user/d/e")
    with pytest.raises(errors.DirectoryNotEmpty) as full:
        view.delete("/user/d")
    assert str(full.value).startswith("/user/d ")


# --- renames ---------------------------------------------------------------------------

ALIASES = (("link./a", "{one}/x"), ("link./b", "{one}/x"), ("link./c", "{one}/y"))


@pytest.mark.parametrize(
    ("strategy", "allowed"),
    [
        ("SAME_MOUNTPOINT", {"/a/g"}),
        ("SAME_TARGET_URI_ACROSS_MOUNTPOINT", {"/a/g", "/b/g"}),
        ("SAME_FILESYSTEM_ACROSS_MOUNTPOINT", {"/a/g", "/b/g", "/c/g"}),
    ],
)
def test_a_rename_crosses_the_mount_points_that_the_strategy_says(
    strategy: str, allowed: set[str], places: Places
) -> None:
    places.fs("one").mkdirs("/x")
    places.fs("one").mkdirs("/y")
    places.fs("two").mkdirs("/x")
    conf = places.conf(*ALIASES, ("link./d", "{two}/x"))
    fs = howdah.connect(
        "viewfs://c", conf=conf.with_values({"fs.viewfs.rename.strategy": strategy})
    )
    for target in ("/a/g", "/b/g", "/c/g", "/d/g"):
        write(fs, "/a/f")
        if target in allowed:
            fs.rename("/a/f", target, overwrite=True)
            assert fs.delete(target)
            continue
        with pytest.raises(errors.RemoteError, match="Renames across Mount points not supported"):
            fs.rename("/a/f", target)
        assert fs.exists("/a/f")


# --- fallback, merge slash, nested links --------------------------------------------------


def test_a_fallback_has_what_no_link_covers(places: Places) -> None:
    rest = places.fs("rest")
    rest.mkdirs("/share/own")
    rest.mkdirs("/user/hidden")
    write(rest, "/top")
    fs = places.view(*USUAL, ("linkFallback", "{rest}/"))
    places.fs("one").mkdirs("/u")
    assert read(fs, "/top") == b"data"
    assert [each.path for each in fs.list_status("/")] == ["/share", "/top", "/user"]
    assert [each.path for each in fs.list_status("/share")] == ["/share/data", "/share/own"]
    assert not fs.exists("/user/hidden")
    write(fs, "/share/new")
    assert rest.exists("/share/new")
    fs.mkdirs("/deep/er")
    assert rest.exists("/deep/er")
    fs.rename("/top", "/share/top")
    assert rest.exists("/share/top")
    with pytest.raises(errors.PathExists, match="A mount path"):
        fs.create("/share/data", overwrite=True)
    with pytest.raises(errors.AccessDenied, match="operation delete"):
        fs.delete("/share", recursive=True)
    assert fs.delete("/share/own")


def test_a_merge_slash_view_is_its_target_under_another_name(places: Places) -> None:
    fs = places.view(("linkMergeSlash", "{one}/"))
    write(fs, "/f")
    fs.mkdirs("/d")
    assert [each.path for each in fs.list_status("/")] == ["/d", "/f"]
    assert places.fs("one").exists("/d")
    with pytest.raises(errors.AccessDenied, match="operation delete"):
        fs.delete("/", recursive=True)


def test_a_nested_mount_point_is_another_target(places: Places) -> None:
    fs = places.view(("link./a", "{one}/"), ("link./a/b", "{two}/"))
    write(fs, "/a/f")
    write(fs, "/a/b/f", b"below")
    assert read(places.fs("two"), "/f") == b"below"
    assert [each.path for each in places.fs("one").list_status("/")] == ["/f"]
    with pytest.raises(errors.AccessDenied, match="operation create"):
        fs.create("/a/b")
    with pytest.raises(errors.AccessDenied, match="operation delete"):
        fs.delete("/a/b", recursive=True)


def test_a_link_by_expression_reaches_its_target(places: Places) -> None:
    fs = places.view((r"linkRegex.^/u/(?<who>\w+)", "{one}/home/$who"))
    places.fs("one").mkdirs("/home/ada")
    write(fs, "/u/ada/f")
    assert [each.path for each in fs.list_status("/u/ada")] == ["/u/ada/f"]
    assert places.fs("one").exists("/home/ada/f")


# --- tables of tables, names, closing ------------------------------------------------------


def test_a_target_may_be_a_view(places: Places) -> None:
    inner = places.conf(("link./x", "{one}/"), name="inner")
    conf = inner.with_values({"fs.viewfs.mounttable.c.link./in": "viewfs://inner/x"})
    fs = howdah.connect("viewfs://c", conf=conf)
    write(fs, "/in/f")
    assert places.fs("one").exists("/f")
    where, path = fs.resolve_path("/in/f")
    assert (where.uri, path) == (places.uri("one"), "/f")


def test_views_that_lead_back_to_themselves_are_refused() -> None:
    conf = Configuration(
        {
            "fs.viewfs.mounttable.c.link./a": "viewfs://d/b",
            "fs.viewfs.mounttable.d.link./b": "viewfs://c/a",
        }
    )
    fs = howdah.connect("viewfs://c", conf=conf)
    with pytest.raises(errors.LinkLoop, match=r"c\.link\./a.*d\.link\./b.*viewfs://c$"):
        fs.exists("/a/x")


def test_an_empty_table_is_refused_with_the_key_to_set() -> None:
    with pytest.raises(
        errors.InvalidConfiguration, match=r"Empty Mount table.*mounttable\.c\.link"
    ):
        howdah.connect("viewfs://c", conf=Configuration())


def test_a_target_of_an_unknown_scheme_is_told_with_its_key() -> None:
    conf = Configuration({"fs.viewfs.mounttable.c.link./a": "gopher://x/"})
    with pytest.raises(errors.UnsupportedOperation, match=r"c\.link\./a = gopher://x/: No filesys"):
        howdah.connect("viewfs://c", conf=conf).exists("/a/b")


def test_the_table_of_a_uri_without_a_name_is_the_default_one(places: Places) -> None:
    conf = places.conf(("link./a", "{one}/"), name="default")
    assert [each.path for each in howdah.connect("viewfs:///", conf=conf).list_status("/")] == [
        "/a"
    ]
    named = places.conf(("link./b", "{one}/"), name="mine").with_values(
        {"fs.viewfs.mounttable.default.name.key": "mine"}
    )
    assert [each.path for each in howdah.connect("viewfs:///", conf=named).list_status("/")] == [
        "/b"
    ]


def test_a_port_belongs_to_the_name_unless_it_is_to_be_ignored(places: Places) -> None:
    conf = places.conf(*USUAL)
    with pytest.raises(errors.InvalidConfiguration, match="viewfs://c:9/"):
        howdah.connect("viewfs://c:9", conf=conf)
    ignored = conf.with_values({"fs.viewfs.ignore.port.in.mount.table.name": "true"})
    assert howdah.connect("viewfs://c:9", conf=ignored).exists("/user") is False
    assert howdah.connect("viewfs://c:9", conf=ignored).exists("/share")


def test_closing_a_view_closes_its_targets(
    view: ViewFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets = view.child_filesystems()
    closed = []
    for fs in targets:
        monkeypatch.setattr(fs, "close", lambda fs=fs: closed.append(fs))
    view.close()
    assert closed == targets
    assert len(closed) == 2


def test_the_home_directory_is_below_the_prefix_of_the_table(places: Places) -> None:
    fs = places.view(("link./a", "{one}/"), ("homedir", "/home"))
    assert fs.home_directory() == f"/home/{fs.user}"


# --- schemes that are laid over --------------------------------------------------------------

LAID_OVER = {"fs.mem.impl": "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"}


def test_a_scheme_that_is_laid_over_has_the_table_of_its_host(places: Places) -> None:
    places.fs("two").mkdirs("/d")
    host = places.uri("one").removeprefix("mem://")
    conf = places.conf(("link./far", "{two}/d"), ("linkFallback", "{one}/"), name=host)
    fs = howdah.connect(places.uri("one"), conf=conf.with_values(LAID_OVER))
    assert (fs.uri, type(fs)) == (places.uri("one"), ViewFileSystem)
    write(fs, "/far/f")
    write(fs, places.uri("one") + "/near")
    assert places.fs("two").exists("/d/f")
    assert places.fs("one").exists("/near")
    assert [(each.path, each.symlink) for each in fs.list_status("/")] == [
        ("/far", None),
        ("/near", None),
    ]


def test_a_scheme_that_is_laid_over_without_a_table_leads_to_itself(places: Places) -> None:
    fs = howdah.connect(places.uri("one"), conf=Configuration(LAID_OVER))
    write(fs, "/a/f")
    assert places.fs("one").exists("/a/f")
    assert fs.mkdirs("/b")
    assert [each.path for each in fs.list_status("/")] == ["/a", "/b"]


def test_the_central_table_with_the_highest_number_counts(places: Places) -> None:
    host = places.uri("one").removeprefix("mem://")
    store = places.fs("two")
    for number, mount in ((2, "/old"), (11, "/new")):
        conf = places.conf((f"link.{mount}", "{two}/"), name=host)
        write(store, f"/tables/mount-table.{number}.xml", conf.to_xml().encode())
    write(store, "/tables/README", b"no table")
    write(store, "/tables/mount-table.x.xml", b"no table")
    given = LAID_OVER | {"fs.viewfs.mounttable.path": places.uri("two") + "/tables"}
    fs = howdah.connect(places.uri("one"), conf=Configuration(given))
    assert [each.path for each in fs.list_status("/")] == ["/new"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"<configuration><property>", "not well-formed"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><configuration/>', "entity"),
        (
            b'<configuration><include href="/etc/hostname"/></configuration>',
            "only local files can include",
        ),
    ],
)
def test_a_central_table_from_elsewhere_is_hostile_until_read(
    text: bytes, said: str, places: Places
) -> None:
    write(places.fs("two"), "/t.1.xml", text)
    given = LAID_OVER | {"fs.viewfs.mounttable.path": places.uri("two") + "/t.1.xml"}
    with pytest.raises(errors.InvalidConfiguration, match=said):
        howdah.connect(places.uri("one"), conf=Configuration(given))


# --- trash -------------------------------------------------------------------------------------


def test_what_is_deleted_goes_to_the_trash_of_its_target(
    places: Places, view: ViewFileSystem
) -> None:
    write(view, "/user/f")
    fs, path, root = view.trash_place("/user/f")
    assert (fs.uri, path, root) == (places.uri("one"), "/u/f", f"/user/{view.user}/.Trash")
    with pytest.raises(errors.AccessDenied, match="operation delete"):
        view.trash_place("/user")


def test_the_trash_can_be_inside_the_mount_point(places: Places) -> None:
    conf = places.conf(*USUAL).with_values({"fs.viewfs.trash.force-inside-mount-point": "true"})
    view = howdah.connect("viewfs://c", conf=conf)
    write(view, "/share/data/f")
    fs, path, root = view.trash_place("/share/data/f")
    assert (fs, path) == (view, "/share/data/f")
    moved = Trash(fs, now=lambda: 0.0, root=root).move(path)
    assert moved is not None
    user = view.home_directory().rpartition("/")[2]
    assert moved.target == f"/share/data/.Trash/{user}/Current/share/data/f"
    assert places.fs("two").exists(f"/.Trash/{user}/Current/share/data/f")


# --- totals, concat, handles ------------------------------------------------------------------


def test_an_internal_directory_has_the_sum_of_what_is_below(view: ViewFileSystem) -> None:
    write(view, "/user/f", b"12345")
    write(view, "/share/data/g", b"123")
    summary = view.content_summary("/")
    assert (summary.length, summary.file_count) == (8, 2)
    assert summary.directory_count == 4


def test_files_of_one_target_can_be_put_together(view: ViewFileSystem) -> None:
    write(view, "/user/a", b"1")
    write(view, "/user/b", b"2")
    write(view, "/share/data/c", b"3")
    view.concat("/user/a", ["/user/b"])
    assert read(view, "/user/a") == b"12"
    with pytest.raises(errors.UnsupportedOperation, match="not in the filesystem of /user/a"):
        view.concat("/user/a", ["/share/data/c"])


def test_a_path_handle_opens_the_file_of_its_target(view: ViewFileSystem) -> None:
    write(view, "/user/f", b"handled")
    handle = view.get_path_handle(view.get_file_status("/user/f"))
    with view.open_path_handle(handle) as stream:
        assert stream.read() == b"handled"


# --- any history -------------------------------------------------------------------------------

MOUNTS = ("/a", "/b/c", "/b/d")
SOME = st.sampled_from(["/a", "/a/x", "/a/x/y", "/b", "/b/c", "/b/c/x", "/b/d/x", "/q", "/"])
STEP = st.one_of(
    st.tuples(st.just("create"), SOME, SOME),
    st.tuples(st.just("mkdirs"), SOME, SOME),
    st.tuples(st.just("delete"), SOME, SOME),
    st.tuples(st.just("rename"), SOME, SOME),
)


def attempt(fs: FileSystem, step: tuple[str, str, str]) -> object:
    kind, path, other = step
    try:
        match kind:
            case "create":
                fs.create(path).close()
            case "mkdirs":
                fs.mkdirs(path)
            case "delete":
                return fs.delete(path, recursive=True)
            case "rename":
                fs.rename(path, other)
    except errors.HowdahError as error:
        return type(error)
    return None


def everything(fs: FileSystem, top: str) -> set[tuple[str, bool]]:
    return {
        (status.path, status.is_directory)
        for _, directories, files in fs.walk(top)
        for status in (*directories, *files)
    }


@given(st.lists(STEP, max_size=12))
def test_below_its_mount_points_a_view_does_what_one_filesystem_does(
    steps: list[tuple[str, str, str]],
) -> None:
    """The model is one filesystem with the mount points as directories, which nobody touches."""
    places = Places()
    view = places.view(
        *((f"link.{mount}", "{t" + mount.replace("/", "") + "}/") for mount in MOUNTS)
    )
    model = places.fs("model")
    for mount in MOUNTS:
        model.mkdirs(mount)

    def mount_of(path: str) -> str | None:
        return next((mount for mount in MOUNTS if path.startswith(mount + "/")), None)

    for step in steps:
        kind, path, other = step
        inside = mount_of(path) is not None
        if kind == "rename":
            inside = inside and mount_of(path) == mount_of(other)
        if inside:
            assert attempt(view, step) == attempt(model, step), step
        elif kind == "mkdirs" and (path in MOUNTS or path in ("/", "/b")):
            assert attempt(view, step) is None
        elif kind == "delete" and path == "/q":
            assert attempt(view, step) is False
        else:
            assert attempt(view, step) in (
                errors.AccessDenied,
                errors.PathExists,
                errors.AcrossMountPoints,
                errors.PathNotFound,
            )
    for mount in MOUNTS:
        assert everything(view, mount) == everything(model, mount)


def test_room_is_that_of_the_target_that_has_the_path(places: Places, view: ViewFileSystem) -> None:
    one, two = (places.fs(name) for name in ("one", "two"))
    one.write_bytes("/u/a", b"123")
    two.write_bytes("/b", b"12345")
    assert [view.get_status(path).used for path in ("/user/a", "/share/data")] == [3, 5]
    assert [view.get_status(path).used for path in ("/", "/share", None)] == [8, 5, 8]
    with pytest.raises(errors.PathNotFound):
        view.get_status("/nowhere")


def test_quotas_are_asked_of_targets_alone(places: Places, view: ViewFileSystem) -> None:
    places.fs("one").write_bytes("/u/a", b"123")
    assert view.quota_usage("/user").names == 2
    with pytest.raises(errors.NotInMountPoint, match="getQuotaUsage"):
        view.quota_usage("/share")


def test_what_keeps_no_statistics_counts_for_nothing(view: ViewFileSystem) -> None:
    assert view.list_status("/user") == []
    assert view.statistics_by_target() == {}
    assert view.statistics() == howdah.FsStatistics()
