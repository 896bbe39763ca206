"""What is asked of WebHDFS: operations, parameters, and the words of refusals."""

from __future__ import annotations

import json
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.config import Configuration
from howdah.security.user_names import user_names
from howdah.web.cross_site import check_origin
from howdah.web.http import Request, request_of
from howdah.web.webhdfs.faults import refused
from howdah.web.webhdfs.parameters import (
    OPERATIONS,
    PARAMETERS,
    InvalidParameter,
    MissingParameter,
    ParsedRequest,
    parameters_of,
    parse_request,
)
from howdah.web.webhdfs.patterns import Domain
from howdah.web.webhdfs.reads import READS
from howdah.web.webhdfs.redirects import REDIRECTED
from howdah.web.webhdfs.writes import CHANGES
from howdah.web.webhdfs_names import patterns_of

PATTERN = patterns_of(Configuration())


def request(method: str, path: str, query: str, **headers: str) -> Request:
    made = request_of(
        method.encode(),
        f"/webhdfs/v1{quote(path)}?{query}".encode(),
        [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
    )
    assert made is not None
    return made


def ask(method: str, query: str, path: str = "/a") -> ParsedRequest:
    return parse_request(request(method, path, query), PATTERN)


def test_every_operation_has_one_home() -> None:
    named = [name for _, name in OPERATIONS]
    homes = [*READS, *CHANGES, *REDIRECTED]
    assert sorted(named) == sorted(homes)
    assert len(set(named)) == len(named)


def test_every_parameter_is_known() -> None:
    for operation in OPERATIONS.values():
        assert {*operation.needs, *operation.takes} <= {*PARAMETERS}, operation


@pytest.mark.parametrize("name", ["op=MKDIRS&permission=711", "OP=mkdirs&Permission=711"])
def test_names_and_operations_come_in_any_case(name: str) -> None:
    assert ask("PUT", name).number("permission") == 0o711


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("op=OPEN&OP=LISTSTATUS", "OPEN"),
        ("OP=OPEN&op=LISTSTATUS", "OPEN"),
        ("oP=&op=OPEN", ""),
        ("%6Fp=OPEN&op=LISTSTATUS", "OPEN"),
    ],
)
def test_the_first_value_counts_in_whichever_letters_its_name_is(query: str, first: str) -> None:
    assert parameters_of(request("GET", "/a", query))["op"] == first
    if first:
        assert ask("GET", query).operation == first


def test_what_is_not_given_has_hadoops_default() -> None:
    found = ask("PUT", "op=CREATE")
    assert found.values == {
        "permission": None,
        "unmaskedpermission": None,
        "overwrite": False,
        "replication": None,
        "blocksize": None,
        "createparent": True,
        "createflag": frozenset(),
        "noredirect": False,
        "excludedatanodes": None,
        "buffersize": None,
    }
    assert found.user is None
    assert ask("GET", "op=OPEN&length=null").values["length"] is None
    assert ask("PUT", "op=SETTIMES").values == {"modificationtime": -1, "accesstime": -1}


def test_paths_are_any_names_of_utf_8() -> None:
    name = "/é ;x=1/%2F+?#"
    assert ask("GET", "op=GETFILESTATUS", name).path == name
    assert (
        parse_request(Request("GET", "/webhdfs/v1", target="?op=LISTSTATUS"), PATTERN).path == "/"
    )


def test_attribute_names_may_come_several_times() -> None:
    found = ask("GET", "op=GETXATTRS&encoding=hex&xattr.name=user.a&xattr.name=user.b")
    assert found.all_names == ("user.a", "user.b")
    assert found.text("encoding") == "HEX"


@pytest.mark.parametrize(
    ("method", "query", "why"),
    [
        (
            "GET",
            "op=FOO",
            '"op": java.lang.IllegalArgumentException: FOO is not a valid GET operation.',
        ),
        (
            "GET",
            "op=MKDIRS",
            '"op": java.lang.IllegalArgumentException: MKDIRS is not a valid GET operation.',
        ),
        ("PUT", "op=MKDIRS&permission=888", 'Failed to parse "888" as a radix-8 short integer.'),
        ("PUT", "op=MKDIRS&permission=2777", "permission = 2777 > 1777"),
        ("PUT", "op=CREATE&blocksize=0", "Invalid parameter range: blocksize = 0 < 1"),
        ("PUT", "op=CREATE&replication=99999", 'parse "99999" as a radix-10 short integer'),
        ("PUT", "op=CREATE&overwrite=1", 'Failed to parse "1" to Boolean.'),
        ("PUT", "op=CREATE&createflag=x", "No enum constant org.apache.hadoop.fs.CreateFlag.X"),
        ("GET", "op=OPEN&offset=-1", "offset = -1 < 0"),
        ("GET", f"op=OPEN&offset={1 << 63}", "as a radix-10 long integer"),
        ("GET", "op=OPEN&offset=%EF%BC%91", "as a radix-10 long integer"),
        ("GET", "op=CHECKACCESS&fsaction=rwz", "does not belong to the domain"),
        ("GET", "op=CHECKACCESS&fsaction=rwxr", "does not belong to the domain"),
        ("GET", "op=CHECKACCESS", "Required param fsaction for op: CHECKACCESS is null or empty"),
        ("PUT", "op=RENAME&destination=b", "is not an absolute path"),
        ("PUT", "op=RENAME", "Required param destination for op: RENAME"),
        ("GET", "op=LISTSTATUS&user.name=a/b", 'Invalid value: "a/b" does not belong'),
        ("GET", "op=GETXATTRS&encoding=gzip", "No enum constant org.apache.hadoop.fs.XAttrCodec"),
        ("GET", "op=OPEN&offset=%ff", "not UTF-8"),
        ("GET", "op=LISTSTATUS&doas=a%0Ab", "is no name of a user: it cannot be printed"),
        ("GET", f"op=LISTSTATUS&doas={'u' * 1025}", "a user name of 1025 characters"),
        ("GET", "op=LISTSTATUS&doas=bob/x", "Illegal principal name bob/x: No rules applied"),
        ("GET", "op=LISTSTATUS&doas=bob@REALM", "Illegal principal name bob@REALM: No rules"),
    ],
)
def test_refusals_are_hadoops(method: str, query: str, why: str) -> None:
    with pytest.raises(errors.HowdahError) as caught:
        ask(method, query)
    assert why in str(caught.value)
    answer = refused(caught.value)
    told = json.loads(answer.body)["RemoteException"]
    assert (answer.status, told["exception"]) == (400, "IllegalArgumentException")
    assert told["javaClassName"] == "java.lang.IllegalArgumentException"


@pytest.mark.parametrize(
    ("method", "words"), [("GET", "op=NULL is not"), ("HEAD", "op=NULL is"), ("PUT", "op=NULL  is")]
)
def test_request_that_does_not_say_what_it_wants_is_not_supported(method: str, words: str) -> None:
    for query in ("", "op=", "op=null"):
        with pytest.raises(errors.UnsupportedOperation, match=words):
            ask(method, query)


def test_head_is_asked_as_get_is() -> None:
    assert ask("HEAD", "op=GETFILESTATUS") == ask("GET", "op=GETFILESTATUS")


@pytest.mark.parametrize("spec", ["user:bob", "user", "dog:a:rwx", "user:a:rwz", "user:a:rwx:x"])
def test_acl_is_of_hadoops_pattern(spec: str) -> None:
    with pytest.raises(InvalidParameter, match="does not belong to the domain"):
        ask("PUT", f"op=SETACL&aclspec={spec}")
    assert ask("PUT", "op=SETACL&aclspec=user:bob:rwx,default:group::---").text("aclspec")


def test_names_in_an_acl_are_of_the_pattern_that_is_configured() -> None:
    name = "[[0-9A-Za-z_][@A-Za-z0-9._-]]*"
    entry = f"(default:)?(user|group|mask|other):{name}:([rwx-]{{3}})?"
    conf = {"dfs.webhdfs.acl.provider.permission.pattern": f"^{entry}(,{entry})*$"}
    spec = "default:user:11010:r--,group:foo@bar:rw-"
    made = request("PUT", "/a", urlencode({"op": "MODIFYACLENTRIES", "aclspec": spec}))
    assert parse_request(made, patterns_of(Configuration(conf))).text("aclspec") == spec
    with pytest.raises(InvalidParameter, match=r"group:foo@bar:rw-. does not belong"):
        parse_request(made, PATTERN)


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("[[a-c][x-]]+", "ab-x", "d"),
        ("[[a-][b]]", "-", "c"),
        ("[[-a][b]]", "b", "c"),
        ("[abc][def]", "ad", "a"),
        (r"\[[a]b", "[ab", "ab"),
        ("[^ab]", "c", "a"),
    ],
)
def test_classes_of_classes_are_those_of_java(pattern: str, inside: str, outside: str) -> None:
    domain = Domain.of(pattern)
    assert domain.read(inside) == inside
    with pytest.raises(ValueError, match="does not belong"):
        domain.read(outside)


def test_what_is_no_pattern_is_said_with_its_key() -> None:
    conf = Configuration({"dfs.webhdfs.user.provider.user.pattern": "["})
    with pytest.raises(errors.InvalidConfiguration, match=r"user\.pattern.*is no pattern"):
        patterns_of(conf)


def test_for_whom_one_acts_is_known_by_his_short_name() -> None:
    found = ask("GET", "op=LISTSTATUS&user.name=hive&doAs=joe&doas=second")
    assert (found.user, found.acts_for) == ("hive", "joe")
    assert ask("GET", "op=LISTSTATUS&user.name=hive&doas=").acts_for is None
    assert ask("GET", "op=LISTSTATUS&doas=joe").user is None
    found = ask("GET", "op=LISTSTATUS&user.name=hive&doas=hive")
    assert found.acts_for == "hive"
    assert (found.acts_for_another("hive"), found.acts_for_another("joe")) == (None, "hive")


def test_names_are_users_by_the_rules_of_principals() -> None:
    patterns = patterns_of(Configuration({"dfs.webhdfs.user.provider.user.pattern": ".*"}))
    names = user_names(
        Configuration({"hadoop.security.auth_to_local": "RULE:[1:$1@$0](.*@R)s/@.*// DEFAULT"})
    )
    query = "op=LISTSTATUS&user.name=hive@R&doas=joe@R"
    asked = request("GET", "/a", query)
    found = parse_request(asked, patterns, short_name=names)
    assert (found.user, found.acts_for) == ("hive", "joe")
    with pytest.raises(InvalidParameter, match="Illegal principal name hive@R"):
        parse_request(asked, patterns)


def test_tokens_are_refused_by_name() -> None:
    with pytest.raises(errors.UnsupportedOperation, match="delegation"):
        ask("GET", "op=LISTSTATUS&delegation=abc")


FIELDS = st.tuples(
    st.sampled_from([*PARAMETERS, "op", "user.name", "OP", "x"]),
    st.text(max_size=8) | st.sampled_from(["-1", "0", "777", "true", "null", "rwx", "/b", "a,b"]),
)


@given(st.sampled_from(sorted(OPERATIONS)), st.lists(FIELDS, max_size=6), st.text(max_size=10))
def test_any_query_is_understood_or_refused_as_the_clients_fault(
    operation: tuple[str, str], fields: list[tuple[str, str]], path: str
) -> None:
    method, name = operation
    query = urlencode([("op", name), *fields], errors="surrogatepass")
    try:
        path.encode()
        query.encode("ascii")
        found = ask(method, query, "/" + path)
    except UnicodeEncodeError:
        return
    except (MissingParameter, InvalidParameter, errors.UnsupportedOperation):
        return
    assert found.operation == name
    assert found.path == "/" + path


@pytest.mark.parametrize(
    ("error", "status", "name"),
    [
        (errors.PathNotFound("x"), 404, "FileNotFoundException"),
        (errors.AccessDenied("x"), 403, "AccessControlException"),
        (errors.AuthorizationFailed("x"), 403, "AuthorizationException"),
        (errors.StandbyError("x"), 403, "StandbyException"),
        (errors.RemoteError("x"), 403, "IOException"),
        (errors.InvalidPath("x"), 400, "InvalidPathException"),
        (errors.UnsupportedOperation("x"), 400, "UnsupportedOperationException"),
        (errors.UnsupportedAction("x"), 403, "UnsupportedActionException"),
        (errors.RemoteError("x", java_class="java.lang.RuntimeException"), 500, "RuntimeException"),
        (errors.RemoteError("x", java_class="a.B$C"), 403, "C"),
    ],
)
def test_errors_have_hadoops_status(error: errors.HowdahError, status: int, name: str) -> None:
    answer = refused(error)
    assert answer.status == status
    assert json.loads(answer.body)["RemoteException"]["exception"] == name


@pytest.mark.parametrize("headers", [{"origin": "http://evil"}, {"sec_fetch_site": "cross-site"}])
def test_a_page_of_another_server_changes_nothing(headers: dict[str, str]) -> None:
    with pytest.raises(errors.AuthorizationFailed):
        check_origin(request("POST", "/a", "op=TRUNCATE&newlength=0", host="nn:9870", **headers))
    check_origin(request("GET", "/a", "op=LISTSTATUS", host="nn:9870", **headers))
    check_origin(request("PUT", "/a", "op=MKDIRS", host="nn:9870", origin="http://nn:9870"))
