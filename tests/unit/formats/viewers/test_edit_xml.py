"""Edits become the XML that Hadoop's viewer makes of them, and edits again.

`edits_erasure_coding` was written by a namenode of Hadoop 3.5.0 that had erasure-coded files; the
XML beside it by its viewer.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from howdah.formats.edits import edits as ed
from howdah.formats.edits.codec import decode_record, encode_record, record_length
from howdah.formats.viewers import edit_xml
from tests.unit.protocol.striping.vectors import vectors

GOLDEN: Final = Path(__file__).parents[1] / "golden"
HEADER_BYTES: Final = 8
LAYOUT_VERSION: Final = -67


def records(raw: bytes) -> Iterator[bytes]:
    """Yield the records of a finalized segment."""
    offset = HEADER_BYTES
    while offset < len(raw):
        length = record_length(raw, offset)
        yield raw[offset : offset + length]
        offset += length


def test_a_log_with_erasure_coding_becomes_hadoops_xml() -> None:
    raw = (GOLDEN / "edits_erasure_coding").read_bytes()
    logged = [decode_record(record) for record in records(raw)]
    assert [edit.txid for edit in logged] == list(range(1, 170))
    shown = [edit_xml.HEAD, edit_xml.version_line(LAYOUT_VERSION)]
    shown += [*map(edit_xml.write_record, logged), edit_xml.TAIL]
    assert "".join(shown) == (GOLDEN / "edits_erasure_coding.xml").read_text(encoding="utf-8")


def test_a_log_with_erasure_coding_is_written_as_hadoop_wrote_it() -> None:
    for record in records((GOLDEN / "edits_erasure_coding").read_bytes()):
        logged = decode_record(record)
        assert encode_record(logged.txid, logged.edit) == record


TOKEN = ed.DelegationTokenIdentifier("zoë@R", "yarn", "", 1795829571483, 1796434371483, 3, 8)


def test_a_delegation_token_is_shown_as_hadoop_shows_it() -> None:
    shown = edit_xml.write_record(ed.LoggedEdit(7, ed.GetDelegationTokenOp(TOKEN, 9)))
    inside = """\
      <DELEGATION_TOKEN_IDENTIFIER>
        <KIND>HDFS_DELEGATION_TOKEN</KIND>
        <SEQUENCE_NUMBER>3</SEQUENCE_NUMBER>
        <OWNER>zoë@R</OWNER>
        <RENEWER>yarn</RENEWER>
        <REALUSER/>
        <ISSUE_DATE>1795829571483</ISSUE_DATE>
        <MAX_DATE>1796434371483</MAX_DATE>
        <MASTER_KEY_ID>8</MASTER_KEY_ID>
      </DELEGATION_TOKEN_IDENTIFIER>
      <EXPIRY_TIME>9</EXPIRY_TIME>
"""
    assert inside in shown


def test_a_master_key_is_shown_as_hadoop_shows_it() -> None:
    key = ed.DelegationKey(1, 5, bytes.fromhex("6a6e6475f21d40b9"))
    edit = ed.UpdateMasterKeyOp(key)
    assert "6a6e" not in repr(edit)
    inside = """\
      <DELEGATION_KEY>
        <KEY_ID>1</KEY_ID>
        <EXPIRY_DATE>5</EXPIRY_DATE>
        <KEY>6a6e6475f21d40b9</KEY>
      </DELEGATION_KEY>
"""
    assert inside in edit_xml.write_record(ed.LoggedEdit(2, edit))


def test_policies_are_logged_as_hadoop_logs_them() -> None:
    edits = {}
    for name, record in vectors()["edits"].items():
        logged = decode_record(bytes.fromhex(record))
        assert encode_record(logged.txid, logged.edit).hex() == record
        edits[name] = logged.edit
    added, plain, disabled, enabled, removed = (edits[name] for name in sorted(edits))
    assert added == ed.AddErasureCodingPolicyOp(
        "rs", 4, 2, 65536, (("extra", "foo"),), **call_of(added)
    )
    assert plain == ed.AddErasureCodingPolicyOp(
        "xor", 2, 1, 131072, (("options", ""),), **call_of(plain)
    )
    assert disabled == ed.DisableErasureCodingPolicyOp("RS-4-2-64k", **call_of(disabled))
    assert enabled == ed.EnableErasureCodingPolicyOp("RS-4-2-64k", **call_of(enabled))
    assert removed == ed.RemoveErasureCodingPolicyOp("RS-4-2-64k", **call_of(removed))


def call_of(edit: ed.Edit) -> dict[str, Any]:
    assert isinstance(edit, ed.RetryableEdit)
    assert edit.has_call
    return {"rpc_client_id": edit.rpc_client_id, "rpc_call_id": edit.rpc_call_id}
