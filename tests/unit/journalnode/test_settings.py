"""What a node takes from its configuration, and the addresses of journals."""

from __future__ import annotations

from pathlib import Path

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.config.journal_uri import JournalUri, check_journal_id, is_journal_uri
from howdah.journalnode.node import JournalDirectories
from howdah.journalnode.settings import quorums

URI = "qjournal://a:1;b;[::1]:3/ns1"


def test_an_address_names_nodes_and_a_journal() -> None:
    uri = JournalUri.parse(f" {URI} ")
    assert uri.nodes == (("a", 1), ("b", 8485), ("::1", 3))
    assert uri.journal_id == "ns1"
    assert is_journal_uri(URI)
    assert not is_journal_uri("file:///shared")


@pytest.mark.parametrize(
    "text",
    [
        "file:///shared",
        "qjournal://a;b;c",
        "qjournal://a;b;c/",
        "qjournal:///ns1",
        "qjournal://a;;c/ns1",
        "qjournal://a:x/ns1",
        "qjournal://a;b;a/ns1",
        "qjournal://a;b;c/ns1/more",
        "qjournal://a;b;c/../ns1",
    ],
)
def test_what_is_no_address_is_quoted(text: str) -> None:
    with pytest.raises(errors.IllegalArgument):
        JournalUri.parse(text)


@pytest.mark.parametrize(
    "journal_id",
    ["", ".", "..", ".hidden", "a/b", "/etc", "a\\b", "a\0b", "a\nb", "x" * 256, "é" * 128],
)
def test_an_id_is_a_name_and_no_path(journal_id: str) -> None:
    with pytest.raises(errors.IllegalArgument, match="bad journal identifier"):
        check_journal_id(journal_id)


def test_the_nodes_of_a_journal_are_those_of_any_nameservice_and_namenode() -> None:
    conf = Configuration(
        {
            "dfs.namenode.shared.edits.dir.ns1.nn1": "qjournal://a;b;c/ns1",
            "dfs.namenode.shared.edits.dir.ns1.nn2": "qjournal://c;b;a/ns1",
            "dfs.namenode.shared.edits.dir.ns2": "qjournal://d;e;f/ns2",
            "dfs.namenode.shared.edits.dir": "file:///shared",
        }
    )
    found = quorums(conf)
    assert set(found) == {"ns1", "ns2"}
    assert set(found["ns1"]) == {("a", 8485), ("b", 8485), ("c", 8485)}


def test_two_sets_of_nodes_for_one_journal_are_refused() -> None:
    conf = Configuration(
        {
            "dfs.namenode.shared.edits.dir.ns1.nn1": "qjournal://a;b;c/ns1",
            "dfs.namenode.shared.edits.dir.ns1.nn2": "qjournal://a;b;d/ns1",
        }
    )
    with pytest.raises(errors.InvalidConfiguration, match="ns1 has other nodes"):
        quorums(conf)


def test_a_nameservice_may_have_its_own_directory() -> None:
    conf = Configuration(
        {
            "dfs.nameservices": "ns1,ns2",
            "dfs.journalnode.edits.dir": "/data/jn",
            "dfs.journalnode.edits.dir.ns2": "/data/two",
        }
    )
    directories = JournalDirectories.of(conf)
    assert directories.of_nameservice("ns1") == Path("/data/jn")
    assert directories.of_nameservice("ns2") == Path("/data/two")
    assert directories.all() == [Path("/data/jn"), Path("/data/two")]


@pytest.mark.parametrize("value", ["relative/path", "/a,/b"])
def test_a_directory_is_one_absolute_path(value: str) -> None:
    with pytest.raises(errors.InvalidConfiguration, match="one absolute path"):
        JournalDirectories.of(Configuration({"dfs.journalnode.edits.dir": value}))
