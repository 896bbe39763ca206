"""Asks every namenode of the configuration for its figures, within bounds (shell).

Each gets `TIMEOUT_S` in all, however slowly it sends, and may say `MOST_BYTES`. They are
asked at the same time, at most `_AT_ONCE`; what was read is kept for `KEPT_S`, so that a crowd of
viewers asks them no more often than one.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime
from dataclasses import replace
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any, Final

from howdah.config import Configuration
from howdah.config.nameservices import nameservices
from howdah.errors import InvalidConfiguration
from howdah.runtime import background_threads
from howdah.runtime.tls.client import ClientTls
from howdah.runtime.tls.http_policy import Place, namenode_places
from howdah.security.page_proofs import PageProofs
from howdah.web.pages.cluster import Member

TIMEOUT_S: Final = 4.0
KEPT_S: Final = 3.0
MOST_BYTES: Final = 1 << 20
MOST_NAMENODES: Final = 200
_AT_ONCE: Final = 64
_PIECE_BYTES: Final = 64 * 1024
_BEANS: Final = ("NameNodeStatus", "FSNamesystem")
_PREFIX: Final = "Hadoop:service=NameNode,name="


class ClusterReader:
    """Reads the figures of the namenodes of one configuration; several threads may read."""

    def __init__(self, conf: Configuration, user: str | None = None) -> None:
        """`user` is who asks where that has to be proven."""
        self._conf = conf
        self._proofs = PageProofs(user)
        self._tls = ClientTls(conf)
        self._lock = threading.Lock()
        self._kept: tuple[float, list[Member]] | None = None

    def read(self) -> list[Member]:
        """Return what is known of each namenode, in the order of the configuration."""
        with self._lock:
            if self._kept is None or time.monotonic() > self._kept[0] + KEPT_S:
                members = self._read()
                self._kept = time.monotonic(), members
            return self._kept[1]

    def _read(self) -> list[Member]:
        known: list[tuple[str, str, Place | None, str]] = []
        for nameservice in nameservices(self._conf) or ("",):
            try:
                places = namenode_places(self._conf, nameservice)
            except InvalidConfiguration as error:
                known.append((nameservice, "", None, error.message))
                continue
            known += [(nameservice, name, place, "") for name, place in places.items()]
        members: list[Member] = []
        known = known[:MOST_NAMENODES]
        for first in range(0, len(known), _AT_ONCE):
            members += self._ask_all(known[first : first + _AT_ONCE])
        return members

    def _ask_all(self, known: list[tuple[str, str, Place | None, str]]) -> list[Member]:
        deadline_s = time.monotonic() + TIMEOUT_S
        asked: list[tuple[Member, Future[Mapping[str, Any]] | None]] = []
        for nameservice, name, place, trouble in known:
            at = "" if place is None else place.header
            scheme = "http" if place is None else place.scheme
            member = Member(nameservice, name, at, trouble, scheme=scheme)
            future = (
                None
                if place is None
                else background_threads.begin(
                    partial(figures, place, deadline_s, self._tls, self._proofs),
                    f"cluster page {at}",
                )
            )
            asked.append((member, future))
        return [
            member if future is None else _member(member, future, deadline_s)
            for member, future in asked
        ]


def _member(member: Member, future: Future[Mapping[str, Any]], deadline_s: float) -> Member:
    try:
        beans = future.result(max(0.0, deadline_s + 0.5 - time.monotonic()))
        return member_of(member, beans)
    except (NotInTime, TimeoutError):
        why = f"no answer within {TIMEOUT_S:g} s"
    except (OSError, HTTPException) as error:
        why = str(error) or type(error).__name__
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        why = f"its figures make no sense: {error}"
    return replace(member, trouble=why[:300])


def member_of(member: Member, beans: Mapping[str, Any]) -> Member:
    """A member with what its beans say. Raises ValueError, TypeError or KeyError."""
    status, names = beans["NameNodeStatus"], beans["FSNamesystem"]
    info = beans.get("NameNodeInfo", {})

    def number(key: str) -> int:
        return int(names.get(key) or 0)

    return replace(
        member,
        state=str(status["State"])[:40],
        safe_mode="on" if info.get("Safemode") else "",
        version=str(info.get("SoftwareVersion", ""))[:60],
        files=number("FilesTotal"),
        blocks=number("BlocksTotal"),
        missing=number("MissingBlocks"),
        corrupt=number("CorruptBlocks"),
        low=number("LowRedundancyBlocks") or number("UnderReplicatedBlocks"),
        live=number("NumLiveDataNodes"),
        dead=number("NumDeadDataNodes"),
        capacity_bytes=number("CapacityTotal"),
        used_bytes=number("CapacityUsed") + number("CapacityUsedNonDFS"),
        remaining_bytes=number("CapacityRemaining"),
        cluster_id=str(info.get("ClusterId", ""))[:100],
        numbers={name: value for name, value in names.items() if type(value) is int},
    )


def figures(
    place: Place, deadline_s: float, tls: ClientTls, proofs: PageProofs
) -> Mapping[str, Any]:
    """Return the beans of a namenode by name, one attribute at a time where a bean may be long.
    Raises OSError, HTTPException, ValueError."""
    beans: dict[str, Any] = {}
    for name in _BEANS:
        beans[name] = _bean(place, f"qry={_PREFIX}{name}", deadline_s, tls, proofs)
        if beans[name].get("State") == "initializing":
            raise HTTPException("it is starting: its image and log are being loaded")
    info: dict[str, Any] = {}
    for attribute in ("Safemode", "SoftwareVersion", "ClusterId"):
        query = f"get={_PREFIX}NameNodeInfo::{attribute}"
        info.update(_bean(place, query, deadline_s, tls, proofs))
    beans["NameNodeInfo"] = info
    return beans


def _bean(
    place: Place, query: str, deadline_s: float, tls: ClientTls, proofs: PageProofs
) -> Mapping[str, Any]:
    used: list[socket.socket] = []

    def connect() -> HTTPConnection:
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        connection = tls.http(place, left_s)
        connection.connect()
        used[:] = [connection.sock]
        return connection

    # Pages may be open: such a server proves nothing either.
    with proofs.asked(
        place, connect, "GET", f"/jmx?{query}", headers={"Connection": "close"}, is_open=True
    ) as response:
        if response.status != 200:
            raise HTTPException(f"it answers {response.status} to /jmx")
        data = _read_all(used[0], response, deadline_s)
    beans = json.loads(data)["beans"]
    if not isinstance(beans, list) or not beans or not isinstance(beans[0], dict):
        raise ValueError(f"there is no bean for {query}")
    return beans[0]


def _read_all(connected: socket.socket, response: HTTPResponse, deadline_s: float) -> bytearray:
    data = bytearray()
    while piece := response.read1(_PIECE_BYTES):
        data += piece
        if len(data) > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES} bytes")
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        connected.settimeout(left_s)
    return data
