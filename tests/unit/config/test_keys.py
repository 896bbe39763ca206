"""Keys and those who read them: no key is declared that does nothing, unsaid."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import howdah
from howdah.config import Configuration, keys
from howdah.config.keys.names import spelling
from howdah.config.value_types import Key
from tests.support.requirements.sources import tree_of

SOURCE = Path(howdah.__file__).parent
OPERATING = Path(__file__).parents[3] / "docs" / "operating.md"


def _names_read() -> Iterator[str]:
    """Each `keys.NAME` in the code."""
    for path in SOURCE.rglob("*.py"):
        if path.is_relative_to(SOURCE / "proto"):
            continue
        text = path.read_text()
        for node in ast.walk(tree_of(text)) if "keys." in text else ():
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "keys"
            ):
                yield node.attr


def test_a_declared_key_is_read_or_said_to_be_without_effect() -> None:
    read = set(_names_read())
    declared = {name: key for name, key in vars(keys).items() if isinstance(key, Key)}
    unread = {key.name for name, key in declared.items() if name not in read}
    assert unread == keys.WITHOUT_EFFECT.keys()


def test_the_guide_names_every_key_without_effect() -> None:
    guide = OPERATING.read_text()
    assert [name for name in keys.WITHOUT_EFFECT if f"`{name}`" not in guide] == []


def test_what_is_set_in_vain_is_told_with_the_reason() -> None:
    conf = Configuration({"dfs.namenode.handler.count": "64", "dfs.replication": "2"})
    assert list(conf.set_in_vain()) == [
        ("dfs.namenode.handler.count", "calls are served without a pool of threads")
    ]


def test_a_default_that_is_written_out_is_not_set_in_vain() -> None:
    conf = Configuration({"dfs.namenode.handler.count": "10", "ipc.client.ping": "true"})
    assert list(conf.set_in_vain()) == []


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("dfs.replicatoin", "dfs.replication"),
        ("fs.trash.intervall", "fs.trash.interval"),
        ("fs.defaultFs", "fs.defaultFS"),
        ("dfs.namenode.name.dirs", "dfs.namenode.name.dir"),
        ("howdah.client.hflush.todisk", "howdah.client.hflush.to-disk"),
        # Of Hadoop alone: it has no effect here, but it was not meant as it is written.
        ("dfs.client.failover.proxy.provder", "dfs.client.failover.proxy.provider"),
    ],
)
def test_a_typing_error_is_told_with_the_key_that_was_meant(written: str, key: str) -> None:
    assert spelling.closest_key(written) == key


def test_what_is_no_typing_error_is_left_alone() -> None:
    names = [
        *keys.KNOWN,
        *keys.DEPRECATED,
        "dfs.namenode.rpc-address.ns1.nn1",
        "dfs.client.failover.proxy.provider.ns1",
        "dfs.namenode.https-address",
        "hadoop.proxyuser.hive.hosts",
        "fs.viewfs.mounttable.home.link./data",
        "fs.s3a.access.key",
        "spark.executor.memory",
        "my.own.key",
        "dfs.something.altogether.different",
    ]
    assert [name for name in names if spelling.closest_key(name) is not None] == []


def test_names_that_users_complete_are_known_without_a_search() -> None:
    assert spelling.is_known("hadoop.proxyuser.hive.hosts")
    assert not spelling.is_known("hadoop.proxyuserhive.hosts")
