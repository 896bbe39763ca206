"""Operations as calls: which are made, in which order, and what comes of their answers."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.web.http import Response, request_of
from howdah.web.webhdfs.call_chain import Piece, Rpc, Step, Steps, Target, driven
from howdah.web.webhdfs.parameters import ParsedRequest, parse_request
from howdah.web.webhdfs.reads import READS
from howdah.web.webhdfs.redirects import redirect
from howdah.web.webhdfs.writes import CHANGES
from howdah.web.webhdfs_names import patterns_of

Answers = dict[str, Any]
PATTERNS = patterns_of(Configuration())
DEFAULTS = pb.GetServerDefaultsResponseProto(
    serverDefaults=types_pb2.FsServerDefaultsProto(
        blockSize=128, bytesPerChecksum=512, writePacketSize=1, replication=3, fileBufferSize=1
    )
)


def ask(method: str, query: str, path: str = "/a") -> ParsedRequest:
    request = request_of(method.encode(), f"/webhdfs/v1{path}?op={query}".encode(), [])
    assert request is not None
    return parse_request(request, PATTERNS)


def node(number: int, name: str = "") -> types_pb2.DatanodeIDProto:
    return types_pb2.DatanodeIDProto(
        ipAddr=f"10.0.0.{number}",
        hostName=name or f"dn{number}",
        datanodeUuid=str(number),
        xferPort=9866,
        infoPort=9864,
        ipcPort=9867,
    )


def file_info(length: int) -> pb.GetFileInfoResponseProto:
    return pb.GetFileInfoResponseProto(fs=status(b"", length))


def status(name: bytes, length: int = 0) -> types_pb2.HdfsFileStatusProto:
    return types_pb2.HdfsFileStatusProto(
        fileType=types_pb2.HdfsFileStatusProto.IS_FILE,
        path=name,
        length=length,
        permission=types_pb2.FsPermissionProto(perm=0o644),
        owner="o",
        group="g",
        modification_time=0,
        access_time=0,
    )


def located(*nodes: types_pb2.DatanodeIDProto) -> pb.GetBlockLocationsResponseProto:
    block = types_pb2.LocatedBlockProto(
        b=types_pb2.ExtendedBlockProto(poolId="p", blockId=1, generationStamp=1),
        offset=0,
        locs=[types_pb2.DatanodeInfoProto(id=each) for each in nodes],
        corrupt=False,
    )
    return pb.GetBlockLocationsResponseProto(
        locations=types_pb2.LocatedBlocksProto(
            fileLength=10, blocks=[block], underConstruction=False, isLastBlockComplete=True
        )
    )


def drive(steps: Steps, answer: Callable[[Any], Any]) -> tuple[Any, list[Any]]:
    made: list[Any] = []
    try:
        step = next(steps)
        while True:
            made.append(step)
            step = steps.send(answer(step))
    except StopIteration as end:
        return end.value, made


def location(method: str, query: str, answers: Answers) -> str:
    found, _ = drive(
        redirect(ask(method, query), "ann", "nn:8020"),
        lambda step: answers[step.method if isinstance(step, Rpc) else "target"],
    )
    assert found.status == 307
    told: str = found.headers["Location"]
    return told


def test_new_file_goes_where_placement_wants_it() -> None:
    answers = {"getServerDefaults": DEFAULTS, "target": node(1)}
    found, made = drive(
        redirect(ask("PUT", "CREATE&excludedatanodes=a, b&user.name=ann"), "ann", "nn:8020"),
        lambda step: answers[step.method if isinstance(step, Rpc) else "target"],
    )
    assert made[-1] == Target(128, frozenset({"a", "b"}))
    at = urlsplit(found.headers["Location"])
    assert (at.netloc, at.path) == ("dn1:9864", "/webhdfs/v1/a")
    assert parse_qs(at.query) == {
        "op": ["CREATE"],
        "user.name": ["ann"],
        "namenoderpcaddress": ["nn:8020"],
        "createparent": ["true"],
        "overwrite": ["false"],
    }


def test_a_datanode_is_told_for_whom_one_acts() -> None:
    answers = {"getServerDefaults": DEFAULTS, "target": node(1)}
    where = location("PUT", "CREATE&user.name=hive&DoAs=j%26o%3De", answers)
    assert "?op=CREATE&doas=j%26o%3De&user.name=hive&namenoderpcaddress=nn:8020&" in where


def test_namenode_that_does_not_serve_redirects_nobody() -> None:
    def refuse(step: Rpc | Target) -> Any:
        raise errors.StandbyError("not active")

    with pytest.raises(errors.StandbyError):
        drive(redirect(ask("PUT", "CREATE"), "ann", "nn:8020"), refuse)


@pytest.mark.parametrize(
    ("excluded", "host"),
    [("", "dn1"), ("dn1", "dn2"), ("10.0.0.1:9866", "dn2"), ("dn1:1", "dn1")],
)
def test_readers_go_to_a_replica(excluded: str, host: str) -> None:
    answers = {"getFileInfo": file_info(10), "getBlockLocations": located(node(1), node(2))}
    at = location("GET", f"OPEN&offset=5&excludedatanodes={excluded}", answers)
    assert urlsplit(at).hostname == host
    assert parse_qs(urlsplit(at).query)["offset"] == ["5"]


def test_nameless_datanode_is_named_by_its_address() -> None:
    answers = {"getFileInfo": file_info(10), "getBlockLocations": located(node(3, "localhost"))}
    assert urlsplit(location("POST", "APPEND", answers)).hostname == "10.0.0.3"


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ({"getFileInfo": pb.GetFileInfoResponseProto()}, errors.PathNotFound),
        ({"getFileInfo": file_info(5)}, errors.RemoteError),
        ({"getFileInfo": file_info(10), "getBlockLocations": located()}, errors.RemoteError),
    ],
)
def test_reader_without_a_replica_is_refused(answers: Answers, error: type[Exception]) -> None:
    with pytest.raises(error):
        location("GET", "OPEN&offset=5", answers)


Pages = dict[bytes, tuple[list[str], int]]


def listed(pages: Pages, most_pieces: int = 99) -> tuple[Response | None, list[bytes], int]:
    """The answer, its pieces, and how often the namenode was asked. Who listens goes after
    `most_pieces`."""
    pieces: list[bytes] = []

    def one(step: Step) -> object:
        if isinstance(step, Piece):
            pieces.append(step.text)
            return len(pieces) < most_pieces
        assert isinstance(step, Rpc)
        assert isinstance(step.request, pb.GetListingRequestProto)
        names, remaining = pages[step.request.startAfter]
        return pb.GetListingResponseProto(
            dirList=types_pb2.DirectoryListingProto(
                partialListing=[status(name.encode()) for name in names],
                remainingEntries=remaining,
            )
        )

    found, made = drive(READS["LISTSTATUS"](ask("GET", "LISTSTATUS"), "ann"), one)
    return found, pieces, sum(isinstance(each, Rpc) for each in made)


def names_in(text: bytes) -> list[str]:
    return [each["pathSuffix"] for each in json.loads(text)["FileStatuses"]["FileStatus"]]


def test_a_listing_of_one_page_is_a_whole_answer() -> None:
    found, pieces, asked_for = listed({b"": (["a", "b"], 0)})
    assert found is not None
    assert (names_in(found.body), pieces, asked_for) == (["a", "b"], [], 1)


@pytest.mark.req("FS-258")
def test_a_listing_goes_on_behind_the_last_name_a_piece_for_each_page() -> None:
    found, pieces, asked_for = listed(
        {b"": (["a", "b"], 3), b"b": (["c", "d"], 1), b"d": (["e"], 0)}
    )
    assert found is None
    assert names_in(b"".join(pieces)) == ["a", "b", "c", "d", "e"]
    assert (len(pieces), asked_for) == (3, 3)


def test_a_listing_whose_last_names_go_meanwhile_ends_with_those_before() -> None:
    found, pieces, _ = listed({b"": (["a"], 1), b"a": ([], 0)})
    assert found is None
    assert names_in(b"".join(pieces)) == ["a"]


def test_a_listing_that_nobody_listens_to_ends() -> None:
    found, pieces, asked_for = listed({b"": (["a"], 2), b"a": (["b"], 1)}, most_pieces=1)
    assert (found, len(pieces), asked_for) == (None, 1, 1)


def test_a_directory_that_goes_while_it_is_listed_is_told() -> None:
    steps = READS["LISTSTATUS"](ask("GET", "LISTSTATUS"), "ann")
    next(steps)
    page = types_pb2.DirectoryListingProto(partialListing=[status(b"a")], remainingEntries=1)
    assert isinstance(steps.send(pb.GetListingResponseProto(dirList=page)), Piece)
    assert isinstance(steps.send(True), Rpc)
    with pytest.raises(errors.PathNotFound, match="File /a does not exist"):
        steps.send(pb.GetListingResponseProto())


@pytest.mark.req("FS-258")
def test_a_huge_directory_is_listed_in_the_memory_of_a_few_pages() -> None:
    """60,000 names are 14 MB of JSON."""
    page_names, pages, listed_names = 1000, 60, 0

    def one(step: Step) -> object:
        nonlocal listed_names
        if isinstance(step, Piece):
            listed_names += step.text.count(b"pathSuffix")
            return True
        assert isinstance(step, Rpc)
        assert isinstance(step.request, pb.GetListingRequestProto)
        first = int(step.request.startAfter or b"-1") + 1
        names = [b"%06d" % number for number in range(first, first + page_names)]
        return pb.GetListingResponseProto(
            dirList=types_pb2.DirectoryListingProto(
                partialListing=map(status, names),
                remainingEntries=page_names * pages - first - page_names,
            )
        )

    tracemalloc.start()
    try:
        assert driven(READS["LISTSTATUS"](ask("GET", "LISTSTATUS"), "ann"), one) is None
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert listed_names == page_names * pages
    assert peak_bytes < 5 << 20


def test_each_truncate_is_a_client_of_its_own() -> None:
    made = [
        drive(
            CHANGES["TRUNCATE"](ask("POST", "TRUNCATE&newlength=3"), "ann"),
            lambda step: pb.TruncateResponseProto(result=True),
        )[1][0].request
        for _ in range(2)
    ]
    assert made[0].clientName != made[1].clientName
    assert made[0].newLength == 3


def test_replication_without_a_number_is_the_clusters() -> None:
    answers = {
        "getServerDefaults": DEFAULTS,
        "setReplication": pb.SetReplicationResponseProto(result=True),
    }
    _, made = drive(
        CHANGES["SETREPLICATION"](ask("PUT", "SETREPLICATION"), "ann"),
        # No step of this operation looks for a datanode.
        lambda step: answers[step.method],
    )
    assert made[-1].request.replication == 3


@pytest.mark.parametrize(
    ("query", "value"),
    [("", None), ("&xattr.value=", None), ("&xattr.value=0x", b""), ("&xattr.value=0x00", b"\0")],
)
def test_attribute_without_a_value_has_none(query: str, value: bytes | None) -> None:
    steps = CHANGES["SETXATTR"](ask("PUT", f"SETXATTR&xattr.name=user.a&flag=CREATE{query}"), "o")
    _, (rpc,) = drive(steps, lambda step: types_pb2.SetXAttrResponseProto())
    given = rpc.request.xAttr
    assert (given.value if given.HasField("value") else None) == value


# Erasure coding.


def test_the_policy_of_a_path_is_written_out() -> None:
    def answer(step: Rpc) -> Any:
        return types_pb2.GetErasureCodingPolicyResponseProto(
            ecPolicy=types_pb2.ErasureCodingPolicyProto(id=2)
        )

    found, made = drive(READS["GETECPOLICY"](ask("GET", "GETECPOLICY"), "ann"), answer)
    shown = json.loads(found.body)
    assert [step.method for step in made] == ["getErasureCodingPolicy"]
    assert (shown["name"], shown["id"], shown["systemPolicy"]) == ("RS-3-2-1024k", 2, True)
    assert shown["schema"]["numParityUnits"] == 2
    empty = types_pb2.GetErasureCodingPolicyResponseProto()
    found, _ = drive(READS["GETECPOLICY"](ask("GET", "GETECPOLICY"), "ann"), lambda step: empty)
    assert json.loads(found.body) is None


def test_a_status_names_the_policy() -> None:
    coded = status(b"")
    coded.flags = types_pb2.HdfsFileStatusProto.HAS_EC
    coded.ecPolicy.id = 1
    info = pb.GetFileInfoResponseProto(fs=coded)
    request = ask("GET", "GETFILESTATUS")
    found, _ = drive(READS["GETFILESTATUS"](request, "ann"), lambda step: info)
    shown = json.loads(found.body)["FileStatus"]
    assert (shown["ecBit"], shown["ecPolicy"]) == (True, "RS-6-3-1024k")
    assert shown["ecPolicyObj"]["numDataUnits"] == 6


@pytest.mark.parametrize(
    ("operation", "method", "field"),
    [
        ("SETECPOLICY", "setErasureCodingPolicy", "ecPolicyName"),
        ("UNSETECPOLICY", "unsetErasureCodingPolicy", ""),
        ("ENABLEECPOLICY", "enableErasureCodingPolicy", "ecPolicyName"),
        ("DISABLEECPOLICY", "disableErasureCodingPolicy", "ecPolicyName"),
    ],
)
def test_policies_are_set_and_enabled(operation: str, method: str, field: str) -> None:
    verb = "POST" if operation == "UNSETECPOLICY" else "PUT"
    query = f"{operation}&ecpolicy=XOR-2-1-1024k" if field else operation
    _, [made] = drive(CHANGES[operation](ask(verb, query), "ann"), lambda step: None)
    assert made.method == method
    assert getattr(made.request, field or "src") == ("XOR-2-1-1024k" if field else "/a")
