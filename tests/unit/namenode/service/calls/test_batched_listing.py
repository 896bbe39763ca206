"""Several directories in one call."""

from __future__ import annotations

from typing import Any

import pytest

from howdah import errors
from howdah.namenode.service.calls.settings import Settings
from howdah.proto import client_namenode_pb2 as pb


@pytest.fixture
def settings() -> Settings:
    return Settings("", listing_limit=3, batched_listing_limit=4)


@pytest.fixture
def tree(client: Any) -> None:
    for path in ("/a/1", "/a/2", "/b", "/c/1", "/c/2", "/c/3", "/c/4"):
        client.mkdirs(path)


def page(client: Any, paths: list[str], start_after: bytes = b"") -> Any:
    return client.call(
        "getBatchedListing",
        pb.GetBatchedListingRequestProto(paths=paths, startAfter=start_after, needLocation=False),
    )


def parts(answer: Any) -> list[tuple[int, list[str]]]:
    return [
        (part.parentIdx, [entry.path.decode() for entry in part.partialListing])
        for part in answer.listings
    ]


@pytest.mark.usefixtures("tree")
def test_pages_go_through_all_paths_in_order(client: Any) -> None:
    paths = ["/a", "/b", "/c", "/a"]
    first = page(client, paths)
    assert (parts(first), first.hasMore) == (
        [(0, ["1", "2"]), (1, []), (2, ["1", "2", "3"])],
        True,
    )
    second = page(client, paths, first.startAfter)
    assert (parts(second), second.hasMore) == ([(2, ["4"]), (3, ["1", "2"])], False)


@pytest.mark.usefixtures("tree")
def test_a_page_that_ends_with_a_path_goes_on_with_the_next(client: Any) -> None:
    paths = ["/a", "/a", "/b"]
    first = page(client, paths)
    assert (parts(first), first.hasMore) == ([(0, ["1", "2"]), (1, ["1", "2"])], True)
    assert parts(page(client, paths, first.startAfter)) == [(2, [])]


@pytest.mark.usefixtures("tree")
def test_a_path_that_cannot_be_listed_says_why_and_others_are(client: Any) -> None:
    missing, there = page(client, ["/nowhere", "/a"]).listings
    assert missing.exception.className == "java.io.FileNotFoundException"
    assert "/nowhere" in missing.exception.message
    assert len(there.partialListing) == 2


def test_too_many_paths_are_refused(client: Any) -> None:
    with pytest.raises(errors.IllegalArgument, match=r"dfs\.batched\.ls\.limit is 4"):
        page(client, ["/"] * 5)


@pytest.mark.usefixtures("tree")
def test_where_one_listing_went_on_is_of_no_use_to_another(client: Any) -> None:
    cookie = page(client, ["/a", "/c"]).startAfter
    with pytest.raises(errors.IllegalArgument, match="goes on"):
        page(client, ["/a", "/b"], cookie)
