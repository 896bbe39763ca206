"""WebHDFS beside Hadoop's: the same requests to Hadoop's servers and to ours.

Status, type, address and JSON have to be the same but for times, ids, ports and sizes of disks.
Where they are not, the line behind the request says why: `~` where nothing but the words of a
refusal differ, `!` where more does. What is said to differ and does not fails, too.

The requests, and how a line is written, stand in webhdfs_requests.txt.
"""

from __future__ import annotations

import getpass
import http.client
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import pytest

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.hadoop.mixed import MixedCluster

pytestmark = [pytest.mark.req("FS-216", "FS-218"), pytest.mark.timeout(400)]

SUPERUSER: Final = getpass.getuser()
CONF: dict[str, str | int] = {
    "dfs.namenode.acls.enabled": "true",
    "dfs.blocksize": "1m",
    "dfs.replication": 1,
    "hadoop.proxyuser.hive.users": "joe",
    "hadoop.proxyuser.hive.hosts": "*",
    "hadoop.proxyuser.far.users": "*",
    "hadoop.proxyuser.far.hosts": "192.0.2.1",
}
ONE_S_OWN: Final = frozenset(
    (
        *("accessTime", "modificationTime", "access_time", "modification_time", "lastUpdate"),
        *("lastUpdateMonotonic", "lastBlockReportTime", "lastBlockReportMonotonic"),
        *("fileId", "dirId", "blockId", "generationStamp", "blockPoolId", "storageID"),
        *("infoPort", "ipcPort", "xferPort", "ipAddr", "name", "xceiverCount"),
        *("capacity", "remaining", "used", "dfsUsed", "blockPoolUsed", "snapshotID"),
    )
)
"""Fields with another value at each server; there has to be one, of the same type."""
_ADDRESS: Final = re.compile(r"(127\.0\.0\.\d+|localhost):\d+")
_STACK: Final = re.compile(r"\n\tat .*", re.DOTALL)
"""Hadoop's datanode passes on where in its namenode an exception comes from."""
_NAME_OF_TIME: Final = re.compile(r"s\d{8}-\d{6}\.\d{3}")


@dataclass(frozen=True, slots=True)
class Asked:
    """A line of the file."""

    text: str
    reason: str = ""
    words_only: bool = False

    def parts(self) -> tuple[bool, str, str, bytes | None, bytes | None]:
        """Whether to follow, method, target, a body for the datanode, and for the namenode."""
        rest, user = self.text, SUPERUSER
        if rest.startswith("@"):
            user, rest = rest[1:].split(" ", 1)
        follows = rest.startswith("> ")
        method, target, *more = rest.removeprefix("> ").split(" ", 2)
        body = more[0] if more else ""
        if user != "-":
            target += f"{'&' if '?' in target else '?'}user.name={user}"
        return (
            follows,
            method,
            "/webhdfs/v1" + target.replace("{h}", SUPERUSER),
            body[1:].encode() if body.startswith("<") else None,
            body[1:].encode() if body.startswith("*") else None,
        )


@cache
def scenes() -> dict[str, list[Asked]]:
    found: dict[str, list[Asked]] = {}
    requests: list[Asked] | None = None
    for line in Path(__file__).with_name("webhdfs_requests.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            requests = found[line.strip("[]")] = []
        elif requests is not None and line.startswith(("! ", "~ ")):
            requests.append(Asked(requests.pop().text, line[2:], line.startswith("~")))
        elif requests is not None and line:
            requests.append(Asked(line))
    return found


@dataclass(slots=True)
class Said:
    """What a server answered, made comparable."""

    status: int
    type: str
    location: object
    body: object


@dataclass(slots=True)
class Pair:
    """Both servers' answers to one request, one for each step of it."""

    asked: Asked
    said: list[list[Said]] = field(default_factory=list)

    def trouble(self) -> str | None:
        hadoops, ours = self.said
        if hadoops == ours:
            return f"does not differ: {self.asked.reason}" if self.asked.reason else None
        if self.asked.reason and not self.asked.words_only:
            return None
        if self.asked.words_only and without_words(hadoops) == without_words(ours):
            return None
        return f"\n  Hadoop: {hadoops}\n  ours:   {ours}"


def without_words(said: list[Said]) -> list[Said]:
    def cut(body: object) -> object:
        told = body.get("RemoteException") if isinstance(body, dict) else None
        return body if told is None else {**told, "message": ""}

    return [Said(one.status, one.type, one.location, cut(one.body)) for one in said]


def send(address: str, method: str, target: str, body: bytes | None) -> tuple[Said, str]:
    """The answer, and the address that it names."""
    connection = http.client.HTTPConnection(address, timeout=60)
    try:
        connection.putrequest(method, target, skip_accept_encoding=True)
        if method in ("PUT", "POST") or body is not None:
            connection.putheader("Content-Length", str(len(body or b"")))
            connection.putheader("Content-Type", "application/octet-stream")
        connection.endheaders(body)
        answer = connection.getresponse()
        location = answer.headers.get("Location", "")
        kind = answer.headers.get("Content-Type", "").partition(";")[0]
        said = Said(answer.status, kind, shown_location(location), shown_body(answer.read()))
        return said, location
    finally:
        connection.close()


def shown_location(location: str) -> object:
    parts = urlsplit(location)
    fields = parse_qsl(parts.query, keep_blank_values=True)
    return [
        _ADDRESS.sub("HOST:PORT", part)
        for part in (f"{parts.scheme}://{parts.netloc}{parts.path}", *map("=".join, fields))
    ]


def shown_body(body: bytes) -> object:
    try:
        return shown(json.loads(body))
    except ValueError:
        return body


def shown(value: Any, name: str = "") -> object:
    if isinstance(value, dict):
        return {key: shown(each, key) for key, each in value.items()}
    if isinstance(value, list):
        # Names are in the order of their bytes, which Hadoop compares as signed ones; its
        # directories of trash are in none.
        parts = [shown(each) for each in value]
        return sorted(parts, key=_in_order) if name in ("FileStatus", "Paths") else parts
    if name in ONE_S_OWN and not isinstance(value, bool) and value is not None:
        return type(value).__name__
    if isinstance(value, str):
        text = _NAME_OF_TIME.sub("sTIME", _ADDRESS.sub("HOST:PORT", value))
        return _STACK.sub("", text) if name == "message" else text
    return value


def _in_order(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _has_a_datanode(fs: HdfsFileSystem) -> bool:
    return bool(fs.datanode_report("live"))


def ask(address: str, asked: Asked) -> list[Said]:
    follows, method, target, body, body_here = asked.parts()
    said, location = send(address, method, target, body_here)
    if not follows or said.status != 307:
        return [said]
    there = urlsplit(location)
    return [said, send(there.netloc, method, f"{there.path}?{there.query}", body)[0]]


@pytest.fixture(scope="module")
def pairs(hadoop_classpath: str) -> Iterator[dict[str, list[Pair]]]:
    hadoops = ["namenode", "datanode0"]
    with (
        MixedCluster(hadoop_classpath, hadoops, namenodes=1, conf=CONF) as mixed,
        MiniCluster(datanodes=1, conf=CONF) as ours,
    ):
        addresses = [each.http.partition("//")[2].rstrip("/") for each in (mixed, ours)]
        for cluster in (mixed, ours):
            with cluster.connect() as fs:
                # The directory of Hadoop's namenode was formatted by ours.
                fs.set_owner("/", SUPERUSER, "supergroup")
                wait_until(partial(_has_a_datanode, fs), timeout_s=60)
        yield {
            heading: [Pair(one, [ask(address, one) for address in addresses]) for one in requests]
            for heading, requests in scenes().items()
        }


@pytest.mark.parametrize("heading", scenes())
def test_answers_are_hadoops(pairs: dict[str, list[Pair]], heading: str) -> None:
    found = [(pair.asked.text, pair.trouble()) for pair in pairs[heading]]
    assert not [f"{text}: {trouble}" for text, trouble in found if trouble is not None]
