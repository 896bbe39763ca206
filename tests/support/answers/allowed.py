"""Where our answers are meant to differ from Hadoop's, each with its reason (pure)."""

from __future__ import annotations

from typing import Final

from tests.support.answers.facts import Allowed

_NOT_HERE: Final = "refused by name: "

ALLOWED: Final = (
    Allowed(
        "sasl negotiate",
        "*",
        "there are no tokens: SIMPLE is granted at once, as a client that falls back takes it",
    ),
    Allowed(
        "*",
        "*.locs?0?.lastUpdate*",
        "times of a datanode are for its administrator, and in a datanode report; with each "
        "location they would make an answer about a file half as long again",
    ),
    Allowed("*", "*.locs?0?.lastBlockReport*", "the same"),
    Allowed("*", "*.locs?0?.softwareVersion", "the same"),
    Allowed("*", "*.locs?0?.cache*", "the same: no datanode caches blocks"),
    Allowed(
        "getBlockLocations before a byte",
        "answer.locations.blocks?0?*",
        "the empty block that is being written stands as the last one; Hadoop lists a file's "
        "first block twice while it is empty",
    ),
    Allowed(
        "get* with *",
        "answer.*.typeQuotaInfo?1?.consumed",
        "what a file of the default policy takes counts as being on disks; Hadoop counts that "
        "while a block is being written, and forgets it when a quota is set",
    ),
    Allowed(
        "getQuotaUsage by a stranger",
        "answer.usage.typeQuotaInfos*",
        "of the root, which has no bound by type; Hadoop lists all types without one there",
    ),
    Allowed(
        "getBlockLocations by a stranger: where it may not look, *",
        "header.*",
        "who may not look into a directory is not told what is missing there; Hadoop's answer "
        "tells a file that is there from one that is not",
    ),
    Allowed(
        "getServerDefaults*",
        "answer.serverDefaults.listsByUnsignedBytes",
        "a field of ours, which Hadoop's clients skip: in which order a directory's names are "
        "listed, as Hadoop's namenodes order bytes above 127 before all others",
    ),
    Allowed("refreshCallQueue by a stranger", "header.*", _NOT_HERE + "the call queue"),
    Allowed(
        "get* of the snapshots",
        "*.childrenNum",
        "how many children the directory had in the snapshot; Hadoop counts what it has now",
    ),
    Allowed("getSnapshotListing", "*.childrenNum", "the same"),
    Allowed(
        "getHAServiceState",
        "*",
        "a namenode alone is the active one; Hadoop's without high availability refuses to say",
    ),
    Allowed(
        "WRITE_BLOCK to a mirror that is away",
        "message",
        "the answer says why, beside which node it is",
    ),
    Allowed(
        "BLOCK_CHECKSUM of nothing",
        "*",
        "an operation that fails is answered; Hadoop just hangs up",
    ),
    Allowed("TRANSFER_BLOCK of nothing", "*", "the same"),
    Allowed(
        "listReconfigurableProperties",
        "answer.name*",
        "a datanode takes its volumes and the balancing bandwidth from its files; Hadoop's also "
        "takes settings that there are not here",
    ),
)
