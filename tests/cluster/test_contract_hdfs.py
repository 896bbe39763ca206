"""The stream contract, held against HDFS: howdah's client on howdah's servers."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

import howdah
from howdah.testing import MiniCluster
from howdah.testing.contract import Check, Subject, Traits, contract_parameters, run
from howdah.testing.contract.machine import check_against_model
from howdah.testing.waiting import wait_until
from tests.support.torture import times

pytestmark = pytest.mark.kind("hdfs")

BLOCK_BYTES = 1 << 20
"""The smallest that the namenode takes, so that what is written crosses blocks."""

TRAITS = Traits(flush_shows_nothing=True, several_clients=True)


@pytest.fixture(scope="module")
def subject(howdah_cluster: MiniCluster) -> Iterator[Subject]:
    conf = howdah_cluster.conf.with_values({"dfs.blocksize": str(BLOCK_BYTES)})
    with howdah.connect(conf=conf) as fs, howdah.connect(conf=conf) as other:
        root = f"/contract-{uuid.uuid4().hex[:8]}"
        fs.mkdirs(root)
        yield Subject(fs, root, other=other, traits=TRAITS)
        fs.delete(root, recursive=True)


@pytest.mark.parametrize("check", contract_parameters())
def test_contract(check: Check, subject: Subject) -> None:
    run(check, subject)


@pytest.mark.req("OS-007", "OS-009", "OS-010", "OS-016", "OS-055", "OS-082", "OS-142", "OS-158")
def test_any_history_of_streams_is_one_of_the_models(subject: Subject) -> None:
    check_against_model(subject, examples=12, steps=20)


@pytest.mark.req("OS-009", "OS-016", "OS-082", "OS-158", "FS-148")
def test_any_history_across_blocks_is_one_of_the_models(subject: Subject) -> None:
    sizes = (1, 513, 300_000, BLOCK_BYTES - 1, BLOCK_BYTES)
    check_against_model(subject, examples=6, steps=12, sizes=sizes)


@pytest.mark.req("OS-067", "FS-119", "FS-148")
def test_finished_blocks_are_written_before_anything_asks_for_it(subject: Subject) -> None:
    path = subject.new_path()
    data = bytes(range(256)) * (3 * BLOCK_BYTES // 256)
    with subject.fs.create(path) as out:
        out.write(data)
        out.write(b"and a little")
        wait_until(
            lambda: len(subject.see(path)) >= 2 * BLOCK_BYTES, 60, "two of three blocks to be seen"
        )
        assert data.startswith(subject.see(path)[: len(data)])
    assert subject.see(path) == data + b"and a little"


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_long_histories_of_streams(subject: Subject) -> None:
    check_against_model(subject, examples=times(60), steps=40)
