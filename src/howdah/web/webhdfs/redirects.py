"""Operations on the bytes of files: the namenode names a datanode that does them (pure).

OPEN and GETFILECHECKSUM go to a datanode that has the block, APPEND to one that has the last
block, CREATE to one that would get the first. The address tells the datanode who asks, for whom
he acts (`doas`), and which namenode to ask (`namenoderpcaddress`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

from howdah import errors
from howdah.config import keys
from howdah.formats.tokens.token import Token
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.web.http import Response
from howdah.web.webhdfs.call_chain import Rpc, Step, Steps, Target, json_response
from howdah.web.webhdfs.parameters import PREFIX, ParsedRequest

_PASSED: Final = {
    "OPEN": ("offset", "length", "buffersize"),
    "GETFILECHECKSUM": (),
    "CREATE": (
        *("permission", "unmaskedpermission", "overwrite", "replication", "blocksize"),
        *("buffersize", "createparent", "createflag"),
    ),
    "APPEND": ("buffersize",),
}
URI_SAFE: Final = "/!$&'()*+,;=:@"
"""What Java's URI leaves as it is in a path."""
REDIRECTED: Final = frozenset(_PASSED)
_SAID_ALWAYS: Final[Mapping[str, Mapping[str, str]]] = {
    "OPEN": {"offset": "0"},
    "CREATE": {"createflag": "", "createparent": "true", "overwrite": "false"},
}
"""What Hadoop's namenode puts into the address also where nobody gave it."""
_DECOMMISSIONED: Final = types_pb2.DatanodeInfoProto.DECOMMISSIONED


MakeToken = Callable[[ParsedRequest, str], Generator[Step, Any, Token | None]]


def redirect(
    asked: ParsedRequest, user: str, namenode: str, *, make_token: MakeToken | None = None
) -> Steps:
    """`namenode` is `host:port` for RPC. Where the datanode needs a token, it gets the one that
    came with the request, or what `make_token` has for the caller."""
    if "//" in asked.path or not asked.path.startswith("/"):
        raise errors.InvalidPath(f"Invalid path name {asked.path}")
    node = yield from _CHOICES[asked.operation](asked)
    query = {"op": asked.operation}
    delegation = asked.delegation
    if delegation is None and make_token is not None:
        token = yield from make_token(asked, user)
        if token is None:
            raise errors.RetriableError("there is no delegation token for the datanode yet")
        delegation = token.url_string
    if delegation is not None:
        query["delegation"] = delegation
    else:
        if asked.acts_for is not None:
            query["doas"] = asked.acts_for
        if asked.user is not None:
            query["user.name"] = asked.user
    query["namenoderpcaddress"] = namenode
    passed = {name: asked.given[name] for name in _PASSED[asked.operation] if asked.given.get(name)}
    query.update(sorted({**_SAID_ALWAYS.get(asked.operation, {}), **passed}.items()))
    # That name means another machine to everybody else.
    host = node.ipAddr if node.hostName in ("", "localhost") else node.hostName
    where = f"[{host}]" if ":" in host else host
    # Who asked over TLS goes on over TLS.
    scheme, port = "http", node.infoPort
    if asked.is_secure:
        scheme, port = "https", node.infoSecurePort
    if not port:
        raise errors.RemoteError(
            f"the datanode {host}:{node.xferPort} does not answer {scheme} "
            f"({keys.DFS_HTTP_POLICY.name} there): {asked.operation} of {asked.path} has nowhere "
            "to go"
        )
    address = (
        f"{scheme}://{where}:{port}{PREFIX}{quote(asked.path, safe=URI_SAFE)}"
        f"?{urlencode(query, safe=':')}"
    )
    if asked.flag("noredirect"):
        return json_response({"Location": address})
    return Response(307, {"Content-Type": "application/octet-stream", "Location": address})


Choice = Generator[Rpc | Target, Any, types_pb2.DatanodeIDProto]


def _of_new_block(asked: ParsedRequest) -> Choice:
    # Also asks whether this namenode serves at all: else its client should go to another.
    defaults = yield Rpc("getServerDefaults", pb.GetServerDefaultsRequestProto())
    size = asked.number("blocksize") if asked.operation == "CREATE" else None
    node = yield Target(size or defaults.serverDefaults.blockSize, _excluded(asked))
    assert isinstance(node, types_pb2.DatanodeIDProto), "that is what is asked for"
    return node


def _of_replica(asked: ParsedRequest) -> Choice:
    path = asked.path
    info = yield Rpc("getFileInfo", pb.GetFileInfoRequestProto(src=path))
    if not info.HasField("fs"):
        raise errors.PathNotFound(f"File {path} not found.")
    length = info.fs.length
    offset = max(length - 1, 0)
    if asked.operation == "OPEN":
        offset = asked.number("offset") or 0
        if offset >= length > 0:
            raise errors.RemoteError(
                f"Offset={offset} out of the range [0, {length}); OPEN, path={path}"
            )
    if not length:
        return (yield from _of_new_block(asked))
    located = yield Rpc(
        "getBlockLocations", pb.GetBlockLocationsRequestProto(src=path, offset=offset, length=1)
    )
    if not located.locations.blocks:
        raise errors.RemoteError(f"Block could not be located. Path={path}, offset={offset}")
    excluded = _excluded(asked)
    for node in located.locations.blocks[0].locs:
        names = {node.id.hostName, node.id.ipAddr}
        names |= {f"{name}:{node.id.xferPort}" for name in names}
        if node.adminState != _DECOMMISSIONED and not names & excluded:
            chosen: types_pb2.DatanodeIDProto = node.id
            return chosen
    raise errors.RemoteError("No active and not excluded nodes contain this block")


def _excluded(asked: ParsedRequest) -> frozenset[str]:
    text = asked.values.get("excludedatanodes")
    names = text.split(",") if isinstance(text, str) else []
    return frozenset(name.strip() for name in names if name.strip())


_CHOICES: Final[Mapping[str, Callable[[ParsedRequest], Choice]]] = {
    "OPEN": _of_replica,
    "GETFILECHECKSUM": _of_replica,
    "APPEND": _of_replica,
    "CREATE": _of_new_block,
}
