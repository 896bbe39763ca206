"""`viewfs://`: one tree of names over several filesystems, by a mount table (FS-047).

`mount_table` (pure) resolves a path by the links of a table, `links` (pure) reads a
table from Hadoop's keys, `patterns` (pure) are its links by regular expression,
`rename_rules` (pure) says which renames may cross mount points. `loading` finds the table of
an authority in a configuration, `internal` is what the directories between the links look
like, `nfly` are the targets of a link that has several, `delegation` passes calls on,
`streams` are a target's under the view's names, `filesystem` is the FileSystem.

Arrows:
`filesystem -> streams -> delegation -> internal, loading, nfly -> links -> mount_table, patterns`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howdah.fs.viewfs.filesystem import ViewFileSystem as ViewFileSystem

__all__ = ["ViewFileSystem"]


def __getattr__(name: str) -> object:
    # Who asks for another filesystem shall not load this one.
    if name != "ViewFileSystem":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from howdah.fs.viewfs.filesystem import ViewFileSystem

    return ViewFileSystem
