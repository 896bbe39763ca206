"""`howdah oiv`: options, exit codes, files. What is printed is in the storage's tests."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import socket
from http.client import HTTPConnection
from pathlib import Path

import pytest

from howdah.cli.main import main
from howdah.cli.oiv import serve
from howdah.formats.image.fsimage import ImageReader
from howdah.formats.viewers.web import ImageTree

GOLDEN = Path(__file__).parents[1] / "formats" / "golden"
IMAGE = GOLDEN / "fsimage_rich"


def oiv(*arguments: str | Path) -> int:
    return main(["oiv", *map(str, arguments)])


def test_image_comes_back_from_xml_with_its_sum(tmp_path: Path) -> None:
    assert oiv("-p", "xml", "-i", IMAGE, "-o", tmp_path / "xml") == 0
    image = tmp_path / "image"
    assert oiv("-p", "reverseXML", "-i", tmp_path / "xml", "-o", image) == 0
    digest = hashlib.md5(image.read_bytes(), usedforsecurity=False).hexdigest()
    assert (tmp_path / "image.md5").read_text() == f"{digest} *image\n"
    assert oiv("-p", "xml", "-i", image, "-o", tmp_path / "again") == 0
    assert (tmp_path / "again").read_bytes() == (tmp_path / "xml").read_bytes()


def test_xml_names_the_software_that_made_it(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert oiv("-p", "XML", "-i", IMAGE) == 0
    assert b"<oivRevision>howdah-" in capfdbinary.readouterr().out


def test_listing_has_the_columns_that_were_asked_for(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    options = ("-delimiter", ";", "-sp", "-ec", "-m", "4", "-t", str(tmp_path / "scratch"))
    assert oiv("-p", "Delimited", "-i", IMAGE, *options) == 0
    lines = capfdbinary.readouterr().out.decode().splitlines()
    assert lines[0].endswith(";GroupName;StoragePolicyId;ErasureCodingPolicy")
    assert any(line.startswith("/user/alice/docs/none;") for line in lines)
    assert list(tmp_path.iterdir()) == []


def test_sizes_have_the_step_that_was_asked_for(tmp_path: Path) -> None:
    options = ("-maxSize", "2000", "-step", "100", "-format", "-o", str(tmp_path / "sizes"))
    assert oiv("-p", "FileDistribution", "-i", IMAGE, *options) == 0
    assert (tmp_path / "sizes").read_bytes() == (GOLDEN / "fsimage_rich.sizes").read_bytes()


def test_failed_reverse_leaves_no_image_and_no_sum(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    xml, image = tmp_path / "xml", tmp_path / "image"
    xml.write_text("<fsimage>")
    (tmp_path / "image.md5").write_text("of another image")
    assert oiv("-p", "ReverseXML", "-i", xml, "-o", image) == 1
    assert "OfflineImageReconstructor failed: " in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [xml]


def test_reverse_needs_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert oiv("-p", "ReverseXML", "-i", GOLDEN / "fsimage_rich.xml") == 1
    assert "name one with -o" in capsys.readouterr().err


# -- the processor Web ---------------------------------------------------------------------


def test_image_is_served_over_the_web() -> None:
    status, content_type, body = asked("GET", "/webhdfs/v1/user?op=LISTSTATUS")
    (alice,) = json.loads(body)["FileStatuses"]["FileStatus"]
    assert (status, content_type) == (200, "application/json; charset=utf-8")
    assert alice["owner"] == "alice"


def test_the_viewer_gets_a_request_as_it_was_made() -> None:
    status, _, body = asked("GET", "/webhdfs/v1/dir%20with%20%3F?op=GETFILESTATUS")
    assert (status, json.loads(body)["RemoteException"]["message"]) == (404, "/dir with ?")
    # The second of two values of one name counts too.
    path = "/webhdfs/v1/user/alice/docs/none?op=GETXATTRS&xattr.name=user.colour"
    assert asked("GET", path)[0] == 200
    assert asked("GET", path + "&xattr.name=user.a")[0] == 403


def test_what_only_a_namenode_can_do_is_not_allowed() -> None:
    status, _, body = asked("PUT", "/webhdfs/v1/?op=MKDIRS")
    assert (status, body) == (405, b"")


def test_address_that_is_taken_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert oiv("-i", IMAGE, "-addr", f"localhost:{taken.getsockname()[1]}") == 255
    assert "address already in use" in capsys.readouterr().err.lower()


def asked(method: str, target: str) -> tuple[int, str | None, bytes]:
    """What the processor Web answers to a request: status, type and body."""
    with open(IMAGE, "rb") as source:
        tree = ImageTree(ImageReader(source, "image"))

    def ask(port: int) -> tuple[int, str | None, bytes]:
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request(method, target)
        with contextlib.closing(connection), connection.getresponse() as got:
            return got.status, got.headers["Content-Type"], got.read()

    async def exchange() -> tuple[int, str | None, bytes]:
        port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        serving = asyncio.ensure_future(serve(tree, "localhost", 0, port.set_result))
        try:
            return await asyncio.to_thread(ask, await port)
        finally:
            serving.cancel()

    return asyncio.run(exchange())


@pytest.mark.parametrize("address", ["here", "here:", "here:x"])
def test_address_without_a_port_is_refused(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert oiv("-i", IMAGE, "-addr", address) == 255
    assert f"{address!r} is not HOST:PORT" in capsys.readouterr().err


def test_processor_that_is_not_there_is_refused_by_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert oiv("-p", "Ls", "-i", IMAGE) == 255
    assert "Invalid processor specified : Ls" in capsys.readouterr().err


def test_image_without_corruption_has_the_headings_only(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    assert oiv("-p", "DetectCorruption", "-delimiter", ",", "-i", IMAGE) == 0
    assert capfdbinary.readouterr().out == (
        b"CorruptionType,Id,IsSnapshot,ParentPath,ParentId,Name,NodeType,CorruptChildren\n"
    )


@pytest.mark.parametrize("content", [b"", b"HDFSIMG1", b"x" * 100])
def test_what_is_no_image_is_refused(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "image").write_bytes(content)
    assert oiv("-p", "XML", "-i", tmp_path / "image") == 255
    assert "Encountered exception.  Exiting: " in capsys.readouterr().err


def test_input_that_is_missing_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert oiv("-p", "XML", "-i", tmp_path / "nothing") == 255
    assert str(tmp_path / "nothing") in capsys.readouterr().err


@pytest.mark.parametrize("processor", ["XML", "Delimited", "FileDistribution", "ReverseXML"])
def test_output_over_the_input_is_refused(
    processor: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also by another name of the file."""
    image = tmp_path / "image"
    image.write_bytes(IMAGE.read_bytes())
    (tmp_path / "link").symlink_to(image)
    assert oiv("-p", processor, "-i", image, "-o", tmp_path / "link") != 0
    assert "is the input: name another file" in capsys.readouterr().err
    assert image.read_bytes() == IMAGE.read_bytes()
