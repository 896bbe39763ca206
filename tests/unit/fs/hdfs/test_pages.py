"""Where the pages of the active namenode are, by what the configuration says."""

from __future__ import annotations

from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.fs.hdfs import pages
from howdah.fs.hdfs.pages import pages_of_active
from howdah.tls.places import Place

HA = {
    "dfs.nameservices": "east,west",
    "dfs.ha.namenodes.east": "nn1,nn2",
    "dfs.namenode.rpc-address.east.nn1": "e1:8020",
    "dfs.namenode.rpc-address.east.nn2": "e2:8020",
    "dfs.namenode.http-address.east.nn2": "e2:1234",
    "dfs.namenode.rpc-address.west": "w:8020",
    "dfs.namenode.http-address.west": "0.0.0.0:4321",
}


@pytest.mark.parametrize(
    ("authority", "values", "found"),
    [
        ("nn:8020", {}, ("127.0.0.1", 9870)),
        ("nn:8020", {"dfs.namenode.http-address": "web:80"}, ("web", 80)),
        ("nn:8020", {"dfs.namenode.http-address": "0.0.0.0:80"}, ("nn", 80)),
        ("[::1]:8020", {"dfs.namenode.http-address": "0.0.0.0:80"}, ("::1", 80)),
        ("e2:8020", HA, ("e2", 1234)),
        ("e1:8020", HA, ("e1", 9870)),
        ("west", HA, ("w", 4321)),
    ],
)
def test_the_address_is_the_one_of_that_namenode(
    authority: str, values: dict[str, str], found: tuple[str, int]
) -> None:
    assert pages_of_active(authority, Configuration(values)) == Place(False, *found)


def test_of_several_namenodes_it_is_the_active_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def is_active(name: str | None) -> Any:
        return lambda namenodes: name if namenodes else pytest.fail("there are two")

    monkeypatch.setattr(pages, "active_of", is_active("nn2"))
    assert pages_of_active("east", Configuration(HA)) == Place(False, "e2", 1234)
    monkeypatch.setattr(pages, "active_of", is_active(None))
    with pytest.raises(errors.RemoteError, match="no namenode of east is active"):
        pages_of_active("east", Configuration(HA))
