"""The stream contract, held against a view whose mount point is a directory of HDFS."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

import howdah
from howdah.testing import MiniCluster
from howdah.testing.contract import Check, Subject, Traits, contract_parameters, run
from howdah.testing.contract.machine import check_against_model

pytestmark = pytest.mark.kind("hdfs")

TRAITS = Traits(flush_shows_nothing=True, several_clients=True)


@pytest.fixture(scope="module")
def subject(howdah_cluster: MiniCluster) -> Iterator[Subject]:
    target = f"/view-{uuid.uuid4().hex[:8]}"
    conf = howdah_cluster.conf.with_values(
        {
            "fs.viewfs.mounttable.c.link./a/b": howdah_cluster.uri + target,
            "dfs.blocksize": str(1 << 20),
        }
    )
    with howdah_cluster.connect() as plain:
        plain.mkdirs(target)
        with howdah.connect("viewfs://c/", conf=conf) as fs:
            with howdah.connect("viewfs://c/", conf=conf) as other:
                fs.mkdirs("/a/b/contract")
                yield Subject(fs, "/a/b/contract", other=other, traits=TRAITS)
        plain.delete(target, recursive=True)


@pytest.mark.parametrize("check", contract_parameters())
def test_contract(check: Check, subject: Subject) -> None:
    run(check, subject)


@pytest.mark.req("OS-007", "OS-009", "OS-010", "OS-016", "OS-055", "OS-082", "OS-142", "OS-158")
def test_any_history_of_streams_is_one_of_the_models(subject: Subject) -> None:
    check_against_model(subject, examples=6, steps=15)
