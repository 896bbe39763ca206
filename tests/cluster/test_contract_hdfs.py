"""The stream contract, held against HDFS: howdah's client on howdah's servers."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from howdah.testing import MiniCluster
from howdah.testing.contract import Check, Subject, Traits, contract_parameters, run
from howdah.testing.contract.machine import check_against_model

pytestmark = pytest.mark.kind("hdfs")

TRAITS = Traits(flush_shows_nothing=True, several_clients=True)


@pytest.fixture(scope="module")
def subject(howdah_cluster: MiniCluster) -> Iterator[Subject]:
    with howdah_cluster.connect() as fs, howdah_cluster.connect() as other:
        root = f"/contract-{uuid.uuid4().hex[:8]}"
        fs.mkdirs(root)
        yield Subject(fs, root, other=other, traits=TRAITS)
        fs.delete(root, recursive=True)


@pytest.mark.parametrize("check", contract_parameters())
def test_contract(check: Check, subject: Subject) -> None:
    run(check, subject)


@pytest.mark.req("OS-009", "OS-010", "OS-016", "OS-055", "OS-082", "OS-142", "OS-158")
def test_any_history_of_streams_is_one_of_the_models(subject: Subject) -> None:
    check_against_model(subject, examples=8, steps=15)
