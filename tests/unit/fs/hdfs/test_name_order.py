"""Names of a directory in the order of bytes, out of listings of either kind of namenode."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from howdah.fs.hdfs.name_order import HadoopListings, by_unsigned_bytes, encoded

NAMES = st.sets(
    st.text(st.sampled_from("ab~\x7fé\U0001f418\uffffz"), min_size=1, max_size=4), max_size=12
)


def signed(name: str) -> list[int]:
    """What Hadoop's namenodes compare."""
    return [byte - 256 if byte > 127 else byte for byte in encoded(name)]


class FakeNamenode:
    """A namenode of Hadoop with one directory."""

    def __init__(self, names: set[str]) -> None:
        self.names = set(names)
        self.time_ms = 1
        self.listed = 0

    def change(self, name: str) -> None:
        self.names ^= {name}
        self.time_ms += 1

    def get_file_info(self, path: str) -> Any:
        return SimpleNamespace(fileId=7, modification_time=self.time_ms)

    def list_after(self, directory: str, after: str) -> Iterator[tuple[Any, bool]]:
        for name in sorted(self.names, key=signed):
            if not after or signed(name) > signed(after):
                self.listed += 1
                yield SimpleNamespace(name=name), False


@given(NAMES)
def test_a_listing_in_either_order_comes_in_that_of_bytes(names: set[str]) -> None:
    for key in (signed, encoded):
        listing = sorted(names, key=key)
        in_order = [name for _, name in by_unsigned_bytes(listing, encoded)]
        assert in_order == sorted(names, key=encoded)


@given(NAMES, st.lists(st.tuples(st.text("ab~é", max_size=3), st.text("abé", min_size=1))))
def test_what_is_behind_a_name_is_all_that_is_behind_it(
    names: set[str], steps: list[tuple[str, str]]
) -> None:
    namenode = FakeNamenode(names)
    listings = HadoopListings(namenode, namenode.list_after)  # type: ignore[arg-type]
    for after, changed in steps:
        for _ in range(2):
            found = [status.name for status, _ in listings.behind("/d", after)]
            assert found == sorted(
                (name for name in namenode.names if encoded(name) > encoded(after)), key=encoded
            )
        namenode.change(changed)


def test_a_directory_in_ascii_is_read_from_the_name_on() -> None:
    namenode = FakeNamenode({f"{number:03}" for number in range(100)})
    listings = HadoopListings(namenode, namenode.list_after)  # type: ignore[arg-type]
    assert len(list(listings.behind("/d", "089"))) == 10
    namenode.listed = 0
    assert len(list(listings.behind("/d", "094"))) == 5
    assert namenode.listed == 5
    namenode.change("é")
    assert [status.name for status, _ in listings.behind("/d", "098")] == ["099", "é"]
