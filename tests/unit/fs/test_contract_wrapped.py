"""The stream contract, held against streams that are wrapped twice more."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from howdah.config import Configuration
from howdah.fs.memory.filesystem import MemoryFileSystem
from howdah.fs.streams import FSDataOutputStream
from howdah.testing.contract import Check, Subject, Traits, contract_parameters, run
from howdah.testing.contract.machine import check_against_model

pytestmark = pytest.mark.kind("wrapper")

TRAITS = Traits(flush_shows_nothing=True, several_clients=True)


class WrappedFileSystem(MemoryFileSystem):
    """Its output streams have two public streams around them, with nothing in between."""

    def create(self, path: Any, **options: Any) -> FSDataOutputStream:
        return FSDataOutputStream(FSDataOutputStream(super().create(path, **options)))

    def append(self, path: Any, **options: Any) -> FSDataOutputStream:
        return FSDataOutputStream(FSDataOutputStream(super().append(path, **options)))


@pytest.fixture
def subject() -> Iterator[Subject]:
    name = f"wrapped-{uuid.uuid4().hex}"
    with WrappedFileSystem(name, Configuration()) as fs:
        with WrappedFileSystem(name, Configuration()) as other:
            fs.mkdirs("/contract")
            yield Subject(fs, "/contract", other=other, traits=TRAITS)
            fs.delete("/contract", recursive=True)


@pytest.mark.parametrize("check", contract_parameters())
def test_contract(check: Check, subject: Subject) -> None:
    run(check, subject)


@pytest.mark.req("OS-007", "OS-009", "OS-016", "OS-055", "OS-142")
def test_any_history_of_streams_is_one_of_the_models(subject: Subject) -> None:
    check_against_model(subject, examples=20, steps=20)
