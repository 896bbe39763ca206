"""The stream contract, held against a view over files in memory."""

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

pytestmark = pytest.mark.kind("mem")

TRAITS = Traits(flush_shows_nothing=True, several_clients=True)


def no_memory() -> AbstractContextManager[object]:
    """A store that takes nothing."""
    return mock.patch.object(MemoryOutput, "_store", side_effect=OSError(errno.ENOSPC, "full"))


@pytest.fixture(params=["fallback", "expression"])
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    """A directory of a view, and below which kind of link it is."""
    target = f"mem://contract-{uuid.uuid4().hex}/in"
    entries, root = {
        "fallback": ({"linkFallback": target, "link./x": f"{target}/x"}, "/contract"),
        "expression": ({r"linkRegex.^/(\w+)/at": f"{target}/$1"}, "/some/at/contract"),
    }[request.param]
    conf = Configuration({f"fs.viewfs.mounttable.c.{key}": each for key, each in entries.items()})
    with howdah.connect("viewfs://c/", conf=conf) as fs:
        with howdah.connect("viewfs://c/", conf=conf) as other:
            fs.mkdirs(root)
            yield Subject(fs, root, other=other, traits=TRAITS, write_faults=no_memory)
            fs.delete(root, recursive=True)


@pytest.mark.parametrize("check", contract_parameters())
def test_contract(check: Check, subject: Subject) -> None:
    run(check, subject)


@pytest.mark.req("OS-007", "OS-009", "OS-010", "OS-016", "OS-055", "OS-082", "OS-142", "OS-158")
def test_any_history_of_streams_is_one_of_the_models(subject: Subject) -> None:
    check_against_model(subject, examples=10, steps=20)
