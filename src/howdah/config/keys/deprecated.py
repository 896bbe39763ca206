"""Old names of keys, and what they are called now."""

from __future__ import annotations

DEPRECATED: dict[str, str] = {
    "dfs.access.time.precision": "dfs.namenode.accesstime.precision",
    "dfs.balance.bandwidthPerSec": "dfs.datanode.balance.bandwidthPerSec",
    "dfs.block.size": "dfs.blocksize",
    "dfs.data.dir": "dfs.datanode.data.dir",
    "dfs.datanode.max.xcievers": "dfs.datanode.max.transfer.threads",
    "dfs.http.address": "dfs.namenode.http-address",
    "dfs.max-repl-streams": "dfs.namenode.replication.max-streams",
    "dfs.name.dir": "dfs.namenode.name.dir",
    "dfs.name.dir.restore": "dfs.namenode.name.dir.restore",
    "dfs.name.edits.dir": "dfs.namenode.edits.dir",
    "dfs.namenode.replication.considerLoad": "dfs.namenode.redundancy.considerLoad",
    "dfs.namenode.replication.interval": "dfs.namenode.redundancy.interval.seconds",
    "dfs.namenode.replication.pending.timeout-sec": (
        "dfs.namenode.reconstruction.pending.timeout-sec"
    ),
    "dfs.permissions": "dfs.permissions.enabled",
    "dfs.permissions.supergroup": "dfs.permissions.superusergroup",
    "dfs.read.prefetch.size": "dfs.client.read.prefetch.size",
    "dfs.replication.considerLoad": "dfs.namenode.redundancy.considerLoad",
    "dfs.replication.interval": "dfs.namenode.redundancy.interval.seconds",
    "dfs.replication.min": "dfs.namenode.replication.min",
    "dfs.replication.pending.timeout.sec": "dfs.namenode.reconstruction.pending.timeout-sec",
    "dfs.safemode.extension": "dfs.namenode.safemode.extension",
    "dfs.safemode.threshold.pct": "dfs.namenode.safemode.threshold-pct",
    "dfs.socket.timeout": "dfs.client.socket-timeout",
    "dfs.write.packet.size": "dfs.client-write-packet-size",
    "fs.checkpoint.dir": "dfs.namenode.checkpoint.dir",
    "fs.checkpoint.period": "dfs.namenode.checkpoint.period",
    "fs.default.name": "fs.defaultFS",
    "fs.s3a.experimental.input.fadvise": "fs.s3a.input.fadvise",
    "fs.s3a.server-side-encryption-algorithm": "fs.s3a.encryption.algorithm",
    "fs.s3a.server-side-encryption.key": "fs.s3a.encryption.key",
    "heartbeat.recheck.interval": "dfs.namenode.heartbeat.recheck-interval",
    "io.bytes.per.checksum": "dfs.bytes-per-checksum",
    "slave.host.name": "dfs.datanode.hostname",
    "topology.node.switch.mapping.impl": "net.topology.node.switch.mapping.impl",
    "topology.script.file.name": "net.topology.script.file.name",
    "topology.script.number.args": "net.topology.script.number.args",
}
