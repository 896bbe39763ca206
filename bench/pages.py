"""The namenode's pages beside its calls: 1,000,000 files and 1,000 datanodes.

The datanodes exist in name alone: they register and send heartbeats. A figure is how long a page
takes to load, as the median of many, and how long the longest answer to somebody took who asks
for a file's status all the time: while nobody looks, and while pages are loaded one after the
other, each made anew. Figures are of this machine as it is: see its load.
"""

from __future__ import annotations

import statistics
import time
import urllib.request
import uuid

import scale
from harness import Options, Results, figure, main, progress, scratch

from howdah.config import keys
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.proto import types_pb2
from howdah.rpc.client import RpcClient

FILES = 1_000_000
NODES = 1_000
LOADS = 40
PATHS = ("/", "/nodes", "/racks", "/jmx", "/prom")
_DATANODES = "org.apache.hadoop.hdfs.server.protocol.DatanodeProtocol"
_PAUSE_S = 1.05
"""Longer than figures are kept."""


def measure(options: Options) -> Results:
    files = 50_000 if options.quick else FILES
    with scratch(options, "pages") as base:
        progress(f"an image of {files:,} files")
        image = scale.image_of(base / "image", files)
        namenode = scale.Howdah(base / "howdah")
        namenode.start(image)
        try:
            register(namenode.address)
            yield from _pages(namenode, files)
        finally:
            namenode.stop()


def register(address: tuple[str, int]) -> None:
    """The datanodes, each with a heartbeat. Waits for the namenode."""
    deadline_s = time.monotonic() + 300
    while True:
        try:
            rpc = RpcClient(address, _DATANODES)
            told = rpc.call("versionRequest", dn.VersionRequestProto(), dn.VersionResponseProto)
            break
        except OSError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.5)
    info = told.info
    for number in range(NODES):
        registration = dn.DatanodeRegistrationProto(
            datanodeID=types_pb2.DatanodeIDProto(
                ipAddr=f"127.1.{number // 250}.{number % 250 + 1}",
                hostName=f"node{number:04}",
                datanodeUuid=str(uuid.uuid4()),
                xferPort=9866,
                infoPort=9864,
                ipcPort=9867,
            ),
            storageInfo=info.storageInfo,
            keys=dn.ExportedBlockKeysProto(
                isBlockTokenEnabled=False,
                keyUpdateInterval=0,
                tokenLifeTime=0,
                currentKey=dn.BlockKeyProto(keyId=0, expiryDate=0),
            ),
            softwareVersion=info.softwareVersion,
        )
        request = dn.RegisterDatanodeRequestProto(registration=registration)
        rpc.call("registerDatanode", request, dn.RegisterDatanodeResponseProto)
        disks = [f"DS-{registration.datanodeID.datanodeUuid}-{disk}" for disk in range(12)]
        beat = dn.HeartbeatRequestProto(
            registration=registration,
            reports=[
                types_pb2.StorageReportProto(
                    storageUuid=disk,
                    storage=types_pb2.DatanodeStorageProto(storageUuid=disk),
                    capacity=16 << 40,
                    dfsUsed=number << 30,
                    remaining=(16 << 40) - (number << 30),
                )
                for disk in disks
            ],
        )
        rpc.call("sendHeartbeat", beat, dn.HeartbeatResponseProto)


def _pages(namenode: scale.Howdah, files: int) -> Results:
    http = "http://{}:{}".format(*namenode.conf.get(keys.DFS_NAMENODE_HTTP_ADDRESS))
    _load(http, "/")
    with scale.waiting(namenode.address) as stop:
        time.sleep(10)
        quiet_s = stop()
    of = f"{files:,} files, {NODES:,} datanodes"
    yield figure(f"longest call, nobody looks ({of})", "ms", [quiet_s * 1000])
    for path in PATHS:
        progress(path)
        times: list[float] = []
        with scale.waiting(namenode.address) as stop:
            for _ in range(LOADS // 4 if path in ("/jmx", "/prom") else LOADS // 2):
                times.append(_load(http, path))
                time.sleep(_PAUSE_S)
            longest_s = stop()
        median = statistics.median(times) * 1000
        yield figure(f"{path}, median load ({of})", "ms", [median])
        yield figure(f"longest call while {path} is loaded", "ms", [longest_s * 1000])


def _load(http: str, path: str) -> float:
    before_s = time.perf_counter()
    with urllib.request.urlopen(f"{http}{path}", timeout=60) as answer:
        answer.read()
    return time.perf_counter() - before_s


if __name__ == "__main__":
    main(measure)
