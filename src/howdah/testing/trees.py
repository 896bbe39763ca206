"""Small trees of files as values, to make and to compare."""

from __future__ import annotations

from howdah.fs.api import FileSystem

Tree = dict[str, bytes | None]
"""Paths below a directory with the content of files; None for a directory."""


def make_tree(fs: FileSystem, path: str, tree: Tree) -> None:
    """Make a directory with all of a tree in it; files that are there are replaced."""
    fs.mkdirs(path)
    for name, content in tree.items():
        if content is None:
            fs.mkdirs(f"{path}/{name}")
        else:
            with fs.create(f"{path}/{name}", overwrite=True) as out:
                out.write(content)


def read_tree(fs: FileSystem, path: str) -> Tree:
    """All that is below a directory."""
    tree: Tree = {}
    for _, directories, files in fs.walk(path):
        for directory in directories:
            tree[directory.path.removeprefix(path + "/")] = None
        for file in files:
            with fs.open(file.path) as stream:
                tree[file.path.removeprefix(path + "/")] = stream.read()
    return tree
