"""The stream contract in a directory that is erasure coded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import howdah
from howdah import errors
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster
from howdah.testing.contract import Check, Subject, Traits, contract_parameters, run
from howdah.testing.contract.machine import check_against_model

pytestmark = [pytest.mark.kind("hdfs"), pytest.mark.timeout(180)]

CODED = "/coded"
POLICY = "XOR-2-1-1024k"
CELL_BYTES = 1 << 20
TRAITS = Traits(flush_shows_nothing=True, several_clients=True)


@pytest.fixture(scope="module")
def subject() -> Iterator[Subject]:
    with ExitStack() as stack:
        conf = {"dfs.blocksize": 2 * CELL_BYTES}
        cluster = stack.enter_context(MiniCluster(datanodes=3, conf=conf))
        fs = stack.enter_context(howdah.connect(cluster.uri, conf=cluster.conf))
        other = stack.enter_context(howdah.connect(cluster.uri, conf=cluster.conf))
        assert isinstance(fs, HdfsFileSystem)
        fs.mkdirs(CODED)
        fs.client.namenode.enable_erasure_coding_policy(POLICY)
        fs.set_erasure_coding_policy(CODED, POLICY)
        yield Subject(fs, CODED, other=other, traits=TRAITS)


OTHERWISE = {
    "an_append_sets_length_and_time_anew",
    "append_goes_on_after_what_is_there",
    "append_takes_a_buffer_size_and_a_progress_callback",
    "a_second_append_is_refused_while_the_first_is_open",
    "close_lets_another_writer_in_at_once",
    "every_way_gives_the_public_stream",
    "opening_for_append_changes_nothing_yet",
    "truncate_cuts_a_file",
}
"""Block groups are neither filled up nor cut, and these checks do it."""


@pytest.mark.req("OS-030")
@pytest.mark.parametrize("check", contract_parameters())
def test_contract(check: Check, subject: Subject) -> None:
    if check.name in OTHERWISE:
        with pytest.raises(errors.UnsupportedOperation, match=r"EC file|striped block"):
            run(check, subject)
        return
    run(check, subject)


@pytest.mark.req("OS-030")
def test_any_history_across_cells_and_groups_is_one_of_the_models(subject: Subject) -> None:
    sizes = (1, 513, CELL_BYTES - 1, CELL_BYTES, 2 * CELL_BYTES + 1, 4 * CELL_BYTES + 7)
    check_against_model(subject, examples=6, steps=12, sizes=sizes)
