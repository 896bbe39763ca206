"""What FileSystem builds on the methods that a filesystem brings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from howdah import errors
from howdah.fs import capabilities, paths
from howdah.fs.api import FileSystem, access_mode
from howdah.fs.status import FileStatus, permission_string


def status(path: str, directory: bool, length: int = 0) -> FileStatus:
    return FileStatus(path, length, directory, 0 if directory else 2, 0, 0, 0, 0o755, "o", "g")


class Tree(FileSystem):
    """A tree of names and lengths; counts listings."""

    scheme = "tree"
    uri = "tree://x"

    def __init__(self, files: dict[str, int]) -> None:
        self.files = files
        self.directories = {"/"}
        self.listed: list[str] = []
        for path in files:
            parent = paths.parent_of(path)
            while parent:
                self.directories.add(parent)
                parent = paths.parent_of(parent)

    def home_directory(self) -> str:
        return "/home"

    def get_file_status(self, path: paths.PathLike) -> FileStatus:
        resolved = self.resolve(path)
        if resolved in self.directories:
            return status(resolved, True)
        if resolved in self.files:
            return status(resolved, False, self.files[resolved])
        raise errors.PathNotFound(f"File does not exist: {resolved}")

    def list_status_iter(self, path: paths.PathLike) -> Iterator[FileStatus]:
        resolved = self.resolve(path)
        self.listed.append(resolved)
        here = self.get_file_status(resolved)
        if not here.is_directory:
            yield here
            return
        for each in sorted(self.directories | set(self.files)):
            if each != "/" and paths.parent_of(each) == resolved:
                yield self.get_file_status(each)

    def create(self, *arguments: Any, **options: Any) -> Any:
        raise NotImplementedError

    _open_input = mkdirs = mkdir = rename = delete = create

    def close(self) -> None:
        self.listed.append("closed")


@pytest.fixture
def fs() -> Tree:
    return Tree(
        {
            "/a/1.txt": 1,
            "/a/2.txt": 2,
            "/a/b/3.txt": 3,
            "/a/b/.hidden": 4,
            "/c/1.txt": 5,
            "/c/[x]": 6,
            "/home/own": 7,
        }
    )


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("/a/*.txt", ["/a/1.txt", "/a/2.txt"]),
        ("/*/1.txt", ["/a/1.txt", "/c/1.txt"]),
        ("/a/*", ["/a/1.txt", "/a/2.txt", "/a/b"]),
        ("/*/*/*", ["/a/b/.hidden", "/a/b/3.txt"]),
        ("/{a/b,c}/*.txt", ["/a/b/3.txt", "/c/1.txt"]),
        ("/{a,c}/{1,2}.txt", ["/a/1.txt", "/a/2.txt", "/c/1.txt"]),
        ("/a/1.txt", ["/a/1.txt"]),
        ("/a/none", []),
        ("/a/1.txt/x*", []),
        ("/a/1.txt/*", []),
        ("/none/*", []),
        ("/c/\\[x\\]", ["/c/[x]"]),
        ("/", ["/"]),
        ("o*", ["/home/own"]),
        ("./o*", ["/home/own"]),
        ("../a/./*.txt", ["/a/1.txt", "/a/2.txt"]),
        ("/{a/b/..,none/.}/1*", ["/a/1.txt"]),
        ("/a/*/\\.\\./1.txt", ["/a/1.txt"]),
        ("tree://x/c/?.txt", ["/c/1.txt"]),
    ],
)
def test_a_pattern_finds_what_it_matches(fs: Tree, pattern: str, expected: list[str]) -> None:
    assert [each.path for each in fs.glob_status(pattern)] == expected


def test_a_pattern_without_wildcards_lists_nothing(fs: Tree) -> None:
    fs.glob_status("/a/b/3.txt")
    assert fs.listed == []


def test_only_directories_on_the_way_are_listed(fs: Tree) -> None:
    fs.glob_status("/a/*/3.txt")
    assert fs.listed == ["/a"]


def test_a_pattern_above_the_root_is_refused(fs: Tree) -> None:
    with pytest.raises(errors.InvalidPath, match="leads above the root"):
        fs.glob_status("/a/../../*")


def test_a_pattern_of_another_filesystem_is_refused(fs: Tree) -> None:
    with pytest.raises(errors.IllegalArgument, match="Wrong filesystem"):
        fs.glob_status("hdfs://x/*")


def test_walk_goes_top_down(fs: Tree) -> None:
    walked = [
        (path, [each.name for each in directories], [each.name for each in files])
        for path, directories, files in fs.walk("/a")
    ]
    assert walked == [("/a", ["b"], ["1.txt", "2.txt"]), ("/a/b", [], [".hidden", "3.txt"])]


def test_walk_leaves_out_what_is_taken_off_the_list(fs: Tree) -> None:
    seen = []
    for path, directories, _ in fs.walk("/"):
        directories[:] = [each for each in directories if each.name != "a"]
        seen.append(path)
    assert seen == ["/", "/c", "/home"]


def test_a_content_summary_adds_up_the_tree(fs: Tree) -> None:
    summary = fs.content_summary("/a")
    assert (summary.length, summary.file_count, summary.directory_count) == (10, 4, 2)
    assert summary.space_consumed == 20
    assert fs.du("/a") == 10


def test_a_content_summary_of_a_file(fs: Tree) -> None:
    summary = fs.content_summary("/c/1.txt")
    assert (summary.length, summary.file_count, summary.directory_count) == (5, 1, 0)


def test_looking_at_what_is_not_there_does_not_raise(fs: Tree) -> None:
    assert not fs.exists("/none")
    assert not fs.is_file("/none")
    assert not fs.is_directory("/none")


def test_files_and_directories_are_told_apart(fs: Tree) -> None:
    assert fs.is_file("/a/1.txt")
    assert not fs.is_file("/a")
    assert fs.is_directory("/a")
    assert not fs.is_directory("/a/1.txt")


def test_what_is_not_offered_is_named(fs: Tree) -> None:
    with pytest.raises(errors.UnsupportedOperation, match="tree://x does not offer set_owner"):
        fs.set_owner("/a", "o")


@pytest.mark.req("OS-105")
@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("append", ("/a/1.txt",)),
        ("truncate", ("/a/1.txt", 0)),
        ("concat", ("/a/1.txt", ["/a/2.txt"])),
        ("recover_lease", ("/a/1.txt",)),
        ("is_file_closed", ("/a/1.txt",)),
        ("get_path_handle", (status("/a/1.txt", False),)),
        ("multipart_uploader", ("/a",)),
    ],
)
def test_an_operation_that_a_filesystem_does_not_bring_is_refused_by_name(
    fs: Tree, operation: str, arguments: tuple[Any, ...]
) -> None:
    with pytest.raises(errors.UnsupportedOperation, match=f"tree://x does not offer {operation}"):
        getattr(fs, operation)(*arguments)


def test_only_bulk_deletes_are_claimed_of_any_filesystem(fs: Tree) -> None:
    claimed = {name for name in capabilities.PATH_CAPABILITIES if fs.has_path_capability("/", name)}
    assert claimed == {capabilities.BULK_DELETE}


def test_a_with_block_closes_it(fs: Tree) -> None:
    with fs:
        pass
    assert fs.listed == ["closed"]


def test_a_path_is_qualified_with_the_filesystem(fs: Tree) -> None:
    assert fs.qualify("x") == "tree://x/home/x"


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (0o755, "rwxr-xr-x"),
        (0o1777, "rwxrwxrwt"),
        (0o1770, "rwxrwx--T"),
        (0, "---------"),
        (0o421, "r---w---x"),
    ],
)
def test_a_mode_is_shown_as_ls_shows_it(mode: int, expected: str) -> None:
    assert permission_string(mode) == expected


def test_a_status_is_shown_as_ls_shows_it() -> None:
    assert status("/d", True).permission_string == "drwxr-xr-x"
    assert status("/f", False).permission_string == "-rwxr-xr-x"


def test_an_access_mode_is_shown_by_its_letters() -> None:
    assert access_mode(os.R_OK | os.X_OK) == "r-x"
