"""Beans that are asked for by a pattern, of whatever length."""

from __future__ import annotations

import fnmatch
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.web.http import Request
from howdah.web.jmx import Bean, _is_like, asks_for, respond_beans

NAME = "Hadoop:service=NameNode,name=FSNamesystem"
BEANS: list[Bean] = [{"name": NAME, "modelerType": "x"}]


def names(query: str) -> list[str]:
    response = respond_beans(Request("GET", "/jmx", {"qry": query}), list(BEANS))
    assert response.status == 200
    return [bean["name"] for bean in json.loads(bytes(response.body))["beans"]]


@pytest.mark.parametrize(
    ("query", "is_asked_for"),
    [
        (NAME, True),
        ("Hadoop:name=FSNamesystem,service=NameNode", True),
        ("Hadoop:*", True),
        ("Had*", True),
        ("Hadoop:name=FS*,*", True),
        ("Hadoop:name=FSNamesystem", False),
        ("Hadoop:service=DataNode,name=FSNamesystem", False),
        ("java.lang:*", False),
    ],
)
def test_the_keys_of_a_name_may_come_in_any_order(query: str, is_asked_for: bool) -> None:
    assert names(query) == [NAME] * is_asked_for
    assert asks_for(Request("GET", "/jmx", {"qry": query}), NAME) is is_asked_for


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=8))
def test_a_pattern_is_a_shells(pattern: str, text: str) -> None:
    assert _is_like(text, pattern) is fnmatch.fnmatchcase(text, pattern)


@pytest.mark.parametrize("query", ["x" * 60_000, "Hadoop:" + "n*," * 100])
def test_a_query_that_is_too_long_is_refused_and_not_kept(query: str) -> None:
    request = Request("GET", "/jmx", {"qry": query})
    assert respond_beans(request, list(BEANS)).status == 400
    assert not asks_for(request, NAME)
