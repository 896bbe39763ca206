"""Where the pages of the active namenode are, by what the configuration says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.fs.hdfs import pages
from howdah.fs.hdfs.pages import pages_of_active, unreachable
from howdah.runtime.tls.http_policy import Place

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
        ("nn:8020", {}, ("nn", 9870)),
        ("[::1]:8020", {}, ("::1", 9870)),
        ("nn", {}, ("nn", 9870)),
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


def test_pages_of_the_namenode_of_the_files_are_not_taken_for_those_of_another(
    tmp_path: Path,
) -> None:
    values = {"fs.defaultFS": "hdfs://127.0.0.1:8020", "dfs.namenode.http-address": "127.0.0.1:1"}
    (tmp_path / "core-site.xml").write_text(Configuration(values).to_xml())
    other = Configuration.load(tmp_path, {"fs.defaultFS": "hdfs://127.0.0.2:8020"})
    with pytest.raises(errors.InvalidConfiguration, match=r"-D dfs\.namenode\.http-address="):
        pages_of_active("127.0.0.2:8020", other)
    same = Configuration.load(tmp_path, {"fs.defaultFS": "hdfs://localhost:8020"})
    assert pages_of_active("localhost:8020", same) == Place(False, "127.0.0.1", 1)
    said = other.with_values({"dfs.namenode.http-address": "127.0.0.1:2"}, source="command line")
    assert pages_of_active("127.0.0.2:8020", said) == Place(False, "127.0.0.1", 2)
    assert pages_of_active("127.0.0.1:8020", Configuration.load(tmp_path)).port == 1


def test_silent_pages_at_the_usual_port_name_the_key_that_is_missing() -> None:
    place = Place(False, "nn", 9870)
    assert "dfs.namenode.http-address is not configured" in unreachable(place, Configuration())
    secure = Place(True, "nn", 9871)
    assert "dfs.namenode.https-address" in unreachable(secure, Configuration())
    assert unreachable(place, Configuration({"dfs.namenode.http-address": "nn:9870"})) == ""
