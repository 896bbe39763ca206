"""Which class serves which URI scheme (FS-004), and `connect`, which makes one.

FileSystem.get in Hadoop.

Classes are named by module, so that asking for one filesystem imports no other. What
nobody here serves is fsspec's, where that is installed (`howdah.fs.fsspec_adapter`).
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from howdah import errors
from howdah.config import Configuration, keys, warn_of_misspelt
from howdah.fs import paths
from howdah.runtime.running_cluster import default_filesystem, of_authority, with_running_cluster

if TYPE_CHECKING:
    from howdah.fs.api import FileSystem

Factory = Callable[[str, Configuration, str | None], "FileSystem"]
"""Takes authority, configuration and user; the scheme is known."""

_BUILT_IN = {
    "abfs": "howdah.fs.objects.azure.filesystem:AbfsFileSystem",
    "abfss": "howdah.fs.objects.azure.filesystem:AbfssFileSystem",
    "az": "howdah.fs.objects.azure.filesystem:AzureFileSystem",
    "file": "howdah.fs.local.filesystem:LocalFileSystem",
    "gs": "howdah.fs.objects.google.filesystem:GoogleFileSystem",
    "hdfs": "howdah.fs.hdfs.filesystem:HdfsFileSystem",
    "mem": "howdah.fs.memory.filesystem:MemoryFileSystem",
    "s3": "howdah.fs.objects.filesystem:S3FileSystem",
    "s3a": "howdah.fs.objects.filesystem:S3AFileSystem",
    "swebhdfs": "howdah.fs.webhdfs.filesystem:SWebHdfsFileSystem",
    "wasb": "howdah.fs.objects.azure.filesystem:WasbFileSystem",
    "wasbs": "howdah.fs.objects.azure.filesystem:WasbsFileSystem",
    "viewfs": "howdah.fs.viewfs.filesystem:ViewFileSystem",
    "webhdfs": "howdah.fs.webhdfs.filesystem:WebHdfsFileSystem",
}
_LAID_OVER = "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"
_registered: dict[str, Factory] = {}
_shared: dict[tuple[str | None, ...], FileSystem] = {}
_WITHOUT_CONNECTIONS = ("file", "mem")
_WHO_AND_WHERE = (
    "HADOOP_CONF_DIR",
    "HADOOP_PROXY_USER",
    "HADOOP_TOKEN_FILE_LOCATION",
    "HADOOP_USER_NAME",
    "KRB5CCNAME",
)
"""What in the environment makes another filesystem of the same URI."""


def register(scheme: str, factory: Factory) -> None:
    """Serve `scheme` by what `factory` makes, instead of whatever served it before."""
    _registered[scheme.lower()] = factory


def schemes() -> list[str]:
    """The schemes that `connect` knows."""
    return sorted({*_BUILT_IN, *_registered})


def is_laid_over(scheme: str, conf: Configuration) -> bool:
    """Whether `fs.SCHEME.impl` has Hadoop put a mount table in the place of a filesystem."""
    return (conf.raw(f"fs.{scheme}.impl") or "").strip() == _LAID_OVER


def _factory(scheme: str, conf: Configuration, *, laid_over: bool) -> Factory:
    if laid_over and scheme != "viewfs" and is_laid_over(scheme, conf):
        view = importlib.import_module("howdah.fs.viewfs.filesystem").laid_over
        return partial(view, scheme)
    if scheme in _registered:
        return _registered[scheme]
    if scheme not in _BUILT_IN:
        from howdah.fs import fsspec_adapter

        if fsspec_adapter.is_known(scheme):
            return partial(fsspec_adapter.ForeignFileSystem, scheme)
        hint = ""
        if scheme in fsspec_adapter.NOT_BY_FSSPEC:
            hint = "; name its namenode, as in hdfs://host:8020/path"
        raise errors.UnsupportedOperation(
            f"No filesystem for scheme {scheme!r}; known are: {', '.join(schemes())}{hint}"
        )
    module_name, _, class_name = _BUILT_IN[scheme].partition(":")
    factory: Factory = getattr(importlib.import_module(module_name), class_name)
    return factory


def _means_default(location: paths.Location) -> bool:
    """`hdfs://default`, with any port, is what libhdfs and pyarrow call `fs.defaultFS`."""
    host, _, port = location.authority.partition(":")
    return location.scheme == "hdfs" and host == "default" and (not port or port.isdigit())


def _default_of_scheme(scheme: str, conf: Configuration) -> paths.Location | None:
    """The default filesystem, if it has this scheme and an authority."""
    if not conf.is_set(keys.FS_DEFAULTFS):
        return None
    default = paths.parse(conf.get(keys.FS_DEFAULTFS))
    return default if default.scheme == scheme and default.authority else None


def _no_namenode(uri: str | None, conf: Configuration) -> str:
    try:
        default = default_filesystem(conf)
    except errors.InvalidConfiguration as error:
        return f"{uri} names no namenode, and {error}"
    return (
        f"{uri or default} names no namenode, and neither does {keys.FS_DEFAULTFS.name} = "
        f"{default!r} (from {conf.source(keys.FS_DEFAULTFS.name)}): write hdfs://host:port, or "
        "configure it"
    )


def resolve_uri(uri: str | None, conf: Configuration) -> tuple[paths.Location, Configuration]:
    """Which filesystem `connect` takes, and the configuration that it gets: with the settings of
    a running cluster only if it is that one. Raises InvalidConfiguration, IllegalArgument."""
    location = None if uri is None else paths.parse(uri)
    if location is None or not location.is_qualified:
        if uri is not None and not uri.startswith(paths.SEPARATOR):
            raise errors.IllegalArgument(
                f"{uri!r} has no scheme; write hdfs://host:port, or a path of the default "
                "filesystem, which begins with a slash"
            )
        conf = with_running_cluster(conf)
        location = paths.parse(default_filesystem(conf))
    if _means_default(location):
        location = paths.Location(location.scheme, "", location.path)
    if location.authority:
        conf = of_authority(conf, location.scheme, location.authority)
    else:
        # `hdfs:///` means the default filesystem, if that is an HDFS.
        if location.scheme == "hdfs":
            conf = with_running_cluster(conf)
        fallback = _default_of_scheme(location.scheme, conf)
        if fallback is not None:
            location = fallback
        elif location.scheme == "hdfs":
            raise errors.InvalidConfiguration(_no_namenode(uri, conf))
    return location, conf


def connect(
    uri: str | None = None,
    *,
    conf: Configuration | None = None,
    user: str | None = None,
    real_user: str | None = None,
    keytab: str | None = None,
    principal: str | None = None,
    token_file: str | None = None,
    laid_over: bool = True,
) -> FileSystem:
    """The filesystem of `uri`, or the default one; a path behind the authority is ignored.

    The default is `fs.defaultFS`, else the cluster of `howdah up` while it runs
    (`howdah.runtime.running_cluster` has the rule); it is never the local disk unless `file:///`
    is set. Raises InvalidConfiguration where there is none.

    Where `fs.SCHEME.impl` lays a mount table over a scheme, that is what is meant, unless
    `laid_over` is false.

    Nothing is sent before the first operation. Without `conf` the site files of
    `HADOOP_CONF_DIR` count; without `user` it is `HADOOP_USER_NAME` or the process's, which act
    for `HADOOP_PROXY_USER` if that is set. With `real_user` that one acts for `user`, whose rights
    count: a service for those who use it. The servers have to allow it (`hadoop.proxyuser.*`).

    On a cluster that is secured by Kerberos the user is who the process can prove to be: by its
    ticket cache, by a `keytab` with the `principal` whose key it has, or by the delegation tokens
    of a `token_file`, else of `HADOOP_TOKEN_FILE_LOCATION`. Raises LoginFailed where it has
    nothing.
    """
    if real_user is not None:
        from howdah.runtime.users.names import ProxyUser  # few need it

        if user is None:
            raise errors.IllegalArgument(f"real_user={real_user!r} acts for a user: name that one")
        user = ProxyUser(user, real_user)
    configuration = Configuration.load() if conf is None else conf
    warn_of_misspelt(configuration)
    location, configuration = resolve_uri(uri, configuration)
    if keytab or principal or token_file:
        from howdah.security.identity import user_of

        user = user_of(
            configuration, user, keytab=keytab, principal=principal, token_file=token_file
        )
    make = _factory(location.scheme, configuration, laid_over=laid_over)
    return make(location.authority, configuration, user)


def shared(uri: str | None) -> FileSystem:
    """What `connect(uri)` gives, but one for all who ask in this process: paths and files that are
    opened by their URIs share its connections. Nobody closes it.

    Raises as `connect`.
    """
    location, _ = resolve_uri(uri, Configuration.load())
    key = (location.scheme, location.authority, *map(os.environ.get, _WHO_AND_WHERE))
    found = _shared.get(key)
    if found is None:
        found = connect(uri)
        if location.scheme not in _WITHOUT_CONNECTIONS:
            # Of two threads one comes first; nothing has been sent yet.
            found = _shared.setdefault(key, found)
    return found
