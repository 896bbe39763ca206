"""Connections whose clients have to prove who they are: this client and this server, byte by byte,
and clients that try otherwise."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import rpc_pb2
from howdah.protocol.rpc import wire
from howdah.protocol.rpc.call import Call
from howdah.protocol.rpc.negotiation import (
    ClientNegotiation,
    Evaluate,
    Offer,
    decode_sasl,
    encode_sasl,
)
from howdah.protocol.rpc.proven import KERBEROS, SIMPLE, TOKEN, Proven
from howdah.protocol.rpc.session import ActsFor, Close, Event, Protect, Reply, ServerSession, State
from howdah.protocol.rpc.wrapped_stream import WrappedStream
from howdah.protocol.sasl.digest_md5 import DigestMd5Client, DigestMd5Server, credentials_of
from howdah.protocol.sasl.gssapi import GssapiClient, GssapiServer
from howdah.protocol.sasl.mechanism import ClientMechanism, ServerMechanism
from howdah.protocol.sasl.protection import Protection
from howdah.runtime import unexpected_errors
from tests.support.security.half_context import HalfContext

PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
FOR_DATANODES = "org.apache.hadoop.hdfs.server.protocol.DatanodeProtocol"
CLIENT_ID = bytes(range(16))
PASSWORD = b"secret of the token"
SASL = rpc_pb2.RpcSaslProto
Header = rpc_pb2.RpcResponseHeaderProto


class Methods:
    """A token's identifier is `owner`, or `owner/real user`."""

    def __init__(self, *protections: Protection) -> None:
        self._protections = protections or tuple(Protection)

    @property
    def offers(self) -> Sequence[Offer]:
        return Offer(TOKEN, "DIGEST-MD5", "", "default"), Offer(KERBEROS, "GSSAPI", "nn", "h")

    def begin(self, offer: Offer, address: str, port: int) -> ServerMechanism:
        if offer.method == KERBEROS:
            context = HalfContext([b"AP-REP"])
            return GssapiServer(context, self._protections, setting="hadoop.rpc.protection")
        return DigestMd5Server(
            lambda name: credentials_of(b"", PASSWORD)[1],
            offer.server_id,
            f"{offer.protocol}/{offer.server_id}",
            self._protections,
            nonce=b"bm9uY2U=",
            setting="hadoop.rpc.protection",
        )

    def proven(self, offer: Offer, mechanism: ServerMechanism) -> Proven:
        who = mechanism.client
        if offer.method == TOKEN:
            who = base64.b64decode(who).decode()
        name, _, real = who.partition("/")
        if name == "nobody@EXAMPLE.COM":
            raise errors.AuthenticationFailed("no rule applies to nobody@EXAMPLE.COM")
        return Proven(offer.method, name.partition("@")[0], name, real or None)

    def admit(self, proven: Proven, protocol: str, address: str) -> None:
        if protocol == FOR_DATANODES and proven.user != "dn":
            raise errors.AuthorizationFailed(f"User {proven.full_name} is not authorized")

    def believed(self, user: str, address: str) -> None:
        """Nobody wants to know."""

    def speaker_of(self, protocol: str, address: str) -> str | None:
        return "dn" if protocol == FOR_DATANODES else None


class Choose:
    """Takes the first offer of a method."""

    def __init__(self, method: str, name: str, *protections: Protection) -> None:
        self._method = method
        self._name = name
        self._protections = protections or (Protection.AUTHENTICATION,)

    def __call__(self, offers: Sequence[Offer]) -> tuple[Offer, ClientMechanism]:
        offer = next(offer for offer in offers if offer.method == self._method)
        if offer.method == KERBEROS:
            context = HalfContext([b"AP-REQ " + self._name.encode(), b""])
            return offer, GssapiClient(context, self._protections, setting="hadoop.rpc.protection")
        name, password = credentials_of(self._name.encode(), PASSWORD)
        uri = f"{offer.protocol}/{offer.server_id}"
        return offer, DigestMd5Client(
            name, password, uri, self._protections, cnonce=b"Yw==", setting="hadoop.rpc.protection"
        )


def opened(methods: Methods | None = None) -> ServerSession:
    session = ServerSession(address="10.0.0.1", authentication=methods or Methods())
    assert session.receive(wire.preamble(wire.AUTH_SASL)) == []
    return session


def answered(session: ServerSession, data: bytes) -> list[Event]:
    """The events of what came, with what is to be evaluated evaluated in place."""
    events: list[Event] = []
    for event in session.receive(data):
        if isinstance(event, Evaluate):
            try:
                answer: bytes | errors.HowdahError | None = event.mechanism.evaluate(event.response)
            except errors.HowdahError as error:
                answer = error
            events += session.evaluated(answer)
        else:
            events.append(event)
    return events


def payload_of(event: Event) -> bytes:
    assert isinstance(event, Reply)
    return event.data[4:]


def negotiate(session: ServerSession, choose: Choose) -> tuple[ClientNegotiation, Protect | None]:
    """Both sides are done, and the server's wrapping from now on, if there is one."""
    negotiation = ClientNegotiation(choose)
    request, events = negotiation.begin(), list[Event]()
    while not negotiation.is_done:
        events = answered(session, request)
        request = negotiation.receive(payload_of(events[0]))
    assert request == b""
    last = events[1] if len(events) > 1 else None
    assert last is None or isinstance(last, Protect)
    return negotiation, last


def context(user: str | None = None, real_user: str | None = None, to: str = PROTOCOL) -> bytes:
    return wire.encode_context(to, user, CLIENT_ID, real_user)


def call(path: str = "/a", call_id: int = 0) -> bytes:
    return wire.encode_call(
        protocol=PROTOCOL,
        method="getFileInfo",
        request=pb.GetFileInfoRequestProto(src=path),
        call_id=call_id,
        client_id=CLIENT_ID,
    )


def refusal(events: Sequence[Event]) -> Header:
    """The one answer that ends a connection."""
    reply, close = events
    assert isinstance(close, Close)
    header, _ = wire.decode_answer(payload_of(reply))
    assert header.status == Header.FATAL
    return header


# -- who a client is ---------------------------------------------------------------


@pytest.mark.parametrize("protection", Protection)
@given(
    cuts=st.lists(st.integers(1, 2000), max_size=8),
    paths=st.lists(st.text(max_size=30), min_size=1, max_size=5),
)
def test_calls_are_of_who_was_proven(
    protection: Protection, cuts: list[int], paths: list[str]
) -> None:
    session = opened()
    negotiation, protect = negotiate(session, Choose(KERBEROS, "alice@EXAMPLE.COM", protection))
    data = context("alice@EXAMPLE.COM") + b"".join(
        [call(path, number) for number, path in enumerate(paths)]
    )
    assert negotiation.mechanism is not None
    layer = negotiation.mechanism.layer
    assert (layer is None) == (protect is None) == (protection is Protection.AUTHENTICATION)
    stream = None
    if layer is not None:
        stream = WrappedStream(layer)
        stream.limit(1 << 20)
        data = stream.wrap(data)
    events: list[Event] = []
    edges = sorted({0, len(data), *[cut for cut in cuts if cut < len(data)]})
    for start, end in pairwise(edges):
        events += session.receive(data[start:end])
    calls = [event for event in events if isinstance(event, Call)]
    assert calls == events
    assert [pb.GetFileInfoRequestProto.FromString(each.body).src for each in calls] == paths
    assert {each.caller.user for each in calls} == {"alice"}
    assert session.pending_bytes == 0
    answer = wire.encode_answer(0, CLIENT_ID, 0, pb.GetFileInfoResponseProto())
    if protect is not None and stream is not None:
        wrapped = protect.wrapping.wrap(answer)
        assert wrapped != answer
        assert stream.feed(wrapped) == [answer[4:]]


@pytest.mark.parametrize("user", [None, "alice", "alice@EXAMPLE.COM"])
def test_a_context_may_name_who_was_proven_or_nobody(user: str | None) -> None:
    session = opened()
    negotiate(session, Choose(KERBEROS, "alice@EXAMPLE.COM"))
    assert session.receive(context(user)) == []
    assert (session.user, session.real_user, session.state) == ("alice", None, State.READY)


def test_a_client_that_names_its_real_user_alone_is_who_it_has_proven_to_be() -> None:
    """As one of the field's clients does."""
    session = opened()
    negotiate(session, Choose(KERBEROS, "alice@EXAMPLE.COM"))
    assert session.receive(context(None, "hdfs@EXAMPLE.COM")) == []
    assert (session.user, session.real_user) == ("alice", None)


def test_who_acts_for_another_by_a_ticket_is_asked_about() -> None:
    session = opened()
    negotiate(session, Choose(KERBEROS, "hive@EXAMPLE.COM"))
    assert session.receive(context("bob", "hive@EXAMPLE.COM")) == [ActsFor("hive", "bob")]
    assert (session.user, session.real_user) == ("bob", "hive")


def test_a_context_cannot_say_who_acts() -> None:
    """It is the one that was proven, whatever real user is named."""
    session = opened()
    negotiate(session, Choose(KERBEROS, "mallory@EXAMPLE.COM"))
    assert session.receive(context("bob", "hive@EXAMPLE.COM")) == [ActsFor("mallory", "bob")]


def test_a_token_that_was_got_for_another_needs_no_more_leave() -> None:
    session = opened()
    negotiate(session, Choose(TOKEN, "bob/hive"))
    assert session.receive(context()) == []
    assert (session.user, session.real_user) == ("bob", "hive")


@pytest.mark.parametrize("token", ["alice@EXAMPLE.COM", "alice@EXAMPLE.COM/hive"])
def test_who_has_a_token_is_its_owner_and_nobody_else(token: str) -> None:
    session = opened()
    negotiate(session, Choose(TOKEN, token))
    header = refusal(session.receive(context("bob")))
    assert header.exceptionClassName == errors.AccessDenied.java_class
    assert header.errorMsg == (
        "Authenticated user (alice@EXAMPLE.COM (auth:TOKEN)) doesn't match what the client claims "
        "to be (bob (auth:SIMPLE))"
    )


def test_a_protocol_between_servers_is_theirs() -> None:
    for name, is_taken in (("dn", True), ("alice", False)):
        session = opened()
        negotiate(session, Choose(KERBEROS, f"{name}@EXAMPLE.COM"))
        events = session.receive(context(to=FOR_DATANODES))
        if is_taken:
            assert events == []
            assert session.state is State.READY
        else:
            assert refusal(events).errorDetail == Header.FATAL_UNAUTHORIZED
            assert session.receive(call()) == []


def test_who_was_let_in_to_speak_one_protocol_does_not_speak_another() -> None:
    """Hadoop looks at the connection's context alone."""
    session = opened()
    negotiate(session, Choose(KERBEROS, "alice@EXAMPLE.COM"))
    assert session.receive(context()) == []
    (own,) = session.receive(call())
    assert isinstance(own, Call)
    foreign = wire.encode_call(
        protocol=FOR_DATANODES,
        method="registerDatanode",
        request=pb.GetFileInfoRequestProto(src="/"),
        call_id=1,
        client_id=CLIENT_ID,
    )
    assert "is not authorized" in refusal(session.receive(foreign)).errorMsg
    assert session.state is State.CLOSED


def test_who_may_speak_both_protocols_may_do_so_on_one_connection() -> None:
    session = opened()
    negotiate(session, Choose(KERBEROS, "dn@EXAMPLE.COM"))
    assert session.receive(context()) == []
    for number in (1, 2):
        (served,) = session.receive(
            wire.encode_call(
                protocol=FOR_DATANODES,
                method="registerDatanode",
                request=pb.GetFileInfoRequestProto(src="/"),
                call_id=number,
                client_id=CLIENT_ID,
            )
        )
        assert isinstance(served, Call)
        assert served.protocol == FOR_DATANODES


def test_who_has_no_name_here_is_refused() -> None:
    session = opened()
    negotiation = ClientNegotiation(Choose(KERBEROS, "nobody@EXAMPLE.COM"))
    request, events = negotiation.begin(), list[Event]()
    while not events or not isinstance(events[-1], Close):
        if events:
            request = negotiation.receive(payload_of(events[0]))
        events = answered(session, request)
    assert "no rule applies" in refusal(events).errorMsg
    assert session.state is State.CLOSED


# -- who tries otherwise -----------------------------------------------------------


def test_who_proves_nothing_is_refused_in_hadoops_words() -> None:
    session = ServerSession(authentication=Methods())
    header = refusal(session.receive(wire.preamble() + context("hdfs") + call()))
    assert header.exceptionClassName == errors.AccessDenied.java_class
    assert header.errorMsg == ("SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]")


def initiate(
    method: str = TOKEN, mechanism: str = "DIGEST-MD5", token: bytes | None = b"x"
) -> bytes:
    auth = SASL.SaslAuth(method=method, mechanism=mechanism)
    return encode_sasl(SASL(state=SASL.INITIATE, token=token, auths=[auth]))


def state(name: str, token: bytes | None = b"") -> bytes:
    return encode_sasl(SASL(state=name, token=token))


NEGOTIATE = state("NEGOTIATE", None)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (context("hdfs"), "Connection header sent during SASL negotiation"),
        (NEGOTIATE + context("hdfs"), "Connection header sent during SASL negotiation"),
        (call(), "a call came before the connection's context"),
        (NEGOTIATE + NEGOTIATE, "NEGOTIATE, out of place"),
        (state("RESPONSE"), "RESPONSE, out of place"),
        (NEGOTIATE + state("RESPONSE"), "RESPONSE, out of place"),
        (state("SUCCESS"), "SUCCESS, out of place"),
        (state("CHALLENGE"), "CHALLENGE, out of place"),
        (state("WRAP"), "WRAP, out of place"),
        (initiate("SIMPLE", ""), "SIMPLE authentication is not enabled"),
        (initiate("PLAIN", "PLAIN"), "PLAIN authentication is not enabled"),
        (initiate(TOKEN, "GSSAPI"), "TOKEN authentication is not enabled"),
        (initiate(token=None), "did not send a token"),
        (encode_sasl(SASL(state=SASL.INITIATE, token=b"x")), "mechanism is malformed"),
        (NEGOTIATE + initiate(token=b"nonsense"), "cannot be understood|lacks"),
        (initiate(token=b"nonsense"), "first word"),
        (NEGOTIATE + initiate() + initiate(), "INITIATE, out of place"),
        (NEGOTIATE + initiate() + context("hdfs"), "Connection header sent"),
        ((128 * 1024 + 1).to_bytes(4) + b"x", "131073 bytes is announced"),
    ],
)
def test_what_is_no_proof_ends_the_connection(said: bytes, words: str) -> None:
    session = opened()
    events = answered(session, said)
    header = refusal(events[-2:])
    assert re.search(words, header.errorMsg), header.errorMsg
    assert session.state is State.CLOSED
    assert not any(isinstance(event, Call | ActsFor) for event in events)
    assert session.receive(context("hdfs") + call()) == []


def wrapped_session() -> tuple[ServerSession, WrappedStream]:
    session = opened()
    negotiation, _ = negotiate(session, Choose(TOKEN, "alice", Protection.PRIVACY))
    assert negotiation.mechanism is not None
    assert negotiation.mechanism.layer is not None
    stream = WrappedStream(negotiation.mechanism.layer)
    stream.limit(1 << 20)
    assert session.receive(stream.wrap(context())) == []
    return session, stream


@pytest.mark.parametrize(
    "spoil",
    [
        lambda frames: call(),
        lambda frames: frames[0] + call(call_id=1),
        lambda frames: frames[0] + frames[0],
        lambda frames: frames[1],
        lambda frames: frames[0][:-20] + bytes((frames[0][-20] ^ 1,)) + frames[0][-19:],
        lambda frames: state("NEGOTIATE"),
        lambda frames: encode_sasl(SASL(state=SASL.WRAP, token=b"")),
        lambda frames: wire.frame(b"\xff" * 30),
        lambda frames: (1 << 30).to_bytes(4),
    ],
    ids=[
        "plain call",
        "plain call behind a wrapped one",
        "repeated",
        "one left out",
        "changed",
        "not wrapped",
        "empty",
        "no frame",
        "too long",
    ],
)
def test_what_is_not_wrapped_as_agreed_ends_the_connection(
    spoil: Callable[[list[bytes]], bytes],
) -> None:
    session, stream = wrapped_session()
    frames = [stream.wrap(call(call_id=number)) for number in range(3)]
    events = session.receive(spoil(frames))
    calls = [event for event in events if isinstance(event, Call)]
    assert len(calls) <= 1
    assert all(each.call_id == 0 for each in calls)
    assert isinstance(events[-1], Close)
    assert session.receive(frames[2]) == []


def test_bytes_in_front_of_what_is_wrapped_are_no_part_of_it() -> None:
    """Whoever stands between could put the beginning of a call before the first wrapped one."""
    session = opened()
    negotiation = ClientNegotiation(Choose(TOKEN, "alice", Protection.INTEGRITY))
    request = negotiation.begin()
    [offers] = answered(session, request)
    response = negotiation.receive(payload_of(offers))
    events = answered(session, response + call()[:10])
    assert "not wrapped" in refusal(events).errorMsg


def test_nothing_may_come_while_a_proof_is_evaluated() -> None:
    session = opened()
    [offers] = session.receive(NEGOTIATE)
    choose = Choose(TOKEN, "alice")
    negotiation = ClientNegotiation(choose)
    negotiation.begin()
    response = negotiation.receive(payload_of(offers))
    [step] = session.receive(response)
    assert isinstance(step, Evaluate)
    answer = step.mechanism.evaluate(step.response)
    assert "Connection header" in refusal(session.receive(context())).errorMsg
    assert session.evaluated(answer) == [], "it is too late"


class Defective(Methods):
    """One of its steps fails on a defect."""

    def __init__(self, step: str) -> None:
        super().__init__()
        self._step = step

    def _fail_in(self, step: str) -> None:
        if step == self._step:
            raise KeyError("a defect")

    def begin(self, offer: Offer, address: str, port: int) -> ServerMechanism:
        self._fail_in("begin")
        return super().begin(offer, address, port)

    def proven(self, offer: Offer, mechanism: ServerMechanism) -> Proven:
        self._fail_in("proven")
        return super().proven(offer, mechanism)

    def admit(self, proven: Proven, protocol: str, address: str) -> None:
        self._fail_in("admit")
        super().admit(proven, protocol, address)


@pytest.mark.parametrize("step", ["begin", "proven", "admit"])
def test_a_defect_of_what_authenticates_ends_the_connection_alone(step: str) -> None:
    session = opened(Defective(step))
    before = unexpected_errors.seen["the proof of a client"]
    if step == "begin":
        header = refusal(session.receive(NEGOTIATE))
    else:
        [offers] = session.receive(NEGOTIATE)
        negotiation = ClientNegotiation(Choose(TOKEN, "alice"))
        negotiation.begin()
        events = answered(session, negotiation.receive(payload_of(offers)))
        header = refusal(events if step == "proven" else session.receive(context()))
    assert "the server failed on an internal error" in header.errorMsg
    assert session.state is State.CLOSED
    assert unexpected_errors.seen["the proof of a client"] == before + 1


def test_a_proof_is_in_no_repr() -> None:
    session = opened()
    [offers] = session.receive(NEGOTIATE)
    negotiation = ClientNegotiation(Choose(TOKEN, "alice"))
    negotiation.begin()
    [step] = session.receive(negotiation.receive(payload_of(offers)))
    assert "response=" not in repr(step)
    assert PASSWORD.decode() not in repr(step)


class TokensAlone(Methods):
    """Takes tokens, and else believes everybody."""

    @property
    def offers(self) -> Sequence[Offer]:
        return Offer(TOKEN, "DIGEST-MD5", "", "default"), Offer(SIMPLE, "")


def test_without_kerberos_who_shows_no_token_is_believed() -> None:
    session = ServerSession(authentication=TokensAlone())
    assert session.receive(wire.preamble(wire.AUTH_NONE)) == []
    assert session.receive(context("bob")) == []
    [event] = session.receive(call())
    assert isinstance(event, Call)
    assert (event.caller.user, event.caller.proven) == ("bob", None)


def test_without_kerberos_a_client_may_say_that_it_proves_nothing() -> None:
    session = opened(TokensAlone())
    negotiation = ClientNegotiation(lambda offers: None)
    [offers] = session.receive(negotiation.begin())
    chosen = negotiation.receive(payload_of(offers))
    assert negotiation.is_done
    assert session.receive(chosen + context("bob")) == [], "to which nothing is answered"
    [event] = session.receive(call())
    assert isinstance(event, Call)
    assert event.caller.user == "bob"


def test_without_kerberos_too_a_token_is_its_owner() -> None:
    session = opened(TokensAlone())
    negotiate(session, Choose(TOKEN, "alice"))
    assert "doesn't match" in refusal(session.receive(context("bob"))).errorMsg
    wrong = opened(TokensAlone())
    [offers] = wrong.receive(NEGOTIATE)
    negotiation = ClientNegotiation(Choose(TOKEN, "alice"))
    negotiation.begin()
    negotiation.receive(payload_of(offers))
    assert "Connection header" in refusal(wrong.receive(context("bob"))).errorMsg


def test_a_server_that_takes_tickets_is_not_talked_out_of_it() -> None:
    session = opened()
    session.receive(NEGOTIATE)
    simple = SASL(state=SASL.INITIATE, auths=[Offer(SIMPLE, "").to_proto()])
    header = refusal(session.receive(encode_sasl(simple)))
    assert "SIMPLE authentication is not enabled" in header.errorMsg


def test_a_server_that_knows_nobody_still_says_that_it_is_satisfied() -> None:
    session = ServerSession()
    [reply] = session.receive(wire.preamble(wire.AUTH_SASL) + NEGOTIATE)
    assert decode_sasl(payload_of(reply)).state == SASL.SUCCESS


@given(st.lists(st.binary(max_size=60), max_size=6))
def test_any_frames_end_in_a_refusal_or_wait(frames: list[bytes]) -> None:
    session = opened()
    for each in frames:
        for event in answered(session, wire.frame(each)):
            assert not isinstance(event, Call | ActsFor | Protect)


@given(
    st.lists(
        st.builds(
            lambda kind, token, method: encode_sasl(
                SASL(
                    state=kind,
                    token=token,
                    auths=[SASL.SaslAuth(method=method, mechanism="DIGEST-MD5")],
                )
            ),
            st.sampled_from(SASL.SaslState.keys()),
            st.one_of(st.none(), st.binary(max_size=40)),
            st.sampled_from([TOKEN, KERBEROS, "SIMPLE", ""]),
        ),
        max_size=6,
    )
)
def test_any_messages_of_sasl_prove_nobody(frames: list[bytes]) -> None:
    session = opened()
    for each in frames:
        for event in answered(session, each):
            assert not isinstance(event, Call | ActsFor | Protect)
    assert session.user == ""


class Both(Methods):
    """Takes tokens and tickets, and believes everybody else, too."""

    def __init__(self) -> None:
        super().__init__()
        self.strangers: list[tuple[str, str]] = []

    @property
    def offers(self) -> Sequence[Offer]:
        return *super().offers, Offer(SIMPLE, "")

    def believed(self, user: str, address: str) -> None:
        self.strangers.append((user, address))


def test_during_a_change_who_proves_nothing_is_believed_and_told_of() -> None:
    methods = Both()
    for begin in (wire.preamble(wire.AUTH_NONE), None):
        session = ServerSession(address="10.0.0.5", authentication=methods)
        if begin is None:
            session.receive(wire.preamble(wire.AUTH_SASL))
            [offers] = session.receive(NEGOTIATE)
            negotiation = ClientNegotiation(lambda offers: None)
            negotiation.begin()
            begin = negotiation.receive(payload_of(offers))
        assert session.receive(begin + context("bob", to=FOR_DATANODES)) == []
        [event] = session.receive(call())
        assert isinstance(event, Call)
        assert (event.caller.user, event.caller.proven) == ("bob", None)
    assert methods.strangers == [("bob", "10.0.0.5")] * 2


def test_during_a_change_who_shows_something_is_held_to_it() -> None:
    methods = Both()
    session = opened(methods)
    negotiate(session, Choose(TOKEN, "alice"))
    assert "doesn't match" in refusal(session.receive(context("bob"))).errorMsg
    session = opened(methods)
    negotiate(session, Choose(TOKEN, "alice"))
    refused = refusal(session.receive(context("alice", to=FOR_DATANODES)))
    assert "not authorized" in refused.errorMsg
    half = opened(methods)
    half.receive(NEGOTIATE)
    assert "Connection header" in refusal(half.receive(context("bob"))).errorMsg
    assert methods.strangers == []
