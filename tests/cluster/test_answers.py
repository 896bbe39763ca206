"""Our servers' answers beside those that were recorded of Hadoop's.

Field by field: which optional ones are set is part of the protocol. The record is kept
true by `tests/compat/test_answers_java.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from howdah.testing import MiniCluster
from tests.support.answers.allowed import ALLOWED
from tests.support.answers.conversation import CONF, converse
from tests.support.answers.facts import Facts, differences

RECORDED = Path(__file__).parents[1] / "compat" / "hadoop_answers.json"


@pytest.fixture(scope="module")
def hadoops() -> Mapping[str, Facts]:
    recorded: Mapping[str, Facts] = json.loads(RECORDED.read_text())
    return recorded


@pytest.fixture(scope="module")
def ours() -> Mapping[str, Facts]:
    with MiniCluster(datanodes=1, conf=CONF) as cluster:
        host, port = cluster.uri.removeprefix("hdfs://").split(":")
        return converse((host, int(port)))


def test_every_answer_has_the_fields_that_hadoops_has(
    hadoops: Mapping[str, Facts], ours: Mapping[str, Facts]
) -> None:
    unexpected = [
        f"{exchange}, {field}: {how}"
        for exchange, field, how in differences(hadoops, ours)
        if not any(allowed.covers(exchange, field) for allowed in ALLOWED)
    ]
    assert unexpected == []


def test_every_difference_that_is_allowed_is_there(
    hadoops: Mapping[str, Facts], ours: Mapping[str, Facts]
) -> None:
    found = list(differences(hadoops, ours))
    idle = [
        allowed
        for allowed in ALLOWED
        if not any(allowed.covers(exchange, field) for exchange, field, _ in found)
    ]
    assert idle == []
