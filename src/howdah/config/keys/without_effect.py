"""Known keys by which howdah does not go, and why.

They stay declared, so that `getconf` prints their defaults and a server that starts can
name those that somebody has set. A test holds the list against what the code reads.
"""

from __future__ import annotations

WITHOUT_EFFECT: dict[str, str] = {
    name: reason
    for reason, names in {
        "a connection costs no thread, and needs neither pings nor sweeps": (
            "ipc.ping.interval",
            "ipc.client.ping",
            "ipc.client.idlethreshold",
        ),
        "connections are never shared between clients": ("dfs.client.context",),
        "a time-out counts like a refusal, see ipc.client.connect.max.retries": (
            "ipc.client.connect.max.retries.on.timeouts",
        ),
        "a refused connection is an answer, and the next check comes soon": (
            "ha.health-monitor.rpc.connect.max.retries",
            "ha.failover-controller.graceful-fence.connection.retries",
        ),
        "Nagle's algorithm is always off": (
            "ipc.client.tcpnodelay",
            "dfs.data.transfer.server.tcpnodelay",
            "dfs.data.transfer.client.tcpnodelay",
        ),
        "calls are served without a pool of threads": (
            "dfs.namenode.handler.count",
            "dfs.datanode.handler.count",
            "dfs.namenode.lifeline.handler.count",
            "dfs.namenode.lifeline.handler.ratio",
        ),
        "the retry cache is always on, and bounded by time and 75 MB": (
            "dfs.namenode.enable.retrycache",
            "dfs.namenode.retrycache.heap.percent",
        ),
        "an edit has at most 50 MiB": ("dfs.namenode.max.op.size",),
        "others get their turn after 5,000 inodes": ("dfs.content-summary.limit",),
        "it is always so": (
            "dfs.namenode.avoid.read.stale.datanode",
            "dfs.namenode.avoid.write.stale.datanode",
            "dfs.namenode.snapshot.capture.openfiles",
        ),
        "safe mode counts dfs.namenode.replication.min": ("dfs.namenode.safemode.replication.min",),
        "names of datanodes are not looked up": (
            "dfs.namenode.datanode.registration.ip-hostname-check",
        ),
        "a satisfier logs in nowhere, and nobody calls it": (
            "dfs.storage.policy.satisfier.address",
        ),
        "buffers are as large as packets": ("dfs.stream-buffer-size",),
        "`current` in a data directory is its user's alone (700), whatever is around it": (
            "dfs.datanode.data.dir.perm",
            "dfs.namenode.storage.dir.perm",
            "dfs.journalnode.edits.dir.perm",
        ),
        "a summary is refused wherever the caller may not look, in either case": (
            "dfs.permissions.ContentSummary.subAccess",
        ),
        "a datanode reports when it registers, and tells of new blocks at once": (
            "dfs.blockreport.initialDelay",
            "dfs.blockreport.incremental.intervalMsec",
        ),
        "slow reads and writes are not logged": ("dfs.client.slow.io.warning.threshold.ms",),
    }.items()
    for name in names
}
