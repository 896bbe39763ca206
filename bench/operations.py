"""What callers ask a namenode, in the shape of Hadoop's NNThroughputBenchmark.

Each function gives the requests of each caller, in order. Files that are made, renamed and
deleted lie in directories by run and caller, so that no two callers meet.
"""

from __future__ import annotations

from collections.abc import Iterator

from load import Request

from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2

DIRECTORIES = 50
FILES = 500
CLIENT = "bench"

Requests = list[list[Request]]


def path(number: int) -> str:
    """One of the files that are asked for, four directories deep."""
    return f"/bench/tree/d{number % DIRECTORIES:02}/f{number:04}"


def tree() -> list[Request]:
    """Make the files that are asked for."""
    calls = [_mkdirs(f"/bench/tree/d{number:02}") for number in range(DIRECTORIES)]
    for number in range(FILES):
        calls += creation(path(number))
    return calls


def infos(callers: int, calls: int) -> Requests:
    return [
        [
            ("getFileInfo", pb.GetFileInfoRequestProto(src=path((number * 7 + caller) % FILES)))
            for number in range(calls // callers)
        ]
        for caller in range(callers)
    ]


def opens(callers: int, calls: int) -> Requests:
    return [
        [
            (
                "getBlockLocations",
                pb.GetBlockLocationsRequestProto(
                    src=path((number * 7 + caller) % FILES), offset=0, length=128 << 20
                ),
            )
            for number in range(calls // callers)
        ]
        for caller in range(callers)
    ]


class Made:
    """Files of one run: each function is a step of their lives, to be asked for in this order."""

    def __init__(self, run: int, callers: int, files: int) -> None:
        self._run = run
        self._callers = callers
        self._each = files // callers

    def _paths(self, what: str) -> Iterator[list[str]]:
        for caller in range(self._callers):
            above = f"/bench/made/{self._run}/{caller}"
            yield [f"{above}/{what}{number}" for number in range(self._each)]

    def mkdirs(self) -> Requests:
        """Directories, which nothing else uses."""
        return [[_mkdirs(one) for one in paths] for paths in self._paths("d")]

    def creations(self) -> Requests:
        """`create` and `complete` of each."""
        return [[call for one in paths for call in creation(one)] for paths in self._paths("f")]

    def renames(self) -> Requests:
        return [
            [
                ("rename", pb.RenameRequestProto(src=src, dst=dst))
                for src, dst in zip(old, new, strict=True)
            ]
            for old, new in zip(self._paths("f"), self._paths("r"), strict=True)
        ]

    def deletions(self) -> Requests:
        """Of what was renamed."""
        return [
            [("delete", pb.DeleteRequestProto(src=one, recursive=False)) for one in paths]
            for paths in self._paths("r")
        ]

    def open_paths(self) -> list[list[str]]:
        """Of each caller."""
        return list(self._paths("w"))

    def openings(self) -> Requests:
        """Files that are written from here on."""
        return [[creation(one, 3)[0] for one in paths] for paths in self._paths("w")]

    def blocks(self) -> Requests:
        """A block for each of these."""
        return [
            [("addBlock", pb.AddBlockRequestProto(src=one, clientName=CLIENT)) for one in paths]
            for paths in self._paths("w")
        ]

    def closes(self, added: list[list[types_pb2.ExtendedBlockProto]]) -> Requests:
        """The end of writing them, when the datanodes have the blocks that were `added`."""
        return [
            [
                ("complete", pb.CompleteRequestProto(src=one, clientName=CLIENT, last=block))
                for one, block in zip(paths, blocks, strict=True)
            ]
            for paths, blocks in zip(self._paths("w"), added, strict=True)
        ]

    def locations(self) -> Requests:
        """Where the blocks are."""
        return [
            [
                (
                    "getBlockLocations",
                    pb.GetBlockLocationsRequestProto(src=one, offset=0, length=128 << 20),
                )
                for one in paths
            ]
            for paths in self._paths("w")
        ]


def creation(path: str, replication: int = 1) -> list[Request]:
    """A new file that is closed at once."""
    return [
        (
            "create",
            pb.CreateRequestProto(
                src=path,
                masked=types_pb2.FsPermissionProto(perm=0o644),
                clientName=CLIENT,
                createFlag=pb.CREATE,
                createParent=True,
                replication=replication,
                blockSize=128 << 20,
            ),
        ),
        ("complete", pb.CompleteRequestProto(src=path, clientName=CLIENT)),
    ]


def _mkdirs(path: str) -> Request:
    mode = types_pb2.FsPermissionProto(perm=0o755)
    return ("mkdirs", pb.MkdirsRequestProto(src=path, masked=mode, createParent=True))
