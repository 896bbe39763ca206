"""`distcp` between two namespaces over the same datanodes."""

from __future__ import annotations

from typing import Any

import pytest

from howdah.spark import Options, distcp
from howdah.testing import MiniCluster
from howdah.testing.trees import make_tree, read_tree

TREE = {"a": b"1", "sub": None, "sub/big": bytes(range(256)) * 1000}


@pytest.mark.req("FS-043", "FS-081")
def test_a_tree_is_copied_from_one_namespace_to_the_other(spark: Any) -> None:
    with (
        MiniCluster(datanodes=1, nameservices=["a", "b"]) as cluster,
        cluster.connect(nameservice="a") as one,
        cluster.connect(nameservice="b") as other,
    ):
        make_tree(one, "/src", TREE)
        outcome = distcp(
            spark, ["hdfs://a/src"], "hdfs://b/dst", options=Options(), conf=cluster.conf
        )
        assert outcome.counters.files_copied == 2
        assert read_tree(other, "/dst") == TREE
        assert not one.exists("/dst")
