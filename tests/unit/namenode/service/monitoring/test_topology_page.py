"""`/topology`: racks and their datanodes, as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import replace

from howdah.namenode.service.monitoring.topology_page import asks_for_topology, respond
from howdah.testing.in_memory import InMemoryDatanode, InMemoryNamenode
from howdah.web.http import Request

PLACES = {"10.0.0.3": "/rack1", "10.0.0.1": "/rack0", "10.0.0.2": "/rack0"}


def asked(namenode: InMemoryNamenode, accepted: str = "*/*") -> tuple[str, str]:
    request = Request("GET", "/topology", headers={"accept": accepted})
    assert asks_for_topology(request)
    answer = respond(request, namenode.namesystem.datanode_manager.datanodes.live())
    assert answer.status == 200
    return answer.headers["Content-Type"], answer.body.decode()


def placed() -> InMemoryNamenode:
    namenode = InMemoryNamenode(racks=PLACES)
    for number, ip in enumerate(PLACES):
        node = InMemoryDatanode(namenode, f"dn{number}", ip, {f"DS-{number}": {}})
        node.register()
        if number:
            node.known.identity = replace(node.known.identity, hostname=f"worker{number}")
    return namenode


def test_racks_and_datanodes_are_in_order() -> None:
    kind, text = asked(placed())
    assert kind == "text/plain; charset=utf-8"
    assert text == (
        "Rack: /rack0\n   10.0.0.1:9866 (worker1)\n   10.0.0.2:9866 (worker2)\n\n"
        "Rack: /rack1\n   10.0.0.3:9866\n\n"
    )


def test_json_is_for_who_accepts_it() -> None:
    kind, text = asked(placed(), "text/html, application/json")
    assert kind == "application/json; charset=utf-8"
    assert json.loads(text) == [
        {
            "/rack0": [
                {"ip": "10.0.0.1:9866", "hostname": "worker1"},
                {"ip": "10.0.0.2:9866", "hostname": "worker2"},
            ]
        },
        {"/rack1": [{"ip": "10.0.0.3:9866"}]},
    ]


def test_cluster_without_datanodes_says_so_in_either_way() -> None:
    namenode = InMemoryNamenode()
    assert asked(namenode)[1] == "No DataNodes"
    assert asked(namenode, "application/json")[1] == "No DataNodes"


def test_nobody_posts_a_topology() -> None:
    assert asks_for_topology(Request("HEAD", "/topology"))
    assert not asks_for_topology(Request("POST", "/topology"))
    assert not asks_for_topology(Request("GET", "/topology/more"))
