"""Whatever happens between a program and Azure's or Google's store: a file is whole, or it is not
there."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import suppress

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.fs import capabilities
from howdah.fs.objects.filesystem import ObjectFileSystem
from howdah.fs.registry import connect
from howdah.options import AbortableResult, FileRange
from howdah.testing.waiting import wait_until
from tests.support.objects.changes import CHANGES, FAILING, NAMES, WHOLE, content, held, plans
from tests.support.objects.clouds import CloudServer
from tests.support.objects.google import GoogleServer
from tests.support.objects.trouble import TROUBLES, Proxy, proxy_before

PART = 256 << 10
DATA = bytes(range(256)) * 3400
"""Three parts, and a piece."""


@pytest.fixture(scope="module")
def proxy(cloud: CloudServer) -> Iterator[Proxy]:
    with proxy_before(cloud.port) as made:
        yield made


@pytest.fixture(scope="module")
def bucket(cloud: CloudServer) -> str:
    """One for all tests here: each has a directory of its own."""
    return cloud.new_bucket()


@pytest.fixture(scope="module")
def through(cloud: CloudServer, bucket: str, proxy: Proxy) -> Iterator[ObjectFileSystem]:
    """A filesystem that makes requests again."""
    with cloud.behind(proxy.port).connect(bucket, part_bytes=PART) as made:
        yield made


@pytest.fixture(scope="module")
def once(cloud: CloudServer, bucket: str, proxy: Proxy) -> Iterator[ObjectFileSystem]:
    """A filesystem that makes no request again."""
    with cloud.behind(proxy.port).connect(bucket, part_bytes=PART, retries=0) as made:
        yield made


@pytest.fixture
def top(request: pytest.FixtureRequest, proxy: Proxy) -> Iterator[str]:
    """A directory that no other test has."""
    proxy.plan()
    yield "/" + request.node.name.replace("[", "-").replace("]", "").replace(" ", "-")
    proxy.plan()


def write(fs: ObjectFileSystem, path: str, data: bytes = DATA, *, overwrite: bool = False) -> None:
    with fs.create(path, overwrite=overwrite) as out:
        for start in range(0, len(data), 100_000):
            out.write(data[start : start + 100_000])


def pairs(count: int, troubles: Sequence[str], *, all_of_them: bool) -> list[tuple[int, str]]:
    """Each request with each trouble; or each request with some, and each trouble with some."""
    return [
        (number, trouble)
        for number in range(1, count + 1)
        for place, trouble in enumerate(troubles)
        if all_of_them or (number + place) % 4 == 0
    ]


MATRIX = [False, pytest.param(True, marks=pytest.mark.torture)]
SIZES = pytest.mark.parametrize("data", [DATA, DATA[:100]], ids=["parts", "one request"])


def requests_of(fs: ObjectFileSystem, proxy: Proxy, path: str, data: bytes) -> int:
    """How many requests it takes to write a file."""
    proxy.plan()
    write(fs, path, data)
    return len(proxy.seen)


@pytest.mark.req("FS-188", "LM-056", "OS-182")
@pytest.mark.parametrize("all_of_them", MATRIX)
@SIZES
def test_trouble_at_any_request_of_a_writer_loses_nothing(
    through: ObjectFileSystem, proxy: Proxy, top: str, data: bytes, all_of_them: bool
) -> None:
    count = requests_of(through, proxy, f"{top}/counted", data)
    for number, trouble in pairs(count, TROUBLES, all_of_them=all_of_them):
        path = f"{top}/{trouble.replace(' ', '-')}-{number}"
        proxy.plan({number: trouble})
        write(through, path, data)
        proxy.plan()
        assert through.open(path).read() == data, path


@pytest.mark.req("FS-188", "OS-182", "OS-021", "OS-022")
@pytest.mark.req("OS-060", "OS-062", "OS-069", "LM-033")
@pytest.mark.parametrize("all_of_them", MATRIX)
def test_a_writer_that_fails_leaves_no_file(
    once: ObjectFileSystem, proxy: Proxy, top: str, all_of_them: bool
) -> None:
    count = requests_of(once, proxy, f"{top}/counted", DATA)
    told: list[tuple[str, str]] = []
    for number, trouble in pairs(count, FAILING, all_of_them=all_of_them):
        path = f"{top}/{trouble.replace(' ', '-')}-{number}"
        proxy.plan({number: trouble})
        out = None
        try:
            out = once.create(path)
            out.write(DATA)
            out.close()
        except (errors.HowdahError, OSError) as error:
            told.append((path, str(error)))
            before = len(proxy.seen)
            if out is not None:
                with suppress(errors.HowdahError, OSError):
                    out.close()  # says again what became of the file
                out.close()
                assert out.closed
            assert len(proxy.seen) == before, "closing again asks for something"
            proxy.plan()
            assert not once.exists(path), path
        else:
            # Only an answer was lost.
            proxy.plan()
            assert once.open(path).read() == DATA, path
    # Requests on connections that were kept are made again at once.
    assert len(told) > 3
    assert [path for path, said in told if path.rpartition("/")[2] not in said] == []


@pytest.mark.req("LM-056", "OS-179", "OS-181", "FS-188")
@SIZES
def test_a_close_whose_answer_is_lost_finds_its_file_there(
    once: ObjectFileSystem, proxy: Proxy, top: str, data: bytes
) -> None:
    last = requests_of(once, proxy, f"{top}/counted", data)
    proxy.plan({last: "answer lost"})
    write(once, f"{top}/file", data)
    proxy.plan()
    assert once.open(f"{top}/file").read() == data


@pytest.mark.req("XC-012", "LM-055", "OS-174", "OS-175", "OS-176")
@SIZES
def test_of_two_writers_of_a_new_file_the_second_one_is_told(
    through: ObjectFileSystem, top: str, data: bytes
) -> None:
    path = f"{top}/new"
    first, second = through.create(path), through.create(path)
    first.write(data)
    second.write(data[::-1])
    first.close()
    with pytest.raises(errors.PathExists, match="made by somebody else"):
        second.close()
    assert through.open(path).read() == data
    with pytest.raises(errors.PathExists):
        through.create(path)


@pytest.mark.req("XC-012", "LM-055")
@SIZES
def test_a_repeated_request_does_not_take_its_own_file_for_anothers(
    through: ObjectFileSystem, proxy: Proxy, top: str, data: bytes
) -> None:
    last = requests_of(through, proxy, f"{top}/counted", data)
    proxy.plan({last: "answer lost"})
    write(through, f"{top}/new", data)
    proxy.plan()
    assert through.open(f"{top}/new").read() == data


@pytest.mark.req("OS-171", "OS-172", "OS-173", "OS-178", "OS-182", "LM-057", "XC-008")
def test_nothing_is_seen_before_close_and_parts_go_up_before(
    through: ObjectFileSystem, proxy: Proxy, top: str
) -> None:
    write(through, f"{top}/old", b"old")
    with through.create(f"{top}/old", overwrite=True) as out:
        out.write(DATA)
        wait_until(lambda: out.statistics().parts_uploaded > 0, 60, "a part at the store")
        assert through.open(f"{top}/old").read() == b"old"
        with through.create(f"{top}/new") as other:
            other.write(DATA)
            assert not through.exists(f"{top}/new")
            assert [each.path for each in through.list_status(top)] == [f"{top}/old"]
    assert through.open(f"{top}/old").read() == DATA
    assert through.open(f"{top}/new").read() == DATA


@pytest.mark.req("OS-183", "OS-186", "OS-184")
def test_an_aborted_stream_leaves_nothing(through: ObjectFileSystem, top: str) -> None:
    for data in (b"", DATA[:10], DATA):
        out = through.create(f"{top}/aborted")
        out.write(data)
        assert out.has_capability(capabilities.ABORTABLE_STREAM)
        assert not out.has_capability("hflush")
        assert not out.has_capability("HSYNC")
        for sync in (out.hflush, out.hsync):
            with pytest.raises(errors.UnsupportedOperation, match="aborted"):
                sync()
        assert out.abort() == AbortableResult(already_closed=False)
        assert out.abort() == AbortableResult(already_closed=True)
        out.close()
        with pytest.raises(errors.ClosedStream):
            out.write(b"more")
        assert not through.exists(f"{top}/aborted")


@pytest.mark.req("FS-188")
def test_a_stream_that_is_dropped_leaves_no_file(through: ObjectFileSystem, top: str) -> None:
    out = through.create(f"{top}/dropped")
    out.write(DATA)
    del out
    gc.collect()
    assert not through.exists(f"{top}/dropped")


def test_statistics_of_a_stream_are_what_the_store_has(through: ObjectFileSystem, top: str) -> None:
    out = through.create(f"{top}/counted")
    out.write(DATA)
    out.close()
    found = out.statistics()
    assert (found.bytes_written, found.bytes_uploaded, found.parts_uploaded) == (
        len(DATA),
        len(DATA),
        4,
    )


# --- reading ------------------------------------------------------------------------------


@pytest.mark.req("FS-188", "FS-189")
@pytest.mark.parametrize("all_of_them", MATRIX)
def test_trouble_at_any_request_of_a_reader_loses_nothing(
    through: ObjectFileSystem, proxy: Proxy, top: str, all_of_them: bool
) -> None:
    path = f"{top}/read"
    write(through, path)
    ranges = [FileRange(400_000, 100), FileRange(10, 2000)]

    def read() -> None:
        with through.open(path) as stream:
            assert stream.read() == DATA
            stream.unbuffer()
            stream.seek(20_000)
            assert stream.read(7) == DATA[20_000:20_007]
            assert stream.pread(5, 30_000) == DATA[5:30_005]
            for wanted, found in zip(ranges, stream.read_vectored(ranges), strict=True):
                assert bytes(found.result(60)) == DATA[wanted.offset : wanted.end]

    proxy.plan()
    read()
    count = len(proxy.seen)
    for number, trouble in pairs(count, TROUBLES, all_of_them=all_of_them):
        proxy.plan({number: trouble})
        read()


@pytest.mark.req("FS-189")
def test_an_object_that_was_replaced_under_its_reader_is_told(
    through: ObjectFileSystem, top: str
) -> None:
    path = f"{top}/file"
    write(through, path)
    with through.open(path) as stream:
        assert stream.pread(5, 5) == DATA[5:10]
        write(through, path, DATA[::-1], overwrite=True)
        with pytest.raises(errors.FileChanged, match="was replaced while it was open"):
            stream.pread(5, 5)
    with through.open(path) as stream:
        stream.unbuffer()
        through.delete(path)
        with pytest.raises(errors.FileChanged, match=r"was (replaced|deleted) while it was"):
            stream.read()


@pytest.mark.req("FS-189")
def test_a_reader_checks_the_whole_and_asks_for_little_at_random(
    through: ObjectFileSystem, top: str
) -> None:
    write(through, f"{top}/file")
    with through.open(f"{top}/file") as stream:
        assert stream.read() == DATA
        found = stream.statistics()
        assert (found.requests, found.is_verified) == (1, True)
    with through.open(f"{top}/file", buffer_size=4096) as stream:
        for offset in (800_000, 400_000, 5):
            stream.seek(offset)
            assert stream.read(10) == DATA[offset : offset + 10]
        # What came with the opening was of no use.
        assert stream.statistics().requests in (3, 4)


@pytest.mark.req("FS-190")
@pytest.mark.parametrize("all_of_them", MATRIX)
def test_trouble_at_any_request_of_a_rename_or_a_removal_loses_nothing(
    through: ObjectFileSystem, proxy: Proxy, top: str, all_of_them: bool
) -> None:
    names = ["1", "2/3", "4"]

    def make(place: str) -> None:
        proxy.plan()
        for name in names:
            write(through, f"{place}/{name}", name.encode() * 9000)

    make(f"{top}/from")
    proxy.plan()
    through.rename(f"{top}/from", f"{top}/to")
    count = len(proxy.seen)
    for index, trouble in enumerate(TROUBLES if all_of_them else TROUBLES[1::2]):
        make(f"{top}/from{index}")
        # Several requests in one run: each is a trouble of its own.
        proxy.plan({number: trouble for number in range(1 + index % 3, count + 1, 3)})
        through.rename(f"{top}/from{index}", f"{top}/to-{index}")
        proxy.plan()
        assert [through.open(f"{top}/to-{index}/{n}").read() for n in names] == [
            n.encode() * 9000 for n in names
        ]
        assert not through.exists(f"{top}/from{index}")
        proxy.plan({1: trouble, 3: trouble, 5: trouble})
        assert through.delete(f"{top}/to-{index}", recursive=True)
        proxy.plan()
        assert not through.exists(f"{top}/to-{index}")


# --- trees --------------------------------------------------------------------------------


def make(fs: ObjectFileSystem, proxy: Proxy, top: str) -> None:
    """A tree, without trouble."""
    proxy.plan()
    for name in NAMES:
        write(fs, f"{top}/{name}", content(name))


@pytest.mark.req("FS-190", "FS-188")
@pytest.mark.parametrize("all_of_them", MATRIX)
@pytest.mark.parametrize("name", CHANGES)
def test_trouble_at_any_request_of_a_tree_changes_nothing_about_it(
    through: ObjectFileSystem, proxy: Proxy, top: str, name: str, all_of_them: bool
) -> None:
    make(through, proxy, f"{top}/counted")
    proxy.plan()
    CHANGES[name](through, f"{top}/counted")
    count = len(proxy.seen)
    troubles = TROUBLES if all_of_them else TROUBLES[[*CHANGES].index(name) % 2 :: 2]
    for index, (_, plan) in enumerate(plans(count, troubles, all_of_them=all_of_them)):
        make(through, proxy, f"{top}/{index}")
        proxy.plan(plan)
        CHANGES[name](through, f"{top}/{index}")
        proxy.plan()


@pytest.mark.req("FS-190", "FS-188")
@pytest.mark.parametrize("all_of_them", MATRIX)
def test_a_rename_that_fails_leaves_every_file_somewhere(
    once: ObjectFileSystem, proxy: Proxy, top: str, all_of_them: bool
) -> None:
    make(once, proxy, f"{top}/from")
    proxy.plan()
    once.rename(f"{top}/from", f"{top}/to")
    count = len(proxy.seen)
    told: list[tuple[str, str]] = []
    for number in range(1, count + 1):
        for trouble in FAILING if all_of_them else [FAILING[number % len(FAILING)]]:
            place = f"{top}/{number}-{trouble.replace(' ', '-')}"
            make(once, proxy, f"{place}-from")
            proxy.plan({number: trouble})
            try:
                once.rename(f"{place}-from", f"{place}-to")
            except (errors.HowdahError, OSError) as error:
                told.append((place, f"{error} {getattr(error, 'filename', '')}"))
            proxy.plan()
            old, new = held(once, f"{place}-from"), held(once, f"{place}-to")
            # Nothing of the old ones is removed before all of the new ones are there.
            assert old == WHOLE or new == WHOLE, place
            assert old | new == WHOLE, place
    assert len(told) > 3
    assert [place for place, said in told if place not in said] == []


@pytest.mark.req("FS-190", "FS-188")
@pytest.mark.parametrize("all_of_them", MATRIX)
def test_trouble_at_any_request_of_a_copy_leaves_the_old_file_or_the_new_one(
    through: ObjectFileSystem, once: ObjectFileSystem, proxy: Proxy, top: str, all_of_them: bool
) -> None:
    """Google copies it in two calls."""
    write(through, f"{top}/file")
    proxy.plan()
    through.copy_file(f"{top}/file", f"{top}/counted")
    count = len(proxy.seen)
    for number, trouble in pairs(count, FAILING, all_of_them=all_of_them):
        for fs in (through, once):
            proxy.plan()
            write(fs, f"{top}/there", b"old", overwrite=True)
            proxy.plan({number: trouble})
            try:
                fs.copy_file(f"{top}/file", f"{top}/there", overwrite=True)
            except (errors.HowdahError, OSError):
                assert fs is once
            else:
                proxy.plan()
                assert fs.read_bytes(f"{top}/there") == DATA
            proxy.plan()
            assert fs.read_bytes(f"{top}/there") in (b"old", DATA)
            assert fs.read_bytes(f"{top}/file") == DATA


# --- what is left, and what does not answer ---------------------------------------------------


@pytest.mark.req("OS-183", "FS-188")
def test_of_an_upload_that_is_given_up_google_keeps_no_session_and_azure_no_block_that_is_seen(
    cloud: CloudServer, through: ObjectFileSystem, top: str
) -> None:
    """Azure has no way to drop blocks: it does so itself, after a week."""
    aborted = through.create(f"{top}/aborted")
    aborted.write(DATA)
    aborted.abort()
    dropped = through.create(f"{top}/dropped")
    dropped.write(DATA)
    del dropped
    gc.collect()
    if isinstance(cloud, GoogleServer):
        assert [each.name for each in cloud.cloud.sessions.values() if top[1:] in each.name] == []
    assert not through.exists(top)
    # Blocks that are left belong to nobody's next file, and keep nobody from making one.
    for name, data in (("aborted", b"another"), ("dropped", b"")):
        write(through, f"{top}/{name}", data)
        assert through.read_bytes(f"{top}/{name}") == data
        with pytest.raises(errors.PathExists):
            through.create(f"{top}/{name}")
    given_up = through.create(f"{top}/directory")
    given_up.write(DATA)
    given_up.abort()
    through.mkdirs(f"{top}/directory")
    assert through.list_status(f"{top}/directory") == []


@pytest.mark.req("OS-183", "FS-188")
def test_an_abort_that_the_store_does_not_hear_of_leaves_no_file(
    cloud: CloudServer, once: ObjectFileSystem, proxy: Proxy, top: str
) -> None:
    """Google is asked to forget the session; Azure is asked for nothing."""
    out = once.create(f"{top}/aborted")
    out.write(DATA)
    wait_until(lambda: out.statistics().parts_uploaded == 3, 60, "three parts at the store")
    proxy.plan(always="503")
    result = out.abort()
    asked = len(proxy.seen)
    proxy.plan()
    assert not once.exists(f"{top}/aborted")
    if isinstance(cloud, GoogleServer):
        assert isinstance(result.cleanup_error, errors.RetriableError)
    else:
        assert (result.cleanup_error, asked) == (None, 0)


@pytest.mark.req("FS-188", "FS-192")
@pytest.mark.parametrize("trouble", ["hangs", "object stalls"])
def test_a_store_that_says_nothing_is_asked_again_and_given_up_by_its_time_out(
    cloud: CloudServer, bucket: str, through: ObjectFileSystem, proxy: Proxy, top: str, trouble: str
) -> None:
    write(through, f"{top}/file")
    keys = cloud.behind(proxy.port).keys()
    never = {"fs.azure.io.retry.max.retries": "0", "fs.gs.http.max.retry": "0"}
    short = {"fs.azure.http.read.timeout": "1s", "fs.gs.http.read-timeout": "1s"}
    proxy.plan(always=trouble)
    with connect(f"{cloud.uri(bucket)}/", conf=Configuration(keys | short | never)) as fs:
        with pytest.raises(errors.CallTimeout, match=top):
            fs.read_bytes(f"{top}/file")
    proxy.plan()
    with connect(f"{cloud.uri(bucket)}/", conf=Configuration(keys | short)) as fs:
        # Which of them brings bytes is the store's affair.
        for number in (1, 2):
            proxy.plan({number: trouble})
            assert fs.read_bytes(f"{top}/file") == DATA
            assert len(proxy.seen) > 1 or number == 2
