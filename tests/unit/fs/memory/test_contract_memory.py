"""The stream contract, held against files in memory."""

from __future__ import annotations

import errno
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager
from unittest import mock

import pytest

import howdah
from howdah.config import Configuration
from howdah.fs.memory.streams import MemoryOutput
from howdah.testing.contract import Check, Subject, Traits, contract_parameters, run
from howdah.testing.contract.machine import check_against_model
from tests.support.torture import times

pytestmark = pytest.mark.kind("mem")

TRAITS = Traits(flush_shows_nothing=True, several_clients=True)


def no_memory() -> AbstractContextManager[object]:
    """A store that takes nothing."""
    return mock.patch.object(MemoryOutput, "_store", side_effect=OSError(errno.ENOSPC, "full"))


@pytest.fixture
def subject() -> Iterator[Subject]:
    uri = f"mem://contract-{uuid.uuid4().hex}/"
    with howdah.connect(uri, conf=Configuration()) as fs:
        with howdah.connect(uri, conf=Configuration()) as other:
            fs.mkdirs("/contract")
            yield Subject(fs, "/contract", other=other, traits=TRAITS, write_faults=no_memory)
            fs.delete("/contract", recursive=True)


@pytest.mark.parametrize("check", contract_parameters())
def test_contract(check: Check, subject: Subject) -> None:
    run(check, subject)


@pytest.mark.req("OS-007", "OS-009", "OS-010", "OS-016", "OS-055", "OS-082", "OS-142", "OS-158")
def test_any_history_of_streams_is_one_of_the_models(subject: Subject) -> None:
    check_against_model(subject, examples=40, steps=30)


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_long_histories_of_streams(subject: Subject) -> None:
    check_against_model(subject, examples=times(400), steps=60)
