"""`/jmx`: beans of a server, under the names by which Hadoop's monitoring knows them (pure).

    /jmx                                                    all beans
    /jmx?qry=Hadoop:service=NameNode,name=FSNamesystem      some; `*` stands for anything
    /jmx?get=Hadoop:service=NameNode,name=FSNamesystem::FilesTotal      one figure

Hadoop's JMXJsonServlet. Each server makes its own beans; `monitoring` has those that all have.
"""

from __future__ import annotations

import fnmatch
import json
from typing import Final

from howdah.web.http import Request, Response, answer, text_response

PATH: Final = "/jmx"
Bean = dict[str, object]


def respond_beans(request: Request, found: list[Bean]) -> Response:
    """The answer of a server that has these beans."""
    wanted = request.query.get("get")
    if wanted is not None:
        name, _, attribute = wanted.partition("::")
        bean = next((bean for bean in found if bean["name"] == name), None)
        if bean is None or attribute not in bean:
            return text_response(404, f"there is no {wanted}")
        found = [{key: bean[key] for key in ("name", "modelerType", attribute)}]
    else:
        pattern = request.query.get("qry", "*")
        found = [bean for bean in found if _matches(str(bean["name"]), pattern)]
    body = json.dumps({"beans": found}, indent=2).encode()
    return answer(200, body, "application/json; charset=utf-8")


def _matches(name: str, pattern: str) -> bool:
    """As JMX compares names: the keys behind the domain may come in any order."""
    domain, _, keys = name.partition(":")
    wanted_domain, colon, wanted_keys = pattern.partition(":")
    if not fnmatch.fnmatchcase(domain, wanted_domain):
        return False
    if not colon or wanted_keys == "*":
        return True
    have = set(keys.split(","))
    parts = wanted_keys.split(",")
    return all(part == "*" or fnmatch.filter(have, part) for part in parts) and (
        "*" in parts or len(parts) == len(have)
    )


def asks_for(request: Request, name: str) -> bool:
    """Whether the answer has the bean of this name, of those that are at `PATH`."""
    if request.path != PATH:
        return False
    wanted = request.query.get("get")
    if wanted is not None:
        return wanted.partition("::")[0] == name
    return _matches(name, request.query.get("qry", "*"))
