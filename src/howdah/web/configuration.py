"""`/conf`: what a server was configured with, as Hadoop's servers show it (pure).

XML, or JSON with `?format=json` or an Accept header that asks for it; `?name=KEY` for one
key. Values whose key says that they are secret are not shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

from howdah.config import keys
from howdah.web.http import Request, Response, answer, text_response

PATH: Final = "/conf"
_SECRET: Final = re.compile(r"secret|password|passwd|credential|token|ssl\.key|access\.?key", re.I)
_HIDDEN: Final = "<redacted>"


@dataclass(frozen=True, slots=True)
class Property:
    """One key; `source` is a file, `default`, or whatever set it."""

    name: str
    value: str
    source: str


def respond_conf(request: Request, properties: Iterable[Property]) -> Response:
    """Return the answer to a GET of `PATH`."""
    ordered = sorted(properties, key=lambda setting: setting.name)
    shown = without_secrets(ordered)
    name = request.query.get("name")
    if name is not None:
        shown = [setting for setting in shown if setting.name == name]
        if not shown:
            return text_response(404, f"Property {name} not found")
    wanted = request.query.get("format")
    accepts_json = "application/json" in request.headers.get("accept", "")
    if wanted not in (None, "json", "xml"):
        return text_response(400, f"Bad format: {wanted}")
    if wanted == "json" or (wanted is None and accepts_json):
        body = _as_json(shown).encode()
        return answer(200, body, "application/json; charset=utf-8")
    return answer(200, _as_xml(shown).encode(), "text/xml; charset=utf-8")


def _further_patterns(properties: Iterable[Property]) -> list[re.Pattern[str]]:
    """Return the patterns of `hadoop.security.sensitive-config-keys`: what the administrator calls
    a secret."""
    name = keys.HADOOP_SECURITY_SENSITIVE_CONFIG_KEYS.name
    listed = next((setting.value for setting in properties if setting.name == name), "")
    patterns = []
    for word in re.split(r"[,\s]+", listed):
        try:
            patterns += [re.compile(word)] if word else []
        except re.error:
            patterns.append(re.compile(re.escape(word)))
    return patterns


def without_secrets(properties: Iterable[Property]) -> list[Property]:
    """Return the properties without the values of keys that are secret by their names, or by a
    setting of an administrator."""
    listed = list(properties)
    further = _further_patterns(listed)
    return [without_secret(setting, further) for setting in listed]


def without_secret(setting: Property, further: Iterable[re.Pattern[str]] = ()) -> Property:
    """Return the property, without its value where the key says that it is a secret."""
    if _SECRET.search(setting.name) or any(pattern.search(setting.name) for pattern in further):
        return Property(setting.name, _HIDDEN, setting.source)
    return setting


def _as_json(properties: list[Property]) -> str:
    return json.dumps(
        {
            "properties": [
                {"key": p.name, "value": p.value, "isFinal": False, "resource": p.source}
                for p in properties
            ]
        }
    )


def _as_xml(properties: list[Property]) -> str:
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<configuration>"]
    lines += [
        f"<property><name>{escape(p.name)}</name><value>{escape(p.value)}</value>"
        f"<final>false</final><source>{escape(p.source)}</source></property>"
        for p in properties
    ]
    return "\n".join([*lines, "</configuration>", ""])
