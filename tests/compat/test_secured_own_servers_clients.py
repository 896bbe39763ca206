"""What clients do on a secured cluster of Apache's, they do on one with this project's servers.

The tests are those of the other modules, all but what asks a namenode over HTTP, where this one
answers nothing yet, and what its administration lacks with or without Kerberos.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from tests.compat import (
    test_secured_commands,
    test_secured_errors,
    test_secured_hadoop,
    test_secured_mount,
    test_secured_peers,
)
from tests.support.security.kdc import Kdc
from tests.support.security.our_servers import OurSecuredCluster, OurSecuredNamenode
from tests.support.security.secured_hadoop import SecuredHadoop

NOT_HERE: Final = frozenset(
    {
        "test_webhdfs_goes_by_tickets_and_by_tokens",
        "test_fsck_checks_files_and_says_nothing_about_who_asks",
        "test_fsck_acts_for_another_user",
        "test_an_image_is_fetched",
        # refreshServiceAcl and refreshCallQueue are among them.
        "test_a_command_is_let_in",
        # These start clusters of Apache's.
        "test_all_clients_work_where_one_protection_alone_is_offered",
        "test_the_balancer_moves_replicas_between_secured_datanodes",
        "test_dfsadmin_asks_each_namenode",
        "test_haadmin_orders_a_failover",
        "test_fsck_and_images_come_over_tls_from_the_active_namenode",
    }
)

for module in (
    test_secured_commands,
    test_secured_errors,
    test_secured_hadoop,
    test_secured_mount,
    test_secured_peers,
):
    globals().update(
        {
            name: value
            for name, value in vars(module).items()
            if not name.startswith("__") and name not in NOT_HERE
        }
    )

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.torture,
    pytest.mark.usefixtures("kerberos_environment"),
]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(OurSecuredNamenode, id="namenode"),
        pytest.param(OurSecuredCluster, id="ours"),
    ],
)
def hadoop(
    request: pytest.FixtureRequest,
    kdc: Kdc,
    hadoop_classpath: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[SecuredHadoop]:
    directory = tmp_path_factory.mktemp("own_servers")
    with kdc.in_environment():
        cluster: SecuredHadoop = request.param(directory, hadoop_classpath, kdc)
    yield cluster
    cluster.close()
