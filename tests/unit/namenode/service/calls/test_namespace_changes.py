"""mkdirs, rename and delete: what they say when they don't. (What they do is the model's.)"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.inodes.block_events import EditDoesNotFit
from howdah.namenode.state.tree.namespace import Namespace
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.testing.fingerprint import fingerprint
from howdah.testing.in_memory import InMemoryDatanode


@pytest.fixture
def settings() -> Settings:
    return Settings(
        "",
        min_block_size_bytes=512,
        block_size_bytes=1024,
        max_directory_items=3,
        max_component_bytes=10,
    )


def test_mkdirs_makes_what_is_missing_with_write_and_enter_for_the_owner(client: Any) -> None:
    assert client.mkdirs("/a/b/c", 0o505) is True
    modes = [client.status(path).permission.perm for path in ("/a", "/a/b", "/a/b/c")]
    assert modes == [0o705, 0o705, 0o505]


def test_mkdirs_of_what_is_there_changes_nothing(client: Any) -> None:
    client.mkdirs("/a", 0o700)
    before = len(client.namenode.log)
    assert client.mkdirs("/a", 0o777) is True
    assert client.mkdirs("/") is True
    assert len(client.namenode.log) == before


def test_mkdirs_over_a_file_is_refused(client: Any) -> None:
    client.create("/f")
    with pytest.raises(errors.PathExists, match="Path is not a directory: /f"):
        client.mkdirs("/f")
    with pytest.raises(errors.ParentNotDirectory, match="/f"):
        client.mkdirs("/f/d")


def test_who_may_not_write_is_not_told_what_is_missing(client: Any) -> None:
    client.mkdirs("/theirs")
    missing = pb.MkdirsRequestProto(
        src="/theirs/no/parent", masked=types_pb2.FsPermissionProto(perm=0o755), createParent=False
    )
    with pytest.raises(errors.AccessDenied, match="access=WRITE"):
        client.call("mkdirs", missing, user="mallory")
    with pytest.raises(errors.AccessDenied, match="access=WRITE"):
        client.delete("/theirs/nothing", user="mallory")
    assert client.delete("/theirs/no/parent", user="mallory") is False


def test_mkdir_without_parents_needs_one(client: Any) -> None:
    with pytest.raises(errors.PathNotFound, match="Parent directory doesn't exist: /a/b"):
        client.mkdirs("/a/b/c", create_parent=False)


def test_name_over_the_limit_makes_none_of_its_parents(client: Any) -> None:
    with pytest.raises(errors.PathComponentTooLong):
        client.mkdirs("/a/b/" + "x" * 11)
    assert client.names("/") == []


def test_directory_takes_so_many_entries_and_no_more(client: Any) -> None:
    for name in "abc":
        client.mkdirs(f"/d/{name}")
    calls: tuple[Callable[[], object], ...] = (
        lambda: client.mkdirs("/d/x"),
        lambda: client.create("/d/x"),
        lambda: client.rename("/other", "/d/x"),
    )
    for call in calls:
        client.mkdirs("/other")
        with pytest.raises(errors.MaxDirectoryItemsExceeded, match="limit=3 items=3"):
            call()
    assert client.rename("/d/a", "/d/z") is True
    client.create("/d/z/f")
    client.create("/d/z/f", flag=3)


def test_delete_of_a_full_directory_has_to_be_recursive(client: Any) -> None:
    client.mkdirs("/d/e")
    with pytest.raises(errors.DirectoryNotEmpty) as caught:
        client.delete("/d", recursive=False)
    assert caught.value.message == "`/d is non empty': Directory is not empty"
    assert client.delete("/d/e", recursive=False) is True


def test_root_cannot_be_deleted(client: Any) -> None:
    client.mkdirs("/d")
    assert client.delete("/") is False
    assert client.exists("/d")


def test_delete_frees_blocks_leases_and_inodes(client: Any, nodes: list[InMemoryDatanode]) -> None:
    client.write("/d/e/f", 10)
    client.create("/d/open")
    namesystem = client.namenode.namesystem
    client.delete("/d")
    assert len(namesystem.namespace.inodes) == 1
    assert (namesystem.namespace.blocks, namesystem.leases.open_files) == ({}, 0)


def test_huge_tree_is_freed_in_slices(client: Any, settings: Settings) -> None:
    namespace = client.namenode.namesystem.namespace
    for number in range(2500):
        client.namenode.namesystem.commit(
            edits.MkdirOp(
                20_000 + number,
                "/d" if not number else f"/d/{number}",
                1,
                edits.Permission("root", "g", 0o755),
            )
        )
    client.delete("/d")
    assert not client.exists("/d")
    assert len(namespace.inodes) == 1501
    assert client.namenode.namesystem.reap() is True
    while client.namenode.namesystem.reap():
        continue
    assert len(namespace.inodes) == 1


@pytest.mark.parametrize(
    ("src", "dst", "error", "said"),
    [
        ("/no", "/x", errors.PathNotFound, "rename source /no is not found."),
        ("/", "/x", errors.RemoteError, "rename source cannot be the root"),
        ("/d", "/", errors.RemoteError, "rename destination cannot be the root"),
        ("/d", "/d", errors.PathExists, "The source /d and destination /d are the same"),
        (
            "/d",
            "/d/x",
            errors.RemoteError,
            "Rename destination /d/x is a directory or file under source /d",
        ),
        ("/d", "/e", errors.PathExists, "rename destination /e already exists"),
        (
            "/d",
            "/f",
            errors.RemoteError,
            "Source /d and destination /f must both be directories",
        ),
        (
            "/f",
            "/d",
            errors.RemoteError,
            "Source /f and destination /d must both be directories",
        ),
        ("/d", "/no/x", errors.PathNotFound, "rename destination parent /no/x not found."),
    ],
)
def test_rename2_says_what_is_wrong_as_hadoop_does(
    client: Any, src: str, dst: str, error: type[Exception], said: str
) -> None:
    client.mkdirs("/d")
    client.mkdirs("/e")
    client.create("/f")
    with pytest.raises(error) as caught:
        client.rename2(src, dst)
    assert str(caught.value) == said


def test_rename2_does_not_overwrite_a_full_directory(client: Any) -> None:
    client.mkdirs("/d")
    client.mkdirs("/e/x")
    with pytest.raises(errors.RemoteError, match="rename destination directory is not empty: /e"):
        client.rename2("/d", "/e", overwrite=True)


def test_rename2_over_a_file_that_is_written_ends_its_lease(
    client: Any, nodes: list[InMemoryDatanode]
) -> None:
    client.write("/a", 10)
    client.create("/b")
    client.rename2("/a", "/b", overwrite=True)
    assert client.status("/b").length == 10
    assert client.namenode.namesystem.leases.open_files == 0
    with pytest.raises(errors.LeaseExpired):
        client.add_block("/b")


def test_renames_in_one_turn_end_at_the_first_that_cannot_be(client: Any) -> None:
    client.mkdirs("/d/x")
    client.mkdirs("/new")
    exchange = [("/d", "/old"), ("/old/x", "/new/x"), ("/new", "/d")]
    assert client.rename_in_turn(*exchange) == 3
    assert (client.names("/"), client.names("/d"), client.names("/old")) == (
        ["d", "old"],
        ["x"],
        [],
    )
    assert client.rename_in_turn(("/d", "/e"), ("/none", "/f"), ("/old", "/g")) == 1
    assert client.names("/") == ["e", "old"]
    before = len(client.namenode.log)
    with pytest.raises(errors.PathNotFound):
        client.rename_in_turn(("/none", "/f"), ("/old", "/g"))
    with pytest.raises(errors.IllegalArgument, match="at most 1000 renames may follow"):
        client.rename_in_turn(*[("/old", "/g")] * 1002)
    assert len(client.namenode.log) == before


def test_each_rename_of_a_turn_needs_its_permissions(client: Any) -> None:
    client.mkdirs("/mine", 0o777)
    client.mkdirs("/mine/x")
    client.mkdirs("/hers")
    moves = ("/mine/x", "/mine/y"), ("/mine/y", "/hers/y")
    assert client.rename_in_turn(*moves, user="bob") == 1
    assert (client.names("/mine"), client.names("/hers")) == (["y"], [])


def test_the_first_rename_of_a_turn_may_be_for_a_file_that_is_known(
    client: Any, nodes: list[InMemoryDatanode]
) -> None:
    client.write("/a", 10)
    client.write("/new", 20)
    known = client.known("/a")
    moves = ("/a", "/old"), ("/new", "/a")
    with pytest.raises(errors.NotTheKnownFile, match="/a is not the file"):
        client.rename_in_turn(*moves, known=client.known("/new"))
    assert client.names("/") == ["a", "new"]
    assert client.rename_in_turn(*moves, known=known) == 2
    assert (client.status("/old").length, client.status("/a").length) == (10, 20)
    with pytest.raises(errors.NotTheKnownFile):
        client.rename_in_turn(("/a", "/older"), known=known)
    with pytest.raises(errors.PathNotFound):
        client.rename_in_turn(("/none", "/older"), known=known)


def test_a_file_is_replaced_or_deleted_if_it_is_still_the_one_that_is_known(
    client: Any, nodes: list[InMemoryDatanode]
) -> None:
    client.write("/a", 10)
    client.write("/b", 20)
    client.write("/c", 30)
    known = client.known("/b")
    client.rename_over("/a", "/b", known)
    assert (client.names("/"), client.status("/b").length) == (["b", "c"], 10)
    with pytest.raises(errors.NotTheKnownFile, match="/b is not the file"):
        client.rename_over("/c", "/b", known)
    with pytest.raises(errors.NotTheKnownFile):
        client.delete_known("/b", known)
    assert (client.names("/"), client.status("/b").length) == (["b", "c"], 10)
    assert client.delete_known("/b", client.known("/b")) is True
    assert client.delete_known("/b", known) is False
    with pytest.raises(errors.NotTheKnownFile):
        client.rename_over("/c", "/b", known)


def test_a_file_is_renamed_to_where_nothing_is(client: Any, nodes: list[InMemoryDatanode]) -> None:
    client.write("/a", 10)
    client.write("/b", 20)
    nothing = pb.KnownFileProto(fileId=0, modificationTime=0, length=0)
    with pytest.raises(errors.PathExists):
        client.rename_over("/a", "/b", nothing)
    client.rename_over("/a", "/c", nothing)
    assert client.names("/") == ["b", "c"]


@pytest.mark.parametrize("field", ["fileId", "modificationTime", "length"])
def test_a_file_that_was_changed_is_not_the_one_that_is_known(
    client: Any, nodes: list[InMemoryDatanode], field: str
) -> None:
    client.write("/a", 10)
    client.write("/b", 20)
    known = client.known("/b")
    setattr(known, field, getattr(known, field) + 1)
    with pytest.raises(errors.NotTheKnownFile):
        client.rename_over("/a", "/b", known)
    with pytest.raises(errors.NotTheKnownFile):
        client.delete_known("/b", known)


def test_a_directory_is_no_file_that_is_known(client: Any, nodes: list[InMemoryDatanode]) -> None:
    client.write("/a", 10)
    client.mkdirs("/d")
    with pytest.raises(errors.NotTheKnownFile):
        client.rename_over("/a", "/d", client.known("/d"))


def test_old_rename_goes_into_a_directory(client: Any) -> None:
    client.mkdirs("/d")
    client.create("/f")
    assert client.rename("/f", "/d") is True
    assert client.names("/d") == ["f"]


# Edits that do not fit.

OWNER = edits.Permission("u", "g", 0o755)


@pytest.mark.parametrize(
    "edit",
    [
        edits.MkdirOp(16386, "/d", 1, OWNER),
        edits.MkdirOp(16390, "/x/y", 1, OWNER),
        edits.MkdirOp(16390, "/f/y", 1, OWNER),
        edits.MkdirOp(16386, "/new", 1, OWNER),
        edits.AddOp(16390, "/f", 1, 1, 1, 1024, OWNER, "c", "m"),
        edits.AddOp(16390, "/d", 1, 1, 1, 1024, OWNER, "c", "m", overwrite=True),
        edits.AddOp(16387, "/f", 1, 1, 1, 1024, OWNER, "c", "m", overwrite=True),
        edits.DeleteOp("/no", 1),
        edits.DeleteOp("/", 1),
        edits.RenameOldOp("/no", "/x", 1),
        edits.RenameOldOp("/d", "/f", 1),
        edits.RenameOldOp("/d", "/d/x", 1),
        edits.RenameOp("/d", "/no/x", 1),
        edits.RenameOp("/d", "/d", 1, (edits.RenameFlag.OVERWRITE,)),
        edits.ConcatDeleteOp("/f", ("/d",), 1),
        edits.TruncateOp("/f", "c2", "m", 0, 1),
        edits.CloseOp(0, "/d", 1, 1, 1, 1024, OWNER),
        edits.CloseOp(0, "/f", 1, 1, 1, 1024, OWNER, (edits.EditBlock(99, 1, 1001),)),
        edits.AppendOp("/f", "c2", "m"),
        edits.AddBlockOp("/f", None, edits.EditBlock(1 << 31, 0, 1002)),
        edits.AddBlockOp("/f", edits.EditBlock(7, 0, 1001), edits.EditBlock(8, 0, 1002)),
        edits.UpdateBlocksOp("/f", (edits.EditBlock((1 << 30) + 1, 0, 900),)),
        edits.SetReplicationOp("/d", 2),
        edits.SetPermissionsOp("/no", 0o700),
        edits.SetOwnerOp("/no", "a", None),
        edits.TimesOp("/no", 1, 1),
        edits.SetGenstampV2Op(1000),
        edits.AllocateBlockIdOp(1 << 30),
        edits.ReassignLeaseOp("a", "/d", "b"),
    ],
    ids=lambda edit: f"{type(edit).__name__}",
)
def test_edit_that_contradicts_the_tree_is_told_and_not_guessed_at(edit: edits.Edit) -> None:
    namespace = Namespace()
    block = (1 << 30) + 1
    for first in (
        edits.MkdirOp(16386, "/d", 1, OWNER),
        edits.AddOp(16387, "/f", 1, 1, 1, 1024, OWNER, "c", "m"),
        edits.AllocateBlockIdOp(block),
        edits.SetGenstampV2Op(1001),
        edits.AddBlockOp("/f", None, edits.EditBlock(block, 0, 1001)),
    ):
        namespace.apply(first)
    before = fingerprint(namespace)
    with pytest.raises(EditDoesNotFit):
        namespace.apply(edit)
    assert fingerprint(namespace) == before
    assert namespace.failed_edit is edit


def test_edit_of_an_unknown_feature_is_told_by_name() -> None:
    with pytest.raises(errors.UnsupportedOperation, match="OP_SET_GENSTAMP_V1"):
        Namespace().apply(edits.SetGenstampV1Op(1))
