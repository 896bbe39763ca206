"""A name may have anything in it that a key can have; what cannot be a key is refused."""

from __future__ import annotations

import os
import string
from pathlib import Path

import pytest

from howdah import errors
from howdah.cli.main import main
from howdah.fs.objects.filesystem import S3FileSystem
from tests.support.objects.store import StoreServer
from tests.support.objects.trouble import Answer, Proxy

PRINTABLE = string.printable.strip().replace("/", "")
CONTROLS = "\x01\x1f\x7f"
NAMES = [
    PRINTABLE,
    PRINTABLE[::-1],
    " a ",
    "%2F%2e%2E%00",
    "a+b %20",
    "a\\b",
    "?x=1&y#z",
    "s3:a",
    "...",
    # moto's server has no place for a line feed.
    "tab\tand\rreturn",
    CONTROLS,
    "é\u0301\u2028\ufeff\u00a0",
    "日本\U0001f418\U0010fffd",
    "x" * 240,
]


def put(fs: S3FileSystem, path: str, data: bytes = b"x") -> None:
    with fs.create(path) as out:
        out.write(data)


@pytest.mark.req("FS-190")
def test_a_name_may_have_anything_in_it(store: StoreServer, bucket: str, fs: S3FileSystem) -> None:
    for name in NAMES:
        put(fs, f"/d/{name}/{name}", name.encode())
    seen = store.client().list_objects_v2(Bucket=bucket)["Contents"]
    assert {each["Key"] for each in seen} == {f"d/{name}/{name}" for name in NAMES}
    assert sorted(each.name for each in fs.list_status("/d")) == sorted(NAMES)
    fs.rename("/d", "/e")
    for name in NAMES:
        assert [each.path for each in fs.list_status(f"/e/{name}")] == [f"/e/{name}/{name}"]
        assert fs.open(f"/e/{name}/{name}").read() == name.encode()
        fs.rename(f"/e/{name}/{name}", f"/e/{name}/renamed")
    assert fs.bulk_delete("/e").delete([f"/e/{name}/renamed" for name in NAMES[:3]]) == []
    assert fs.delete("/e", recursive=True)
    assert fs.list_status("/") == []


@pytest.mark.req("FS-190", "FS-191")
def test_an_upload_may_have_any_name(store: StoreServer, bucket: str) -> None:
    # moto's answers have keys as XML has them: no controls, and a return is a line feed.
    names = [name for name in NAMES if name != CONTROLS and "\r" not in name]
    with store.connect(bucket, part_bytes=16) as fs:
        streams = [fs.create(f"/d/{name}") for name in names]
        for stream in streams:
            stream.write(bytes(100))
        found = [each.path for each in fs.unfinished_uploads("/d")]
        assert sorted(found) == sorted(f"/d/{name}" for name in names)
        for stream in streams[::2]:
            stream.close()
        aborted = fs.abort_uploads("/d", older_than_ms=0, now_ms=0)
        assert sorted(each.path for each in aborted) == sorted(f"/d/{n}" for n in names[1::2])
        for stream in streams[1::2]:
            stream.abort()
        assert sorted(each.name for each in fs.list_status("/d")) == sorted(names[::2])


@pytest.mark.req("FS-191")
def test_names_of_uploads_are_read_as_a_store_escapes_them(
    store: StoreServer, proxy: Proxy, bucket: str
) -> None:
    listed = """<ListMultipartUploadsResult><EncodingType>url</EncodingType>
        <IsTruncated>{more}</IsTruncated><NextKeyMarker>d/%0A+1</NextKeyMarker>
        <NextUploadIdMarker>u</NextUploadIdMarker>
        <Upload><Key>d/%01+%2B%0D</Key><UploadId>{more}</UploadId></Upload>
        </ListMultipartUploadsResult>"""
    proxy.plan(
        {
            1: Answer(200, text=listed.format(more="true")),
            2: Answer(200, text=listed.format(more="false")),
        }
    )
    with store.behind(proxy.port).connect(bucket) as fs:
        found = fs.unfinished_uploads("/d")
    assert [each.path for each in found] == ["/d/\x01 +\r"] * 2
    assert "encoding-type=url" in proxy.seen[0]
    assert "key-marker=d%2F%0A%201" in proxy.seen[1]


@pytest.mark.req("FS-190")
def test_slashes_and_dots_of_a_path_are_no_part_of_a_key(
    store: StoreServer, bucket: str, fs: S3FileSystem
) -> None:
    put(fs, "//a///b/./c/../d/")
    assert [e["Key"] for e in store.client().list_objects_v2(Bucket=bucket)["Contents"]] == [
        "a/b/d"
    ]
    for path in ("/a/b/d/", "/a//b/d", "/a/./b/../b/d", f"s3://{bucket}//a/b/d"):
        assert fs.open(path).read() == b"x"
    # A slash at the end of a key is a directory's marker.
    with pytest.raises(errors.PathExists):
        fs.create("/a/b/d/")
    with pytest.raises(errors.InvalidPath):
        fs.exists("/../x")


@pytest.mark.req("FS-190", "FS-192")
def test_a_name_that_no_key_can_be_is_refused_in_one_line(fs: S3FileSystem) -> None:
    longest = "/" + "é" * 512
    put(fs, longest, b"long")
    assert fs.open(longest).read() == b"long"
    assert [each.path for each in fs.list_status("/")] == [longest]
    fs.rename(longest, longest[:-1])
    fs.rename(longest[:-1], longest)
    for name in ("x" * 1025, "é" * 512 + "x"):
        for refused in (fs.create, fs.exists, fs.mkdirs, fs.list_status, fs.delete):
            with pytest.raises(errors.InvalidPath, match="has 1025 bytes, and keys of objects"):
                refused(f"/{name}")
    # The marker of a directory has one byte more.
    with pytest.raises(errors.InvalidPath, match="has 1024 bytes, and a directory of an object"):
        fs.mkdirs("/" + "x" * 1024)
    assert fs.mkdirs("/" + "x" * 1023)
    assert not fs.exists("/" + "y" * 1024)
    with pytest.raises(errors.InvalidPath, match="not UTF-8"):
        fs.exists("/\udc80")


@pytest.mark.req("FS-190")
def test_the_shell_takes_any_name(
    store: StoreServer, bucket: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    def run(*words: str) -> bytes:
        options = [f"-D{name}={value}" for name, value in store.keys().items()]
        assert main(["dfs", *options, *words]) == 0, capsysbinary.readouterr().err
        return capsysbinary.readouterr().out

    root = f"s3a://{bucket}"
    (tmp_path / "here").mkdir()
    for name in NAMES:
        (tmp_path / "here" / name).write_bytes(name.encode())
    run("-put", str(tmp_path / "here"), f"{root}/there")
    listed = run("-ls", "-C", f"{root}/there")
    for name in NAMES:
        assert f"{root}/there/{name}\n".encode() in listed
    run("-mv", f"{root}/there", f"{root}/moved")
    run("-cp", f"{root}/moved", f"{root}/copied")
    run("-get", f"{root}/copied", str(tmp_path / "back"))
    assert sorted(os.listdir(tmp_path / "back")) == sorted(NAMES)
    for name in NAMES:
        assert (tmp_path / "back" / name).read_bytes() == name.encode()
    run("-rm", "-r", "-skipTrash", f"{root}/*")
    assert run("-ls", f"{root}/") == b""
