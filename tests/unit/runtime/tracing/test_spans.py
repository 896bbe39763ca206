"""Spans: off, on, below one another, and what a process does that cannot have any."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.proto import client_namenode_pb2, rpc_pb2
from howdah.protocol.rpc import wire
from howdah.protocol.rpc.answering import GAVE_UP, held_back
from howdah.protocol.rpc.call import Call
from howdah.protocol.rpc.session import ServerSession
from howdah.rpc import tracing
from howdah.runtime.tracing import programs, spans
from howdah.runtime.tracing.context import TraceContext, decode
from howdah.runtime.tracing.settings import TracingSettings
from howdah.runtime.tracing.span import NOTHING, Kind
from howdah.runtime.tracing.spans import Foreign

pytest.importorskip("opentelemetry.sdk.trace", reason="howdah[tracing]")

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from howdah.runtime.tracing.otel import OtelTracer

PARENT = TraceContext(0xABC, 0xDEF).encode()


class Lab:
    """Traces that are on in this process, and what was recorded."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        self._exporter = InMemorySpanExporter()

    def on(self, *, begins: bool = True, sampled: bool = True) -> None:
        provider = TracerProvider(sampler=None if sampled else ALWAYS_OFF)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        tracer = OtelTracer(provider.get_tracer("test"), begins=begins)
        self._patch.setattr(spans, "tracer", tracer)

    @property
    def ended(self) -> list[ReadableSpan]:
        return list(self._exporter.get_finished_spans())

    def named(self, name: str) -> ReadableSpan:
        (found,) = [span for span in self.ended if span.name == name]
        return found


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.setattr(spans, "tracer", None)
    monkeypatch.setattr(spans, "_foreign", Foreign())
    return Lab(monkeypatch)


@pytest.mark.req("TR-005")
def test_off_a_span_is_nothing(lab: Lab) -> None:
    span = spans.begin("a")
    assert span is NOTHING
    assert span.child("b") is NOTHING
    assert span.wire() == b""
    assert spans.serve("a", {}, PARENT) is NOTHING
    with span.current():
        span.set({"a": 1})
    span.end(ValueError("no"))


@pytest.mark.req("TR-005")
def test_off_nothing_of_opentelemetry_is_loaded() -> None:
    programs = "howdah.cli.main, howdah.fs.hdfs.filesystem, howdah.client.writing.output, "
    programs += "howdah.client.reading.block_reader, howdah.namenode.server.process.server, "
    programs += "howdah.datanode.process.data_process, howdah.router.server"
    script = (
        f"import sys, {programs}\n"
        "assert howdah.cli.main.main(['getconf', '-confKey', 'howdah.tracing.enabled']) == 0\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=100
    )
    assert done.stdout == "false\n[]\n", done.stderr


@pytest.mark.req("TR-001")
def test_what_is_begun_below_the_current_span_is_its_child(lab: Lab) -> None:
    lab.on()
    above = spans.begin("above")
    with above.current():
        spans.begin("below", kind=Kind.CLIENT).end()
    spans.begin("apart").end()
    above.child("explicit").end()
    above.end()
    root = lab.named("above").context
    assert root is not None
    for name in ("below", "explicit"):
        parent = lab.named(name).parent
        assert parent is not None
        assert parent.span_id == root.span_id
    assert lab.named("apart").parent is None


@pytest.mark.req("TR-001")
def test_a_server_goes_on_with_traces_and_begins_none(lab: Lab) -> None:
    lab.on(begins=False)
    assert spans.begin("a heartbeat") is NOTHING
    span = spans.serve("served", {}, PARENT)
    with span.current():
        spans.begin("what it asks itself").end()
    span.end()
    parent = lab.named("served").parent
    assert parent is not None
    assert (parent.trace_id, parent.span_id, parent.is_remote) == (0xABC, 0xDEF, True)
    assert decode(span.wire()).trace_id == 0xABC
    assert len(lab.ended) == 2


@pytest.mark.req("TR-005")
def test_a_trace_that_no_sampler_chose_is_told_to_nobody(lab: Lab) -> None:
    lab.on(sampled=False)
    span = spans.begin("unchosen")
    assert span.wire() == b""
    with span.current():
        below = spans.begin("below")
        assert below.wire() == b""
        below.end()
    span.end()
    assert lab.ended == []


@pytest.mark.req("TR-002")
def test_the_state_of_vendors_is_passed_on(lab: Lab) -> None:
    lab.on()
    span = spans.serve("served", {}, TraceContext(1, 2, 1, "vendor=thing").encode())
    assert decode(span.wire()).state == "vendor=thing"


@pytest.mark.req("TR-004")
def test_an_error_has_the_name_that_hadoop_gives_it(lab: Lab) -> None:
    lab.on()
    spans.begin("a").end(errors.SafeMode("Cannot write /a"))
    spans.begin("b").end(OSError("a disk" * 1000))
    first, second = lab.ended
    assert first.attributes is not None
    assert second.attributes is not None
    assert str(first.attributes["error.type"]).endswith(".namenode.SafeModeException")
    assert second.attributes["error.type"] == "OSError"
    assert len(second.status.description or "") == 1000


@pytest.mark.req("TR-004")
def test_a_span_ends_once(lab: Lab) -> None:
    lab.on()
    span = spans.begin("a")
    span.end()
    span.end(ValueError("late"))
    span.set({"late": True})
    assert lab.named("a").status.description is None


@pytest.mark.req("TR-003")
def test_contexts_that_cannot_be_read_cost_one_line(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.on()
    with caplog.at_level(logging.WARNING):
        for number in range(50):
            assert spans.serve("mkdirs" * 100, {}, b"\xff\n" * number or b"x") is NOTHING
    (record,) = caplog.records
    assert len(record.getMessage()) < 400
    assert "\n" not in record.getMessage()


@pytest.mark.req("TR-002")
def test_a_calls_header_has_hadoops_fields() -> None:
    raw = wire.encode_call(
        protocol="p",
        method="m",
        request=client_namenode_pb2.GetFileInfoRequestProto(src="/"),
        call_id=7,
        client_id=b"c" * 16,
        trace=TraceContext((5 << 64) + (1 << 63), 9).encode(),
    )
    header = rpc_pb2.RpcRequestHeaderProto.FromString(wire.read_delimited(raw[4:], 0)[0])
    assert header.traceInfo.traceId == -(1 << 63)
    assert header.traceInfo.parentId == 9
    assert decode(header.traceInfo.spanContext).trace_id == (5 << 64) + (1 << 63)


def _calls(*traces: bytes) -> list[Call]:
    session = ServerSession()
    session.receive(wire.preamble() + wire.encode_context("p", "me", b"c" * 16))
    events = [
        session.receive(
            wire.encode_call(
                protocol="p",
                method="m",
                request=client_namenode_pb2.GetFileInfoRequestProto(src="/"),
                call_id=number,
                client_id=b"c" * 16,
                trace=trace,
            )
        )
        for number, trace in enumerate(traces)
    ]
    return [event for some in events for event in some if isinstance(event, Call)]


@pytest.mark.req("TR-001")
def test_each_call_has_the_context_that_came_with_it() -> None:
    sent = [b"", PARENT, TraceContext(1, 2).encode(), b"", b"\xff" * 70_000]
    assert [call.trace for call in _calls(*sent)] == sent


@pytest.mark.req("TR-004")
def test_a_call_that_waited_for_its_turn_shows_it(lab: Lab) -> None:
    lab.on(begins=False)
    (slow, quick) = _calls(PARENT, PARENT)
    for call, waited_ns in ((slow, 50_000_000), (quick, 1000)):
        tracing.server_span(call, waited_ns).end()
    wait = lab.named("wait for a turn")
    served, _ = [span for span in lab.ended if span.name == "p.m"]
    assert wait.parent is not None
    assert served.context is not None
    assert wait.parent.span_id == served.context.span_id
    assert wait.start_time == served.start_time


@pytest.mark.req("TR-004")
def test_a_wait_for_the_journal_is_below_its_call(lab: Lab) -> None:
    lab.on(begins=False)
    (call, other) = _calls(PARENT, PARENT)
    for each, error in ((call, None), (other, GAVE_UP)):
        held_back(tracing.server_span(each, 0), None)(error)
    assert [span.name for span in lab.ended] == ["journal sync", "p.m"] * 2
    assert [span.status.is_ok for span in lab.ended] == [True, True, False, False]


@pytest.mark.req("TR-001")
def test_a_lease_that_is_renewed_begins_no_trace(lab: Lab) -> None:
    lab.on()
    request = client_namenode_pb2.RenewLeaseRequestProto(clientName="c")
    address = ("localhost", 8020)
    assert tracing.client_span("p", "renewLease", request, address) is NOTHING
    assert tracing.client_span("p", "getFileInfo", request, address) is not NOTHING


@pytest.mark.req("TR-005")
def test_where_opentelemetry_is_missing_the_key_is_refused(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.delitem(sys.modules, "howdah.runtime.tracing.otel", raising=False)
    monkeypatch.delattr("howdah.runtime.tracing.otel", raising=False)
    conf = Configuration({"howdah.tracing.enabled": "true"})
    with pytest.raises(errors.UnsupportedOperation, match=r"install howdah\[tracing\]"):
        spans.join(conf)
    with pytest.raises(errors.UnsupportedOperation, match=r"install howdah\[tracing\]"):
        programs.run_traced("namenode", conf, lambda: 0)


@pytest.mark.req("TR-005")
def test_an_exporter_that_nobody_has_is_named(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none,smoke-signals")
    with pytest.raises(errors.InvalidConfiguration, match="'smoke-signals', which is not"):
        spans.provide(TracingSettings(True), "test", begins=True)


@pytest.mark.req("TR-001")
@pytest.mark.parametrize(("ratio", "recorded"), [("0", False), ("1", True), (None, True)])
def test_the_key_says_which_part_of_traces_is_recorded(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, ratio: str | None, recorded: bool
) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    values = {"howdah.tracing.enabled": "true"}
    if ratio is not None:
        values["howdah.tracing.sample.ratio"] = ratio
    spans.provide(TracingSettings.of(Configuration(values)), "test", begins=True)
    assert bool(spans.begin("a").wire()) is recorded
    # Whatever is recorded here, a trace that another has begun goes on as it began.
    assert spans.serve("b", {}, PARENT).wire() != b""
    spans.stop()


@pytest.mark.req("TR-001")
def test_a_command_is_one_span_with_its_exit_code(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.on()
    monkeypatch.setenv("TRACEPARENT", PARENT.decode())
    conf = Configuration({"howdah.tracing.enabled": "true"})

    def run() -> int:
        spans.begin("asked").end()
        return 3

    assert programs.run_traced("dfs", conf, run) == 3
    whole = lab.named("howdah dfs")
    assert whole.attributes is not None
    assert whole.attributes["process.exit.code"] == 3
    assert whole.parent is not None
    assert whole.parent.trace_id == 0xABC
    assert lab.named("asked").parent == whole.context


@pytest.mark.req("TR-001")
@pytest.mark.parametrize("name", ["namenode", "httpfs", "up"])
def test_a_server_is_no_span(lab: Lab, name: str) -> None:
    lab.on()
    conf = Configuration({"howdah.tracing.enabled": "true"})
    assert programs.run_traced(name, conf, lambda: 0) == 0
    assert lab.ended == []


@pytest.mark.req("TR-004")
def test_a_command_that_fails_says_so_in_its_span(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.on()
    monkeypatch.delenv("TRACEPARENT", raising=False)

    def run() -> int:
        raise errors.PathNotFound("no /a")

    with pytest.raises(errors.PathNotFound):
        programs.run_traced("dfs", Configuration({"howdah.tracing.enabled": "true"}), run)
    assert not lab.named("howdah dfs").status.is_ok
