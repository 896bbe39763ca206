"""The datanodes of a cluster, and the files of plans in it.

DBNameNodeConnector and JsonNodeConnector in Hadoop: the namenode knows how full volumes are. Where
the default filesystem is a `file:` URI, that file is a `NODE.before.json`, and plans are made for
the cluster which it tells of, into the directory `system/diskbalancer` below the present one.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

import howdah
from howdah import errors
from howdah.cli.diskbalancer.args import WrongWords
from howdah.diskbalancer.plan_files import BEFORE_NAME, PLAN_NAME, before_text, parse_before
from howdah.diskbalancer.volumes import DiskNode, DiskVolume, VolumeSet
from howdah.fs.hdfs.administration import Administration
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.data_transfer.blocks import StorageType
from howdah.runtime.running_cluster import default_filesystem
from howdah.runtime.units import file_date

if TYPE_CHECKING:
    from howdah.config import Configuration
    from howdah.fs.api import FileSystem

DEFAULT_DIRECTORY: Final = "/system/diskbalancer"
_MOST_PLAN_BYTES: Final = 64 << 20


def is_local(conf: Configuration) -> bool:
    """Whether the cluster is one that a file tells of."""
    return urlsplit(default_filesystem(conf)).scheme == "file"


def nodes_of(conf: Configuration) -> list[DiskNode]:
    """The datanodes that live. Raises `WrongWords`, `MalformedPlan`, or what the namenode says."""
    default = default_filesystem(conf)
    if is_local(conf):
        try:
            text = Path(unquote(urlsplit(default).path)).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise WrongWords(f"the cluster's file {default} cannot be read: {error}") from error
        return parse_before(text)
    with howdah.connect(conf=conf, laid_over=False) as fs:
        if not isinstance(fs, HdfsFileSystem):
            raise errors.InvalidConfiguration(f"{fs.uri} is no HDFS: it has no datanodes")
        reports = Administration(fs.client.namenode).storage_reports()
    return [_node(report) for report in reports]


def _node(node_report: pb.DatanodeStorageReportProto) -> DiskNode:
    volumes: dict[str, list[DiskVolume]] = {}
    for report in node_report.storageReports:
        kind = _type_name(report.storage.storageType)
        volumes.setdefault(kind, []).append(
            DiskVolume(
                report.storage.storageUuid,
                kind,
                report.capacity,
                report.dfsUsed,
                failed=report.failed,
                transient=kind == StorageType.RAM_DISK.name,
                skip=report.failed
                or report.storage.state == types_pb2.DatanodeStorageProto.READ_ONLY_SHARED,
            )
        )
    node = node_report.datanodeInfo.id
    return DiskNode(
        node.datanodeUuid,
        node.ipAddr,
        node.hostName,
        node.ipcPort,
        tuple(VolumeSet.of(str(uuid.uuid4()), kind, disks) for kind, disks in volumes.items()),
    )


def _type_name(number: int) -> str:
    try:
        return StorageType(number).name
    except ValueError:
        # One that a newer datanode has: its volumes are a set of their own.
        return str(number)


def names_in(text: str) -> list[str]:
    """Return the names in the value of `-node`: separated by commas, or in the file of hosts at a
    `file://` URI."""
    if not text.startswith("file://"):
        return [name.strip() for name in text.split(",") if name.strip()]
    path = unquote(urlsplit(text).path)
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise WrongWords(
            f"The input host file path '{text}' is not a valid path. "
            f"Please make sure the host file exists. {error}"
        ) from error
    return [name for line in lines for name in line.split("#", 1)[0].replace(",", " ").split()]


class Files:
    """The directory for one plan."""

    def __init__(self, fs: FileSystem, directory: str) -> None:
        self._fs = fs
        self._directory = directory

    def write_before(self, name: str, nodes: list[DiskNode]) -> str:
        return self._write(BEFORE_NAME.format(name), before_text(nodes))

    def write_plan(self, name: str, text: str) -> str:
        return self._write(PLAN_NAME.format(name), text)

    def _write(self, name: str, text: str) -> str:
        path = f"{self._directory}/{name}"
        with self._fs.create(path, overwrite=True) as out:
            out.write(text.encode())
        return path


@contextmanager
def files_of(conf: Configuration, requested: str | None) -> Iterator[Files]:
    """Create a new directory, `requested` or one named after the current time. Raises `WrongWords`
    if it exists."""
    directory = requested or f"{DEFAULT_DIRECTORY}/{file_date(datetime.fromtimestamp(time.time()))}"
    uri = directory if "://" in directory else None
    if is_local(conf) and uri is None:
        uri = "file:///"
        directory = directory if requested else os.getcwd() + directory
    with howdah.connect(uri, conf=conf) as fs:
        if fs.exists(directory):
            raise WrongWords(
                f"Another DiskBalancer files already exist at the target location. {directory}"
            )
        fs.mkdirs(directory)
        yield Files(fs, directory.rstrip("/"))


def read_file(conf: Configuration, path: str) -> str:
    """A plan's text. `MalformedPlan` is for the caller: a file that is no text is `WrongWords`."""
    uri = path if "://" in path else None
    if uri is None and is_local(conf):
        uri = "file:///"
    with howdah.connect(uri, conf=conf) as fs, fs.open(path) as file:
        data = file.read(_MOST_PLAN_BYTES + 1)
    if len(data) > _MOST_PLAN_BYTES:
        raise WrongWords(f"{path} is no plan: it has more than {_MOST_PLAN_BYTES} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise WrongWords(f"{path} is no plan: {error}") from error
