"""The stream contract, held against the objects of a store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from howdah.testing import check_filesystem
from howdah.testing.contract import Check, Outcome, Subject, Traits, contract_parameters, run
from howdah.testing.contract.machine import check_against_model
from tests.support.objects.store import StoreServer, stub_server

TRAITS = Traits(creates_visibly=False, one_writer=False, several_clients=True)


@pytest.fixture(scope="module")
def subject(store: StoreServer) -> Iterator[Subject]:
    bucket = store.new_bucket()
    with store.connect(bucket, part_bytes=1 << 20) as fs, store.connect(bucket) as other:
        fs.mkdirs("/contract")
        yield Subject(fs, "/contract", other=other, traits=TRAITS)


@pytest.mark.parametrize("check", contract_parameters())
def test_contract(check: Check, subject: Subject) -> None:
    run(check, subject)


@pytest.mark.req("OS-007", "OS-016", "OS-055", "OS-142")
def test_any_history_of_streams_is_one_of_the_models(subject: Subject) -> None:
    check_against_model(subject, examples=3, steps=10)


@pytest.mark.req("FS-187", "FS-004")
def test_anybody_may_hold_a_store_against_the_contract() -> None:
    """In one call, with the traits that docs/testing.md says; at the quick store."""
    traits = Traits(creates_visibly=False, one_writer=False)
    with stub_server() as quick, quick.connect("bucket", part_bytes=1 << 20) as fs:
        report = check_filesystem(fs, root="/contract", traits=traits)
        assert len(report.of(Outcome.PASSED)) > 50
        assert not fs.exists("/contract")


@pytest.mark.req("OS-172")
def test_a_store_that_is_expected_to_show_a_file_at_once_fails_the_contract() -> None:
    name = "a_file_exists_and_is_empty_when_create_returns"
    with stub_server() as quick, quick.connect("bucket") as fs:
        report = check_filesystem(fs, only=[name], strict=False)
        assert [each.check.name for each in report.of(Outcome.FAILED)] == [name]
