"""The text of audit lines: escapes, addresses, contexts, and a subject for every call."""

from __future__ import annotations

from dataclasses import replace

import pytest

from howdah.formats.tokens.identifiers import DelegationTokenIdentifier
from howdah.namenode.service.audit.calls import OF_OTHER_PROTOCOLS, RULES
from howdah.namenode.service.audit.line_format import LineFormat, Record, Shown, escaped
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import refresh_pb2, rpc_pb2, types_pb2
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.proven import Proven

STAMP = "2026-11-23 03:40:35,123"
WITH_CONTEXT = LineFormat(has_context=True)
METHODS = pb.DESCRIPTOR.services_by_name["ClientNamenodeProtocol"].methods_by_name


def record(
    path: str = "/a",
    *,
    address: str = "10.0.0.7",
    context: tuple[str, bytes] | None = None,
    shown: Shown | None = None,
    user: str = "ann",
) -> Record:
    caller = Caller(user, b"c" * 16, 1, 0, address, 4711, context)
    request = pb.MkdirsRequestProto(
        src=path, masked=types_pb2.FsPermissionProto(perm=0o755), createParent=True
    )
    return Record(1_795_405_235_123, True, "mkdirs", request, None, caller, shown)


def text(form: LineFormat, given: Record) -> str:
    line = form.line(given, STAMP)
    assert line is not None
    assert line.endswith("\n")
    return line[:-1]


def test_line_has_the_parts_of_hadoops_with_tabs_between() -> None:
    line = text(LineFormat(), record(shown=Shown("ann", "staff", 0o1755)))
    head, _, rest = line.partition(": ")
    assert head == f"{STAMP} INFO FSNamesystem.audit"
    assert rest.split("\t") == [
        "allowed=true",
        "ugi=ann (auth:SIMPLE)",
        "ip=/10.0.0.7",
        "cmd=mkdirs",
        "src=/a",
        "dst=null",
        "perm=ann:staff:rwxr-xr-t",
        "proto=rpc",
    ]


def test_renames_of_one_turn_have_a_line_each_as_far_as_they_were_made() -> None:
    steps = [pb.NextRenameProto(src=f"/{name}", dst=f"/{name}{name}") for name in "bc"]
    request = pb.Rename2RequestProto(
        src="/a", dst="/aa", overwriteDest=False, moveToTrash=True, next=steps
    )
    answer = pb.Rename2ResponseProto(nextDone=1)
    given = record()._replace(method="rename2", request=request, answer=answer)
    found = [line.split("\t")[3:6] for line in text(LineFormat(), given).splitlines()]
    assert found == [
        ["cmd=rename (options=[TO_TRASH])", "src=/a", "dst=/aa"],
        ["cmd=rename (options=[NONE])", "src=/b", "dst=/bb"],
    ]
    assert RULES["rename2"].keeps_answer
    refused = given._replace(allowed=False, answer=None)
    assert len(text(LineFormat(), refused).splitlines()) == 1


def test_line_names_who_acts_for_the_user() -> None:
    given = record(user="joe")
    acting = replace(given.caller, real_user="hive\tallowed=true")
    given = given._replace(caller=acting)
    said = text(LineFormat(), given).split("\t")
    assert said[1] == "ugi=joe (auth:PROXY) via hive\\tallowed=true (auth:SIMPLE)"


@pytest.mark.parametrize(
    ("mode", "shown"), [(0o1776, "rwxrwxrwT"), (0, "---------"), (0o640, "rw-r-----")]
)
def test_permissions_are_shown_as_hadoop_shows_them(mode: int, shown: str) -> None:
    assert f"\tperm=o:g:{shown}\t" in text(LineFormat(), record(shown=Shown("o", "g", mode)))


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("/a\nallowed=true", "/a\\nallowed=true"),
        ('/"\\\t', '/\\"\\\\\\t'),
        ("/\x01é😀", "/\\u0001\\u00E9\\uD83D\\uDE00"),
        ("/\x7f~", "/\x7f~"),
    ],
)
def test_no_path_makes_a_line_of_its_own(given: str, shown: str) -> None:
    assert escaped(given) == shown
    line = text(LineFormat(), record(given))
    assert f"\tsrc={shown}\t" in line
    assert line.count("\n") == 0


def test_no_user_makes_a_part_of_its_own() -> None:
    line = text(LineFormat(), record(user="ann\tallowed=true"))
    assert "\tugi=ann\\tallowed=true (auth:SIMPLE)\t" in line


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("::1", "0:0:0:0:0:0:0:1"),
        ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1%eth0"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("?", "?"),
    ],
)
def test_addresses_are_shown_as_java_shows_them(address: str, shown: str) -> None:
    assert f"\tip=/{shown}\t" in text(LineFormat(), record(address=address))


@pytest.mark.parametrize(
    ("form", "context", "shown"),
    [
        (LineFormat(), ("job_1", b""), None),
        (WITH_CONTEXT, None, None),
        (WITH_CONTEXT, ("", b"s"), None),
        (WITH_CONTEXT, ("job_1", b""), "job_1"),
        (WITH_CONTEXT, ("job\n1", b"sig\t"), "job\\n1:sig\\t"),
        (LineFormat(has_context=True, max_context=3), ("job_1", b"s"), "job:s"),
        (LineFormat(has_context=True, max_signature=3), ("job_1", b"long"), "job_1"),
        (LineFormat(has_context=True, has_client_port=True), None, "clientPort:4711"),
        (
            LineFormat(has_context=True, has_client_port=True, separator="_"),
            ("job_1", b""),
            "job_1_clientPort:4711",
        ),
        (
            LineFormat(has_context=True, has_client_port=True),
            ("x,clientPort:1", b""),
            "x,clientPort:1",
        ),
        (LineFormat(has_client_port=True), ("job_1", b""), None),
    ],
)
def test_context_of_a_caller_is_logged_as_configured(
    form: LineFormat, context: tuple[str, bytes] | None, shown: str | None
) -> None:
    line = text(form, record(context=context))
    found = line.partition("\tcallerContext=")[2] or None
    assert found == shown


def test_tracking_id_stands_before_the_protocol() -> None:
    line = text(LineFormat(has_tracking_id=True), record())
    assert line.endswith("\ttrackingId=null\tproto=rpc")


@pytest.mark.req("FS-217")
def test_line_says_by_what_a_call_came() -> None:
    given = record()
    given = given._replace(caller=replace(given.caller, proto="webhdfs"))
    assert text(LineFormat(), given).endswith("\tproto=webhdfs")


@pytest.mark.parametrize(
    ("user", "real_user", "proven", "shown"),
    [
        ("alice", None, Proven("KERBEROS", "alice", "alice@E.COM"), "alice@E.COM (auth:KERBEROS)"),
        ("alice", None, Proven("TOKEN", "alice", "alice@E.COM"), "alice@E.COM (auth:TOKEN)"),
        (
            "bob",
            "oozie",
            Proven("KERBEROS", "oozie", "oozie/h@E.COM"),
            "bob (auth:PROXY) via oozie/h@E.COM (auth:KERBEROS)",
        ),
        (
            "bob",
            "oozie",
            Proven("TOKEN", "bob", "bob", "oozie", "oozie/h@E.COM"),
            "bob (auth:PROXY) via oozie/h@E.COM (auth:TOKEN)",
        ),
    ],
)
def test_line_says_how_its_user_has_proven_who_he_is(
    user: str, real_user: str | None, proven: Proven, shown: str
) -> None:
    caller = Caller(user, b"c" * 16, 1, 0, "10.0.0.7", real_user=real_user, proven=proven)
    line = text(LineFormat(), record()._replace(caller=caller))
    assert f"\tugi={shown}\t" in line


def test_lines_about_tokens_show_what_anybody_may_see_of_them() -> None:
    identifier = DelegationTokenIdentifier("alice@E.COM", "rm", "", 1, 2, 5, 4).encode()
    token = rpc_pb2.TokenProto(
        identifier=identifier, password=b"secret", kind="HDFS_DELEGATION_TOKEN", service=""
    )
    get = record()._replace(
        method="getDelegationToken",
        request=rpc_pb2.GetDelegationTokenRequestProto(renewer="rm"),
        answer=rpc_pb2.GetDelegationTokenResponseProto(token=token),
    )
    renew = record()._replace(
        method="renewDelegationToken",
        request=rpc_pb2.RenewDelegationTokenRequestProto(token=token),
        allowed=False,
    )
    for line in (text(LineFormat(), get), text(LineFormat(), renew)):
        assert "\tsrc=HDFS_DELEGATION_TOKEN token 5 for alice with renewer rm\tdst=null\t" in line
        assert "secret" not in line


def test_quiet_command_has_no_line() -> None:
    assert LineFormat(quiet_commands=frozenset(["mkdirs"])).line(record(), STAMP) is None


@pytest.mark.parametrize("method", sorted(RULES))
def test_every_logged_call_has_a_subject_with_and_without_an_answer(method: str) -> None:
    from google.protobuf.message_factory import GetMessageClass

    services = refresh_pb2.DESCRIPTOR.services_by_name.values()
    refreshes = {m.name: m for service in services for m in service.methods}
    described = METHODS[method] if method in METHODS else refreshes[method]
    request = GetMessageClass(described.input_type)()
    answer = GetMessageClass(described.output_type)()
    rule = RULES[method]
    for outcome in (answer, None):
        assert rule.describe(request, outcome).cmd
    if rule.shown is not None:
        assert rule.shown(request) == ""
    if rule.is_allowed is not None:
        assert not rule.is_allowed(answer)


NOT_LOGGED = {
    # Of an open file, and what Hadoop logs of no client either.
    *("addBlock", "abandonBlock", "complete", "fsync", "renewLease", "recoverLease"),
    *("getAdditionalDatanode", "updateBlockForPipeline", "updatePipeline", "reportBadBlocks"),
    *("getServerDefaults", "getPreferredBlockSize", "getEnclosingRoot"),
    *("getStoragePolicy", "getStoragePolicies"),
    *("getFsStats", "getFsReplicatedBlockStats", "getFsECBlockGroupStats"),
    *("listCorruptFileBlocks", "getCurrentEditLogTxid", "getEditsFromTxid"),
    *("getDataEncryptionKey", "msync", "getHAServiceState", "upgradeStatus"),
}


def test_every_call_is_logged_or_said_not_to_be() -> None:
    assert set(METHODS) - set(RULES) - NOT_LOGGED == set()
    assert RULES.keys() & NOT_LOGGED == set()
    assert RULES.keys() - set(METHODS) == {method for _, method in OF_OTHER_PROTOCOLS}
