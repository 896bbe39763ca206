"""The stream contract, held against the objects of Azure's and Google's stores."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from howdah.testing.contract import Check, Subject, Traits, contract_parameters, run
from howdah.testing.contract.machine import check_against_model
from tests.support.objects.clouds import CloudServer

TRAITS = Traits(creates_visibly=False, one_writer=False, several_clients=True)


@pytest.fixture(scope="module")
def subject(cloud: CloudServer) -> Iterator[Subject]:
    bucket = cloud.new_bucket()
    with cloud.connect(bucket, part_bytes=1 << 20) as fs, cloud.connect(bucket) as other:
        fs.mkdirs("/contract")
        yield Subject(fs, "/contract", other=other, traits=TRAITS)


@pytest.mark.parametrize("check", contract_parameters())
def test_contract(check: Check, subject: Subject) -> None:
    run(check, subject)


@pytest.mark.req("OS-007", "OS-016", "OS-055", "OS-142")
def test_any_history_of_streams_is_one_of_the_models(subject: Subject) -> None:
    check_against_model(subject, examples=3, steps=10)
