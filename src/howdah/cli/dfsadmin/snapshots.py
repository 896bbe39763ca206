"""`dfsadmin`: which directories may have snapshots, and trash in them."""

from __future__ import annotations

from typing import Final

from howdah import errors
from howdah.cli.arguments.usage import UsageError
from howdah.cli.dfsadmin.command import Cluster, Command
from howdah.fs import paths
from howdah.protocol.trash_names import TRASH_NAME

_TRASH_MODE: Final = 0o1777


def _allow(words: list[str], cluster: Cluster) -> None:
    cluster.fs.allow_snapshot(words[0])
    print(f"Allowing snapshot on {words[0]} succeeded")


def _disallow(words: list[str], cluster: Cluster) -> None:
    cluster.fs.disallow_snapshot(words[0])
    print(f"Disallowing snapshot on {words[0]} succeeded")


def _provision_trash(words: list[str], cluster: Cluster) -> None:
    known = [status.path for status in cluster.fs.list_snapshottable_directories()]
    if words == ["-all"]:
        for directory in known:
            _make_trash(directory, cluster)
        return
    if len(words) != 1 or words[0].startswith("-"):
        raise UsageError
    directory = cluster.fs.get_file_status(words[0]).path
    # The root has Hadoop's flag of a snapshottable directory before anybody has allowed any.
    if directory not in known and directory != paths.SEPARATOR:
        raise UsageError(f"{directory} is not a snapshottable directory.")
    _make_trash(directory, cluster)


def _make_trash(directory: str, cluster: Cluster) -> None:
    trash = paths.join(directory, TRASH_NAME)
    if not cluster.fs.exists(trash):
        cluster.fs.mkdir(trash)
    elif not cluster.fs.is_directory(trash):
        raise errors.PathExists(f"{trash} is there already, and is no directory")
    cluster.fs.set_permission(trash, _TRASH_MODE)
    print(f"Successfully provisioned snapshot trash at {trash}")


COMMANDS: Final = {
    "-allowSnapshot": Command(
        "<snapshotDir>", "Snapshots of this directory may be made.", _allow, 1, 1
    ),
    "-disallowSnapshot": Command(
        "<snapshotDir>",
        "No snapshots of this directory may be made any more; there must be none left.",
        _disallow,
        1,
        1,
    ),
    "-provisionSnapshotTrash": Command(
        "<snapshotDir> [-all]",
        "Make a trash in a directory that may have snapshots, or in all of them, so that what\n"
        "is deleted there stays in its snapshots' reach. Everybody may use it.",
        _provision_trash,
        1,
        1,
    ),
}
