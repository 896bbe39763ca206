"""Texts that are not UTF-8 are damage with a name, wherever bytes come from."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from google.protobuf.message import DecodeError, Message

from howdah import errors
from howdah.config import Configuration
from howdah.failover.state import active_node
from howdah.formats.edits import edits as ed
from howdah.formats.edits.codec import decode_record, encode_record
from howdah.formats.image import records as rec
from howdah.formats.image.fsimage import ImageWriter
from howdah.formats.image.sections import SectionReader
from howdah.formats.malformed import MalformedRecord
from howdah.journalnode import election_service
from howdah.journalnode.state.formats import decode_decision
from howdah.namenode.server.process.racks import rack_map
from howdah.namenode.state.images.image import read_image
from howdah.proto import data_transfer_pb2 as transfer_pb
from howdah.proto import election_pb2, failover_pb2, fsimage_pb2, rpc_pb2, types_pb2
from howdah.proto import router_pb2 as router
from howdah.protocol.data_transfer.op_request_decoder import decode_request
from howdah.protocol.data_transfer.op_requests import Op
from howdah.protocol.data_transfer.responses import (
    BlockOpResponse,
    SegmentGiven,
    SlotReleased,
    decode_read_status,
)
from howdah.protocol.messages import parse
from howdah.router.state.namenodes.state_ids import decode_states
from howdah.router.state.table import records
from howdah.spark.usage_report import image_tasks

TEXT = "q\u00e9q"
"""What each example has in each of its texts; `broken` makes it undecodable."""


def broken(data: bytes) -> bytes:
    """The same with one text, the last, that is not UTF-8."""
    at = data.rindex(TEXT.encode())
    return data[:at] + b"q\xff\xfeq" + data[at + 4 :]


def resealed(record: bytes) -> bytes:
    return record[:-4] + struct.pack(">I", zlib.crc32(record[:-4]))


XATTR = ed.XAttr(ed.XAttrNamespace.USER, TEXT, b"v")
NAMED = ed.AclEntry(ed.AclScope.ACCESS, ed.AclKind.USER, 5, TEXT)
OWNED = ed.Permission("alice", TEXT, 0o755)
EDITS: list[ed.Edit] = [
    ed.SetXAttrOp(f"/{TEXT}", (ed.XAttr(ed.XAttrNamespace.USER, "a", b"v"),)),
    ed.SetXAttrOp("/f", (XATTR,)),
    ed.RemoveXAttrOp("/f", (XATTR,)),
    ed.SetAclOp(f"/{TEXT}", ()),
    ed.SetAclOp("/f", (NAMED,)),
    ed.MkdirOp(16386, f"/{TEXT}", 4, ed.Permission("a", "b", 0o755)),
    ed.MkdirOp(16386, "/d", 4, OWNED),
    ed.MkdirOp(16386, "/d", 4, ed.Permission("a", "b", 0o755), (NAMED,)),
    ed.MkdirOp(16386, "/d", 4, ed.Permission("a", "b", 0o755), (), (XATTR,)),
    ed.SetOwnerOp("/f", TEXT, None),
    ed.AppendOp("/f", TEXT, "m"),
    ed.CreateSnapshotOp("/f", TEXT, 3),
    ed.ConcatDeleteOp("/f", (f"/{TEXT}",), 3),
]


@pytest.mark.req("FS-022")
@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: type(edit).__name__)
def test_record_with_a_text_that_is_not_utf8_is_malformed(edit: ed.Edit) -> None:
    record = encode_record(7, edit)
    assert decode_record(record).edit == edit
    with pytest.raises(MalformedRecord, match="UTF-8"):
        decode_record(resealed(broken(record)))


def test_record_that_lacks_the_path_of_its_message_is_malformed() -> None:
    record = bytearray(encode_record(7, ed.SetAclOp("/f", ())))
    assert record[13:18] == b"\x04\x0a\x02/f"
    record[13:18] = b"\x00"
    record[1:5] = struct.pack(">i", len(record) - 5)
    with pytest.raises(MalformedRecord, match="lacks required fields"):
        decode_record(resealed(bytes(record)))


def image(**texts: Any) -> bytes:
    """Of a root and one open file, with these texts."""
    told = {"user": "alice", "group": "staff", "writer": "w", "machine": "m", "xattr": "a"}
    told |= {"pool": "pool", "open": "/f", "name": "f", **texts}
    file = rec.FileRecord(16386, told["name"], told["user"], told["group"], 0o644, 5, 5, 3, 1024)
    file.writer, file.writer_machine = told["writer"], told["machine"]
    file.xattrs = (ed.XAttr(ed.XAttrNamespace.USER, told["xattr"], b"v"),)
    out = io.BytesIO()
    writer = ImageWriter(out)
    writer.namesystem(rec.NamesystemRecord(77, 1000, 1000, 0, 1073741824, 9))
    writer.erasure_coding(())
    writer.inodes(16386, 2, [rec.DirectoryRecord(16385, "", "r", "g", 0o755, 1), file])
    writer.children([rec.ChildrenRecord(16385, [16386])])
    writer.open_files([rec.OpenFileRecord(16386, told["open"])])
    writer.snapshots(rec.SnapshotsRecord())
    writer.secrets(rec.SecretsRecord())
    writer.cache(rec.CacheRecord(pools=(rec.CachePoolRecord(told["pool"], "a", "b", 0o755),)))
    writer.finish()
    return out.getvalue()


@pytest.mark.parametrize("text", ["user", "group", "writer", "machine", "xattr", "pool", "name"])
def test_image_with_a_text_that_is_not_utf8_is_damaged(text: str) -> None:
    whole = image(**{text: TEXT})
    read_image(io.BytesIO(whole), "fsimage")
    with pytest.raises(errors.CorruptImage, match="UTF-8"):
        read_image(io.BytesIO(broken(whole)), "fsimage")


# State stores, znodes, what a journal node keeps, and requests of data transfer.


def of_a_mount_table(data: bytes) -> object:
    return records.from_lines(base64.b64encode(data), router.MountTableRecordProto)


def of_an_election(data: bytes) -> object:
    checksum = zlib.crc32(data).to_bytes(4, "big")
    return election_service.decode(election_service._MAGIC + checksum + data, Path("/promise"))


def of_a_write(data: bytes) -> object:
    return decode_request(Op.WRITE_BLOCK, data)


def of_a_read(data: bytes) -> object:
    return decode_request(Op.READ_BLOCK, data)


def of(op: Op) -> Callable[[bytes], object]:
    return lambda data: decode_request(op, data)


TOKEN = rpc_pb2.TokenProto(identifier=b"", password=b"", kind=TEXT, service="s")
SIGNED = transfer_pb.BaseHeaderProto(
    block=types_pb2.ExtendedBlockProto(poolId="BP-1", blockId=1, generationStamp=1), token=TOKEN
)
NODE = types_pb2.DatanodeInfoProto(
    id=types_pb2.DatanodeIDProto(
        ipAddr="127.0.0.1", hostName="h", datanodeUuid="u", xferPort=1, infoPort=2, ipcPort=3
    )
)
SLOT = transfer_pb.ShortCircuitShmSlotProto(
    shmId=transfer_pb.ShortCircuitShmIdProto(hi=1, lo=2), slotIdx=3
)
CHECKSUM = transfer_pb.ChecksumProto(type=types_pb2.CHECKSUM_CRC32C, bytesPerChecksum=512)
BASE = transfer_pb.BaseHeaderProto(
    block=types_pb2.ExtendedBlockProto(poolId="BP-1", blockId=1, generationStamp=1)
)
HEADER = transfer_pb.ClientOperationHeaderProto(baseHeader=BASE, clientName=TEXT)


@pytest.mark.parametrize(
    ("decode", "message", "error"),
    [
        (of_a_mount_table, router.MountTableRecordProto(srcPath=TEXT), errors.IllegalArgument),
        (
            of_a_mount_table,
            router.MountTableRecordProto(
                destinations=[router.RemoteLocationProto(nameserviceId="ns", path=TEXT)]
            ),
            errors.IllegalArgument,
        ),
        (
            active_node.decode,
            failover_pb2.ActiveNodeInfo(
                nameserviceId="ns", namenodeId="nn1", hostname=TEXT, port=1, zkfcPort=2
            ),
            errors.ServiceFailed,
        ),
        (
            of_an_election,
            election_pb2.PersistedElectionProto(promisedTerm=1, holder=TEXT, ttlMillis=1),
            errors.InconsistentStorage,
        ),
        (
            of_a_read,
            transfer_pb.OpReadBlockProto(header=HEADER, offset=0, len=5),
            errors.ProtocolViolation,
        ),
        (
            of_a_write,
            transfer_pb.OpWriteBlockProto(
                header=HEADER,
                stage=transfer_pb.OpWriteBlockProto.PIPELINE_SETUP_CREATE,
                pipelineSize=1,
                minBytesRcvd=0,
                maxBytesRcvd=0,
                latestGenerationStamp=1,
                requestedChecksum=transfer_pb.ChecksumProto(
                    type=types_pb2.CHECKSUM_CRC32C, bytesPerChecksum=512
                ),
            ),
            errors.ProtocolViolation,
        ),
    ],
)
def test_message_with_a_text_that_is_not_utf8_is_refused_by_name(
    decode: Callable[[bytes], object], message: Message, error: type[errors.HowdahError]
) -> None:
    data = message.SerializeToString()
    decode(data)
    with pytest.raises(error):
        decode(broken(data))


@pytest.mark.parametrize(
    ("decode", "message"),
    [
        (of(Op.BLOCK_CHECKSUM), transfer_pb.OpBlockChecksumProto(header=SIGNED)),
        (
            of(Op.TRANSFER_BLOCK),
            transfer_pb.OpTransferBlockProto(header=HEADER, targets=[NODE]),
        ),
        (of(Op.COPY_BLOCK), transfer_pb.OpCopyBlockProto(header=SIGNED)),
        (
            of(Op.REPLACE_BLOCK),
            transfer_pb.OpReplaceBlockProto(header=BASE, delHint=TEXT, source=NODE),
        ),
        (
            of(Op.REQUEST_SHORT_CIRCUIT_FDS),
            transfer_pb.OpRequestShortCircuitAccessProto(header=SIGNED, maxVersion=1),
        ),
        (
            of(Op.REQUEST_SHORT_CIRCUIT_SHM),
            transfer_pb.ShortCircuitShmRequestProto(clientName=TEXT),
        ),
        (
            BlockOpResponse.decode,
            transfer_pb.BlockOpResponseProto(status=transfer_pb.ERROR, message=TEXT),
        ),
        (
            SlotReleased.decode,
            transfer_pb.ReleaseShortCircuitAccessResponseProto(
                status=transfer_pb.ERROR, error=TEXT
            ),
        ),
        (
            SegmentGiven.decode,
            transfer_pb.ShortCircuitShmResponseProto(status=transfer_pb.ERROR, error=TEXT),
        ),
        (
            decode_states,
            types_pb2.RouterFederatedStateProto(namespaceStateIds=[{"key": TEXT, "value": 7}]),
        ),
    ],
)
def test_texts_between_clients_datanodes_and_routers_are_texts(
    decode: Callable[[bytes], object], message: Message
) -> None:
    data = message.SerializeToString()
    decode(data)
    with pytest.raises(errors.ProtocolViolation):
        decode(broken(data))


@pytest.mark.parametrize(
    "decode",
    [
        *map(of, (Op.BLOCK_CHECKSUM, Op.RELEASE_SHORT_CIRCUIT_FDS, Op.REQUEST_SHORT_CIRCUIT_SHM)),
        *(SlotReleased.decode, SegmentGiven.decode, decode_read_status),
    ],
)
def test_messages_of_data_transfer_that_lack_required_fields_are_refused(
    decode: Callable[[bytes], object],
) -> None:
    with pytest.raises(errors.ProtocolViolation, match="required"):
        decode(b"")


def test_message_of_an_image_is_whole_and_its_texts_are_texts() -> None:
    reader: Any = SimpleNamespace(fail=errors.CorruptImage)
    with pytest.raises(errors.CorruptImage, match="required"):
        SectionReader.parse(reader, fsimage_pb2.FileSummary, b"")
    entry = fsimage_pb2.FilesUnderConstructionSection.FileUnderConstructionEntry(
        inodeId=1, fullPath=TEXT
    )
    data = entry.SerializeToString()
    assert SectionReader.parse(reader, type(entry), data) == entry
    with pytest.raises(errors.CorruptImage, match="UTF-8"):
        SectionReader.parse(reader, type(entry), broken(data))


def test_entry_of_an_image_that_a_job_of_spark_reads_is_whole() -> None:
    with pytest.raises(errors.CorruptImage, match="required"):
        image_tasks._parsed(fsimage_pb2.INodeSection.INode, b"")
    entry = fsimage_pb2.FilesUnderConstructionSection.FileUnderConstructionEntry(fullPath=TEXT)
    with pytest.raises(errors.CorruptImage, match="UTF-8"):
        image_tasks._parsed(type(entry), broken(entry.SerializeToString()))


def test_decision_that_lacks_required_fields_is_refused() -> None:
    with pytest.raises(errors.InconsistentStorage, match="required"):
        decode_decision(b"\x00", 1, "paxos/1")


def test_table_of_racks_that_is_not_utf8_is_refused_by_its_name(tmp_path: Path) -> None:
    table = tmp_path / "racks"
    table.write_bytes(b"10.0.0.1 /r\xff1\n")
    conf = Configuration({"net.topology.table.file.name": str(table)})
    with pytest.raises(errors.InvalidConfiguration, match=r"racks: .*utf-8"):
        rack_map(conf, None)  # type: ignore[arg-type]


def test_message_that_lacks_required_fields_is_none() -> None:
    with pytest.raises(DecodeError, match="lacks required fields"):
        parse(election_pb2.PersistedElectionProto, b"")
