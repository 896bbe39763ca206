"""Operations of WebHDFS and their parameters, as tables (pure).

Mirrors Hadoop's org.apache.hadoop.hdfs.web.resources: `GetOpParam` and its kin for the
operations, a class each for the parameters, `ParamFilter` for names in any case. Names,
defaults, bounds and the words of refusals are Hadoop's. A parameter that an operation does not
use is not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, unquote_to_bytes

from howdah import errors
from howdah.protocol.sasl.auth_to_local import UserOf, simple_user
from howdah.runtime.users.names import check_name
from howdah.web.http import MAX_QUERY_FIELDS, Request, first_values
from howdah.web.webhdfs.patterns import Domain, Patterns

PREFIX: Final = "/webhdfs/v1"
LONG_MAX: Final = (1 << 63) - 1
_QUOTA_RESET: Final = -1
_INT_MAX: Final = (1 << 31) - 1
_SHORT_MAX: Final = (1 << 15) - 1

Value = str | int | bool | frozenset[str] | None


class MissingParameter(errors.IllegalArgument):
    """An operation lacks what it needs."""

    java_class = "java.lang.IllegalArgumentException"


class NoOperation(errors.UnsupportedOperation):
    """The request does not say what it wants."""

    def __init__(self, method: str) -> None:
        # Hadoop's words for a PUT have that blank.
        super().__init__(f"op=NULL{' ' if method == 'PUT' else ''} is not supported")


class InvalidParameter(errors.IllegalArgument):
    """A parameter has a value that it cannot have."""

    java_class = "java.lang.IllegalArgumentException"

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f'Invalid value for webhdfs parameter "{name}": {self.java_class}: {why}')


@dataclass(frozen=True, slots=True)
class Parameter:
    """`read` takes the text of a value, and raises ValueError with the reason. `default` is
    what a parameter is that is not given, or empty, or `null`."""

    name: str
    read: Callable[[str], Value]
    default: Value = None


def _text(value: str) -> str:
    return value


def _boolean(value: str) -> bool:
    if value.lower() not in ("true", "false"):
        raise ValueError(f'Failed to parse "{value}" to Boolean.')
    return value.lower() == "true"


def _number(
    kind: str, least: int | None, most: int, name: str, *, radix: int = 10
) -> Callable[[str], int]:
    digits = re.compile(r"[+-]?[0-9]{1,25}" if radix == 10 else r"[+-]?[0-7]{1,25}", re.ASCII)

    def text(value: int) -> str:
        return f"{value:o}" if radix == 8 else str(value)

    def read(value: str) -> int:
        if digits.fullmatch(value) is None or not -most - 1 <= int(value, radix) <= (
            _SHORT_MAX if kind == "short" else most
        ):
            raise ValueError(f'Failed to parse "{value}" as a radix-{radix} {kind} integer.')
        number = int(value, radix)
        if least is not None and number < least:
            raise ValueError(f"Invalid parameter range: {name} = {text(number)} < {text(least)}")
        return number

    return read


def _permission(name: str) -> Callable[[str], int]:
    read_number = _number("short", 0, _SHORT_MAX, name, radix=8)

    def read(value: str) -> int:
        number = read_number(value)
        if number > 0o1777:
            raise ValueError(f"Invalid parameter range: {name} = {number:o} > 1777")
        return number

    return read


def _set_of(kind: str, names: Sequence[str]) -> Callable[[str], frozenset[str]]:
    def read(value: str) -> frozenset[str]:
        values = frozenset(part.strip().upper() for part in value.split(","))
        for one in values:
            if one not in names:
                raise ValueError(f"No enum constant org.apache.hadoop.{kind}.{one}")
        return values

    return read


def _one_of(kind: str, names: Sequence[str]) -> Callable[[str], str]:
    read_set = _set_of(kind, names)

    def read(value: str) -> str:
        read_set(value.replace(",", "?"))
        return value.strip().upper()

    return read


def _matching(pattern: str) -> Callable[[str], str]:
    compiled = re.compile(pattern)

    def read(value: str) -> str:
        if compiled.fullmatch(value) is None:
            raise ValueError(f'Invalid value: "{value}" does not belong to the domain {pattern}')
        return value

    return read


def _absolute(value: str) -> str:
    if not value.startswith("/"):
        raise ValueError(
            f'Invalid parameter value: destination = "{value}" is not an absolute path.'
        )
    return value


def _long(name: str, default: int | None, least: int | None) -> Parameter:
    return Parameter(name, _number("long", least, LONG_MAX, name), default)


def _texts(*names: str) -> list[Parameter]:
    return [Parameter(name, _text) for name in names]


PARAMETERS: Final[Mapping[str, Parameter]] = {
    one.name: one
    for one in [
        _long("accesstime", -1, -1),
        Parameter("allusers", _boolean, False),
        _long("blocksize", None, 1),
        Parameter("buffersize", _number("int", 1, _INT_MAX, "buffersize")),
        Parameter(
            "createflag",
            _set_of(
                "fs.CreateFlag",
                (
                    *("CREATE", "OVERWRITE", "APPEND", "SYNC_BLOCK", "LAZY_PERSIST"),
                    *("NEW_BLOCK", "NO_LOCAL_WRITE", "SHOULD_REPLICATE"),
                    *("IGNORE_CLIENT_LOCALITY", "NO_LOCAL_RACK"),
                ),
            ),
            frozenset(),
        ),
        Parameter("createparent", _boolean, True),
        Parameter("destination", _absolute),
        Parameter("encoding", _one_of("fs.XAttrCodec", ("TEXT", "HEX", "BASE64"))),
        Parameter("flag", _set_of("fs.XAttrSetFlag", ("CREATE", "REPLACE")), frozenset()),
        Parameter("fsaction", _matching("[r-][w-][x-]")),
        _long("length", None, 0),
        _long("modificationtime", -1, -1),
        _long("namespacequota", LONG_MAX, _QUOTA_RESET),
        _long("newlength", None, 0),
        Parameter("noredirect", _boolean, False),
        _long("offset", 0, 0),
        Parameter("overwrite", _boolean, False),
        Parameter("permission", _permission("permission")),
        Parameter("recursive", _boolean, False),
        Parameter(
            "renameoptions",
            _set_of("fs.Options.Rename", ("NONE", "OVERWRITE", "TO_TRASH")),
            frozenset(),
        ),
        Parameter("replication", _number("short", 1, _SHORT_MAX, "replication")),
        Parameter("snapshotdiffindex", _number("int", -1, _INT_MAX, "snapshotdiffindex"), -1),
        _long("storagespacequota", LONG_MAX, _QUOTA_RESET),
        Parameter("unmaskedpermission", _permission("unmaskedpermission")),
        *_texts("aclspec", "delegation", "doas", "ecpolicy", "excludedatanodes", "group"),
        *_texts("namenoderpcaddress", "oldsnapshotname", "owner", "snapshotdiffstartpath"),
        *_texts("snapshotname", "sources", "startafter", "storagepolicy", "storagetype"),
        *_texts("token", "xattr.name", "xattr.value"),
    ]
}


@dataclass(frozen=True, slots=True)
class Operation:
    """`needs` are parameters without which it is refused, `takes` those that may be given."""

    method: str
    name: str
    takes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


def _operations(method: str, **operations: tuple[str, str]) -> list[Operation]:
    return [
        Operation(method, name, tuple(takes.split()), tuple(needs.split()))
        for name, (needs, takes) in operations.items()
    ]


_REDIRECTED: Final = "noredirect excludedatanodes buffersize"
OPERATIONS: Final[Mapping[tuple[str, str], Operation]] = {
    (one.method, one.name): one
    for one in [
        *_operations(
            "GET",
            OPEN=("", f"offset length {_REDIRECTED}"),
            GETFILESTATUS=("", ""),
            LISTSTATUS=("", ""),
            LISTSTATUS_BATCH=("", "startafter"),
            GETCONTENTSUMMARY=("", ""),
            GETQUOTAUSAGE=("", ""),
            GETFILECHECKSUM=("", "noredirect"),
            GETHOMEDIRECTORY=("", ""),
            GETDELEGATIONTOKEN=("", ""),
            GET_BLOCK_LOCATIONS=("", "offset length"),
            GETFILEBLOCKLOCATIONS=("", "offset length"),
            GETACLSTATUS=("", ""),
            GETXATTRS=("encoding", "xattr.name"),
            LISTXATTRS=("", ""),
            GETTRASHROOT=("", ""),
            GETTRASHROOTS=("", "allusers"),
            GETALLSTORAGEPOLICY=("", ""),
            GETSTORAGEPOLICY=("", ""),
            GETECPOLICY=("", ""),
            GETECPOLICIES=("", ""),
            GETECCODECS=("", ""),
            CHECKACCESS=("fsaction", ""),
            GETSERVERDEFAULTS=("", ""),
            GETSNAPSHOTDIFF=("", "oldsnapshotname snapshotname"),
            GETSNAPSHOTDIFFLISTING=(
                "",
                "oldsnapshotname snapshotname snapshotdiffstartpath snapshotdiffindex",
            ),
            GETSNAPSHOTTABLEDIRECTORYLIST=("", ""),
            GETSNAPSHOTLIST=("", ""),
            GETLINKTARGET=("", ""),
            GETFILELINKSTATUS=("", ""),
            GETSTATUS=("", ""),
        ),
        *_operations(
            "PUT",
            CREATE=(
                "",
                "permission unmaskedpermission overwrite replication blocksize createparent "
                f"createflag {_REDIRECTED}",
            ),
            MKDIRS=("", "permission unmaskedpermission"),
            CREATESYMLINK=("destination", "createparent"),
            RENAME=("destination", "renameoptions"),
            SETREPLICATION=("", "replication"),
            SETOWNER=("", "owner group"),
            SETPERMISSION=("", "permission"),
            SETTIMES=("", "modificationtime accesstime"),
            RENEWDELEGATIONTOKEN=("token", ""),
            CANCELDELEGATIONTOKEN=("token", ""),
            MODIFYACLENTRIES=("aclspec", ""),
            REMOVEACLENTRIES=("aclspec", ""),
            REMOVEDEFAULTACL=("", ""),
            REMOVEACL=("", ""),
            SETACL=("aclspec", ""),
            SETXATTR=("xattr.name flag", "xattr.value"),
            REMOVEXATTR=("xattr.name", ""),
            ENABLEECPOLICY=("ecpolicy", ""),
            DISABLEECPOLICY=("ecpolicy", ""),
            SETECPOLICY=("ecpolicy", ""),
            ALLOWSNAPSHOT=("", ""),
            DISALLOWSNAPSHOT=("", ""),
            CREATESNAPSHOT=("", "snapshotname"),
            RENAMESNAPSHOT=("oldsnapshotname snapshotname", ""),
            SETSTORAGEPOLICY=("", "storagepolicy"),
            SATISFYSTORAGEPOLICY=("", ""),
            SETQUOTA=("", "namespacequota storagespacequota"),
            SETQUOTABYSTORAGETYPE=("storagetype", "storagespacequota"),
        ),
        *_operations(
            "POST",
            APPEND=("", _REDIRECTED),
            CONCAT=("sources", ""),
            TRUNCATE=("newlength", ""),
            UNSETECPOLICY=("", ""),
            UNSETSTORAGEPOLICY=("", ""),
        ),
        *_operations("DELETE", DELETE=("", "recursive"), DELETESNAPSHOT=("snapshotname", "")),
    ]
}
METHODS: Final = frozenset(method for method, _ in OPERATIONS)


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """A request of WebHDFS that was understood."""

    operation: str
    path: str
    user: str | None
    """`user.name`; None if it is not said."""
    values: Mapping[str, Value] = field(repr=False)
    all_names: tuple[str, ...] = ()
    """Each value of `xattr.name`, which may come several times."""
    acts_for: str | None = None
    """`doas`: the user for whom `user` wants to act, if that is another one. By his short name
    where users are proven."""
    namenode: str | None = None
    """`namenoderpcaddress`."""
    given: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The texts of what was given, by name in lower case."""
    is_secure: bool = False
    """Whether it came over TLS."""
    delegation: str | None = field(default=None, repr=False)
    """The token that proves who asks, as text."""

    def acts_for_another(self, user: str | None) -> str | None:
        """Whom `user`, who asks, wants to act for; None if that is himself. Where a caller is
        proven, that is not the `user` of the request, whose name counts for nothing then."""
        return None if self.acts_for == user else self.acts_for

    def text(self, name: str) -> str | None:
        value = self.values[name]
        assert value is None or isinstance(value, str), name
        return value

    def number(self, name: str) -> int | None:
        value = self.values[name]
        assert value is None or type(value) is int, name
        return value

    def flag(self, name: str) -> bool:
        return bool(self.values[name])

    def chosen(self, name: str) -> frozenset[str]:
        value = self.values[name]
        assert isinstance(value, frozenset), name
        return value


def parse_request(
    request: Request,
    patterns: Patterns,
    *,
    takes_tokens: bool = False,
    short_name: UserOf = simple_user,
) -> ParsedRequest:
    """What a request below `PREFIX` wants. `short_name` has the user that a name of `user.name` or
    `doas` is, and raises AuthenticationFailed for one that is nobody: who may act for that one, and
    whose a token is that is issued then, is decided by one name.

    Raises `InvalidParameter`, `MissingParameter`, and `UnsupportedOperation` for a delegation
    token, unless it `takes_tokens`.
    """
    fields = _fields(request)
    given = first_values(fields)
    names = [value for name, value in fields if name == "xattr.name"]
    # Without its body, an answer to GET is one to HEAD.
    method = "GET" if request.method == "HEAD" else request.method
    name = given.get("op", "").upper()
    if name in ("", "NULL") and method in METHODS:
        raise NoOperation(method)
    operation = OPERATIONS.get((method, name))
    if operation is None:
        raise InvalidParameter(
            "op", f"{given.get('op')} is not a valid {request.method} operation."
        )
    if given.get("delegation") and not takes_tokens:
        raise errors.UnsupportedOperation(
            "the parameter delegation is not supported: there are no delegation tokens here"
        )
    user = given.get("user.name") or None
    if user is not None:
        _in_domain("user.name", user, patterns.user)
        user = _user_of("user.name", user, short_name)
    values = _values(operation, given)
    if values.get("aclspec"):
        _in_domain("aclspec", str(values["aclspec"]), patterns.acl)
    acts_for = given.get("doas") or None
    if acts_for is not None:
        try:
            check_name(acts_for)
        except errors.IllegalArgument as error:
            raise InvalidParameter("doas", error.message) from error
        acts_for = _user_of("doas", acts_for, short_name)
    return ParsedRequest(
        name,
        _path(request.path),
        user,
        values,
        tuple(names),
        acts_for,
        given.get("namenoderpcaddress") or None,
        given,
        request.is_secure,
        given.get("delegation") or None,
    )


def _user_of(parameter: str, name: str, short_name: UserOf) -> str:
    """Raises InvalidParameter for the name of nobody."""
    try:
        return short_name(name)
    except errors.AuthenticationFailed as error:
        raise InvalidParameter(
            parameter, f"Illegal principal name {name}: {error.message}"
        ) from error


def parameters_of(request: Request) -> dict[str, str]:
    """What a request gives, by names in lower case. Of a name that comes twice, in whichever
    letters, the first value counts. Whoever decides by a parameter reads it here: with another rule
    it would decide about another request than the one that is answered.

    Raises InvalidParameter for a query that is not UTF-8.
    """
    return first_values(_fields(request))


def _fields(request: Request) -> list[tuple[str, str]]:
    _, _, query = request.target.partition("?")
    try:
        fields = parse_qsl(
            query, keep_blank_values=True, errors="strict", max_num_fields=MAX_QUERY_FIELDS
        )
    except ValueError as error:
        raise InvalidParameter("op", f"the query is not UTF-8: {error}") from error
    return [(name.lower(), value) for name, value in fields]


def _in_domain(name: str, value: str, domain: Domain) -> None:
    try:
        domain.read(value)
    except ValueError as error:
        raise InvalidParameter(name, str(error)) from error


def is_webhdfs(path: str) -> bool:
    """Whether a request of this path is one of WebHDFS."""
    return path == PREFIX or path.startswith(PREFIX + "/")


def _values(operation: Operation, given: Mapping[str, str]) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for name in (*operation.needs, *operation.takes):
        parameter = PARAMETERS[name]
        text = given.get(name)
        if text is None or text in ("", "null"):
            values[name] = parameter.default
            if name in operation.needs and parameter.default in (None, frozenset()):
                raise MissingParameter(
                    f"Required param {name} for op: {operation.name} is null or empty"
                )
            continue
        try:
            values[name] = parameter.read(text)
        except ValueError as error:
            raise InvalidParameter(name, str(error)) from error
    return values


def _path(target: str) -> str:
    """The path of a file, from that of a request. What is behind a semicolon belongs to it:
    names may have any character but the slash."""
    raw = target[len(PREFIX) :] or "/"
    try:
        return unquote_to_bytes(raw.encode("latin-1")).decode()
    except UnicodeDecodeError as error:
        raise errors.InvalidPath(f"Invalid path name {raw}: names are UTF-8") from error
