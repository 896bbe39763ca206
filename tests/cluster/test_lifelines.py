"""Datanodes whose heartbeats do not come, at a namenode with a port for lifelines."""

from __future__ import annotations

import socket
import threading
from typing import Any

from howdah.fs.api import FileSystem
from howdah.namenode.server.lifeline import PROTOCOL
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.rpc.client import RpcClient
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

DATANODE_PROTOCOL = "org.apache.hadoop.hdfs.server.protocol.DatanodeProtocol"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def registration(info: pb.NamespaceInfoProto, number: int) -> pb.DatanodeRegistrationProto:
    return pb.DatanodeRegistrationProto(
        datanodeID=types_pb2.DatanodeIDProto(
            ipAddr="127.0.0.1",
            hostName="localhost",
            datanodeUuid=f"dn{number}",
            xferPort=number,
            infoPort=1,
            ipcPort=1,
        ),
        storageInfo=info.storageInfo,
        keys=pb.ExportedBlockKeysProto(
            isBlockTokenEnabled=False,
            keyUpdateInterval=0,
            tokenLifeTime=0,
            currentKey=pb.BlockKeyProto(keyId=0, expiryDate=0),
        ),
        softwareVersion="3.5.0",
    )


def names(fs: FileSystem, kind: str) -> set[str]:
    return {report.uuid for report in fs.datanode_report(kind)}


def test_who_sends_lifelines_stays_and_who_is_silent_is_lost() -> None:
    lifelines = free_port()
    conf: dict[str, Any] = {
        "dfs.namenode.lifeline.rpc-address": f"127.0.0.1:{lifelines}",
        "dfs.heartbeat.interval": "100ms",
        "dfs.namenode.heartbeat.recheck-interval": "500ms",
    }
    with MiniCluster(datanodes=1, conf=conf) as cluster, cluster.connect() as fs:
        host, _, port = cluster.process("namenode").addresses["rpc"].rpartition(":")
        client = RpcClient((host, int(port)), DATANODE_PROTOCOL)
        info = client.call("versionRequest", pb.VersionRequestProto(), pb.VersionResponseProto)
        nodes = [registration(info.info, number) for number in (1, 2)]
        done = threading.Event()

        def stay_alive() -> None:
            sender = RpcClient(("127.0.0.1", lifelines), PROTOCOL)
            request = pb.HeartbeatRequestProto(
                registration=nodes[0], reports=[], xmitsInProgress=0, xceiverCount=0
            )
            while not done.wait(0.05):
                sender.call("sendLifeline", request, pb.LifelineResponseProto)

        sending = threading.Thread(target=stay_alive)
        sending.start()
        try:
            for node in nodes:
                client.call(
                    "registerDatanode",
                    pb.RegisterDatanodeRequestProto(registration=node),
                    pb.RegisterDatanodeResponseProto,
                )
            wait_until(lambda: "dn2" in names(fs, "dead"), 60)
            assert "dn1" in names(fs, "live")
        finally:
            done.set()
            sending.join()
        wait_until(lambda: "dn1" in names(fs, "dead"), 60)
        assert "127.0.0.1:1 lives by a lifeline" in cluster.log("namenode")
