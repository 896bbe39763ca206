"""The stream contract, held against local files: checksummed and raw."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import howdah
from howdah.config import Configuration
from howdah.fs.local import LocalFileSystem
from howdah.testing.contract import Check, Subject, Traits, contract_parameters, run
from howdah.testing.contract.machine import check_against_model

TRAITS = Traits(one_writer=False)


def local(write_checksum: bool) -> LocalFileSystem:
    fs = howdah.connect("file:///", conf=Configuration())
    assert isinstance(fs, LocalFileSystem)
    fs.set_write_checksum(write_checksum)
    return fs


@pytest.fixture(params=[pytest.param(True, id="checksummed"), pytest.param(False, id="raw")])
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    with local(request.param) as fs, local(request.param) as other:
        yield Subject(fs, str(tmp_path), other=other, traits=TRAITS)


@pytest.mark.parametrize("check", contract_parameters())
def test_contract(check: Check, subject: Subject) -> None:
    run(check, subject)


@pytest.mark.req("OS-009", "OS-016", "OS-055", "OS-142")
def test_any_history_of_streams_is_one_of_the_models(subject: Subject) -> None:
    check_against_model(subject, examples=25, steps=25)
