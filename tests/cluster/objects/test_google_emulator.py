"""`gs://` against an emulator of others, which knows nothing of conditions."""

from __future__ import annotations

import http.client
import json
import logging
from collections.abc import Iterator

import pytest

from howdah.fs.objects.google.filesystem import GoogleFileSystem
from tests.support.objects.google import CloudStorage, GoogleServer

DATA = bytes(range(256)) * 5000


@pytest.fixture(scope="module")
def fs() -> Iterator[GoogleFileSystem]:
    from gcp_storage_emulator.server import create_server

    logging.getLogger("gcp_storage_emulator").setLevel(logging.ERROR)
    server = create_server("127.0.0.1", 0, in_memory=True)
    server.start()
    try:
        port = server._api._httpd.server_address[1]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        body = json.dumps({"name": "bucket"})
        connection.request(
            "POST", "/storage/v1/b?project=p", body, {"Content-Type": "application/json"}
        )
        assert connection.getresponse().status == 200
        connection.close()
        with GoogleServer(port, CloudStorage()).connect("bucket", part_bytes=256 << 10) as made:
            yield made
    finally:
        server.stop()


@pytest.mark.req("FS-197", "FS-188")
@pytest.mark.parametrize("size", [0, 10, 256 << 10, 700_001, len(DATA)])
def test_files_of_all_sizes_are_written_read_and_checked(fs: GoogleFileSystem, size: int) -> None:
    path = f"/sizes/{size}"
    with fs.create(path) as out:
        out.write(DATA[:size])
    with fs.open(path) as stream:
        assert stream.read() == DATA[:size]
        assert stream.pread(5, 100) == DATA[5:105][: max(size - 5, 0)]
        assert stream.statistics().is_verified or not size
    assert fs.get_file_status(path).length == size


@pytest.mark.req("FS-197", "FS-190")
def test_a_tree_is_made_listed_renamed_and_removed(fs: GoogleFileSystem) -> None:
    for name in ("1", "2/3", "2/4", "é +%41"):
        with fs.create(f"/from/{name}") as out:
            out.write(name.encode())
    fs.mkdirs("/from/empty")
    fs.rename("/from", "/to")
    assert sorted(each.path for each in fs.list_status("/to")) == [
        "/to/1",
        "/to/2",
        "/to/empty",
        "/to/é +%41",
    ]
    assert fs.open("/to/2/4").read() == b"2/4"
    assert fs.open("/to/é +%41").read() == "é +%41".encode()
    assert not fs.exists("/from")
    assert fs.delete("/to", recursive=True)
    assert not fs.exists("/to")
