"""Keys of Hadoop's that ask for a protection which no server here has.

A server that would ignore such a key leaves open what its administrator takes for closed. So
it does not start where a file asks for more than the values that stand beside the key, which
ask for nothing. Keys that loosen something are not here: to ignore them is safe.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple


class Guard(NamedTuple):
    """The values that ask for nothing, in lower case, and why there is no more."""

    harmless: frozenset[str]
    reason: str

    def asked_for(self, value: str) -> list[str]:
        """What of the value, which may be a list of classes, asks for a protection."""
        words = [word.strip() for word in value.replace("\n", ",").split(",")]
        return [word for word in words if word and _short(word) not in self.harmless]


def _short(word: str) -> str:
    """Without the package of a class."""
    return word.rpartition(".")[2].lower()


def _guard(harmless: Iterable[str], reason: str) -> Guard:
    return Guard(frozenset(harmless), reason)


_NO_FILTERS: Final = "its pages and WebHDFS have no filters of Hadoop's classes"
_ANYBODY: Final = "its pages and WebHDFS believe the name that a caller gives"

GUARDS: Final[dict[str, Guard]] = {
    "dfs.data.transfer.protection": _guard((), "blocks are sent in the clear"),
    "dfs.datanode.httpserver.filter.handlers": _guard(
        ("restcsrfpreventionfilterhandler",), _NO_FILTERS
    ),
    "dfs.encrypt.data.overwrite.downstream.derived.qop": _guard(
        ("false",),
        "datanodes call each other by dfs.data.transfer.protection, whatever the client chose",
    ),
    "dfs.namenode.send.qop.enabled": _guard(
        ("false",),
        "block tokens carry no protection: at data ports dfs.data.transfer.protection holds",
    ),
    "dfs.namenode.inode.attributes.provider.class": _guard(
        (), "permissions are those of the namespace alone: no other authorizer is asked"
    ),
    "dfs.namenode.reject-unresolved-dn-topology-mapping": _guard(
        ("false",), "a datanode whose rack is not known is on /default-rack"
    ),
    "dfs.web.authentication.simple.anonymous.allowed": _guard(("true",), _ANYBODY),
    "hadoop.http.authentication.simple.anonymous.allowed": _guard(("true",), _ANYBODY),
    "hadoop.http.authentication.type": _guard(("simple",), _ANYBODY),
    "hadoop.http.filter.initializers": _guard(
        ("staticuserwebfilter", "crossoriginfilterinitializer", "httpcrossoriginfilterinitializer"),
        _NO_FILTERS,
    ),
    "hadoop.rpc.protection": _guard(
        ("authentication",), "calls are neither signed nor encrypted without Kerberos"
    ),
    "hadoop.security.group.mapping": _guard(
        (
            "jnibasedunixgroupsmapping",
            "jnibasedunixgroupsmappingwithfallback",
            "jnibasedunixgroupsnetgroupmapping",
            "jnibasedunixgroupsnetgroupmappingwithfallback",
            "shellbasedunixgroupsmapping",
            "shellbasedunixgroupsnetgroupmapping",
        ),
        "groups are those of the machine, with hadoop.user.group.static.mapping.overrides",
    ),
    "hadoop.security.instrumentation.requires.admin": _guard(
        ("false",), "everybody may look at its figures and logs"
    ),
    "hadoop.ssl.require.client.cert": _guard(
        ("false",), "clients are asked for a certificate with dfs.client.https.need-auth alone"
    ),
    "hadoop.zk.ssl.enabled": _guard(
        ("false",), "ZooKeeper is spoken to with TLS for failover alone (dfs.ha.zkfc.client.ssl)"
    ),
}
