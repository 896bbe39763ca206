"""Whatever happens between a program and its store: a file is whole, or it is not there."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import pytest

from howdah import errors
from howdah.fs import capabilities
from howdah.fs.objects.filesystem import S3FileSystem
from howdah.options import AbortableResult, FileRange
from howdah.testing.waiting import wait_until
from tests.support.objects.store import StoreServer
from tests.support.objects.trouble import TROUBLES, Proxy

PART = 16 << 10
DATA = bytes(range(256)) * 200
"""Three parts, and a piece."""
FAILING = [each for each in TROUBLES if each != "slow"]


@pytest.fixture
def through(store: StoreServer, bucket: str, proxy: Proxy) -> Iterator[S3FileSystem]:
    """A filesystem that makes requests again."""
    proxy.plan()
    with store.behind(proxy.port).connect(bucket, part_bytes=PART) as made:
        yield made
        proxy.plan()


@pytest.fixture
def once(store: StoreServer, bucket: str, proxy: Proxy) -> Iterator[S3FileSystem]:
    """A filesystem that makes no request again."""
    proxy.plan()
    found = store.behind(proxy.port).connect(
        bucket, part_bytes=PART, retry_limit="0", retry_throttle_limit="0"
    )
    with found as made:
        yield made
        proxy.plan()


def write(fs: S3FileSystem, path: str, data: bytes = DATA, *, overwrite: bool = False) -> None:
    with fs.create(path, overwrite=overwrite) as out:
        for start in range(0, len(data), 10_000):
            out.write(data[start : start + 10_000])


def pairs(count: int, troubles: Sequence[str], *, all_of_them: bool) -> list[tuple[int, str]]:
    """Each request with each trouble; or each request with some, and each trouble with some."""
    return [
        (number, trouble)
        for number in range(1, count + 1)
        for place, trouble in enumerate(troubles)
        if all_of_them or (number + place) % 4 == 0
    ]


MATRIX = [False, pytest.param(True, marks=pytest.mark.torture)]


def requests_of(fs: S3FileSystem, proxy: Proxy, data: bytes) -> int:
    """How many requests it takes to write a file."""
    proxy.plan()
    write(fs, "/counted", data)
    return len(proxy.seen)


@pytest.mark.req("FS-188", "LM-056", "OS-182")
@pytest.mark.parametrize("all_of_them", MATRIX)
@pytest.mark.parametrize("data", [DATA, DATA[:100]], ids=["parts", "one request"])
def test_trouble_at_any_request_of_a_writer_loses_nothing(
    through: S3FileSystem, proxy: Proxy, data: bytes, all_of_them: bool
) -> None:
    count = requests_of(through, proxy, data)
    assert count == (7 if len(data) > PART else 2)
    for number, trouble in pairs(count, TROUBLES, all_of_them=all_of_them):
        path = f"/{trouble.replace(' ', '-')}-{number}"
        proxy.plan({number: trouble})
        write(through, path, data)
        proxy.plan()
        assert through.open(path).read() == data, path


def begins_an_upload(request: str) -> bool:
    return request.startswith("POST") and request.endswith("?uploads")


@pytest.mark.req("FS-188", "OS-182", "OS-021", "OS-022")
@pytest.mark.req("OS-060", "OS-062", "OS-069", "LM-033")
@pytest.mark.parametrize("all_of_them", MATRIX)
def test_a_writer_that_fails_leaves_no_file_and_no_parts(
    once: S3FileSystem, proxy: Proxy, all_of_them: bool
) -> None:
    count = requests_of(once, proxy, DATA)
    told: list[tuple[str, str]] = []
    for number, trouble in pairs(count, FAILING, all_of_them=all_of_them):
        path = f"/{trouble.replace(' ', '-')}-{number}"
        proxy.plan({number: trouble})
        out = None
        is_nameless = False
        try:
            out = once.create(path)
            out.write(DATA)
            out.close()
        except (errors.HowdahError, OSError) as error:
            told.append((path, str(error)))
            before = len(proxy.seen)
            # The store began an upload, but could not say under which name.
            is_nameless = trouble.startswith("answer") and begins_an_upload(proxy.seen[number - 1])
            if out is not None:
                with suppress(errors.HowdahError, OSError):
                    out.close()  # says again what became of the file
                out.close()
                assert out.closed
            assert len(proxy.seen) == before, "closing again asks for something"
            proxy.plan()
            assert not once.exists(path), path
        else:
            # Only the answer was lost.
            proxy.plan()
            assert once.open(path).read() == DATA, path
        assert len(once.unfinished_uploads(path)) == int(is_nameless), path
    assert len(told) > count
    assert [(path, said) for path, said in told if path not in said] == []


@pytest.mark.req("LM-056", "OS-179", "OS-181", "FS-188")
@pytest.mark.parametrize("data", [DATA, DATA[:100]], ids=["parts", "one request"])
def test_a_close_whose_answer_is_lost_finds_its_file_there(
    once: S3FileSystem, proxy: Proxy, data: bytes
) -> None:
    last = requests_of(once, proxy, data)
    proxy.plan({last: "answer lost"})
    write(once, "/file", data)
    assert len(proxy.seen) == last + 1
    assert proxy.seen[-1].startswith("HEAD")
    assert once.open("/file").read() == data


@pytest.mark.req("XC-012", "LM-055", "OS-174", "OS-175", "OS-176")
@pytest.mark.parametrize("data", [DATA, DATA[:100]], ids=["parts", "one request"])
def test_of_two_writers_of_a_new_file_the_second_one_is_told(
    through: S3FileSystem, proxy: Proxy, data: bytes
) -> None:
    first, second = through.create("/new"), through.create("/new")
    first.write(data)
    second.write(data[::-1])
    first.close()
    with pytest.raises(errors.PathExists, match="made by somebody else"):
        second.close()
    assert through.open("/new").read() == data
    assert through.unfinished_uploads() == []


@pytest.mark.req("XC-012", "LM-055")
def test_a_repeated_request_does_not_take_its_own_file_for_anothers(
    through: S3FileSystem, proxy: Proxy
) -> None:
    last = requests_of(through, proxy, b"x")
    proxy.plan({last: "answer lost"})
    write(through, "/new", b"mine")
    assert through.open("/new").read() == b"mine"


@pytest.mark.req("OS-171", "OS-172", "OS-173", "OS-178", "OS-182", "LM-057", "XC-008")
def test_nothing_is_seen_before_close_and_parts_go_up_before(
    store: StoreServer, bucket: str, through: S3FileSystem, proxy: Proxy
) -> None:
    write(through, "/old", b"old")
    with through.create("/old", overwrite=True) as out:
        out.write(DATA)
        assert [each.path for each in through.unfinished_uploads()] == ["/old"]
        assert through.open("/old").read() == b"old"
        with through.create("/new") as other:
            other.write(DATA)
            assert not through.exists("/new")
    assert through.open("/old").read() == DATA
    assert any("partNumber=1" in each for each in proxy.seen)


@pytest.mark.req("OS-183", "OS-186", "OS-184")
def test_an_aborted_stream_leaves_nothing(through: S3FileSystem) -> None:
    for data in (b"", DATA[:10], DATA):
        out = through.create("/aborted")
        out.write(data)
        assert out.has_capability(capabilities.ABORTABLE_STREAM)
        assert not out.has_capability("hflush")
        assert not out.has_capability("HSYNC")
        for sync in (out.hflush, out.hsync):
            with pytest.raises(errors.UnsupportedOperation, match="/aborted"):
                sync()
        assert out.abort() == AbortableResult(already_closed=False)
        assert out.abort() == AbortableResult(already_closed=True)
        out.close()
        with pytest.raises(errors.ClosedStream):
            out.write(b"more")
        assert not through.exists("/aborted")
        assert through.unfinished_uploads() == []


@pytest.mark.req("OS-183")
def test_an_abort_that_the_store_does_not_hear_of_says_so(once: S3FileSystem, proxy: Proxy) -> None:
    out = once.create("/aborted")
    out.write(DATA)
    wait_until(lambda: out.statistics().parts_uploaded == 3, 60, "three parts at the store")
    proxy.plan({1: "refused"})
    result = out.abort()
    assert isinstance(result.cleanup_error, errors.Unreachable)
    proxy.plan()
    assert [each.path for each in once.unfinished_uploads()] == ["/aborted"]


@pytest.mark.req("FS-188")
def test_a_stream_that_is_dropped_leaves_no_file_and_no_parts(through: S3FileSystem) -> None:
    out = through.create("/dropped")
    out.write(DATA)
    del out
    gc.collect()
    assert not through.exists("/dropped")
    assert through.unfinished_uploads() == []


def test_statistics_of_a_stream_are_what_the_store_has(through: S3FileSystem) -> None:
    out = through.create("/counted")
    out.write(DATA)
    out.close()
    found = out.statistics()
    assert (found.bytes_written, found.bytes_uploaded, found.parts_uploaded) == (
        len(DATA),
        len(DATA),
        4,
    )
    assert through.statistics().bytes_written == len(DATA)


# --- reading ------------------------------------------------------------------------------


@pytest.mark.req("FS-188", "FS-189")
@pytest.mark.parametrize("all_of_them", MATRIX)
def test_trouble_at_any_request_of_a_reader_loses_nothing(
    through: S3FileSystem, proxy: Proxy, all_of_them: bool
) -> None:
    write(through, "/read")
    ranges = [FileRange(40_000, 100), FileRange(10, 2000)]

    def read() -> None:
        with through.open("/read") as stream:
            assert stream.read() == DATA
            stream.unbuffer()  # all of a small file came with the opening
            stream.seek(20_000)
            assert stream.read(7) == DATA[20_000:20_007]
            assert stream.pread(5, 30_000) == DATA[5:30_005]
            for wanted, found in zip(ranges, stream.read_vectored(ranges), strict=True):
                assert bytes(found.result(60)) == DATA[wanted.offset : wanted.end]

    proxy.plan()
    read()
    count = len(proxy.seen)
    assert count == 4
    for number, trouble in pairs(count, TROUBLES, all_of_them=all_of_them):
        proxy.plan({number: trouble})
        read()


@pytest.mark.req("FS-188", "FS-192")
@pytest.mark.parametrize("trouble", ["hangs", "object stalls"])
def test_a_store_that_says_nothing_is_asked_again_and_given_up_by_its_time_out(
    store: StoreServer, bucket: str, proxy: Proxy, trouble: str
) -> None:
    keys: dict[str, Any] = {"connection_timeout": "1s", "retry_limit": "0"}
    with store.connect(bucket) as fs:
        write(fs, "/file")
    proxy.plan(always=trouble)
    with store.behind(proxy.port).connect(bucket, **keys) as fs:
        if trouble == "hangs":
            with pytest.raises(errors.CallTimeout, match=r"/file: http://.* did not answer"):
                fs.get_file_status("/file")
        else:
            with fs.open("/file") as stream, pytest.raises(errors.CallTimeout, match="/file"):
                stream.read()
    # The second request is answered.
    with store.behind(proxy.port).connect(bucket, **keys | {"retry_limit": "9"}) as fs:
        proxy.plan()
        stream = fs.open("/file")
        proxy.plan({1: trouble})
        assert stream.read() == DATA
        assert len(proxy.seen) > 1
    proxy.plan()
