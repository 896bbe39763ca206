"""Operations as calls: which are made, in which order, and what comes of their answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.web.http import Response, request_of
from howdah.web.webhdfs.changes import CHANGES
from howdah.web.webhdfs.parameters import DEFAULT_USER_PATTERN, Asked, asked
from howdah.web.webhdfs.reads import READS
from howdah.web.webhdfs.redirects import redirect
from howdah.web.webhdfs.steps import Rpc, Steps, Target

Answers = dict[str, Any]
DEFAULTS = pb.GetServerDefaultsResponseProto(
    serverDefaults=types_pb2.FsServerDefaultsProto(
        blockSize=128, bytesPerChecksum=512, writePacketSize=1, replication=3, fileBufferSize=1
    )
)


def ask(method: str, query: str, path: str = "/a") -> Asked:
    request = request_of(method.encode(), f"/webhdfs/v1{path}?op={query}".encode(), [])
    assert request is not None
    return asked(request, re.compile(DEFAULT_USER_PATTERN))


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


def drive(steps: Steps, answer: Callable[[Rpc | Target], Any]) -> tuple[Response, list[Any]]:
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
    return found.headers["Location"]


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


def test_listing_goes_on_behind_the_last_name() -> None:
    pages = {
        b"": (["a", "b"], 1),
        b"b": (["c"], 0),
    }

    def page(step: Rpc | Target) -> pb.GetListingResponseProto:
        assert isinstance(step, Rpc)
        assert isinstance(step.request, pb.GetListingRequestProto)
        names, remaining = pages[step.request.startAfter]
        return pb.GetListingResponseProto(
            dirList=types_pb2.DirectoryListingProto(
                partialListing=[status(name.encode()) for name in names],
                remainingEntries=remaining,
            )
        )

    found, made = drive(READS["LISTSTATUS"](ask("GET", "LISTSTATUS"), "ann"), page)
    shown = json.loads(found.body)["FileStatuses"]["FileStatus"]
    assert [each["pathSuffix"] for each in shown] == ["a", "b", "c"]
    assert len(made) == 2


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
