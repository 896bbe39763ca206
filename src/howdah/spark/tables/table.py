"""What all tables are: parts that the driver plans and tasks read.

Spark pickles a table for the tasks before it asks for the parts. So a part has all that its task
needs. No connection is among it: tasks connect by a `Place`, which carries the delegation tokens of
a secured cluster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from howdah import errors
from howdah.config import Configuration
from howdah.copy.common.filesystems import Place, behind_view, located
from howdah.spark.tables.columns import Columns
from howdah.spark.tables.options import TableOptions
from howdah.spark.tables.predicates import Condition, understood, wanted
from howdah.spark.tables.where_clause import parse_where

if TYPE_CHECKING:
    import pyarrow as pa

PATH: Final = "path"
COLUMNS: Final = "columns"
WHERE: Final = "where"
PARTITIONS: Final = "partitions"
DEFAULT_PARTS: Final = 16


@dataclass(frozen=True, slots=True)
class Home:
    """The configuration and the user of a job's driver. Without settings they are those of the
    process that plans."""

    settings: tuple[tuple[str, str], ...] | None = None
    user: str | None = None

    def configuration(self) -> Configuration:
        if self.settings is None:
            return Configuration.load()
        return Configuration(dict(self.settings))

    def place(self, where: str) -> tuple[Place, str]:
        """The filesystem of a URI, as tasks find it, and the path there."""
        conf = self.configuration()
        where = behind_view(where, conf, self.user)
        place = Place.of(located(where), conf, self.user)
        return place, place.connect().resolve(where)


class Table(ABC):
    """One table, with its options. `columns` are those that are read."""

    name: ClassVar[str]
    all_columns: ClassVar[Columns]
    known_options: ClassVar[tuple[str, ...]]

    def __init__(self, given: Mapping[str, object], home: Home) -> None:
        """Raises IllegalArgument for options that are unknown or make no sense."""
        self.options = TableOptions(
            self.name, given, (PATH, COLUMNS, WHERE, PARTITIONS, *self.known_options)
        )
        self.home = home
        names = self.options.words(COLUMNS)
        self.columns = (
            self.all_columns if names is None else self.all_columns.named(names, self.name)
        )
        self.most_parts = self.options.count(PARTITIONS, DEFAULT_PARTS)
        where = self.options.text(WHERE)
        self.conditions = self._understood(() if where is None else parse_where(where))

    def _understood(self, conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
        """The conditions with their values as columns have them. Raises IllegalArgument."""
        found = []
        for condition in conditions:
            self.all_columns.named([condition.column], self.name)
            own = understood(condition, self.all_columns)
            if own is None:
                raise errors.IllegalArgument(
                    f"{self.name}: column {condition.column} is of type "
                    f"{self.all_columns.types[condition.column]}, and cannot be compared with "
                    f"{condition.value!r}"
                )
            found.append(own)
        return tuple(found)

    @property
    def made_columns(self) -> Columns:
        """The columns that rows are made of: those that are read, and those of conditions."""
        more = {each.column: self.all_columns.types[each.column] for each in self.conditions}
        return Columns({**self.columns.types, **more})

    def choose(self, fields: list[tuple[str, str]]) -> None:
        """Read only the columns of a schema. Raises IllegalArgument."""
        self.columns = self.all_columns.declared(fields, self.name)

    @abstractmethod
    def parts(self) -> list[Any]:
        """What tasks read, a part each. Called in the driver, after all conditions are known."""

    @abstractmethod
    def batches(self, part: Any) -> Iterator[pa.RecordBatch]:
        """All rows of a part, with the columns `made_columns`. What `parts` found is not known."""

    def read(self, part: Any) -> Iterator[pa.RecordBatch]:
        """The rows of a part that are wanted."""
        made = self.made_columns
        for batch in self.batches(part):
            chosen = wanted(batch, self.conditions, made)
            if chosen.num_rows:
                yield chosen.select(self.columns.names)
