"""`/jmx`: beans of a server, under the names by which Hadoop's monitoring knows them (pure).

    /jmx                                                    all beans
    /jmx?qry=Hadoop:service=NameNode,name=FSNamesystem      some; `*` stands for anything
    /jmx?get=Hadoop:service=NameNode,name=FSNamesystem::FilesTotal      one figure

Hadoop's JMXJsonServlet. Each server makes its own beans; `monitoring` has those that all have.
"""

from __future__ import annotations

import json
from typing import Final

from howdah.web.http import Request, Response, answer, text_response

PATH: Final = "/jmx"
_MOST_CHARACTERS: Final = 500
_MOST_PARTS: Final = 32
Bean = dict[str, object]


def respond_beans(request: Request, beans: list[Bean]) -> Response:
    """Return the answer of a server that has these beans."""
    wanted = request.query.get("get")
    if wanted is not None:
        name, _, attribute = wanted.partition("::")
        bean = next((bean for bean in beans if bean["name"] == name), None)
        if bean is None or attribute not in bean:
            return text_response(404, f"there is no {wanted}")
        beans = [{key: bean[key] for key in ("name", "modelerType", attribute)}]
    else:
        pattern = request.query.get("qry", "*")
        if _is_too_long(pattern):
            return text_response(
                400, f"a query has at most {_MOST_CHARACTERS} characters and {_MOST_PARTS} keys"
            )
        beans = [bean for bean in beans if _matches(str(bean["name"]), pattern)]
    body = json.dumps({"beans": beans}, indent=2).encode()
    return answer(200, body, "application/json; charset=utf-8")


def _matches(name: str, pattern: str) -> bool:
    """As JMX compares names: the keys behind the domain may come in any order."""
    domain, _, keys = name.partition(":")
    wanted_domain, colon, wanted_keys = pattern.partition(":")
    if not _is_like(domain, wanted_domain):
        return False
    if not colon or wanted_keys == "*":
        return True
    have = set(keys.split(","))
    parts = wanted_keys.split(",")
    if "*" not in parts and len(parts) != len(have):
        return False
    return all(part == "*" or any(_is_like(key, part) for key in have) for part in parts)


def _is_like(text: str, pattern: str) -> bool:
    """As `fnmatch`, which would keep what strangers ask for: `*` stands for anything, `?` for one
    character.

    >>> _is_like("name=FSNamesystem", "name=FS*m"), _is_like("name=a", "name=b*")
    (True, False)
    """
    at = place = kept = 0
    star = -1
    while at < len(text):
        if place < len(pattern) and pattern[place] == "*":
            star, kept = place, at
            place += 1
        elif place < len(pattern) and pattern[place] in ("?", text[at]):
            at += 1
            place += 1
        elif star >= 0:
            # The last star stands for one character more.
            kept += 1
            at, place = kept, star + 1
        else:
            return False
    return not pattern[place:].strip("*")


def _is_too_long(pattern: str) -> bool:
    return len(pattern) > _MOST_CHARACTERS or pattern.count(",") >= _MOST_PARTS


def asks_for(request: Request, name: str) -> bool:
    """Whether the answer has the bean of this name, of those that are at `PATH`."""
    if request.path != PATH:
        return False
    wanted = request.query.get("get")
    if wanted is not None:
        return wanted.partition("::")[0] == name
    pattern = request.query.get("qry", "*")
    return not _is_too_long(pattern) and _matches(name, pattern)
