from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.formats import version
from howdah.formats.version import (
    BlockPoolVersion,
    DatanodeVersion,
    NamenodeVersion,
    format_properties,
    parse_properties,
)

NOW_MS = 1_795_220_314_000
NAMENODE = NamenodeVersion(778917589, "CID-f06d5eb4", "BP-1438957010-127.0.0.1-17", 17)

# As `hdfs namenode -format` of Hadoop 3.5.0 wrote it.
HADOOP_NAMENODE = """\
#Sat Nov 21 00:18:34 UTC 2026
namespaceID=778917589
blockpoolID=BP-1438957010-127.0.0.1-17
storageType=NAME_NODE
cTime=17
clusterID=CID-f06d5eb4
layoutVersion=-67
"""


def _seeded(seed: int) -> version.RandomBelow:
    return random.Random(seed).randrange


@given(st.dictionaries(st.text(min_size=1), st.text()))
def test_all_properties_come_back(values: dict[str, str]) -> None:
    assert parse_properties(format_properties(values, NOW_MS)) == values


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a: b", {"a": "b"}),
        ("  a   b c", {"a": "b c"}),
        ("a", {"a": ""}),
        ("a\\=b=c\\:d", {"a=b": "c:d"}),
        ("a=b\\\n   c", {"a": "bc"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a=\\u00e9\\t\\z", {"a": "é\tz"}),
        ("a=\\ud83d\\ude00", {"a": "\U0001f600"}),
        ("# no\n! no\n\na=b\r\nc=d", {"a": "b", "c": "d"}),
    ],
)
def test_properties_are_read_as_java_reads_them(line: str, expected: dict[str, str]) -> None:
    assert parse_properties(line) == expected


def test_the_comment_is_a_date_as_java_prints_it() -> None:
    assert format_properties({}, NOW_MS) == "#Sat Nov 21 00:18:34 UTC 2026\n"


def test_the_version_of_a_hadoop_namenode_is_read() -> None:
    assert NamenodeVersion.parse(HADOOP_NAMENODE, "VERSION") == NAMENODE


def test_a_namenode_version_has_the_lines_of_hadoop() -> None:
    assert sorted(NAMENODE.format(NOW_MS).splitlines()) == sorted(HADOOP_NAMENODE.splitlines())


@pytest.mark.parametrize(
    "value",
    [
        NAMENODE,
        DatanodeVersion("DS-1", "CID-1", "3e3f1040"),
        BlockPoolVersion(1, "BP-1-10.0.0.1-2", 3),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_version_comes_back(value: NamenodeVersion | DatanodeVersion | BlockPoolVersion) -> None:
    assert type(value).parse(value.format(NOW_MS), "VERSION") == value


@pytest.mark.parametrize("key", ["namespaceID", "clusterID", "cTime", "blockpoolID", "storageType"])
def test_a_missing_line_is_named(key: str) -> None:
    text = "".join(
        line for line in HADOOP_NAMENODE.splitlines(keepends=True) if not line.startswith(key)
    )
    with pytest.raises(errors.InconsistentStorage, match=f"/name/current/VERSION lacks {key}"):
        NamenodeVersion.parse(text, "/name/current/VERSION")


def test_a_number_that_is_none_is_named() -> None:
    with pytest.raises(errors.InconsistentStorage, match="cTime=soon"):
        NamenodeVersion.parse(HADOOP_NAMENODE.replace("cTime=17", "cTime=soon"), "VERSION")


def test_a_datanode_does_not_start_on_a_namenodes_directory() -> None:
    with pytest.raises(errors.InconsistentStorage, match="belongs to a NAME_NODE"):
        DatanodeVersion.parse(HADOOP_NAMENODE, "VERSION")


@pytest.mark.parametrize("layout_version", [-68, -62])
def test_another_layout_version_is_refused_by_number(layout_version: int) -> None:
    text = HADOOP_NAMENODE.replace("-67", str(layout_version))
    with pytest.raises(errors.IncorrectVersion, match=f"layout version {layout_version};"):
        NamenodeVersion.parse(text, "VERSION")


def test_an_older_layout_version_is_kept() -> None:
    parsed = NamenodeVersion.parse(HADOOP_NAMENODE.replace("-67", "-64"), "VERSION")
    assert parsed.layout_version == -64


def test_new_ids_have_the_form_of_hadoop() -> None:
    below = _seeded(1)
    uuid = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    assert re.fullmatch(f"CID-{uuid}", version.new_cluster_id(below))
    assert re.fullmatch(f"DS-{uuid}", version.new_storage_id(below))
    assert re.fullmatch(uuid, version.new_datanode_uuid(below))
    assert re.fullmatch(r"BP-\d+-10\.0\.0\.1-99", version.new_block_pool_id(below, "10.0.0.1", 99))


def test_a_namespace_id_is_a_positive_int() -> None:
    assert version.new_namespace_id(lambda limit: 0) == 1
    assert version.new_namespace_id(lambda limit: limit - 1) == (1 << 31) - 2
