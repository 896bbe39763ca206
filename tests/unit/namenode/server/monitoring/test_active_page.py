"""The page of files of a namenode that stands by leads to the active one's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from howdah.config import Configuration
from howdah.namenode.server.web_ui.pages import find_active, places_of_others
from howdah.web.monitoring.health import respond_active
from howdah.web.pages import explorer
from howdah.web.server import HttpServer


@pytest.fixture
def ports() -> Iterator[list[int]]:
    """Two namenodes' web ports, the second one the active's."""
    answers = [lambda request: respond_active(False), lambda request: respond_active(True)]
    servers = [HttpServer(answer, timeout_s=10.0) for answer in answers]
    yield [server.start("127.0.0.1", 0) for server in servers]
    for server in servers:
        server.stop()


def conf_of(*ports: int) -> Configuration:
    """Of nn1, which stands by; the others are at these ports."""
    names = [f"nn{number}" for number in range(1, len(ports) + 2)]
    values = {
        "dfs.nameservices": "ns",
        "dfs.nameservice.id": "ns",
        "dfs.ha.namenodes.ns": ",".join(names),
        "dfs.ha.namenode.id": "nn1",
    }
    for name, port in zip(names, (1, *ports), strict=True):
        values[f"dfs.namenode.rpc-address.ns.{name}"] = "127.0.0.1:8020"
        values[f"dfs.namenode.http-address.ns.{name}"] = f"127.0.0.1:{port}"
    return Configuration(values)


def shown(conf: Configuration) -> str:
    places = places_of_others(conf, is_secure=False)
    body = explorer.standby_page("standby", places, find_active(conf, places))
    return "".join(str(each) for each in body)


def test_it_links_to_the_files_of_the_active_one(ports: list[int]) -> None:
    text = shown(conf_of(*ports))
    assert f'href="http://127.0.0.1:{ports[1]}/explorer"' in text
    assert f":{ports[0]}/" not in text
    assert "in the state standby" in text


def test_it_links_to_all_others_where_none_is_active(ports: list[int]) -> None:
    text = shown(conf_of(ports[0]))
    assert "None of the others says that it is active" in text
    assert f'href="http://127.0.0.1:{ports[0]}/explorer"' in text


def test_over_tls_it_leads_to_pages_over_tls() -> None:
    places = places_of_others(conf_of(5, 6), is_secure=True)
    assert set(places) == {"nn2", "nn3"}
    assert all(place.startswith("https://127.0.0.1:") for place in places.values())
