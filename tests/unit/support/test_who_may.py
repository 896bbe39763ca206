"""The table of who may ask for what has a verdict on everything that the code registers."""

from __future__ import annotations

from pathlib import Path

from howdah.protocol.data_transfer.op_requests import Op
from howdah.runtime.users.service_policy import SERVICES
from howdah.web.webhdfs.parameters import OPERATIONS
from tests.support.security.who_may.addresses import OPERATION_ROWS
from tests.support.security.who_may.calls import ROWS, services
from tests.support.security.who_may.data_operations import DATA_ROWS
from tests.support.security.who_may.page import page

PAGE = Path(__file__).parents[3] / "docs" / "who-may.md"


def test_every_call_that_is_registered_has_one_verdict_and_no_other_has() -> None:
    registered = [
        (port, service.protocol, method)
        for port, those in services().items()
        for service in those
        for method in service.methods
    ]
    assert sorted((row.port, row.protocol, row.method) for row in ROWS) == sorted(registered)


def test_every_protocol_with_access_lists_is_in_the_table() -> None:
    assert set(SERVICES) <= {row.protocol for row in ROWS}


def test_every_operation_of_webhdfs_has_a_verdict() -> None:
    """Addresses have theirs from the tables of the servers."""
    assert {(row.method, row.operation) for row in OPERATION_ROWS} == set(OPERATIONS)


def test_every_operation_of_data_ports_has_a_verdict() -> None:
    """Those that are served at a Unix domain socket have one for that, too."""
    assert {row.op for row in DATA_ROWS if row.op is not None} == set(Op)
    local = {op for op in Op if "SHORT_CIRCUIT" in op.name}
    assert {row.op for row in DATA_ROWS if row.by_socket} >= local


def test_the_page_is_that_of_the_table() -> None:
    assert PAGE.read_text("utf-8") == page(), "./dev reference writes it"
