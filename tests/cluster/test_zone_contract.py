"""The stream contract within an encryption zone: who reads and writes there notices nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import howdah
from howdah import errors
from howdah.cli.main import main
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster
from howdah.testing.contract import (
    Check,
    Subject,
    Traits,
    all_checks,
    contract_parameters,
    run,
)
from howdah.testing.contract.machine import check_against_model
from tests.support.key_server import KEY_ACCESS, key_server

pytestmark = [pytest.mark.kind("hdfs"), pytest.mark.timeout(180)]

BLOCK_BYTES = 1 << 20
ZONE = "/zone/contract"
TRAITS = Traits(flush_shows_nothing=True, several_clients=True)


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    directory = tmp_path_factory.mktemp("zone-contract")
    with ExitStack() as stack:
        provider = stack.enter_context(key_server(directory / "kms", KEY_ACCESS))
        assert main(["key", "create", "contract", "-provider", provider]) == 0
        cluster = stack.enter_context(
            MiniCluster(
                datanodes=3,
                conf={
                    "hadoop.security.key.provider.path": provider,
                    "dfs.blocksize": BLOCK_BYTES,
                },
            )
        )
        fs = stack.enter_context(howdah.connect(cluster.uri, conf=cluster.conf))
        other = stack.enter_context(howdah.connect(cluster.uri, conf=cluster.conf))
        assert isinstance(fs, HdfsFileSystem)
        fs.mkdirs("/zone")
        fs.create_encryption_zone("/zone", "contract")
        fs.mkdirs(ZONE)
        yield Subject(fs, ZONE, other=other, traits=TRAITS)


OTHERWISE = {
    "concat_moves_files_to_the_end_of_another": "each file has a key of its own",
    "equal_content_has_equal_checksums": "checksums are of cipher text",
}
"""What is otherwise in a zone, and why."""


@pytest.mark.req("OS-030")
@pytest.mark.parametrize("check", contract_parameters())
def test_contract(check: Check, subject: Subject) -> None:
    if check.name in OTHERWISE:
        pytest.skip(f"otherwise in a zone: {OTHERWISE[check.name]}")
    run(check, subject)


def test_what_is_otherwise_in_a_zone(subject: Subject) -> None:
    assert set(OTHERWISE) <= {check.name for check in all_checks()}
    paths = [f"{ZONE}/otherwise-{number}" for number in range(2)]
    for path in paths:
        subject.fs.write_bytes(path, b"the same")
    with pytest.raises(errors.IllegalArgument, match="encryption zone"):
        subject.fs.concat(paths[0], paths[1:])
    first, second = map(subject.fs.get_file_checksum, paths)
    assert first != second


@pytest.mark.req("OS-007", "OS-009", "OS-010", "OS-016", "OS-082", "OS-158")
def test_any_history_across_blocks_is_one_of_the_models(subject: Subject) -> None:
    sizes = (1, 15, 16, 17, 300_000, BLOCK_BYTES - 1, BLOCK_BYTES)
    check_against_model(subject, examples=6, steps=12, sizes=sizes)


def test_what_the_contract_wrote_is_cipher_text(subject: Subject) -> None:
    assert isinstance(subject.fs, HdfsFileSystem)
    subject.fs.write_bytes(f"{ZONE}/plain", b"plain text " * 1000)
    assert subject.fs.get_file_encryption_info(f"{ZONE}/plain") is not None
    assert b"plain text" not in subject.fs.read_bytes(f"/.reserved/raw{ZONE}/plain")
