"""`/webhdfs/v1` of a datanode: OPEN, CREATE, APPEND and GETFILECHECKSUM (shell).

Hadoop's WebHdfsHandler. Each request is a client of its own: it asks the namenode that
`namenoderpcaddress` names, which has to be one of those that are configured here, as the user
that `user.name` names. Bytes pass in pieces, so that a request of any length costs the same
memory. A body that breaks off leaves what came before it, as in Hadoop, and gets no 201.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Final
from urllib.parse import quote

from howdah import errors, keys
from howdah.config import Configuration
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.streams import FSDataOutputStream
from howdah.nameservices import nameservices, rpc_addresses, service_addresses
from howdah.options import CreateFlag
from howdah.web.channel import Channel
from howdah.web.http import Request, Response, answer
from howdah.web.server import Exchange
from howdah.web.webhdfs.faults import refused
from howdah.web.webhdfs.parameters import Asked, InvalidParameter, asked, check_origin

log = logging.getLogger(__name__)

FILE_MODE: Final = 0o644
_PIECE_BYTES: Final = 256 * 1024
_JSON: Final = "application/json; charset=utf-8"
_BYTES: Final = "application/octet-stream"
_COMBINED: Final = "MD5MD5CRC"
_SUM_BYTES: Final = 28
"""Of such a sum: Hadoop tells four bytes more, which it does not count."""
_FLAGS: Final = {flag.name: flag for flag in CreateFlag}
_IMPLIED: Final = frozenset({"CREATE", "OVERWRITE"})


class FileGateway:
    """Answers requests of WebHDFS about the bytes of files."""

    def __init__(self, conf: Configuration) -> None:
        # Whoever asks over HTTP says the mode, and no umask of ours applies.
        self.conf = conf.with_values({keys.FS_PERMISSIONS_UMASK_MODE.name: "000"})
        self.user_pattern = re.compile(conf.get(keys.DFS_WEBHDFS_USER_PROVIDER_USER_PATTERN))
        self.default_user = conf.get(keys.HADOOP_HTTP_STATICUSER_USER)
        self._namenodes = _known_namenodes(conf)

    def answer(self, request: Request) -> Exchange:
        return _Operation(self, request)

    def filesystem(self, wanted: Asked) -> HdfsFileSystem:
        """As the user who asks. Raises IllegalArgument for a namenode that is not ours."""
        user = wanted.user or self.default_user
        if wanted.acts_for is not None and wanted.acts_for != user:
            raise errors.AuthorizationFailed(
                f"User: {user} is not allowed to impersonate {wanted.acts_for}"
            )
        namenode = wanted.namenode
        if namenode is None:
            raise InvalidParameter("namenoderpcaddress", "it has to name a namenode")
        if namenode not in self._namenodes:
            raise InvalidParameter(
                "namenoderpcaddress", f"{namenode} is no namenode that is configured here"
            )
        return HdfsFileSystem(namenode, self.conf, user)


def _known_namenodes(conf: Configuration) -> frozenset[str]:
    names = nameservices(conf)
    addresses = {
        f"{host}:{port}"
        for name in names or ("",)
        for found in (rpc_addresses(conf, name), service_addresses(conf, name))
        for host, port in found.values()
    }
    return frozenset(addresses | set(names))


class _Operation:
    """One request, as an exchange."""

    def __init__(self, gateway: FileGateway, request: Request) -> None:
        self._gateway = gateway
        self._request = request
        self._answer: Response | None = None

    def run(self, channel: Channel) -> None:
        request = self._request
        try:
            check_origin(request)
            wanted = asked(request, self._gateway.user_pattern)
            work = {
                "OPEN": self._open,
                "CREATE": self._create,
                "APPEND": self._append,
                "GETFILECHECKSUM": self._checksum,
            }.get(wanted.operation)
            if work is None:
                raise InvalidParameter("op", f"Invalid operation {wanted.operation}")
            with closing(self._gateway.filesystem(wanted)) as fs:
                self._answer = work(fs, wanted, channel)
        except errors.HowdahError as error:
            if channel.has_begun:
                # Its length is out: only the end of the connection can say that it broke off.
                log.warning("%s %s breaks off: %s", request.method, request.target, error)
                channel.broken = True
                return
            log.info(
                "%s %s from %s is refused: %s", request.method, request.target, request.peer, error
            )
            self._answer = refused(error)

    def done(self) -> Response | None:
        return self._answer

    def _open(self, fs: HdfsFileSystem, wanted: Asked, channel: Channel) -> None:
        offset = wanted.number("offset") or 0
        length = wanted.number("length")
        with fs.open(wanted.path) as stream:
            size = stream.size
            stream.seek(offset)
            left_bytes = max(size - offset, 0)
            if length is not None:
                left_bytes = min(left_bytes, length)
            channel.begin(200, {"Content-Type": _BYTES, "Content-Length": str(left_bytes)})
            piece = memoryview(bytearray(min(_PIECE_BYTES, left_bytes)))
            while left_bytes:
                count = stream.readinto(piece[: min(len(piece), left_bytes)])
                if not count:
                    raise errors.RemoteError(f"{wanted.path} ends {left_bytes} bytes too early")
                channel.send(piece[:count])
                left_bytes -= count
        channel.end()

    def _create(self, fs: HdfsFileSystem, wanted: Asked, channel: Channel) -> Response:
        unmasked = wanted.number("unmaskedpermission")
        mode = wanted.number("permission")
        chosen = wanted.chosen("createflag")
        flags = CreateFlag.NONE
        for name in chosen - _IMPLIED:
            if name not in _FLAGS:
                raise errors.UnsupportedOperation(f"createflag={name} is not supported")
            flags |= _FLAGS[name]
        if unmasked is None:
            unmasked = FILE_MODE if mode is None else mode
        out = fs.client.create(
            fs.resolve(wanted.path),
            masked=FILE_MODE if mode is None else mode,
            unmasked=unmasked,
            overwrite=wanted.flag("overwrite") or "OVERWRITE" in chosen,
            create_parent=wanted.flag("createparent"),
            replication=wanted.number("replication"),
            block_size=wanted.number("blocksize"),
            flags=flags,
        )
        _pour(channel, FSDataOutputStream(out), wanted.path)
        location = f"hdfs://{wanted.namenode}{wanted.path}"
        return Response(201, {"Location": _ascii(location)})

    def _append(self, fs: HdfsFileSystem, wanted: Asked, channel: Channel) -> Response:
        _pour(channel, fs.append(wanted.path), wanted.path)
        return Response(200)

    def _checksum(self, fs: HdfsFileSystem, wanted: Asked, channel: Channel) -> Response:
        """Of the one kind that Hadoop tells over HTTP."""
        found = fs.get_file_checksum(wanted.path, combine_mode=_COMBINED)
        if found is None:
            raise errors.RemoteError(f"there is no checksum of {wanted.path}")
        told = {"algorithm": found.algorithm, "bytes": found.hex(), "length": _SUM_BYTES}
        body = json.dumps({"FileChecksum": told}, separators=(",", ":")).encode()
        return answer(200, body, _JSON)


def _pour(channel: Channel, out: FSDataOutputStream, path: str) -> None:
    """The body of the request into a file, which is closed in the end."""
    with _closed(out, path):
        while data := channel.read():
            out.write(data)


@contextmanager
def _closed(out: FSDataOutputStream, path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        log.warning("%s keeps the %d bytes that came: %s", path, out.get_pos(), error)
        try:
            out.close()
        except OSError as second:
            log.warning("%s stays open until its lease is recovered: %s", path, second)
        raise
    out.close()


def _ascii(location: str) -> str:
    """For a header, where only ASCII is safe."""
    return quote(location, safe=":/?[]@!$&'()*+,;=~%")
