"""What a server was configured with, as it shows it."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from howdah.web.configuration import Property, respond_conf
from howdah.web.http import Request

PROPERTIES = [
    Property("fs.defaultFS", "hdfs://nn:8020", "core-site.xml"),
    Property("dfs.replication", "3", "default"),
    Property("a.b", "1 < 2 & 3", "code"),
    Property("fs.s3a.secret.key", "hunter2", "core-site.xml"),
]


def asked(accept: str = "", **query: str) -> tuple[str, str]:
    request = Request("GET", "/conf", query, {"accept": accept})
    answer = respond_conf(request, PROPERTIES)
    return str(answer.status), answer.body.decode()


def test_xml_is_what_hadoop_reads() -> None:
    found = {
        each.findtext("name"): (each.findtext("value"), each.findtext("source"))
        for each in ET.fromstring(asked()[1])
    }
    assert found["a.b"] == ("1 < 2 & 3", "code")
    assert found["dfs.replication"] == ("3", "default")


@pytest.mark.parametrize("how", [{"format": "json"}, {"accept": "application/json"}])
def test_json_is_for_scripts(how: dict[str, str]) -> None:
    shown = json.loads(asked(**how)[1])["properties"]
    assert shown[1] == {
        "key": "dfs.replication",
        "value": "3",
        "isFinal": False,
        "resource": "default",
    }


def test_secrets_stay_hidden() -> None:
    assert "hunter2" not in asked()[1]
    assert "hunter2" not in asked(name="fs.s3a.secret.key", format="json")[1]


def test_one_key_can_be_asked_for() -> None:
    assert len(json.loads(asked(name="a.b", format="json")[1])["properties"]) == 1
    assert asked(name="no.such.key")[0] == "404"


def test_other_formats_are_refused() -> None:
    assert asked(format="yaml")[0] == "400"
