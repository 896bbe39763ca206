"""How small files are put together: lines, and Avro's containers."""

from __future__ import annotations

import bz2
import gzip
import itertools
import json
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import howdah
from howdah import errors
from howdah.fs.api import FileSystem
from howdah.fs.memory import filesystem as memory
from howdah.spark.compaction.concat import _share_of, count, data_files, join
from howdah.spark.compaction.concat_avro import (
    CorruptAvro,
    Header,
    Reader,
    encode_header,
    encode_long,
)
from howdah.spark.compaction.concat_lines import HeadersDiffer, NotJoinable, check_headers

_numbers = itertools.count()
PACKED: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    ".gz": (gzip.compress, gzip.decompress),
    ".bz2": (bz2.compress, bz2.decompress),
}


@pytest.fixture
def fs() -> Iterator[FileSystem]:
    name = f"joining-{next(_numbers)}"
    with howdah.connect(f"mem://{name}/") as connected:
        yield connected
    memory.forget(name)


def put(fs: FileSystem, path: str, data: bytes) -> None:
    with fs.create(path, overwrite=True) as out:
        out.write(data)


def joined(
    fs: FileSystem, files: dict[str, bytes], shares: int = 1, suffix: str = ".txt", **how: Any
) -> bytes:
    """What `files` become, put together to so many."""
    pack, unpack = PACKED.get(suffix[suffix.rfind(".") :], (bytes, bytes))
    for name, data in files.items():
        put(fs, f"/d/{name}{suffix}", pack(data))
    put(fs, "/d/_SUCCESS", b"")
    fs.delete("/new", recursive=True) if fs.exists("/new") else None
    fs.mkdirs("/new")
    found = []
    for number in range(shares):
        share = {
            "directory": "/d",
            "building": "/new",
            "suffix": suffix,
            "run": "run",
            "number": number,
            "shares": shares,
        }
        found.append(join(fs, share, **how))
        assert count(fs, share) == found[-1].records
    assert sum(made.files for made in found) == len(fs.list_status("/d")) - 1
    if suffix.startswith((".csv", ".avro")):
        wanted = how.get("has_headers") if suffix.startswith(".csv") else True
        check_headers([(made.filled, made.header) for made in found], wanted)
    pieces = []
    for status in fs.list_status("/new"):
        with fs.open(status.path) as stream:
            pieces.append(unpack(stream.read()))
    return b"".join(pieces)


# -- lines -------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".txt", ".json.gz", ".log.bz2"])
def test_lines_stay_lines_in_the_order_of_the_names(fs: FileSystem, suffix: str) -> None:
    files = {"b": b"3\n4", "a": b"1\n2\n", "c": b"", "d": b"5"}
    assert joined(fs, files, 1, suffix) == b"1\n2\n3\n4\n5\n"


@given(
    files=st.lists(st.lists(st.text("ab ü", max_size=30)), max_size=12), shares=st.integers(1, 5)
)
def test_no_line_is_lost_however_many_files_are_made(files: list[list[str]], shares: int) -> None:
    name = f"joining-{next(_numbers)}"
    with howdah.connect(f"mem://{name}/") as fs:
        fs.mkdirs("/d")
        named = {
            f"{number:03}": "".join(line + "\n" for line in lines).encode()
            for number, lines in enumerate(files)
        }
        assert joined(fs, named, shares) == b"".join(named.values())
    memory.forget(name)


@given(sizes=st.lists(st.integers(0, 5000), min_size=1, max_size=30), shares=st.integers(1, 30))
@example(sizes=[5000, *[1] * 20], shares=6)
def test_no_new_file_is_without_an_old_one(sizes: list[int], shares: int) -> None:
    name = f"joining-{next(_numbers)}"
    shares = min(shares, len(sizes))
    with howdah.connect(f"mem://{name}/") as fs:
        for number, size in enumerate(sizes):
            put(fs, f"/d/{number:03}.txt", b"x" * size)
        found = [
            [each.name for each in _share_of(list(data_files(fs, "/d")), n, shares)]
            for n in range(shares)
        ]
        assert all(found)
        assert list(itertools.chain(*found)) == [each.name for each in fs.list_status("/d")]
    memory.forget(name)


def test_one_header_is_kept_and_others_have_to_be_the_same(fs: FileSystem) -> None:
    files = {"a": b"x,y\n1,2\n", "b": b"x,y\n3,4", "c": b"", "d": b"x,y"}
    assert joined(fs, files, suffix=".csv", has_headers=True) == b"x,y\n1,2\n3,4\n"
    with pytest.raises(HeadersDiffer, match=r"/d/e\.csv"):
        joined(fs, {"e": b"y,x\n"}, suffix=".csv", has_headers=True)


def test_headers_of_different_new_files_have_to_be_the_same(fs: FileSystem) -> None:
    files = {"a": b"x,y\n1,2\n", "b": b"y,x\n3,4\n"}
    with pytest.raises(HeadersDiffer):
        joined(fs, files, shares=2, suffix=".csv", has_headers=True)


def test_csv_has_one_way_to_end_lines(fs: FileSystem) -> None:
    files = {"a": b"1,2\r\n3,4", "b": b"5,6\r\n"}
    assert joined(fs, files, suffix=".csv") == b"1,2\r\n3,4\r\n5,6\r\n"
    with pytest.raises(NotJoinable, match="ends its lines otherwise"):
        joined(fs, {"c": b"7,8\n"}, suffix=".csv")


@pytest.mark.parametrize("shares", [1, 2, 3])
@pytest.mark.parametrize("empty", [["a"], ["b"], ["c"], ["a", "c"]])
def test_empty_files_hide_no_headers(fs: FileSystem, shares: int, empty: list[str]) -> None:
    files = {name: b"" if name in empty else b"x,y\n1,2\n" for name in "abcd"}
    with pytest.raises(NotJoinable, match="all begin with the line 'x,y'"):
        joined(fs, files, shares, ".csv")


def test_files_that_begin_differently_are_joined_beside_empty_ones(fs: FileSystem) -> None:
    files = {"a": b"", "b": b"1,2\n", "c": b"3,4\n", "d": b"", "e": b"3,4\n"}
    for shares in range(1, 6):
        assert joined(fs, files, shares, ".csv") == b"1,2\n3,4\n3,4\n"


def test_one_file_with_lines_needs_no_word_on_headers(fs: FileSystem) -> None:
    assert joined(fs, {"a": b"", "b": b"x,y\n1,2\n", "c": b""}, 1, ".csv") == b"x,y\n1,2\n"


def test_header_ends_where_its_quotes_do(fs: FileSystem) -> None:
    files = {"a": b'x,"y\nz"\n1,2\n', "b": b'x,"y\nz"\n3,"4\n5"\n'}
    made = joined(fs, files, suffix=".csv", has_headers=True)
    assert made == b'x,"y\nz"\n1,2\n3,"4\n5"\n'


def test_what_looks_like_headers_has_to_be_called_so_or_not(fs: FileSystem) -> None:
    files = {"a": b"x,y\n1,2\n", "b": b"x,y\n3,4\n"}
    with pytest.raises(NotJoinable, match="'x,y': say whether that is a header"):
        joined(fs, files, suffix=".csv")
    assert joined(fs, files, suffix=".csv", has_headers=False) == b"x,y\n1,2\nx,y\n3,4\n"
    assert joined(fs, {"c": b"5,6\n"}, suffix=".csv") == b"x,y\n1,2\nx,y\n3,4\n5,6\n"


def test_json_of_several_lines_is_not_joined_for_a_blank_one_before_it(fs: FileSystem) -> None:
    """Who reads one value of a file would find no other."""
    for name, begin in (("a", b"\n"), ("b", b" \r\n\n"), ("c", b"\xef\xbb\xbf\n")):
        with pytest.raises(NotJoinable, match="does not begin with a line that is a JSON value"):
            joined(fs, {name: begin + b'{\n"x": 1}\n'}, suffix=".json")
        fs.delete(f"/d/{name}.json")
    files = {"a": b'\n{"x": 1}\n', "b": b"\n \n", "c": b'{"x": 2}'}
    made = joined(fs, files, suffix=".json")
    assert made == b'\n{"x": 1}\n\n \n{"x": 2}\n'


def test_json_of_several_lines_is_not_joined(fs: FileSystem) -> None:
    with pytest.raises(NotJoinable, match=r"/d/b\.json does not begin with a line"):
        joined(fs, {"a": b'{"x": 1}\n', "b": b'{\n"x": 1}\n'}, suffix=".json")


def test_marks_of_encodings_are_kept_once_or_refused(fs: FileSystem) -> None:
    marked = b"\xef\xbb\xbf"
    assert joined(fs, {"a": marked + b"1\n", "b": marked + b"2\n"}) == marked + b"1\n2\n"
    with pytest.raises(NotJoinable, match="UTF-16"):
        joined(fs, {"c": "3\n".encode("utf-16")})


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le"])
def test_wide_characters_without_a_mark_are_not_joined(fs: FileSystem, encoding: str) -> None:
    """Their last byte is no line end: one put there would shift the next file by a byte."""
    with pytest.raises(NotJoinable, match="UTF-16"):
        joined(fs, {"a": "1\n".encode(encoding), "b": "2\n".encode(encoding)})


def test_several_members_of_gzip_are_read(fs: FileSystem) -> None:
    put(fs, "/d/a.txt.gz", gzip.compress(b"1\n") + gzip.compress(b"2"))
    assert joined(fs, {"b": b"3\n"}, suffix=".txt.gz") == b"1\n2\n3\n"


# -- Avro --------------------------------------------------------------------------------

SCHEMA = {"type": "record", "name": "R", "fields": [{"name": "x", "type": "string"}]}


def container(words: list[str], mark: bytes = b"m" * 16, codec: str = "null") -> bytes:
    """A container with a block for each two records, written by hand."""
    entries = {"avro.schema": json.dumps(SCHEMA).encode(), "avro.codec": codec.encode()}
    written = encode_header(Header(entries, mark))
    for some in itertools.batched(words, 2) if hasattr(itertools, "batched") else _pairs(words):
        data = b"".join(encode_long(len(word.encode())) + word.encode() for word in some)
        if codec == "deflate":
            packer = zlib.compressobj(wbits=-15)
            data = packer.compress(data) + packer.flush()
        written += encode_long(len(some)) + encode_long(len(data)) + data + mark
    return written


def _pairs(words: list[str]) -> Iterator[tuple[str, ...]]:
    for at in range(0, len(words), 2):
        yield tuple(words[at : at + 2])


def records(data: bytes) -> list[str]:
    """All records of one container."""

    class Source:
        at = 0

        def read(self, count: int) -> bytes:
            piece = data[self.at : self.at + count]
            self.at += len(piece)
            return piece

    reader = Reader(Source(), "made")
    header = reader.header()
    found: list[str] = []
    while (count := reader.long_or_end()) is not None:
        block = reader.bytes()
        if header.entries["avro.codec"] == b"deflate":
            block = zlib.decompress(block, -15)
        assert reader.exactly(16) == header.mark
        for _ in range(count):
            size = block[0] >> 1
            found.append(block[1 : 1 + size].decode())
            block = block[1 + size :]
        assert not block
    return found


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_containers_become_one_with_all_their_records(fs: FileSystem, codec: str) -> None:
    words = [f"word {number}" for number in range(7)]
    files = {
        "a": container(words[:3], b"a" * 16, codec),
        "b": container([], b"b" * 16, codec),
        "c": container(words[3:], b"c" * 16, codec),
    }
    assert records(joined(fs, files, suffix=".avro")) == words


def written_by(**metadata: bytes) -> bytes:
    """A container of a program that says more than the schema."""
    said = {f"org.apache.spark.{key}": value for key, value in metadata.items()}
    return encode_header(Header({"avro.schema": json.dumps(SCHEMA).encode(), **said}, b"m" * 16))


def test_containers_of_other_versions_become_one(fs: FileSystem) -> None:
    files = {"a": written_by(version=b"3.5.1"), "b": written_by(version=b"4.0.0")}
    header = Reader(BytesIO(joined(fs, files, suffix=".avro")), "made").header()
    assert header.entries["org.apache.spark.version"] == b"3.5.1"


@pytest.mark.parametrize("shares", [1, 2])
@pytest.mark.parametrize(
    "other",
    [
        written_by(),
        written_by(version=b"2.4.8"),
        written_by(version=b"3.5.1", legacyDateTime=b""),
        written_by(version=b"3.5.1", timeZone=b"UTC"),
    ],
)
def test_containers_that_count_days_otherwise_are_not_joined(
    fs: FileSystem, shares: int, other: bytes
) -> None:
    """By what the header says a reader shifts days before 1582: see Spark's DataSourceUtils."""
    files = {"a": written_by(version=b"3.5.1"), "b": other}
    with pytest.raises((NotJoinable, HeadersDiffer)):
        joined(fs, files, shares, ".avro")


@pytest.mark.parametrize("shares", [1, 2])
def test_containers_of_another_codec_or_schema_are_not_joined(fs: FileSystem, shares: int) -> None:
    files = {"a": container(["x"]), "b": container(["y"], codec="deflate")}
    with pytest.raises((NotJoinable, HeadersDiffer)):
        joined(fs, files, shares, ".avro")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"PAR1", "no Avro container"),
        (encode_header(Header({"avro.schema": b"{"}, b"m" * 16)), "makes no sense"),
        (encode_header(Header({"avro.schema": b"\xff"}, b"m" * 16)), "makes no sense"),
        (
            encode_header(Header({"avro.schema": b"{}", "avro.codec": b"\xff"}, b"m" * 16)),
            "makes no sense",
        ),
        (
            encode_header(Header({"avro.schema": b"{}"}, b"m" * 16))
            + encode_long(-1)
            + encode_long(0)
            + b"m" * 16,
            "-1 records",
        ),
        (container(["x"])[:-1], "ends too early"),
        (container(["x"])[:-16] + b"n" * 16, "does not end with the file's mark"),
    ],
)
def test_broken_containers_are_not_joined(fs: FileSystem, data: bytes, why: str) -> None:
    with pytest.raises(CorruptAvro, match=why):
        joined(fs, {"a": data}, suffix=".avro")


@given(st.integers(-(2**63), 2**63 - 1))
def test_numbers_of_avro_are_read_as_they_were_written(number: int) -> None:
    import io

    assert Reader(io.BytesIO(encode_long(number)), "n").long() == number


def test_errors_are_of_the_tree(fs: FileSystem) -> None:
    with pytest.raises(errors.HowdahError):
        joined(fs, {"a": b""[:0] + b"Obj\x01" + encode_long(0)}, suffix=".avro")


def test_a_key_of_avro_that_is_not_utf_8_stays_as_it_is() -> None:
    said = {"avro.schema": b"{}", "\udcff": b"1"}
    encoded = encode_header(Header(said, b"m" * 16))
    assert b"\xff" in encoded
    assert Reader(BytesIO(encoded), "made").header().entries == said
