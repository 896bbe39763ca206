"""Configuration files as Hadoop reads them (pure)."""

from __future__ import annotations

from collections.abc import Mapping


def site_file(values: Mapping[str, str]) -> str:
    """Write the text of a site file with these values."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<configuration>"]
    for name, value in values.items():
        lines += [
            "  <property>",
            f"    <name>{_escape(name)}</name>",
            f"    <value>{_escape(value)}</value>",
            "  </property>",
        ]
    return "\n".join([*lines, "</configuration>", ""])


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
