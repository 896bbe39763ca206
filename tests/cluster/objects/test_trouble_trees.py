"""Whatever happens between a program and its store: a tree is changed whole, or what stays of it
is told, and is there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from howdah import errors
from howdah.fs.objects.filesystem import S3FileSystem
from tests.support.objects.changes import CHANGES, FAILING, NAMES, WHOLE, content, held, plans
from tests.support.objects.store import StoreServer
from tests.support.objects.trouble import TROUBLES, Answer, Proxy

PART = 16 << 10
MATRIX = [False, pytest.param(True, marks=pytest.mark.torture)]


@pytest.fixture
def through(store: StoreServer, bucket: str, proxy: Proxy) -> Iterator[S3FileSystem]:
    """A filesystem that makes requests again."""
    proxy.plan()
    with store.behind(proxy.port).connect(bucket, part_bytes=PART, paging_maximum="2") as made:
        yield made
        proxy.plan()


@pytest.fixture
def once(store: StoreServer, bucket: str, proxy: Proxy) -> Iterator[S3FileSystem]:
    """A filesystem that makes no request again."""
    proxy.plan()
    no = {"retry_limit": "0", "retry_throttle_limit": "0"}
    with store.behind(proxy.port).connect(bucket, part_bytes=PART, **no) as made:
        yield made
        proxy.plan()


def make(store: StoreServer, bucket: str, top: str) -> None:
    """A tree, past the proxy."""
    for name in NAMES:
        store.client().put_object(Bucket=bucket, Key=f"{top[1:]}/{name}", Body=content(name))


@pytest.mark.req("FS-190", "FS-188")
@pytest.mark.parametrize("all_of_them", MATRIX)
def test_trouble_at_any_request_of_a_rename_loses_nothing(
    store: StoreServer, bucket: str, through: S3FileSystem, proxy: Proxy, all_of_them: bool
) -> None:
    make(store, bucket, "/from")
    proxy.plan()
    through.rename("/from", "/to")
    count = len(proxy.seen)
    assert any("partNumber" in each for each in proxy.seen)
    for index, (trouble, plan) in enumerate(plans(count, TROUBLES, all_of_them=all_of_them)):
        make(store, bucket, f"/from{index}")
        proxy.plan(plan)
        through.rename(f"/from{index}", f"/to-{index}")
        proxy.plan()
        assert held(through, f"/to-{index}") == WHOLE, plan
        assert not through.exists(f"/from{index}"), plan
        # An upload whose name was lost with the answer is found by its age.
        assert trouble.startswith("answer") or through.unfinished_uploads() == [], plan
        through.abort_uploads(older_than_ms=0, now_ms=1 << 60)


@pytest.mark.req("FS-190", "FS-188")
@pytest.mark.parametrize("all_of_them", MATRIX)
def test_a_rename_that_fails_leaves_every_file_somewhere_and_no_parts(
    store: StoreServer, bucket: str, once: S3FileSystem, proxy: Proxy, all_of_them: bool
) -> None:
    make(store, bucket, "/from")
    proxy.plan()
    once.rename("/from", "/to")
    requests = list(proxy.seen)
    told: list[tuple[str, str]] = []
    for number in range(1, len(requests) + 1):
        troubles = FAILING if all_of_them else [FAILING[number % len(FAILING)]]
        for trouble in troubles:
            top = f"{number}-{trouble.replace(' ', '-')}"
            make(store, bucket, f"/{top}-from")
            proxy.plan({number: trouble})
            try:
                once.rename(f"/{top}-from", f"/{top}-to")
            except (errors.HowdahError, OSError) as error:
                # Of a look at a directory above the message names no more than the bucket.
                told.append((top, f"{error} {getattr(error, 'filename', '')}"))
            proxy.plan()
            old, new = held(once, f"/{top}-from"), held(once, f"/{top}-to")
            assert new | old == WHOLE, top
            assert old | new == WHOLE, top
            # Nothing of the old ones is removed before all of the new ones are there.
            assert old == WHOLE or new == WHOLE, top
            left = once.unfinished_uploads()
            is_nameless = trouble.startswith("answer") and any("?uploads" in e for e in requests)
            assert len(left) <= int(is_nameless), top
            once.abort_uploads(older_than_ms=0, now_ms=1 << 60)
    assert len(told) > len(requests) // 2
    assert [top for top, said in told if top not in said] == []


@pytest.mark.req("FS-190", "FS-188")
@pytest.mark.parametrize("all_of_them", MATRIX)
@pytest.mark.parametrize("name", CHANGES)
def test_trouble_at_any_request_of_a_tree_changes_nothing_about_it(
    store: StoreServer,
    bucket: str,
    through: S3FileSystem,
    proxy: Proxy,
    name: str,
    all_of_them: bool,
) -> None:
    make(store, bucket, "/counted")
    proxy.plan()
    CHANGES[name](through, "/counted")
    count = len(proxy.seen)
    troubles = TROUBLES if all_of_them else TROUBLES[[*CHANGES].index(name) % 2 :: 2]
    for index, (_, plan) in enumerate(plans(count, troubles, all_of_them=all_of_them)):
        make(store, bucket, f"/{index}")
        proxy.plan(plan)
        CHANGES[name](through, f"/{index}")
        assert len(proxy.seen) >= count
        proxy.plan()
        through.abort_uploads(older_than_ms=0, now_ms=1 << 60)


# --- many files in a request ------------------------------------------------------------------


@pytest.mark.req("FS-190")
def test_a_bulk_delete_is_a_few_requests_whatever_there_is(
    store: StoreServer, bucket: str, proxy: Proxy
) -> None:
    client = store.client()
    for key in ["d/full/x", "d/empty/", "d/file", "d/both", "d/both/below", "d/zz/deep"]:
        client.put_object(Bucket=bucket, Key=key, Body=b"x" * (not key.endswith("/")))
    with store.behind(proxy.port).connect(bucket) as fs:
        proxy.plan()
        targets = [f"/d/{name}" for name in ("full", "empty", "file", "both", "absent", "zz/deep")]
        ((path, error),) = fs.bulk_delete("/d").delete(targets)
        assert path == "/d/full"
        assert isinstance(error, errors.DirectoryNotEmpty)
        # A listing for each parent, one removal for all files, three for the empty directory, and
        # a look at each directory that lost something.
        assert len([each for each in proxy.seen if each.startswith("POST")]) == 1
        assert len(proxy.seen) <= 15
        assert fs.read_bytes("/d/full/x") == b"x"
        assert [each.path for each in fs.list_status("/d")] == ["/d/both", "/d/full", "/d/zz"]
        # A directory that lost its last file stays.
        assert fs.list_status("/d/zz") == []
        with pytest.raises(errors.IllegalArgument, match="/e/x is not below /d"):
            fs.bulk_delete("/d").delete(["/d/full/x", "/e/x"])
        assert fs.exists("/d/full/x")


@pytest.mark.req("FS-190")
def test_targets_of_a_bulk_delete_that_are_far_apart_cost_no_listing_of_all_between(
    store: StoreServer, bucket: str, proxy: Proxy
) -> None:
    client = store.client()
    for number in range(40):
        client.put_object(Bucket=bucket, Key=f"d/m{number:02}", Body=b"x")
    for key in ("d/a", "d/z", "d/zz/below"):
        client.put_object(Bucket=bucket, Key=key, Body=b"x")
    with store.behind(proxy.port).connect(bucket, paging_maximum="2") as fs:
        proxy.plan()
        ((path, _),) = fs.bulk_delete("/d").delete(["/d/a", "/d/z", "/d/zz"])
        assert path == "/d/zz"
        assert len(proxy.seen) < 12
        assert not fs.exists("/d/a")
        assert not fs.exists("/d/z")
        assert fs.exists("/d/zz/below")


def refusing(*codes: str) -> Answer:
    """The removal of the objects /d/0, /d/1, … was refused with these codes."""
    errors_ = "".join(
        f"<Error><Key>d/{number}</Key><Code>{code}</Code><Message>planned</Message></Error>"
        for number, code in enumerate(codes)
    )
    return Answer(200, text=f"<DeleteResult>{errors_}</DeleteResult>")


@pytest.mark.req("FS-190")
def test_what_of_many_is_refused_is_told_one_by_one(
    store: StoreServer, bucket: str, through: S3FileSystem, proxy: Proxy
) -> None:
    targets = [f"/d/{each}" for each in range(3)]
    proxy.plan(first=("POST", refusing("AccessDenied", "NoSuchKey", "AccessDenied")))
    failed = through.bulk_delete("/d").delete(targets)
    assert [(path, type(error)) for path, error in failed] == [
        ("/d/0", errors.AccessDenied),
        ("/d/2", errors.AccessDenied),
    ]
    # A removal of a tree is refused with the first of them.
    for key in ("d/0", "d/1"):
        store.client().put_object(Bucket=bucket, Key=key, Body=b"x")
    proxy.plan(first=("POST", refusing("AccessDenied")))
    with pytest.raises(errors.AccessDenied, match="1 of the objects below /d could not be deleted"):
        through.delete("/d", recursive=True)


@pytest.mark.req("FS-190", "FS-188")
def test_what_of_many_the_store_had_no_time_for_is_asked_for_again(
    store: StoreServer, bucket: str, through: S3FileSystem, once: S3FileSystem, proxy: Proxy
) -> None:
    targets = [f"/d/{each}" for each in range(3)]
    for name in targets:
        store.client().put_object(Bucket=bucket, Key=name[1:], Body=b"x")
    some = refusing("SlowDown", "AccessDenied", "InternalError")
    proxy.plan(first=("POST", some))
    ((path, error),) = through.bulk_delete("/d").delete(targets)
    assert (path, type(error)) == ("/d/1", errors.AccessDenied)
    assert len([each for each in proxy.seen if each.startswith("POST")]) == 2
    # The answer was planned; what was asked for again is gone.
    assert [each.path for each in through.list_status("/d")] == ["/d/1"]
    proxy.plan(first=("POST", some))
    failed = once.bulk_delete("/d").delete(targets)
    assert [path for path, _ in failed] == ["/d/1", "/d/0", "/d/2"]
    assert len([each for each in proxy.seen if each.startswith("POST")]) == 1
    # Refused as a whole it is one error.
    proxy.plan(first=("POST", "500"))
    with pytest.raises(errors.RetriableError, match="/d/0: "):
        once.bulk_delete("/d").delete(targets)
