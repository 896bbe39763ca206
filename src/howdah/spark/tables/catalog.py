"""Which tables there are, by their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from howdah import errors
from howdah.spark.tables.audit_table import AuditTable
from howdah.spark.tables.block_table import BlockTable
from howdah.spark.tables.change_table import ChangeTable
from howdah.spark.tables.edit_table import EditTable
from howdah.spark.tables.namespace_table import NamespaceTable
from howdah.spark.tables.table import Home, Table

TABLES: Final[Mapping[str, type[Table]]] = {
    table.name: table for table in (NamespaceTable, EditTable, AuditTable, BlockTable, ChangeTable)
}


def open_table(name: str, given: Mapping[str, object], home: Home) -> Table:
    """A table with its options. Raises IllegalArgument."""
    table = TABLES.get(name.lower())
    if table is None:
        raise errors.IllegalArgument(f"there is no table {name!r}; there are: {', '.join(TABLES)}")
    return table(given, home)
