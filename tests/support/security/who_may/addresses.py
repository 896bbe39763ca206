"""The addresses of every web port and the operations of WebHDFS, and who may ask for them (pure).

Addresses are those of the tables by which servers admit requests, operations those of the table by
which WebHDFS reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from howdah.datanode import web_access as datanode
from howdah.gateway import security as gateway
from howdah.journalnode import web_access as journalnode
from howdah.namenode.server import web_access as namenode
from howdah.namenode.server.process import secondary_security as secondary
from howdah.router import web_access as router
from howdah.web.access.rules import AccessRules
from howdah.web.access.rules import Rule as WebRule
from howdah.web.webhdfs.parameters import OPERATIONS, PREFIX
from tests.support.security.who_may.askers import Asker
from tests.support.security.who_may.calls import ALLOWED, Rule
from tests.support.security.who_may.requests import DIRECTORY

PORTS: Final[Mapping[str, AccessRules]] = {
    "namenode": namenode.RULES,
    "datanode": datanode.RULES,
    "journalnode": journalnode.RULES,
    "controller": AccessRules({}),
    "secondary": secondary.RULES,
    "router": router.RULES,
    "gateway": gateway.RULES,
}
WEB_FRONTS: Final = ("secondary", "router", "gateway")
"""Those of what stands before a cluster, or beside a single namenode."""
_PROVEN: Final = frozenset(Asker) - {Asker.NOBODY, Asker.FORGED, Asker.EXPIRED, Asker.TOKEN}
_SERVERS: Final = frozenset({Asker.DATANODE, Asker.FOREIGN_DATANODE, Asker.JOURNALNODE})
_BY_TOKEN: Final = frozenset({Asker.FORGED, Asker.EXPIRED, Asker.TOKEN})
_FETCHERS: Final[Mapping[str, frozenset[Asker]]] = {
    "namenode": frozenset({Asker.NAMENODE, Asker.ADMINISTRATOR}),
    "journalnode": frozenset({Asker.NAMENODE, Asker.JOURNALNODE, Asker.ADMINISTRATOR}),
}
_ADMINISTRATORS: Final = frozenset({Asker.NAMENODE, Asker.ADMINISTRATOR})
OK: Final = 200
"""Stands for all answers that have nothing to do with who asks."""
UNAUTHORIZED: Final = 401
FORBIDDEN: Final = 403
BAD_REQUEST: Final = 400


@dataclass(frozen=True, slots=True)
class WebRow:
    """An address of a web port."""

    port: str
    path: str
    rule: WebRule

    def __str__(self) -> str:
        return f"{self.port}-{self.path}"

    def target(self, namenode: str) -> str:
        """What is asked for there. A datanode is told which `namenode` it has to ask."""
        if self.rule is WebRule.TOKEN:
            return f"{PREFIX}{DIRECTORY}/absent?op=OPEN&namenoderpcaddress={namenode}"
        if self.path == PREFIX:
            return f"{PREFIX}/?op=GETHOMEDIRECTORY"
        return f"{self.path}?path=/user/alice" if self.path == "/fsck" else self.path


WEB_ROWS: Final = tuple(
    WebRow(port, path, rule) for port, rules in PORTS.items() for path, rule in rules.table.items()
)


def expected_status(row: WebRow, who: Asker) -> int:
    """The status of the answer; `OK` stands for all but refusals."""
    allowed: frozenset[Asker]
    match row.rule:
        case WebRule.OPEN:
            allowed = frozenset(Asker)
        case WebRule.PAGE | WebRule.FIGURES:
            allowed = _PROVEN
        case WebRule.USER:
            allowed = _PROVEN - _SERVERS
            if row.path == "/fsck":
                allowed -= {Asker.PROXY}  # It is done as the user who is named.
        case WebRule.FILES:
            allowed = _PROVEN - _SERVERS - {Asker.PROXY} | {Asker.TOKEN}
        case WebRule.ADMINISTRATOR:
            allowed = _ADMINISTRATORS
        case WebRule.SERVERS:
            allowed = _FETCHERS[row.port]
        case WebRule.TOKEN:
            allowed = frozenset({Asker.TOKEN})
    if who in allowed:
        return OK
    takes_tokens = row.rule in (WebRule.FILES, WebRule.TOKEN)
    if row.rule is not WebRule.TOKEN and (
        who is Asker.NOBODY or (who in _BY_TOKEN and not takes_tokens)
    ):
        return UNAUTHORIZED
    return FORBIDDEN


# -- WebHDFS -----------------------------------------------------------------------

ENABLED_POLICY: Final = "RS-3-2-1024k"
"""An erasure coding policy that is enabled where this is asked, and stays so."""
_PARAMETERS: Final[Mapping[str, str]] = {
    "encoding": "text",
    "fsaction": "r--",
    "destination": f"{DIRECTORY}/elsewhere",
    "token": "",
    "aclspec": "user:bob:r--",
    "xattr.name": "user.a",
    "flag": "CREATE",
    "ecpolicy": "RS-6-3-1024k",
    "oldsnapshotname": "s0",
    "snapshotname": "s",
    "storagetype": "DISK",
    "sources": f"{DIRECTORY}/other",
    "newlength": "0",
}
_OPTIONS: Final[Mapping[str, str]] = {
    "CREATE": "noredirect=true",
    "APPEND": "noredirect=true",
    "OPEN": "noredirect=true",
    "SETQUOTA": "namespacequota=1000000",
    "SETQUOTABYSTORAGETYPE": "storagespacequota=1000000000000",
    "SETOWNER": "owner=alice",
    "SETPERMISSION": "permission=700",
    "SETSTORAGEPOLICY": "storagepolicy=HOT",
}
_OPERATIONS: Final[Mapping[Rule, str]] = {
    Rule.EVERYBODY: """
        GETHOMEDIRECTORY GETTRASHROOTS GETALLSTORAGEPOLICY GETECPOLICIES GETECCODECS
        GETSERVERDEFAULTS GETSNAPSHOTTABLEDIRECTORYLIST GETSTATUS CREATE
    """,
    Rule.OWNER: """
        GETTRASHROOT
        OPEN GETFILESTATUS LISTSTATUS LISTSTATUS_BATCH GETCONTENTSUMMARY GETQUOTAUSAGE
        GETFILECHECKSUM GET_BLOCK_LOCATIONS GETFILEBLOCKLOCATIONS GETACLSTATUS GETXATTRS LISTXATTRS
        GETSTORAGEPOLICY GETECPOLICY CHECKACCESS GETSNAPSHOTDIFF GETSNAPSHOTDIFFLISTING
        GETSNAPSHOTLIST GETLINKTARGET GETFILELINKSTATUS
        MKDIRS RENAME SETREPLICATION SETOWNER SETPERMISSION SETTIMES
        MODIFYACLENTRIES REMOVEACLENTRIES REMOVEDEFAULTACL REMOVEACL SETACL SETXATTR REMOVEXATTR
        SETECPOLICY CREATESNAPSHOT RENAMESNAPSHOT SETSTORAGEPOLICY SATISFYSTORAGEPOLICY
        APPEND CONCAT TRUNCATE UNSETECPOLICY UNSETSTORAGEPOLICY DELETE DELETESNAPSHOT
    """,
    Rule.SUPERUSER: """
        ENABLEECPOLICY DISABLEECPOLICY ALLOWSNAPSHOT DISALLOWSNAPSHOT SETQUOTA SETQUOTABYSTORAGETYPE
    """,
    Rule.TICKET: "GETDELEGATIONTOKEN",
    Rule.RENEWER: "RENEWDELEGATIONTOKEN",
    Rule.TOKENS_OWNER: "CANCELDELEGATIONTOKEN",
    # Unless `howdah.client.symlinks.enabled` is set.
    Rule.NOT_SERVED: "CREATESYMLINK",
}


@dataclass(frozen=True, slots=True)
class OperationRow:
    """An operation of WebHDFS at a namenode."""

    method: str
    operation: str
    rule: Rule

    def __str__(self) -> str:
        return f"{self.method}-{self.operation}"

    def target(self, token: str) -> str:
        """What is asked for: of nothing, in a directory of the owner's. `token` is what requests
        about tokens are about."""
        needs = {**_PARAMETERS, "token": token}
        if self.operation == "REMOVEACLENTRIES":
            needs["aclspec"] = "user:bob:"
        if self.operation == "SETECPOLICY":
            needs["ecpolicy"] = ENABLED_POLICY
        values = [f"{name}={needs[name]}" for name in OPERATIONS[self.method, self.operation].needs]
        if self.operation in _OPTIONS:
            values.append(_OPTIONS[self.operation])
        path = f"{DIRECTORY}/absent/file"
        return f"{PREFIX}{path}?" + "&".join([f"op={self.operation}", *values])


_RULES: Final = {name: rule for rule, names in _OPERATIONS.items() for name in names.split()}
OPERATION_ROWS: Final = tuple(
    OperationRow(method, name, _RULES[name]) for method, name in OPERATIONS if name in _RULES
)


def expected_of_operation(row: OperationRow, who: Asker) -> int:
    """The status of the answer; `OK` stands for all but refusals."""
    if who is Asker.NOBODY:
        return UNAUTHORIZED
    is_proven = who in ALLOWED[Rule.EVERYBODY]
    if is_proven and (row.rule is Rule.NOT_SERVED or (row.rule, who) == (Rule.TICKET, Asker.TOKEN)):
        return BAD_REQUEST
    return OK if who in ALLOWED[row.rule] else FORBIDDEN
