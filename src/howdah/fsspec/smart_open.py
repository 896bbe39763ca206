"""`howdah://` for smart_open, which knows HDFS by the command `hdfs` of a Hadoop only.

    smart_open.transport.register_transport("howdah.fsspec.smart_open")
    smart_open.open("howdah://host:8020/a.gz", "rt")

`transport_params` are the options of `howdah.fsspec.HowdahFileSystem`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from howdah.fsspec.filesystem import HowdahFileSystem

SCHEME = "howdah"
URI_EXAMPLES = ("howdah://host:8020/path/file", "howdah://user@host:8020/path/file")


def parse_uri(uri_as_string: str) -> dict[str, Any]:
    """The filesystem's options and the path that a URI names."""
    options = HowdahFileSystem._get_kwargs_from_urls(uri_as_string)
    path = HowdahFileSystem._strip_protocol(uri_as_string)
    return {"scheme": SCHEME, "uri_path": path, "options": options}


def open_uri(uri: str, mode: str, transport_params: Mapping[str, Any]) -> Any:
    """Open what a URI names."""
    parsed = parse_uri(uri)
    return open(parsed["uri_path"], mode, **{**parsed["options"], **transport_params})


def open(path: str, mode: str, **options: Any) -> Any:
    """Open a path; the rest are options of the filesystem."""
    return HowdahFileSystem(**options).open(path, mode)
