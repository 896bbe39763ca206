"""`/topology`: the racks of the cluster, each with its live datanodes (pure).

Hadoop's NetworkTopologyServlet. Text, as `dfsadmin -printTopology` has it without states; or JSON
for a client that accepts it:

    [{"/rack0": [{"ip": "10.0.0.1:9866", "hostname": "worker1"}, …]}, …]

Racks and addresses are sorted as text. The host name is the one that the datanode registered
with, and is left out where that is its address.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from howdah.namenode.state.blocks.datanodes import Datanode
from howdah.web.http import Request, Response, answer

PATH: Final = "/topology"
NOBODY: Final = "No DataNodes"
"""Said in text and in JSON alike."""


def asks_for_topology(request: Request) -> bool:
    """Whether the request is for this page."""
    return request.path == PATH and request.method in ("GET", "HEAD")


def respond(request: Request, datanodes: Iterable[Datanode]) -> Response:
    """The page for these datanodes."""
    racks: dict[str, list[dict[str, str]]] = {}
    for node in sorted(datanodes, key=lambda node: node.name):
        shown = {"ip": node.name}
        if node.identity.hostname not in ("", node.identity.ip):
            shown["hostname"] = node.identity.hostname
        racks.setdefault(node.location, []).append(shown)
    is_json = "json" in request.headers.get("accept", "")
    if not racks:
        body = NOBODY
    elif is_json:
        body = json.dumps([{rack: racks[rack]} for rack in sorted(racks)])
    else:
        body = "".join(_paragraph(rack, racks[rack]) for rack in sorted(racks))
    kind = "application/json" if is_json else "text/plain"
    return answer(200, body.encode(), f"{kind}; charset=utf-8")


def _paragraph(rack: str, nodes: list[dict[str, str]]) -> str:
    lines = [f"Rack: {rack}"]
    for node in nodes:
        name = f" ({node['hostname']})" if "hostname" in node else ""
        lines.append(f"   {node['ip']}{name}")
    return "\n".join(lines) + "\n\n"
