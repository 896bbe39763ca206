"""The contract of filesystems on Apache's HDFS in secure mode."""

from __future__ import annotations

import pytest

from howdah.testing import check_filesystem
from howdah.testing.contract import Traits
from tests.support.security.secured_hadoop import SecuredHadoop

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("kerberos_environment")]
TRAITS = Traits(flush_shows_nothing=True, several_clients=True)


def test_the_contract_is_kept(hadoop: SecuredHadoop) -> None:
    with hadoop.connect() as fs, hadoop.connect() as other:
        report = check_filesystem(fs, "/user/alice/contract", other=other, traits=TRAITS)
    assert report.ok
