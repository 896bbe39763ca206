"""Tables by their names."""

from __future__ import annotations

import pickle
from typing import Any, cast

import pytest

from howdah import errors
from howdah.spark import register
from howdah.spark.tables.catalog import TABLES, open_table
from howdah.spark.tables.table import Home

HOME = Home(())


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_its_name_and_goes_to_tasks(name: str) -> None:
    table = open_table(name, {"path": "/x"}, HOME)
    assert table.name == name
    again = pickle.loads(pickle.dumps(table))
    assert (again.name, again.columns) == (name, table.columns)
    assert open_table(name.upper(), {"path": "/x"}, HOME).name == name


@pytest.mark.parametrize("name", TABLES)
def test_a_column_of_each_type_has_one_in_arrow(name: str) -> None:
    columns = open_table(name, {"path": "/x"}, HOME).columns
    assert columns.arrow.names == list(columns.types)
    empty = columns.batch_of_rows([dict.fromkeys(columns.types)])
    assert empty.num_rows == 1


def test_declared_columns_have_their_types() -> None:
    table = open_table("howdah.namespace", {}, HOME)
    table.choose([("length", "bigint"), ("path", "string")])
    assert table.columns.names == ("length", "path")
    with pytest.raises(errors.IllegalArgument, match="column length is of type bigint, not int"):
        table.choose([("length", "int")])
    with pytest.raises(errors.IllegalArgument, match="has no column 'size'"):
        table.choose([("size", "bigint")])


def test_an_unknown_table_is_refused_with_the_known_ones() -> None:
    with pytest.raises(errors.IllegalArgument, match=r"there are: howdah\.namespace, "):
        open_table("howdah.nothing", {}, HOME)


def test_a_spark_without_python_sources_is_told_what_to_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("howdah.spark.tables.registration.find_spec", lambda name: None)
    with pytest.raises(errors.UnsupportedOperation, match=r"use howdah\.spark\.table"):
        register(cast("Any", None))
