"""Keys and values that do not fit: unknown names, unreadable or contradictory values (pure)."""

from __future__ import annotations

from collections.abc import Iterator

from howdah.config import keys
from howdah.doctor.findings import Finding, error, warning
from howdah.doctor.inputs import DATANODE, NAMENODE, Facts


def check(facts: Facts) -> Iterator[Finding]:
    yield from _names(facts)
    for text in facts.unreadable:
        yield error("configuration", text, "correct that, or no server starts with it")
    for key, problem in facts.missing_files:
        yield error("missing file", f"{key} names {problem}", "mend that, or take the key out")
    yield from _protection(facts)
    yield from _replication(facts)
    yield from _volumes(facts)
    yield from _nameservices(facts)


def _names(facts: Facts) -> Iterator[Finding]:
    conf = facts.conf
    for name, meant in conf.misspelt():
        yield warning(
            "unknown key", f"{name} (from {conf.source(name)}) is no key", f"was {meant} meant?"
        )
    for name, reason in conf.set_in_vain():
        yield warning("no effect", f"{name} (from {conf.source(name)}) has no effect here", reason)


def _protection(facts: Facts) -> Iterator[Finding]:
    conf = facts.conf
    yield from _transition(facts)
    if facts.kerberos is not None and not facts.roles:
        return  # A client of a secured cluster has these keys, and means its servers.
    authentication = conf.get(keys.HADOOP_SECURITY_AUTHENTICATION)
    # Servers that have it say themselves what else they lack.
    if authentication not in ("simple", "kerberos"):
        yield error(
            "protection",
            f"{keys.HADOOP_SECURITY_AUTHENTICATION.name} asks for a protection that howdah does "
            "not have, and servers refuse it",
            "take it out, and keep the ports behind a firewall",
        )
    encrypts, tokens = keys.DFS_ENCRYPT_DATA_TRANSFER, keys.DFS_BLOCK_ACCESS_TOKEN_ENABLE
    if conf.get(encrypts) and not conf.get(tokens):
        yield error(
            "protection",
            f"{encrypts.name} is true and {tokens.name} is not: the keys of block tokens are what "
            "data is encrypted by",
            f"set {tokens.name} = true on namenodes and datanodes",
        )


def _transition(facts: Facts) -> Iterator[Finding]:
    conf = facts.conf
    key = keys.HOWDAH_SECURITY_TRANSITION
    if not conf.get(key):
        return
    if conf.get(keys.HADOOP_SECURITY_AUTHENTICATION) == "kerberos":
        yield warning(
            "protection",
            f"{key.name} is true (from {conf.source(key.name)}): servers believe everybody who "
            "shows no proof",
            "take it out when all clients and servers have changed to Kerberos",
        )
    else:
        yield warning(
            "protection",
            f"{key.name} is true (from {conf.source(key.name)}), and does nothing without "
            f"{keys.HADOOP_SECURITY_AUTHENTICATION.name} = kerberos",
            "set that as well, or take it out",
        )


def _replication(facts: Facts) -> Iterator[Finding]:
    conf = facts.conf
    wanted = conf.get(keys.DFS_REPLICATION)
    least, most = conf.get(keys.DFS_NAMENODE_REPLICATION_MIN), conf.get(keys.DFS_REPLICATION_MAX)
    if not least <= wanted <= most:
        yield error(
            "replication",
            f"{keys.DFS_REPLICATION.name} is {wanted}, and has to be between {least} "
            f"({keys.DFS_NAMENODE_REPLICATION_MIN.name}) and {most} "
            f"({keys.DFS_REPLICATION_MAX.name})",
            "bring the three into order",
        )
    resting = conf.get(keys.DFS_NAMENODE_MAINTENANCE_REPLICATION_MIN)
    if resting > wanted:
        yield error(
            "replication",
            f"{keys.DFS_NAMENODE_MAINTENANCE_REPLICATION_MIN.name} is {resting}, more than "
            f"{keys.DFS_REPLICATION.name} ({wanted})",
            "make it smaller",
        )
    if facts.racks is not None and 0 < len(facts.racks) < wanted:
        yield warning(
            "replication",
            f"{keys.DFS_REPLICATION.name} is {wanted}, and {len(facts.racks)} datanodes are live",
            "start more datanodes, or set it to their number: files stay short of replicas",
        )
    if wanted == 1 and facts.spans_machines:
        yield warning(
            "replication",
            f"{keys.DFS_REPLICATION.name} is 1 on a cluster of several machines",
            "set it to 3: the loss of any disk loses files",
        )
    block, sum_ = conf.get(keys.DFS_BLOCKSIZE), conf.get(keys.DFS_BYTES_PER_CHECKSUM)
    if sum_ and block % sum_:
        yield error(
            "block size",
            f"{keys.DFS_BLOCKSIZE.name} ({block}) is no multiple of "
            f"{keys.DFS_BYTES_PER_CHECKSUM.name} ({sum_})",
            "make it one, or files cannot be created",
        )
    smallest = conf.get(keys.DFS_NAMENODE_FS_LIMITS_MIN_BLOCK_SIZE)
    if block < smallest:
        yield error(
            "block size",
            f"{keys.DFS_BLOCKSIZE.name} ({block}) is below "
            f"{keys.DFS_NAMENODE_FS_LIMITS_MIN_BLOCK_SIZE.name} ({smallest})",
            "raise the one or lower the other, or files cannot be created",
        )


def _volumes(facts: Facts) -> Iterator[Finding]:
    if DATANODE not in facts.roles:
        return
    tolerated = facts.conf.get(keys.DFS_DATANODE_FAILED_VOLUMES_TOLERATED)
    volumes = len(facts.conf.get(keys.DFS_DATANODE_DATA_DIR))
    if tolerated >= volumes:
        yield error(
            "volumes",
            f"{keys.DFS_DATANODE_FAILED_VOLUMES_TOLERATED.name} is {tolerated}, and there are "
            f"{volumes} volumes",
            "make it smaller than their number, or the datanode does not start",
        )


def _nameservices(facts: Facts) -> Iterator[Finding]:
    conf = facts.conf
    automatic = conf.get(keys.DFS_HA_AUTOMATIC_FAILOVER_ENABLED)
    several = {name for name, nodes in facts.nameservices.items() if len(nodes) > 1}
    for name in sorted(several):
        if not facts.shared_edits.get(name):
            yield error(
                "shared log",
                f"nameservice {name} has several namenodes and no shared log",
                f"set {keys.DFS_NAMENODE_SHARED_EDITS_DIR.name} to "
                f"qjournal://HOST:8485;HOST:8485;HOST:8485/{name}",
            )
        provider = f"dfs.client.failover.proxy.provider.{name}"
        if conf.raw(provider) is None:
            yield warning(
                "failover",
                f"{provider} is not set, so Java's clients do not know hdfs://{name}",
                "set it to org.apache.hadoop.hdfs.server.namenode.ha."
                "ConfiguredFailoverProxyProvider",
            )
        if not conf.get(keys.DFS_HA_FENCING_METHODS):
            yield warning(
                "failover",
                f"{keys.DFS_HA_FENCING_METHODS.name} is not set, so `haadmin -failover` refuses "
                "to act when a namenode does not answer",
                "set it; over journal nodes shell(/bin/true) will do",
            )
    if automatic and not several:
        yield error(
            "failover",
            f"{keys.DFS_HA_AUTOMATIC_FAILOVER_ENABLED.name} is true, and no nameservice has "
            "several namenodes",
            f"list them in {keys.DFS_HA_NAMENODES.name}.NAMESERVICE, or take it out",
        )
    if NAMENODE in facts.roles and not several and conf.get(keys.DFS_NAMENODE_SHARED_EDITS_DIR):
        yield warning(
            "shared log",
            f"{keys.DFS_NAMENODE_SHARED_EDITS_DIR.name} is set for a single namenode",
            "take it out, or list the other namenodes",
        )
