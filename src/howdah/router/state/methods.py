"""What a router does with each method of ClientProtocol (pure).

By the table of `howdah.protocol.client_methods`: what is more than sending one request on, with
its path translated, is a method of one of the modules in `router.calls`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.client_methods import METHODS, Category, Observer, Route, Trait

DESCRIPTOR: Final = pb.DESCRIPTOR.services_by_name["ClientNamenodeProtocol"]
ANSWERS: Final[Mapping[str, type[Message]]] = {
    method.name: GetMessageClass(method.output_type) for method in DESCRIPTOR.methods
}

ONE: Final[Mapping[str, str]] = {
    m: row.path for m, row in METHODS.items() if row.route is Route.ONE
}
"""Methods that go to one destination, and the field of their request with the path."""

EVERY: Final[Mapping[str, str]] = {
    m: row.path for m, row in METHODS.items() if row.route is Route.EVERY
}
"""The same of methods that go to all destinations."""

QUOTA_COUNTS: Final = frozenset(m for m, row in METHODS.items() if Trait.GROWS in row.traits)
"""Methods that may make a directory larger, and are refused where a quota is reached."""

UNCHECKED: Final = frozenset(
    m
    for m, row in METHODS.items()
    if row.category in (Category.UNCHECKED, None)
    or row.observer is Observer.UNCOORDINATED
    or m == "msync"
)
"""Methods that any namenode answers, or that ask about the cluster."""

REFUSED: Final = frozenset(m for m, row in METHODS.items() if row.route is Route.REFUSED)


def is_write(method: str) -> bool:
    """Whether a router in safe mode refuses it, and a mount point that is read-only."""
    return METHODS[method].category != Category.READ and method not in UNCHECKED
