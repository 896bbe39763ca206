"""`WebHdfsFileSystem`: HDFS over HTTP (`webhdfs://host:port`, or `webhdfs://NAME` with the name
of a nameservice).

What the namenode answers is `HdfsNamespace`'s, as of `hdfs://`, by calls that go over HTTP. Bytes
go to and from the datanodes to which the namenode sends, each file as one request. What WebHDFS
has no operation for raises UnsupportedOperation: `hflush` and `hsync`, `recover_lease`, reports.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.client.namenode import NamenodeProxy
from howdah.client.namenodes.target import target_of
from howdah.client.statistics import Tally
from howdah.config import Configuration, keys
from howdah.config.nameservices import (
    http_addresses,
    https_addresses,
    namenode_ids,
    nameservices,
    value_of,
)
from howdah.config.value_types import Address
from howdah.fs import capabilities, paths
from howdah.fs.api import Progress
from howdah.fs.hdfs.links import follow_links
from howdah.fs.hdfs.namespace import HdfsNamespace
from howdah.fs.hdfs.status import server_defaults
from howdah.fs.hdfs.tokens import service_at
from howdah.fs.paths import PathLike
from howdah.fs.status import FileChecksum, ServerDefaults
from howdah.fs.streams import FSDataInputStream, FSDataOutputStream
from howdah.fs.webhdfs.calls import MAX_ANSWER_BYTES, RestCalls
from howdah.fs.webhdfs.input import RestInput
from howdah.fs.webhdfs.output import RestOutput
from howdah.options import CreateFlag
from howdah.proto import types_pb2
from howdah.protocol.rpc.failover import FailoverPolicy
from howdah.runtime.fork_safety import PerProcess, made_once
from howdah.runtime.tls.client import ClientTls
from howdah.runtime.tls.http_policy import Place
from howdah.runtime.users.names import ProvenUser
from howdah.security.identity import user_of
from howdah.web.connections import Connections, Exchange
from howdah.web.cross_site import header_of
from howdah.web.webhdfs.answers import loaded
from howdah.web.webhdfs.requests import Pairs, RestRequest

if TYPE_CHECKING:
    from howdah.security.http import HttpAuthentication

# Where the namenodes behind an authority answer HTTP.

_DEFAULT_PORTS = {"webhdfs": 9870, "swebhdfs": 9871}


def namenodes_of(scheme: str, authority: str, conf: Configuration) -> dict[str, Place]:
    """Return the namenodes by name; one given as `host` or `host:port` has the name "". Raises
    IllegalArgument for an invalid authority, InvalidConfiguration for a nameservice whose namenodes
    have no address."""
    host, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        host, port = authority, ""
    if not host or "@" in host or (port and not (port.isascii() and port.isdigit())):
        raise errors.IllegalArgument(
            f"{scheme}://{authority} names no namenode: it must be {scheme}://host:port, or "
            f"{scheme}://NAME with a name of {keys.DFS_NAMESERVICES.name}"
        )
    is_secure = scheme == "swebhdfs"
    if not port and host in nameservices(conf) and _is_configured(host, conf):
        addresses = (https_addresses if is_secure else http_addresses)(conf, host)
        return {name: Place(is_secure, *address) for name, address in addresses.items()}
    number = int(port) if port else _DEFAULT_PORTS[scheme]
    return {"": Place(is_secure, host.strip("[]"), number)}


def _is_configured(name: str, conf: Configuration) -> bool:
    own = value_of(conf, keys.DFS_NAMENODE_RPC_ADDRESS, name)
    return bool(namenode_ids(conf, name)) or own is not None


def _authentication_of(user: str, authority: str, conf: Configuration) -> HttpAuthentication | None:
    """How the user proves himself; None where no cluster is said to ask for that."""
    if not isinstance(user, ProvenUser):
        return None
    from howdah.security.http import HttpAuthentication
    from howdah.security.users import SecuredUser

    if not isinstance(user, SecuredUser):
        return None
    nameservice = authority if authority in nameservices(conf) else None
    return HttpAuthentication(user, nameservice, _rpc_addresses(authority, nameservice, conf))


def _rpc_addresses(authority: str, nameservice: str | None, conf: Configuration) -> list[Address]:
    """Where the namenodes behind an authority answer RPC, as far as the configuration says so."""
    if nameservice is not None:
        return []  # Its tokens have its name.
    host = authority.rpartition(":")[0] or authority
    known = [conf.get(keys.DFS_NAMENODE_RPC_ADDRESS)]
    default = paths.parse(conf.get(keys.FS_DEFAULTFS) or "/")
    if default.scheme == "hdfs":
        known += target_of(default.authority, conf).namenodes.values()
    return [address for address in known if address is not None and address[0] == host]


FILE_MODE: Final = 0o666
_READ_BUFFER_BYTES: Final = 64 * 1024
_PATH_CAPABILITIES: Final = frozenset(
    (
        capabilities.ACLS,
        capabilities.APPEND,
        capabilities.CHECKSUMS,
        capabilities.CONCAT,
        capabilities.PERMISSIONS,
        capabilities.SNAPSHOTS,
        capabilities.STORAGE_POLICY,
        capabilities.TRUNCATE,
        capabilities.XATTRS,
    )
)
_COMBINED: Final = "MD5MD5CRC"


class WebHdfsFileSystem(HdfsNamespace):
    """Serves one HDFS over HTTP for one user."""

    scheme = "webhdfs"

    def __init__(self, authority: str, conf: Configuration, user: str | None = None) -> None:
        user = user_of(conf, user)
        self._calls = RestCalls(
            namenodes_of(self.scheme, authority, conf),
            Connections(
                conf.get(keys.DFS_WEBHDFS_SOCKET_CONNECT_TIMEOUT),
                conf.get(keys.DFS_WEBHDFS_SOCKET_READ_TIMEOUT),
                ClientTls(conf),
            ),
            FailoverPolicy(
                max_failovers=conf.get(keys.DFS_HTTP_CLIENT_FAILOVER_MAX_ATTEMPTS),
                max_retries=conf.get(keys.DFS_HTTP_CLIENT_RETRY_MAX_ATTEMPTS),
                sleep_base_s=conf.get(keys.DFS_HTTP_CLIENT_FAILOVER_SLEEP_BASE_MILLIS),
                sleep_max_s=conf.get(keys.DFS_HTTP_CLIENT_FAILOVER_SLEEP_MAX_MILLIS),
            ),
            user,
            header_of(conf),
            authentication=_authentication_of(user, authority, conf),
        )
        super().__init__(authority, conf, user, NamenodeProxy(self._calls), Tally())
        self._being_written: PerProcess[_Open] = PerProcess(_Open)

    def close(self) -> None:
        """Files still open for writing are closed; the first error of one is raised."""
        super().close()
        try:
            self._being_written.get().close()
        finally:
            self._calls.close()

    def _token_service(self) -> str:
        if self._authority in nameservices(self._conf) and self._calls.has_several:
            return f"ha-{self.scheme}:{self._authority}"
        return service_at(self._calls.address, self._conf)

    # --- streams ----------------------------------------------------------------------

    @follow_links
    def create(
        self,
        path: PathLike,
        *,
        overwrite: bool = False,
        replication: int | None = None,
        block_size: int | None = None,
        permission: int | None = None,
        create_parent: bool = True,
        buffer_size: int | None = None,
        progress: Progress | None = None,
        flags: CreateFlag = CreateFlag.NONE,
    ) -> FSDataOutputStream:
        """As for any filesystem. What is written can be read when the stream is closed."""
        resolved = self.resolve(path)
        mode = FILE_MODE if permission is None else permission
        query = {
            "overwrite": str(overwrite).lower(),
            "createparent": str(create_parent).lower(),
            "permission": f"{mode & ~self._umask & 0o1777:o}",
            "unmaskedpermission": f"{mode & 0o1777:o}",
        }
        if replication is None and self._conf.is_set(keys.DFS_REPLICATION):
            replication = self._conf.get(keys.DFS_REPLICATION)
        if block_size is None and self._conf.is_set(keys.DFS_BLOCKSIZE):
            block_size = self._conf.get(keys.DFS_BLOCKSIZE)
        if replication is not None:
            query["replication"] = str(replication)
        if block_size is not None:
            query["blocksize"] = str(block_size)
        if flags:
            wanted = [flag.name for flag in flags if flag.name]
            query["createflag"] = ",".join(["CREATE", *["OVERWRITE"] * overwrite, *wanted])
        return self._output("PUT", "CREATE", resolved, query, 0, progress)

    @follow_links
    def append(
        self,
        path: PathLike,
        *,
        new_block: bool = False,
        sync_block: bool = False,
        buffer_size: int | None = None,
        progress: Progress | None = None,
    ) -> FSDataOutputStream:
        if new_block or sync_block:
            self._unsupported("append with new_block or sync_block")
        status = self.get_file_status(path)
        if status.is_directory:
            raise errors.PathIsDirectory(f"{status.path} is a directory").about(status.path)
        return self._output("POST", "APPEND", status.path, {}, status.length, progress)

    def _output(
        self,
        method: str,
        operation: str,
        path: str,
        query: Mapping[str, str],
        position: int,
        progress: Progress | None,
    ) -> FSDataOutputStream:
        exchange = self._calls.writing(RestRequest(method, operation, path, tuple(query.items())))
        being_written = self._being_written.get()
        out = RestOutput(path, exchange, position, being_written.forget, progress)
        being_written.add(out)
        return FSDataOutputStream(out)

    @follow_links
    def _open_input(self, path: PathLike, buffer_size: int | None = None) -> FSDataInputStream:
        status = self.get_file_status(path)
        if status.is_directory:
            raise errors.PathIsDirectory(f"Path is not a file: {status.path}").about(status.path)
        place = self._opener(status.path)
        inner = RestInput(status.path, status.length, place)
        return FSDataInputStream(inner, buffer_size or _READ_BUFFER_BYTES)

    def _opener(self, path: str) -> Callable[[int, int | None, str | None], Exchange]:
        def opened(offset: int, length: int | None, failed: str | None) -> Exchange:
            query: Pairs = (("offset", str(offset)),)
            if length is not None:
                query += (("length", str(length)),)
            if failed is None:
                return self._calls.followed(RestRequest("GET", "OPEN", path, query))
            excluded = (*query, ("excludedatanodes", failed))
            try:
                return self._calls.followed(RestRequest("GET", "OPEN", path, excluded))
            except errors.RemoteError:
                # There is no other one, so that one may have been out of luck.
                return self._calls.followed(RestRequest("GET", "OPEN", path, query))

        return opened

    # --- names ------------------------------------------------------------------------

    @follow_links
    def truncate(self, path: PathLike, length: int) -> bool:
        if length < 0:
            raise errors.IllegalArgument(f"Cannot truncate {path} to a negative length: {length}")
        return self._namenode.truncate(self.resolve(path), length, "")

    @follow_links
    def is_file_closed(self, path: PathLike) -> bool:
        """Told with the locations of its blocks: there is no operation for that alone."""
        return not self._namenode.get_block_locations(self.resolve(path), 0, 1).under_construction

    @follow_links
    def mkdir(self, path: PathLike, permission: int | None = None) -> bool:
        """In two steps: WebHDFS makes the directories above as well, so their being there is
        asked for first."""
        resolved = self.resolve(path)
        parent = paths.parent_of(resolved)
        if parent is not None and not self.get_file_status(parent).is_directory:
            raise errors.ParentNotDirectory(f"{parent} is no directory").about(resolved)
        return self.mkdirs(resolved, permission)

    @follow_links
    def get_file_checksum(
        self, path: PathLike, *, length: int | None = None, combine_mode: str | None = None
    ) -> FileChecksum | None:
        if length is not None or combine_mode not in (None, _COMBINED):
            self._unsupported(f"get_file_checksum but of whole files, as {_COMBINED}")
        resolved = self.resolve(path)
        exchange = self._calls.followed(RestRequest("GET", "GETFILECHECKSUM", resolved))
        with contextlib.closing(exchange):
            document = loaded(exchange.body(MAX_ANSWER_BYTES))
        try:
            checksum = document["FileChecksum"]
            return FileChecksum(checksum["algorithm"], bytes.fromhex(checksum["bytes"]))
        except (KeyError, TypeError, ValueError) as error:
            raise errors.ProtocolViolation(
                f"the answer of WebHDFS to GETFILECHECKSUM is not as it must be: {error!r}"
            ) from error

    @made_once
    def _defaults(self) -> types_pb2.FsServerDefaultsProto:
        return self._namenode.get_server_defaults()

    def server_defaults(self, path: PathLike | None = None) -> ServerDefaults:
        return server_defaults(self._defaults)

    def path_capabilities(self, path: PathLike) -> frozenset[str]:
        own = (
            _PATH_CAPABILITIES | {capabilities.SYMLINKS}
            if self._makes_links
            else _PATH_CAPABILITIES
        )
        return super().path_capabilities(path) | own


class _Open:
    """The files that a process is writing."""

    def __init__(self) -> None:
        self._files: dict[RestOutput, None] = {}

    def add(self, file: RestOutput) -> None:
        self._files[file] = None

    def forget(self, file: RestOutput) -> None:
        self._files.pop(file, None)

    def close(self) -> None:
        """The first error is raised when all are closed."""
        first: Exception | None = None
        for file in list(self._files):
            try:
                file.close()
            except (errors.HowdahError, OSError) as error:
                first = first or error
        if first is not None:
            raise first


class SWebHdfsFileSystem(WebHdfsFileSystem):
    """The same over TLS: `swebhdfs://`. Hadoop: SWebHdfsFileSystem. Whose certificates are
    believed is in ssl-client.xml (`dfs.client.https.keystore.resource`); bytes go over TLS too,
    as the namenode sends to the secure port of a datanode and another one is refused."""

    scheme = "swebhdfs"
