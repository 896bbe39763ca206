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

from howdah.config import Configuration, keys
from howdah.copy.common.filesystems import Place, behind_view, located
from howdah.copy.common.job_tokens import begin_job
from howdah.runtime.fork_safety import PerProcess
from howdah.spark.tables.columns import Columns
from howdah.spark.tables.options import TableOptions
from howdah.spark.tables.predicates import Condition, understood, wanted

if TYPE_CHECKING:
    import pyarrow as pa

PATH: Final = "path"
COLUMNS: Final = "columns"
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
        _begin_secured_job(conf)
        where = behind_view(where, conf, self.user)
        place = Place.of(located(where), conf, self.user)
        return place, place.connect().resolve(where)


class _PlannersJob:
    """The job whose tokens this process makes for the tasks that it plans."""

    def __init__(self) -> None:
        self.has_begun = False


_planner: Final = PerProcess(_PlannersJob)


def _begin_secured_job(conf: Configuration) -> None:
    """Where Spark calls a source, it never says when a query is over. So the job of a process that
    plans ends with the process, and its tokens are left to expire."""
    job = _planner.get()
    if not job.has_begun and conf.get(keys.HADOOP_SECURITY_AUTHENTICATION) != "simple":
        job.has_begun = True
        begin_job()


class Table(ABC):
    """One table, with its options. `columns` are those that are read."""

    name: ClassVar[str]
    all_columns: ClassVar[Columns]
    known_options: ClassVar[tuple[str, ...]]

    def __init__(self, given: Mapping[str, object], home: Home) -> None:
        """Raises IllegalArgument for options that are unknown or make no sense."""
        self.options = TableOptions(
            self.name, given, (PATH, COLUMNS, PARTITIONS, *self.known_options)
        )
        self.home = home
        names = self.options.words(COLUMNS)
        self.columns = (
            self.all_columns if names is None else self.all_columns.named(names, self.name)
        )
        self.most_parts = self.options.count(PARTITIONS, DEFAULT_PARTS)
        self.conditions: tuple[Condition, ...] = ()

    def choose(self, fields: list[tuple[str, str]]) -> None:
        """Read only the columns of a schema. Raises IllegalArgument."""
        self.columns = self.all_columns.declared(fields, self.name)

    def push(self, condition: Condition) -> bool:
        """Whether the table evaluates a condition by itself."""
        own = understood(condition, self.columns)
        if own is None:
            return False
        self.conditions = (*self.conditions, own)
        return True

    @abstractmethod
    def parts(self) -> list[Any]:
        """What tasks read, a part each. Called in the driver, after all conditions are known."""

    @abstractmethod
    def batches(self, part: Any) -> Iterator[pa.RecordBatch]:
        """All rows of a part, with the columns `columns`. What `parts` did is not known here."""

    def read(self, part: Any) -> Iterator[pa.RecordBatch]:
        """The rows of a part that are wanted."""
        for batch in self.batches(part):
            chosen = wanted(batch, self.conditions, self.columns)
            if chosen.num_rows:
                yield chosen
