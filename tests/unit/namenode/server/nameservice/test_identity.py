"""Where the namenodes of a nameservice share their log, as the configuration says it."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from howdah import errors
from howdah.config import Configuration, keys
from howdah.formats.version import NamenodeVersion
from howdah.namenode.journal.quorum.quorum_log import QuorumLog
from howdah.namenode.journal.shared_directory import SharedDirectory
from howdah.namenode.server.nameservice.identity import place_of, shared_log_of

VERSION = NamenodeVersion(7, "CID-1", "BP-1-127.0.0.1-1", 0)
FENCED = {keys.DFS_HA_FENCING_METHODS.name: "shell(/bin/true)"}


def conf(shared: str, **values: str) -> Configuration:
    return Configuration(
        {
            keys.DFS_NAMESERVICES.name: "ns",
            f"{keys.DFS_HA_NAMENODES.name}.ns": "nn0,nn1",
            f"{keys.DFS_NAMENODE_RPC_ADDRESS.name}.ns.nn0": "127.0.0.1:8020",
            f"{keys.DFS_NAMENODE_RPC_ADDRESS.name}.ns.nn1": "127.0.0.1:8021",
            keys.DFS_NAMESERVICE_ID.name: "ns",
            keys.DFS_HA_NAMENODE_ID.name: "nn0",
            keys.DFS_NAMENODE_SHARED_EDITS_DIR.name: shared,
            **values,
        }
    )


def opened(configuration: Configuration) -> object:
    make = shared_log_of(place_of(configuration), lambda: None)
    assert make is not None
    with contextlib.closing(make(VERSION)) as shared:
        return shared


@pytest.mark.req("FS-059")
def test_a_quorum_needs_no_fencing_method() -> None:
    shared = opened(conf("qjournal://127.0.0.1:1;127.0.0.1:2;127.0.0.1:3/ns"))
    assert isinstance(shared, QuorumLog)
    assert shared.name == "qjournal://127.0.0.1:1;127.0.0.1:2;127.0.0.1:3/ns"


@pytest.mark.req("FS-059", "FS-073", "LM-017")
def test_a_shared_directory_is_refused_unless_a_fencing_method_is_set(tmp_path: Path) -> None:
    assert isinstance(opened(conf(tmp_path.as_uri(), **FENCED)), SharedDirectory)
    with pytest.raises(errors.InvalidConfiguration, match="does not keep a former active"):
        opened(conf(tmp_path.as_uri()))
    with pytest.raises(errors.InvalidConfiguration, match="does not keep a former active"):
        opened(conf(tmp_path.as_uri(), **{keys.DFS_HA_FENCING_METHODS.name: "  "}))


@pytest.mark.parametrize(
    "shared",
    [
        "",
        "http://127.0.0.1/ns",
        "qjournal://127.0.0.1:1;127.0.0.1:2;127.0.0.1:3",
        "qjournal://127.0.0.1:1;127.0.0.1:1;127.0.0.1:3/ns",
        "qjournal://127.0.0.1:1;127.0.0.1:2;127.0.0.1:x/ns",
        "qjournal://127.0.0.1:1/../ns",
        "file:///a,file:///b",
    ],
)
def test_what_is_no_place_of_a_shared_log_is_refused_by_name(shared: str) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=r"dfs\.namenode\.shared\.edits\.dir"):
        opened(conf(shared, **FENCED))
