"""`howdah groups`: the groups that the namenode takes users to be in.

Words, output and exit codes are those of `hdfs groups` (GetGroups in Hadoop): a line
`user : group group` for each user, the caller where none is named. Every namenode knows
groups, standby or not, so of several the first that can be reached is asked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import howdah
from howdah.config import Configuration
from howdah.errors import IllegalArgument, Unreachable
from howdah.fs import paths
from howdah.fs.hdfs.administration import Administration, each_namenode
from howdah.fs.hdfs.filesystem import HdfsFileSystem

USAGE = "Usage: howdah groups [--json] [username ...]"


def main(argv: list[str], conf: Configuration) -> int:
    """Print the groups. With `--json` as the first word, one object of lists by user."""
    if argv and argv[0] in ("-h", "-help", "--help"):
        print(USAGE)
        return 0
    as_json = argv[:1] == ["--json"]
    users = argv[1:] if as_json else argv
    with howdah.connect(conf=conf, laid_over=False) as fs:
        if not isinstance(fs, HdfsFileSystem):
            raise IllegalArgument(
                f"FileSystem {fs.uri} is not an HDFS file system. See fs.defaultFS."
            )
        users = users or [fs.user]
        with each_namenode(paths.parse(fs.uri).authority, conf, fs.user) as namenodes:
            asked = list(namenodes.values()) or [fs.administration]
            if as_json:
                print(json.dumps({user: _groups(user, asked) for user in users}))
                return 0
            for user in users:
                print(" ".join([user, ":", *_groups(user, asked)]))
    return 0


def _groups(user: str, namenodes: Sequence[Administration]) -> list[str]:
    """What the first namenode says that can be reached. Raises the last one's `Unreachable`."""
    *others, last = namenodes
    for namenode in others:
        try:
            return namenode.groups_of(user)
        except Unreachable:
            continue
    return last.groups_of(user)
