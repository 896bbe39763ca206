"""Protected directories, which nobody deletes or moves while they have entries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.namenode.server.process.settings import settings_from
from howdah.namenode.state.inodes.protected import ProtectedDirectories
from howdah.proto import client_namenode_pb2 as pb

REMOVALS: tuple[tuple[str, Callable[[Any, str], object]], ...] = (
    ("delete", lambda client, path: client.delete(path)),
    ("rename", lambda client, path: client.rename(path, "/elsewhere")),
    ("rename2", lambda client, path: client.rename2(path, "/elsewhere")),
    ("to trash", lambda client, path: to_trash(client, path, "/elsewhere")),
)


def to_trash(client: Any, src: str, dst: str, **how: Any) -> None:
    """As `-rm` of a Java client moves to the trash."""
    request = pb.Rename2RequestProto(src=src, dst=dst, overwriteDest=False, moveToTrash=True)
    client.call("rename2", request, **how)


@pytest.fixture
def protect(client: Any) -> Callable[..., None]:
    def protect(*paths: str, subdirectories: bool = False) -> None:
        namesystem = client.namenode.namesystem
        namesystem.settings = replace(
            namesystem.settings,
            protected_directories=ProtectedDirectories.parse(paths),
            protects_subdirectories=subdirectories,
        )

    return protect


@pytest.fixture(params=[call for _, call in REMOVALS], ids=[name for name, _ in REMOVALS])
def remove(request: pytest.FixtureRequest) -> Callable[[Any, str], object]:
    found: Callable[[Any, str], object] = request.param
    return found


def test_protected_directory_with_entries_stays(
    client: Any, protect: Callable[..., None], remove: Callable[[Any, str], object]
) -> None:
    client.create("/kept/f")
    protect("/kept")
    with pytest.raises(errors.AccessDenied, match="non-empty protected directory /kept"):
        remove(client, "/kept")
    assert client.exists("/kept/f")


def test_directory_above_a_protected_one_stays(
    client: Any, protect: Callable[..., None], remove: Callable[[Any, str], object]
) -> None:
    client.create("/a/b/kept/f")
    protect("/a/b/kept")
    with pytest.raises(errors.AccessDenied, match="protected subdirectory /a/b/kept"):
        remove(client, "/a")
    assert client.exists("/a/b/kept/f")


def test_directory_below_a_protected_one_stays_only_if_these_are_protected(
    client: Any, protect: Callable[..., None], remove: Callable[[Any, str], object]
) -> None:
    client.create("/kept/a/b/f")
    protect("/kept", subdirectories=True)
    with pytest.raises(errors.AccessDenied, match="under protected subdirectory /kept"):
        remove(client, "/kept/a/b")
    protect("/kept")
    remove(client, "/kept/a/b")
    assert not client.exists("/kept/a/b")


@pytest.mark.parametrize("subdirectories", [False, True])
def test_files_and_empty_directories_go(
    client: Any,
    protect: Callable[..., None],
    remove: Callable[[Any, str], object],
    subdirectories: bool,
) -> None:
    client.mkdirs("/kept")
    protect("/kept", "/a/kept", subdirectories=subdirectories)
    remove(client, "/kept")
    client.delete("/elsewhere")
    client.mkdirs("/a/kept")
    remove(client, "/a")
    client.delete("/elsewhere")
    client.create("/kept/f")
    remove(client, "/kept/f")
    assert client.names("/kept") == []


def test_neighbours_of_a_protected_directory_go(
    client: Any, protect: Callable[..., None], remove: Callable[[Any, str], object]
) -> None:
    protect("/kept", subdirectories=True)
    for neighbour in ("/kept!", "/kept0", "/kep", "/keptand"):
        client.mkdirs("/kept/d")
        client.create(f"{neighbour}/f")
        remove(client, neighbour)
        client.delete("/elsewhere")
        assert client.exists("/kept/d")


def test_protected_root_protects_every_directory_below_it(
    client: Any, protect: Callable[..., None]
) -> None:
    client.create("/a/f")
    protect("/", subdirectories=True)
    with pytest.raises(errors.AccessDenied, match="protected"):
        client.delete("/a")


def test_directory_named_by_its_id_is_the_protected_one(
    client: Any, protect: Callable[..., None], remove: Callable[[Any, str], object]
) -> None:
    client.create("/kept/f")
    protect("/kept")
    inode_id = client.status("/kept").fileId
    for path in (f"/.reserved/.inodes/{inode_id}", "/.reserved/raw/kept"):
        with pytest.raises(errors.AccessDenied, match="protected directory /kept"):
            remove(client, path)


def test_configured_paths_are_normalised() -> None:
    conf = Configuration(
        {
            "fs.protected.directories": " /kept/ ,/a//b, /kept",
            "dfs.protected.subdirectories.enable": "true",
        }
    )
    settings = settings_from(conf, "BP-1")
    assert settings.protected_directories.paths == ("/a/b", "/kept")
    assert settings.protects_subdirectories


@pytest.mark.parametrize("path", ["kept", "hdfs://n:1/kept", "/.reserved/raw/kept", "/a/../kept"])
def test_path_that_protects_nothing_is_refused_at_the_start(path: str) -> None:
    conf = Configuration({"fs.protected.directories": f"/right,{path}"})
    with pytest.raises(errors.InvalidConfiguration, match=r"fs\.protected\.directories: "):
        settings_from(conf, "BP-1")


# The trash is emptied by the superuser: who moves something there has it deleted.


def test_who_may_not_delete_a_directory_may_not_move_it_to_the_trash(client: Any) -> None:
    client.mkdirs("/shared", 0o777)
    client.mkdirs("/shared/theirs")
    client.create("/shared/theirs/f")
    client.mkdirs("/home", 0o777)
    with pytest.raises(errors.AccessDenied) as refused:
        client.delete("/shared/theirs", user="mallory")
    with pytest.raises(errors.AccessDenied) as moved:
        to_trash(client, "/shared/theirs", "/home/theirs", user="mallory")
    assert moved.value.message == refused.value.message
    client.rename2("/shared/theirs", "/home/theirs", user="mallory")


def test_sticky_directory_below_keeps_what_is_others_from_the_trash(client: Any) -> None:
    client.mkdirs("/shared", 0o777)
    client.mkdirs("/shared/t")
    client.chmod("/shared/t", 0o1777)
    client.create("/shared/t/f")
    client.mkdirs("/home", 0o777)
    with pytest.raises(errors.AccessDenied, match="sticky bit"):
        to_trash(client, "/shared/t", "/home/t", user="mallory")


def test_who_may_delete_may_move_to_the_trash(client: Any) -> None:
    client.mkdirs("/shared", 0o777)
    client.mkdirs("/shared/empty", 0o700)
    client.create("/shared/f")
    client.mkdirs("/shared/open", 0o777)
    client.mkdirs("/home", 0o777)
    for name in ("empty", "f", "open"):
        to_trash(client, f"/shared/{name}", f"/home/{name}", user="mallory")
    assert client.names("/home") == ["empty", "f", "open"]
