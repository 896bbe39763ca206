"""Bulk jobs keep to what Spark Connect has: no SparkContext, no RDD, nothing of the JVM."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import howdah
from tests.support.requirements.sources import tree_of

ROOT = Path(howdah.__file__).parent
MODULES = sorted(path for name in ("spark", "cli") for path in (ROOT / name).rglob("*.py"))

# As attributes of sessions, frames and columns. The names with an underscore are
# PySpark's ways into Java.
REFUSED = frozenset(
    (
        *("sparkContext", "SparkContext", "newSession", "rdd", "foreachPartition"),
        *("toJSON", "accumulator"),
        *("_sc", "_jsc", "_jvm", "_jdf", "_jc", "_jsparkSession", "_jreader", "_jwrite"),
        *("_session", "_gateway", "_jconf"),
    )
)
REFUSED_MODULES = ("py4j", "pyspark.rdd", "pyspark.context", "pyspark.core", "pyspark.accumulators")
WORDS = REFUSED.union(*(name.split(".")[-1:] for name in REFUSED_MODULES))
"""A source in which none of them stands needs no tree."""

EXPECTED = {"spark/sessions.py": ["_jvm"]}
"""The tokens that Spark has are its driver's alone: Spark Connect shows none, and none are used."""


def offences(source: str) -> Iterator[str]:
    """What a module uses that Spark Connect doesn't have."""
    if not any(name in source for name in WORDS):
        return
    for node in ast.walk(tree_of(source)):
        match node:
            case ast.Attribute(attr=name) if name in REFUSED:
                yield name
            case ast.ImportFrom(module=str(module)):
                yield from _refused(module)
                yield from (f"{module}.{a.name}" for a in node.names if a.name in REFUSED)
            case ast.Import():
                for alias in node.names:
                    yield from _refused(alias.name)
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=name), *_]):
                if name in REFUSED:
                    yield str(name)


def _refused(module: str) -> Iterator[str]:
    if any(module == name or module.startswith(f"{name}.") for name in REFUSED_MODULES):
        yield module


def test_modules_do_not_reach_for_the_context() -> None:
    found = {path: list(offences(path.read_text(encoding="utf-8"))) for path in MODULES}
    assert {str(path.relative_to(ROOT)): said for path, said in found.items() if said} == EXPECTED


@pytest.mark.parametrize(
    "source",
    [
        "spark.sparkContext.setLogLevel('INFO')",
        "frame.rdd.mapPartitions(f)",
        "frame._jdf.queryExecution()",
        "getattr(spark, '_jvm')",
        "from pyspark import SparkContext",
        "from pyspark.core.rdd import RDD",
        "import py4j.java_gateway",
    ],
)
def test_what_spark_connect_has_not_is_recognised(source: str) -> None:
    assert len(list(offences(source))) == 1
