"""Which tables there are, by their names.

The module of a table is imported when it is opened: Spark opens it in several processes, each of
which would wait for all of them.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Final

from howdah import errors
from howdah.spark.tables.table import Home, Table

CHANGES: Final = "howdah.changes"
TABLES: Final[Mapping[str, str]] = {
    "howdah.namespace": "namespace_table:NamespaceTable",
    "howdah.edits": "edit_table:EditTable",
    "howdah.audit": "audit_table:AuditTable",
    "howdah.blocks": "block_table:BlockTable",
    CHANGES: "change_table:ChangeTable",
}
"""Names of tables, with their modules in this package and their classes."""


def open_table(name: str, given: Mapping[str, object], home: Home) -> Table:
    """A table with its options. Raises IllegalArgument."""
    where = TABLES.get(name.lower())
    if where is None:
        raise errors.IllegalArgument(f"there is no table {name!r}; there are: {', '.join(TABLES)}")
    module, _, kind = where.partition(":")
    table: type[Table] = getattr(importlib.import_module(f"{__package__}.{module}"), kind)
    return table(given, home)
