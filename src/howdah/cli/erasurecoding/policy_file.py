"""Reads the file of `howdah ec -addPolicies`. Hadoop: ECPolicyLoader.

A `configuration` has a `layoutversion`, which is 1, `schemas`, each with an id, codec, k and m and
whatever else its options are, and `policies`, each with the id of a schema and the length of its
cells.
"""

from __future__ import annotations

import urllib.request
import xml.etree.ElementTree as ElementTree
from typing import Final

from howdah.cli.arguments.admin_commands import Nonsense
from howdah.protocol.striping.policies import KIB, Policy, Schema

_LAYOUT_VERSION: Final = 1
_NO_ID: Final = -1


def read_policies(location: str) -> list[Policy]:
    """Read the policies of a file, by its absolute path or a URL.

    Raises `Nonsense` for a file that cannot be read, or is none of these.
    """
    try:
        root = ElementTree.fromstring(_content(location))
    except (OSError, ValueError, ElementTree.ParseError) as error:
        raise Nonsense(
            f"RuntimeException: Failed to load EC policy file: {location}: {error}"
        ) from None
    if root.tag != "configuration":
        raise _bad("top-level element not <configuration>")
    version = _number(root.findtext("layoutversion"), "layoutversion")
    if version != _LAYOUT_VERSION:
        raise _bad("the parse failed because of bad layoutversion value")
    schemas = {
        element.get("id", ""): _schema(element) for element in root.iterfind("schemas/schema")
    }
    if not schemas:
        raise _bad("no schemas")
    return [_policy(element, schemas) for element in root.iterfind("policies/policy")]


def _content(location: str) -> bytes:
    if location.startswith("/"):
        with open(location, "rb") as file:
            return file.read()
    if "://" not in location:
        raise ValueError("it must be an absolute path or a URL")
    with urllib.request.urlopen(location) as answer:
        content: bytes = answer.read()
        return content


def _bad(why: str) -> Nonsense:
    return Nonsense(f"RuntimeException: Bad EC policy configuration file: {why}")


def _number(text: str | None, field: str) -> int:
    try:
        return int((text or "").strip())
    except ValueError:
        raise _bad(f"{field} is {text!r}, which is no number") from None


def _schema(element: ElementTree.Element) -> Schema:
    values = {child.tag: (child.text or "").strip() for child in element}
    codec = values.pop("codec", "")
    data_units = _number(values.pop("k", None), "k")
    parity_units = _number(values.pop("m", None), "m")
    if not codec or data_units <= 0 or parity_units <= 0:
        raise _bad(f"schema {element.get('id')} needs a codec, and k and m above 0")
    return Schema(codec, data_units, parity_units, values)


def _policy(element: ElementTree.Element, schemas: dict[str, Schema]) -> Policy:
    name = (element.findtext("schema") or "").strip()
    schema = schemas.get(name)
    if schema is None:
        raise _bad(f"policy has no schema {name!r}")
    cell_bytes = _number(element.findtext("cellsize"), "cellsize")
    if cell_bytes <= 0 or cell_bytes % KIB:
        raise Nonsense("IllegalArgumentException: cellSize must be 1024 aligned")
    return Policy(_NO_ID, schema, cell_bytes)
