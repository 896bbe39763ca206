"""The parts of a plan, dealt to nodes: as a table that rows are joined with.

The table has a row for each node. A row of the work that names a node goes to one of the
node's parts, by a hash of the row's own key; a row that names none goes to any part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from howdah.spark.locality.nodes import Share

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOT_NEAR: Final = "Tasks don't prefer the nodes with replicas"


def nodes_of(own: Sequence[Share], parts: int) -> list[str]:
    """The node of each part, where no node has any: "" for each."""
    nodes = [""] * parts
    for share in own:
        nodes[share.first : share.first + share.count] = [share.node] * share.count
    return nodes


def share_table(spark: SparkSession, own: Sequence[Share]) -> DataFrame:
    """The parts of each node as columns `node`, `first` and `parts`; to be broadcast."""
    import pyarrow as pa

    table = pa.table(
        {
            "node": pa.array([share.node for share in own], type=pa.string()),
            "first": pa.array([share.first for share in own], type=pa.int32()),
            "parts": pa.array([share.count for share in own], type=pa.int32()),
        }
    )
    return spark.createDataFrame(table).hint("broadcast")


def part_by(hashed: str, parts: int) -> str:
    """The part of a row that was joined with `share_table`: one of its node's, or any."""
    own = f"first + cast(pmod({hashed}, parts) as int)"
    return f"coalesce({own}, cast(pmod({hashed}, {parts}) as int))"
