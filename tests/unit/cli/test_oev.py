"""`howdah oev`: shows a log, counts it, makes one, and says what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from howdah.cli.main import main
from howdah.formats.edits import edits as ed
from howdah.formats.edits.codec import encode_record
from howdah.storage.segments import SegmentWriter

OWNER = ed.Permission("root", "supergroup", 0o755)


def segment(directory: Path, *txids: int) -> Path:
    writer = SegmentWriter(directory, txids[0])
    for txid in txids:
        path = f"/d{txid} \\ & \x01 \U0001f600 "
        writer.append(encode_record(txid, ed.MkdirOp(16000 + txid, path, 1, OWNER)))
    return writer.finalize(txids[-1])


def oev(*arguments: str | Path) -> int:
    return main(["oev", *map(str, arguments)])


def test_log_survives_the_way_to_xml_and_back(tmp_path: Path) -> None:
    """But for blanks at the ends of a name, which the XML form cannot keep."""
    writer = SegmentWriter(tmp_path, 1)
    path = "/a \\ & <b> \x01 \U0001f600\u2028"
    writer.append(encode_record(1, ed.MkdirOp(16386, path, 1, OWNER)))
    log = writer.finalize(1)
    assert oev("-i", log, "-o", tmp_path / "log.XML") == 0
    assert oev("-i", tmp_path / "log.XML", "-o", tmp_path / "again", "-p", "BINARY") == 0
    assert (tmp_path / "again").read_bytes() == log.read_bytes()


def test_log_that_is_being_written_is_shown_to_its_end(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, 1)
    writer.append(encode_record(1, ed.StartLogSegmentOp()))
    writer.sync()
    assert oev("-i", writer.path, "-o", tmp_path / "xml") == 0
    assert (tmp_path / "xml").read_text().count("<RECORD>") == 1


def test_numbers_are_made_anew_without_gaps(tmp_path: Path) -> None:
    log = segment(tmp_path, 3, 9, 4)
    assert oev("-i", log, "-o", tmp_path / "xml", "--fix-txids") == 0
    shown = (tmp_path / "xml").read_text()
    assert [f"<TXID>{n}</TXID>" in shown for n in (3, 4, 5, 9)] == [True, True, True, False]


def test_damage_is_named_with_its_offset(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = damaged(tmp_path)
    assert oev("-i", log, "-o", tmp_path / "xml") == 255
    assert f"{log} is damaged at offset 8" in capsys.readouterr().err


def test_recovery_passes_over_what_is_damaged_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert oev("-i", damaged(tmp_path), "-o", tmp_path / "xml", "-r") == 0
    shown = (tmp_path / "xml").read_text()
    assert "<TXID>1</TXID>" not in shown
    assert "<TXID>2</TXID>" in shown
    assert "damaged at offset 8" in capsys.readouterr().err


def damaged(directory: Path) -> Path:
    log = segment(directory, 1, 2, 3)
    data = bytearray(log.read_bytes())
    data[30] ^= 1
    log.write_bytes(data)
    return log


def test_statistics_of_a_damaged_log_end_with_the_error(tmp_path: Path) -> None:
    assert oev("-i", damaged(tmp_path), "-o", tmp_path / "stats", "-p", "stats") == 255
    assert "EXITING ON ERROR: " in (tmp_path / "stats").read_text()


@pytest.mark.parametrize(
    ("xml", "complaint"),
    [
        ("<EDITS><RECORD/></EDITS>", "no OPCODE"),
        ("<EDITS><EDITS_VERSION>-67</EDITS_VERSION><FOO/></EDITS>", "FOO is not expected"),
        ("<EDITS>", "is not XML"),
        ("<EDITS></EDITS>", "has no EDITS_VERSION"),
        (
            "<EDITS><EDITS_VERSION>-67</EDITS_VERSION><RECORD><OPCODE>OP_DELETE</OPCODE>"
            "<DATA><TXID>x</TXID></DATA></RECORD></EDITS>",
            "There is no PATH",
        ),
        (
            "<EDITS><EDITS_VERSION>-67</EDITS_VERSION><RECORD><OPCODE>OP_DELETE</OPCODE>"
            "<DATA></DATA><DATA></DATA></RECORD></EDITS>",
            "a RECORD has DATA once",
        ),
        (
            "<EDITS><EDITS_VERSION>-67</EDITS_VERSION><RECORD>"
            "<OPCODE>OP_SET_QUOTA_BY_STORAGETYPE</OPCODE><DATA><TXID>1</TXID><SRC>/a</SRC>"
            "<STORAGETYPE>77</STORAGETYPE><DSQUOTA>1</DSQUOTA></DATA></RECORD></EDITS>",
            "77 is not a valid StorageKind",
        ),
    ],
)
def test_xml_that_is_no_log_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], xml: str, complaint: str
) -> None:
    (tmp_path / "a.xml").write_text(xml)
    assert oev("-i", tmp_path / "a.xml", "-o", tmp_path / "out", "-p", "binary") == 255
    assert complaint in capsys.readouterr().err


def test_binary_to_binary_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert oev("-i", segment(tmp_path, 1), "-o", tmp_path / "out", "-p", "binary") == 255
    assert "Binary processor" in capsys.readouterr().err


def test_verbose_shows_the_output_too(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert oev("-i", segment(tmp_path, 1), "-o", tmp_path / "out", "-v", "-p", "stats") == 0
    shown = capfd.readouterr().out
    assert "input  [" in shown
    assert "OP_MKDIR                       (  3): 1" in shown


def test_input_that_is_missing_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert oev("-i", tmp_path / "nothing", "-o", tmp_path / "out") == 255
    assert str(tmp_path / "nothing") in capsys.readouterr().err


@pytest.mark.parametrize("processor", ["xml", "stats"])
def test_output_over_the_input_is_refused(
    processor: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also by another name of the file."""
    log = segment(tmp_path, 1)
    before = log.read_bytes()
    (tmp_path / "link").symlink_to(log)
    assert oev("-p", processor, "-i", log, "-o", tmp_path / "link") == 255
    assert "is the input: name another file" in capsys.readouterr().err
    assert log.read_bytes() == before
