"""Which call is answered by what, and how the others are refused."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.messages import texts_of
from howdah.protocol.rpc import wire
from howdah.protocol.rpc.call import Call, Caller
from howdah.protocol.rpc.service import (
    Deferred,
    Early,
    Encoded,
    Guard,
    Registry,
    Service,
    Slices,
    snake_case,
)
from howdah.protocol.varint import encode_varint

PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
DESCRIPTOR = pb.DESCRIPTOR.services_by_name["ClientNamenodeProtocol"]


class Half:
    """An implementation of two methods."""

    def __init__(self) -> None:
        self.callers: list[Caller] = []

    def get_file_info(
        self, request: pb.GetFileInfoRequestProto, caller: Caller
    ) -> pb.GetFileInfoResponseProto:
        self.callers.append(caller)
        return pb.GetFileInfoResponseProto()

    def mkdirs(self, request: pb.MkdirsRequestProto, caller: Caller) -> pb.MkdirsResponseProto:
        raise errors.SafeMode("not now")


ALICE = Caller("alice", b"c" * 16, 3, 1, "10.0.0.1")
JOB = Caller("alice", b"c" * 16, 3, 1, "10.0.0.1", 77, ("job", b""))

HALF = Half()
ALL = frozenset(method.name for method in DESCRIPTOR.methods)
SERVICE = Service(PROTOCOL, 1, DESCRIPTOR, HALF, refused=ALL - {"getFileInfo", "mkdirs"})
REGISTRY = Registry([SERVICE])


def dispatch(
    method: str, body: bytes = b"", *, protocol: str = PROTOCOL, version: int = 1
) -> object:
    return REGISTRY.dispatch(Call(ALICE, protocol, version, method, body))


@pytest.mark.parametrize(
    ("java", "python"),
    [
        ("getFileInfo", "get_file_info"),
        ("rename2", "rename2"),
        ("renewLease", "renew_lease"),
        ("getEZForPath", "get_ezfor_path"),
        ("getHAServiceState", "get_haservice_state"),
        ("blockReceivedAndDeleted", "block_received_and_deleted"),
    ],
)
def test_methods_are_found_under_their_python_names(java: str, python: str) -> None:
    assert snake_case(java) == python


def test_handler_gets_the_request_and_knows_the_caller() -> None:
    answer = dispatch("getFileInfo", pb.GetFileInfoRequestProto(src="/").SerializeToString())
    assert isinstance(answer, pb.GetFileInfoResponseProto)
    assert HALF.callers[-1] == Caller("alice", b"c" * 16, 3, 1, "10.0.0.1")


def test_unknown_protocol_is_refused_as_hadoop_words_it() -> None:
    with pytest.raises(errors.RpcNoSuchProtocol) as caught:
        dispatch("getFileInfo", protocol="org.example.Nothing")
    assert caught.value.message == "Unknown protocol: org.example.Nothing"
    assert caught.value.remote_class == "org.apache.hadoop.ipc.RpcNoSuchProtocolException"


def test_unknown_method_is_refused_as_hadoop_words_it() -> None:
    with pytest.raises(errors.RpcNoSuchMethod) as caught:
        dispatch("fly")
    assert caught.value.message == f"Unknown method fly called on {PROTOCOL} protocol."
    assert caught.value.remote_class == "org.apache.hadoop.ipc.RpcNoSuchMethodException"


def test_method_that_is_not_supported_is_named() -> None:
    body = pb.ConcatRequestProto(trg="/a", srcs=["/b"]).SerializeToString()
    with pytest.raises(errors.UnsupportedOperation, match=r"concat of .*ClientProtocol is not"):
        dispatch("concat", body)


@pytest.mark.parametrize("method", [method.name for method in DESCRIPTOR.methods])
def test_every_method_of_the_protocol_is_answered_or_refused_by_name(method: str) -> None:
    request_type, handler = Service(PROTOCOL, 1, DESCRIPTOR, refused=ALL).methods[method]
    with pytest.raises(errors.UnsupportedOperation, match=f"^{method} of "):
        handler(request_type(), Caller("u", b"", 0, 0, "?"))


@pytest.mark.parametrize("guard", [None, lambda protocol, method, request: None])
def test_an_answer_that_may_leave_early_says_so_to_who_sends_it(guard: Guard | None) -> None:
    class EarlyHalf:
        def fsync(self, request: pb.FsyncRequestProto, caller: Caller) -> Early:
            return Early(pb.FsyncResponseProto())

    service = Service(PROTOCOL, 1, DESCRIPTOR, EarlyHalf(), refused=ALL - {"fsync"})
    body = pb.FsyncRequestProto(src="/a", client="c").SerializeToString()
    call = Call(ALICE, PROTOCOL, 1, "fsync", body)
    registry = Registry([service], guard)
    assert registry.dispatch(call) == pb.FsyncResponseProto()
    assert registry.dispatch_to_wire(call) == Early(pb.FsyncResponseProto())


class MoreHalf:
    """One method more."""

    def concat(self, request: pb.ConcatRequestProto, caller: Caller) -> pb.ConcatResponseProto:
        return pb.ConcatResponseProto()


def test_methods_of_several_objects_make_one_service() -> None:
    rest = ALL - {"getFileInfo", "mkdirs", "concat"}
    service = Service(PROTOCOL, 1, DESCRIPTOR, HALF, MoreHalf(), refused=rest)
    assert set(service.methods) == ALL
    registry = Registry([service])
    for method, body in (
        ("concat", pb.ConcatRequestProto(trg="/a").SerializeToString()),
        ("getFileInfo", pb.GetFileInfoRequestProto(src="/").SerializeToString()),
    ):
        registry.dispatch(Call(ALICE, PROTOCOL, 1, method, body))


def test_method_without_a_home_is_an_error_at_construction() -> None:
    with pytest.raises(TypeError, match=r"concat of .*ClientProtocol has no implementation"):
        Service(PROTOCOL, 1, DESCRIPTOR, HALF, refused=ALL - {"getFileInfo", "mkdirs", "concat"})


def test_method_with_two_homes_is_an_error_at_construction() -> None:
    rest = ALL - {"getFileInfo", "mkdirs", "concat"}
    with pytest.raises(TypeError, match=r"concat .* has 2 implementations \(concat in Half, More"):
        Service(PROTOCOL, 1, DESCRIPTOR, HALF, MoreHalf(), MoreHalf(), refused=rest)


def test_method_that_is_answered_and_refused_is_an_error_at_construction() -> None:
    with pytest.raises(TypeError, match=r"mkdirs .* has 2 implementations"):
        Service(PROTOCOL, 1, DESCRIPTOR, HALF, refused=ALL - {"getFileInfo"})


def test_refusing_a_method_that_does_not_exist_is_an_error_at_construction() -> None:
    with pytest.raises(TypeError, match="has no method fly to refuse"):
        Service(PROTOCOL, 1, DESCRIPTOR, HALF, refused={*ALL, "fly"} - {"getFileInfo", "mkdirs"})


def test_other_version_of_a_protocol_is_refused() -> None:
    with pytest.raises(errors.RemoteError) as caught:
        dispatch("getFileInfo", version=68)
    assert caught.value.remote_class == wire.VERSION_MISMATCH
    assert caught.value.message == (
        f"Protocol {PROTOCOL} version mismatch. (client = 68, server = 1)"
    )


@pytest.mark.parametrize("body", [b"\xff", b"", b"\x0a\x05ab"])
def test_request_that_cannot_be_parsed_is_an_rpc_error(body: bytes) -> None:
    with pytest.raises(errors.RpcServerError, match="request of getFileInfo cannot be parsed"):
        dispatch("getFileInfo", body)


@pytest.mark.parametrize("text", [b"\xff", b"\xed\xa0\x80", b"/a\xc3"])
def test_text_that_is_no_utf8_is_refused_by_the_fields_name(text: bytes) -> None:
    body = b"\x0a" + encode_varint(len(text)) + text
    with pytest.raises(errors.RpcServerError, match=r"GetFileInfoRequestProto\.src .* not UTF-8"):
        dispatch("getFileInfo", body)


@given(st.data())
@settings(max_examples=300)
def test_what_passes_has_no_undecodable_text_anywhere(data: st.DataObject) -> None:
    request_type, _ = data.draw(st.sampled_from(list(REGISTRY.services[PROTOCOL].methods.values())))
    try:
        request = request_type.FromString(data.draw(st.binary(max_size=60)))
    except Exception:  # noqa: BLE001 - not this test's business
        return
    if texts_of(type(request)).undecodable(request) is None:
        assert not list(bytes_for_text(request))


def bytes_for_text(message: Message) -> list[object]:
    found: list[object] = []
    for field, value in message.ListFields():
        values = [value] if isinstance(value, str | bytes | int | float | Message) else value
        if field.type == field.TYPE_STRING:
            found += [text for text in values if not isinstance(text, str)]
        elif field.message_type is not None:
            for part in values:
                assert isinstance(part, Message)
                found += bytes_for_text(part)
    return found


def test_deferred_tells_its_listener_once_it_is_settled() -> None:
    deferred = Deferred()
    told: list[object] = []
    deferred.when_settled(told.append)
    assert not deferred.settled
    deferred.settle(pb.MkdirsResponseProto(result=True))
    assert deferred.settled
    assert told == [pb.MkdirsResponseProto(result=True)]


def test_deferred_that_is_settled_tells_at_once() -> None:
    deferred = Deferred()
    told: list[object] = []
    error = errors.PathNotFound("gone")
    deferred.settle(error)
    deferred.when_settled(told.append)
    assert told == [error]


def test_deferred_is_settled_once() -> None:
    deferred = Deferred()
    deferred.settle(errors.PathNotFound("gone"))
    with pytest.raises(AssertionError):
        deferred.settle(errors.PathNotFound("gone"))


MADE = pb.MkdirsResponseProto(result=True)


def test_callback_settles_its_answer_with_what_work_makes() -> None:
    deferred, told = Deferred(), list[object]()
    deferred.when_settled(told.append)
    deferred.fed_by("mkdirs", lambda path: pb.MkdirsResponseProto(result=path == "/a"))("/a")
    assert told == [MADE]


def test_callback_settles_its_answer_with_the_error_that_it_is_given() -> None:
    deferred, told = Deferred(), list[object]()
    deferred.when_settled(told.append)
    error = errors.PathNotFound("gone")
    deferred.fed_by("mkdirs", lambda _: MADE)(error)
    assert told == [error]


@pytest.mark.parametrize("error", [errors.SafeMode("not now"), RuntimeError("nobody foresaw this")])
def test_callback_settles_its_answer_when_work_raises(error: Exception) -> None:
    deferred, told = Deferred(), list[object]()
    deferred.when_settled(told.append)

    def work(path: str) -> Message:
        raise error

    deferred.fed_by("mkdirs", work)("/a")
    assert str(error) in str(told[0])
    assert isinstance(told[0], errors.HowdahError)


def test_answer_that_nobody_waits_for_is_told_to_nobody() -> None:
    deferred, told = Deferred(), list[object]()
    deferred.when_settled(told.append)
    deferred.withdraw()
    deferred.settle(MADE)
    assert deferred.withdrawn
    assert told == []


# -- who sees the answers ------------------------------------------------------------------


class Seen:
    """An observer that keeps what it sees of one method."""

    def __init__(self, method: str) -> None:
        self._method = method
        self.outcomes: list[object] = []

    def watches(self, protocol: str, method: str) -> bool:
        return (protocol, method) == (PROTOCOL, self._method)

    def answered(
        self,
        method: str,
        request: Message,
        caller: Caller,
        outcome: Message | errors.HowdahError,
    ) -> None:
        assert isinstance(request, pb.MkdirsRequestProto)
        assert (method, caller.port, caller.context) == ("mkdirs", 77, ("job", b""))
        self.outcomes.append(outcome)


MADE = pb.MkdirsResponseProto(result=True)


class Making:
    """Answers as it is told to."""

    def __init__(self, answer: object) -> None:
        self._answer = answer

    def mkdirs(self, request: pb.MkdirsRequestProto, caller: Caller) -> object:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def observed(answer: object, watched: str = "mkdirs") -> tuple[Seen, object]:
    seen = Seen(watched)
    service = Service(PROTOCOL, 1, DESCRIPTOR, Making(answer), refused=ALL - {"mkdirs"})
    registry = Registry([service], lambda protocol, method, request: None, seen)
    body = pb.MkdirsRequestProto(
        src="/a", masked={"perm": 0o755}, createParent=True
    ).SerializeToString()
    call = Call(JOB, PROTOCOL, 1, "mkdirs", body)
    try:
        return seen, registry.dispatch(call)
    except errors.HowdahError as error:
        return seen, error


def test_answer_and_error_are_seen_once() -> None:
    assert observed(MADE)[0].outcomes == [MADE]
    denied = errors.AccessDenied("no")
    seen, outcome = observed(denied)
    assert seen.outcomes == [denied]
    assert outcome is denied


def test_answer_of_another_method_is_not_seen() -> None:
    assert observed(MADE, "delete")[0].outcomes == []


def test_long_answer_is_seen_at_its_end() -> None:
    def slices() -> Slices:
        yield
        return MADE

    seen, answer = observed(slices())
    assert isinstance(answer, Generator)
    next(answer)
    assert seen.outcomes == []
    with pytest.raises(StopIteration) as end:
        next(answer)
    assert (seen.outcomes, end.value.value) == ([MADE], MADE)


def test_long_answer_that_fails_is_seen() -> None:
    denied = errors.AccessDenied("no")

    def slices() -> Slices:
        yield
        raise denied

    seen, answer = observed(slices())
    assert isinstance(answer, Generator)
    next(answer)
    with pytest.raises(errors.AccessDenied):
        next(answer)
    assert seen.outcomes == [denied]


@pytest.mark.parametrize("withdrawn", [False, True])
def test_late_answer_is_seen_before_anybody_hears_of_it(withdrawn: bool) -> None:
    answer = Deferred()
    seen, found = observed(answer)
    assert found is answer
    heard: list[object] = []
    answer.when_settled(lambda outcome: heard.append((outcome, list(seen.outcomes))))
    if withdrawn:
        answer.withdraw()
    answer.settle(MADE)
    assert seen.outcomes == [MADE]
    assert heard == ([] if withdrawn else [(MADE, [MADE])])


def test_answer_that_is_settled_already_is_seen() -> None:
    answer = Deferred()
    answer.settle(MADE)
    assert observed(answer)[0].outcomes == [MADE]


# -- answers as bytes ----------------------------------------------------------------------


class Writing:
    """Gives bytes."""

    def mkdirs(self, request: pb.MkdirsRequestProto, caller: Caller) -> Encoded:
        return Encoded(MADE.SerializeToString())


@pytest.mark.parametrize("watched", ["create", "mkdirs"])
def test_an_answer_of_bytes_is_a_message_for_who_wants_to_see_it(watched: str) -> None:
    seen = Seen(watched)
    service = Service(PROTOCOL, 1, DESCRIPTOR, Writing(), refused=ALL - {"mkdirs"})
    registry = Registry([service], lambda protocol, method, request: None, seen)
    body = pb.MkdirsRequestProto(
        src="/a", masked={"perm": 0o755}, createParent=True
    ).SerializeToString()
    call = Call(JOB, PROTOCOL, 1, "mkdirs", body)
    answer = registry.dispatch_to_wire(call)
    assert isinstance(answer, Encoded)
    assert answer.data == MADE.SerializeToString()
    assert seen.outcomes == ([MADE] if watched == "mkdirs" else [])
    seen.outcomes.clear()
    assert registry.dispatch(call) == MADE
    assert seen.outcomes == ([MADE] if watched == "mkdirs" else [])
