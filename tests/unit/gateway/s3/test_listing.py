"""Keys in S3's order, whatever the directories look like."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah.fs.status import FileStatus
from howdah.gateway.s3.protocol.listing import Source, list_page

SEGMENTS = st.text("a-.0!", min_size=1, max_size=3).filter(lambda name: name not in (".", ".."))
PATHS = st.lists(SEGMENTS, min_size=1, max_size=4).map("/".join)


def status(path: str, *, is_directory: bool) -> FileStatus:
    return FileStatus(path, 1, is_directory, 1, 1, 0, 0, 0o644, "ann", "staff")


class Tree:
    """Files and directories in memory, in HDFS's order."""

    def __init__(self, files: list[str], directories: list[str]) -> None:
        self.kinds: dict[str, bool] = {}
        for path, is_directory in [*((p, False) for p in files), *((p, True) for p in directories)]:
            above = [path[:at] for at, character in enumerate(path) if character == "/"]
            if any(self.kinds.get(each) is False for each in above) or path in self.kinds:
                continue
            self.kinds |= dict.fromkeys(above, True)
            self.kinds[path] = is_directory
        self.calls = 0
        # Those that a client has made.
        self.wanted = {path for path in directories if self.kinds.get(path)}

    def list_after(self, directory: str, after: str) -> Iterator[FileStatus]:
        self.calls += 1
        for path in sorted(self.kinds):
            above, _, name = path.rpartition("/")
            if above == directory and name > after:
                yield status(path, is_directory=self.kinds[path])

    def find(self, path: str) -> FileStatus | None:
        self.calls += 1
        return status(path, is_directory=self.kinds[path]) if path in self.kinds else None

    @property
    def source(self) -> Source:
        return Source(self.list_after, self.find, self.wanted.__contains__)

    @property
    def keys(self) -> list[str]:
        """By definition: files, and with a slash directories that are empty or that a client has
        made, by their bytes."""
        shown = [
            f"{path}/"
            for path, is_directory in self.kinds.items()
            if is_directory
            and (
                path in self.wanted or not any(other.startswith(f"{path}/") for other in self.kinds)
            )
        ]
        return sorted([p for p, is_directory in self.kinds.items() if not is_directory] + shown)


def listed(tree: Tree, prefix: str = "", delimiter: str = "", after: str = "") -> list[str]:
    page = list_page(tree.source, prefix=prefix, delimiter=delimiter, after=after, max_keys=10_000)
    assert not page.is_truncated
    return [entry.key for entry in page.entries]


def expected(keys: list[str], prefix: str, delimiter: str, after: str) -> list[str]:
    """What S3 says, over all keys."""
    found: list[str] = []
    for key in keys:
        if key <= after or not key.startswith(prefix):
            continue
        end = key.find(delimiter, len(prefix)) if delimiter else -1
        shown = key if end < 0 else key[: end + len(delimiter)]
        if shown not in (after, *found[-1:]):
            found.append(shown)
    return found


def test_a_directory_is_overtaken_by_what_is_before_its_slash() -> None:
    tree = Tree(["a/x", "a/b/y", "a/b-c", "a-b", "a.b", "a0"], [])
    assert listed(tree) == ["a-b", "a.b", "a/b-c", "a/b/y", "a/x", "a0"]
    assert listed(tree, delimiter="/") == ["a-b", "a.b", "a/", "a0"]
    assert listed(tree, after="a-b") == ["a.b", "a/b-c", "a/b/y", "a/x", "a0"]


def test_an_empty_directory_is_a_key_and_another_one_is_none() -> None:
    tree = Tree(["full/file"], ["empty"])
    assert listed(tree) == ["empty/", "full/file"]
    assert listed(tree, prefix="empty/") == ["empty/"]
    assert listed(tree, prefix="full/") == ["full/file"]


def test_a_prefix_without_a_path_has_no_keys() -> None:
    tree = Tree(["a/b"], [])
    for prefix in ("/", "//", "a//", "../", "a/../", "a:b/"):
        assert listed(tree, prefix=prefix) == []


def test_a_tree_of_500_levels_is_listed() -> None:
    deep = "/".join("a" * 500)
    assert listed(Tree([deep], [])) == [deep]


def test_a_page_in_the_middle_of_a_directory_does_not_read_all_before_it() -> None:
    tree = Tree([f"part-{number:05}" for number in range(1000)], [])
    page = list_page(tree.source, prefix="", delimiter="", after="part-00500", max_keys=2)
    assert [entry.key for entry in page.entries] == ["part-00501", "part-00502"]
    assert page.is_truncated
    assert tree.calls < 5


@settings(max_examples=150, deadline=None)
@given(
    st.lists(PATHS, max_size=12),
    st.lists(PATHS, max_size=4),
    st.sampled_from(["", "/", "-"]),
    st.data(),
)
def test_pages_are_the_sorted_keys(
    files: list[str], directories: list[str], delimiter: str, data: st.DataObject
) -> None:
    tree = Tree(files, directories)
    known = st.sampled_from([*tree.keys, "a", "a/", "-/", "a//b", "0"])
    prefix = data.draw(st.one_of(st.just(""), known))[: data.draw(st.integers(0, 5))]
    after = data.draw(st.one_of(st.just(""), known))
    wanted = expected(tree.keys, prefix, delimiter, after)
    assert listed(tree, prefix, delimiter, after) == wanted
    found: list[str] = []
    is_truncated = True
    while is_truncated:
        page = list_page(
            tree.source,
            prefix=prefix,
            delimiter=delimiter,
            after=found[-1] if found else after,
            max_keys=2,
        )
        found += [entry.key for entry in page.entries]
        is_truncated = page.is_truncated
    assert found == wanted


@pytest.mark.parametrize("most", [0, 1])
def test_a_page_has_as_many_keys_as_were_asked_for(most: int) -> None:
    page = list_page(Tree(["a", "b"], []).source, prefix="", delimiter="", after="", max_keys=most)
    assert (len(page.entries), page.is_truncated) == (most, most > 0)
