"""The stream contract, held against local files: checksummed and raw."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from unittest import mock

import pytest

import howdah
from howdah.config import Configuration
from howdah.fs.local.filesystem import LocalFileSystem
from howdah.testing.contract import Check, Subject, Traits, contract_parameters, run
from howdah.testing.contract.machine import check_against_model

TRAITS = Traits(one_writer=False)


def local(write_checksum: bool) -> LocalFileSystem:
    fs = howdah.connect("file:///", conf=Configuration())
    assert isinstance(fs, LocalFileSystem)
    fs.set_write_checksum(write_checksum)
    return fs


def full_disk() -> AbstractContextManager[object]:
    """A disk that takes nothing."""
    return mock.patch.object(os, "write", side_effect=OSError(errno.ENOSPC, "no space left"))


@pytest.fixture(
    params=[
        pytest.param(True, id="checksummed", marks=pytest.mark.kind("checksummed")),
        pytest.param(False, id="raw", marks=pytest.mark.kind("raw")),
    ]
)
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    with local(request.param) as fs, local(request.param) as other:
        yield Subject(fs, str(tmp_path), other=other, traits=TRAITS, write_faults=full_disk)


@pytest.mark.parametrize("check", contract_parameters())
def test_contract(check: Check, subject: Subject) -> None:
    run(check, subject)


@pytest.mark.req("OS-007", "OS-009", "OS-016", "OS-055", "OS-142")
def test_any_history_of_streams_is_one_of_the_models(subject: Subject) -> None:
    check_against_model(subject, examples=25, steps=25)
