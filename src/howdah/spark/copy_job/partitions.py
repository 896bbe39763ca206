"""Assigning the rows of a copy to tasks (`-strategy`, `-m`; UniformSizeInputFormat).

* `uniformsize`: as many partitions as `-m` says, each with about as many bytes.
* `dynamic`: several times as many (DynamicInputFormat), the large ones first, so that a task slot
  that is free takes the next. This helps where nodes or files differ in speed.

Only files that are large compared with a partition are assigned one by one, and there are few
of them. All others are assigned by the hash of their path, which is even enough. So the driver
gets no more than a few rows for each partition.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from howdah.copy.common.arrow_rows import created_frame
from howdah.copy.listing.entries import COLUMNS, Kind, Totals
from howdah.copy.options import Options, Strategy

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LARGE_A_PART: Final = 4
"""A file is large if it has more than one in so many of a partition's bytes."""
DYNAMIC_FACTOR: Final = 8
# Less work than this is not worth a partition of its own.
FILES_A_PART: Final = 25
DIRECTORIES_A_PART: Final = 250
BYTES_A_PART: Final = 32 << 20


def part_count(totals: Totals, options: Options) -> int:
    """The number of partitions."""
    most = options.max_maps
    if options.strategy is Strategy.DYNAMIC:
        most *= DYNAMIC_FACTOR
    by_bytes = totals.bytes / BYTES_A_PART
    if not options.blocks_per_chunk:
        by_bytes = min(by_bytes, totals.files)  # a file is not split
    by_count = totals.files / FILES_A_PART + totals.directories / DIRECTORIES_A_PART
    work = max(by_count, by_bytes)
    return max(1, min(most, math.ceil(work)))


def assign_largest_first(lengths: Sequence[int], parts: int) -> list[int]:
    """The partition of each file: the largest first, each to the partition with the least.

    >>> assign_largest_first([5, 1, 4, 2], 2)
    [0, 0, 1, 1]
    """
    heap = [(0, part) for part in range(parts)]
    assigned = [0] * len(lengths)
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        filled, part = heapq.heappop(heap)
        assigned[index] = part
        heapq.heappush(heap, (filled + lengths[index], part))
    return assigned


def in_chunks(rows: DataFrame, blocks: int) -> DataFrame:
    """Split large files into rows for chunks of so many blocks (`-blocksperchunk`)."""
    is_large = f"kind = {int(Kind.FILE)} and block_size > 0 and length > block_size * {blocks}"
    split = rows.where(is_large).selectExpr(
        *(name for name in COLUMNS if name not in ("offset", "chunk_length")),
        f"explode(sequence(0L, length - 1, block_size * {blocks})) as offset",
    )
    split = split.selectExpr("*", f"least(block_size * {blocks}, length - offset) as chunk_length")
    return rows.where(f"not ({is_large})").unionAll(split.select(*COLUMNS))


def in_partitions(
    spark: SparkSession, rows: DataFrame, totals: Totals, options: Options
) -> DataFrame:
    """Distribute the rows to as many partitions as there will be tasks."""
    import pyarrow as pa

    parts = part_count(totals, options)
    if parts == 1:
        return rows.coalesce(1)
    hashed = f"cast(pmod(xxhash64(relative, offset), {parts}) as int)"
    size = "if(chunk_length < 0, length, chunk_length)"
    large = totals.bytes // (parts * LARGE_A_PART)
    large_files = []
    if totals.largest_bytes > large:
        big = rows.where(f"{size} > {large}")
        large_files = big.selectExpr("relative", "offset", f"{size} as size").collect()
    if not large_files:
        return rows.selectExpr("*", f"{hashed} as part").repartitionById(parts, "part").drop("part")
    table = pa.table(
        {
            "relative": pa.array([bytes(row["relative"]) for row in large_files], type=pa.binary()),
            "offset": pa.array([row["offset"] for row in large_files], type=pa.int64()),
            "assigned": pa.array(
                assign_largest_first([row["size"] for row in large_files], parts), type=pa.int32()
            ),
        }
    )
    chosen = created_frame(spark, table).hint("broadcast")
    joined = rows.join(chosen, ["relative", "offset"], "left")
    parted = joined.selectExpr("*", f"coalesce(assigned, {hashed}) as part")
    return parted.repartitionById(parts, "part").drop("part", "assigned")
