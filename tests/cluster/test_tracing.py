"""One read and one write, followed from an application through real processes.

The servers and the application send their spans to a collector of this test, over HTTP, as they
would to one of an operator.
"""

from __future__ import annotations

import gzip
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from howdah.proto import client_namenode_pb2
from howdah.protocol.rpc import wire
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="howdah[tracing]")

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

LENGTH = 300_000

APPLICATION = """
import sys

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider(resource=Resource.create({"service.name": "application"}))
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)

import howdah
from howdah.config import Configuration

uri, length = sys.argv[1], int(sys.argv[2])
conf = {"howdah.tracing.enabled": "true"}
fs = howdah.connect(uri, conf=Configuration(conf))
tracer = trace.get_tracer("an application")
traces = []
with tracer.start_as_current_span("write a report") as span:
    traces.append(span.get_span_context().trace_id)
    with fs.create("/report", replication=3) as out:
        out.write(b"x" * length)
        out.hsync()
with tracer.start_as_current_span("read a report") as span:
    traces.append(span.get_span_context().trace_id)
    with fs.open("/report") as file:
        assert len(file.read()) == length
with tracer.start_as_current_span("look for what is not there") as span:
    traces.append(span.get_span_context().trace_id)
    try:
        fs.open("/nothing")
    except FileNotFoundError:
        pass
with tracer.start_as_current_span("through fsspec") as span:
    traces.append(span.get_span_context().trace_id)
    import fsspec
    host, _, port = uri.removeprefix("hdfs://").partition(":")
    found = fsspec.filesystem("howdah", host=host, port=int(port), conf=conf)
    assert found.cat_file("/report", 0, 10) == b"x" * 10
provider.shutdown()
print(*(f"{trace_id:032x}" for trace_id in traces))
"""


@dataclass(frozen=True)
class Span:
    """What the collector was sent of one."""

    service: str
    name: str
    kind: int
    trace: str
    id: str
    parent: str
    attributes: dict[str, object]
    error: str
    failed: bool


def value_of(attribute: AnyValue) -> object:
    kind = attribute.WhichOneof("value")
    assert kind is not None
    return getattr(attribute, kind)


class Collector:
    """Takes spans over HTTP, as OTLP has it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spans: dict[str, list[Span]] = {}
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                collector.take(ExportTraceServiceRequest.FromString(body))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def take(self, request: ExportTraceServiceRequest) -> None:
        with self._lock:
            for resource in request.resource_spans:
                about = {a.key: a.value.string_value for a in resource.resource.attributes}
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        found = Span(
                            about["service.name"],
                            span.name,
                            span.kind,
                            span.trace_id.hex(),
                            span.span_id.hex(),
                            span.parent_span_id.hex(),
                            {a.key: value_of(a.value) for a in span.attributes},
                            span.status.message,
                            span.status.code == 2,
                        )
                        self._spans.setdefault(found.trace, []).append(found)

    def of(self, trace: str) -> list[Span]:
        with self._lock:
            return list(self._spans.get(trace, ()))

    @property
    def traces(self) -> list[str]:
        with self._lock:
            return list(self._spans)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


@pytest.fixture(scope="module")
def environment(collector: Collector) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        patch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
        yield


@pytest.fixture(scope="module")
def cluster(environment: None) -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=3, conf={"howdah.tracing.enabled": "true"}) as made:
        yield made


@pytest.fixture(scope="module")
def traces(cluster: MiniCluster) -> list[str]:
    """Of an application that writes, reads, fails, and reads by way of fsspec."""
    done = subprocess.run(
        [sys.executable, "-c", APPLICATION, cluster.uri, str(LENGTH)],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def chain(collector: Collector, trace: str, last: str, count: int) -> list[list[Span]]:
    """From the root to each of the `count` spans that are called `last` at a server, once they
    are there with all that is above them."""

    def found() -> list[list[Span]]:
        spans = {span.id: span for span in collector.of(trace)}
        chains = []
        for span in spans.values():
            if span.name != last or span.kind != 2:
                continue
            above = [span]
            while above[0].parent in spans:
                above.insert(0, spans[above[0].parent])
            if above[0].parent:
                return []
            chains.append(above)
        return chains if len(chains) >= count else []

    wait_until(lambda: bool(found()), 60, f"{count} spans called {last}, up to the root")
    return sorted(found(), key=len)


def shown(spans: list[Span]) -> list[tuple[str, str]]:
    return [(span.service, span.name) for span in spans]


@pytest.mark.req("TR-001")
def test_a_write_is_one_tree_to_the_last_datanode(traces: list[str], collector: Collector) -> None:
    first, second, third = chain(collector, traces[0], "WRITE_BLOCK", 3)
    above = [
        ("application", "write a report"),
        ("application", "howdah.create"),
        ("application", "WRITE_BLOCK"),
    ]
    below = ("howdah-datanode", "WRITE_BLOCK")
    assert shown(first) == [*above, below]
    assert shown(second) == [*above, below, below]
    assert shown(third) == [*above, below, below, below]
    # One at each datanode, of the same block, with all the bytes.
    nodes = [span.attributes["howdah.datanode"] for span in third[3:]]
    assert len(set(nodes)) == 3
    assert {span.attributes["howdah.block"] for span in third[2:]} == {
        third[2].attributes["howdah.block"]
    }
    assert [span.attributes["howdah.bytes"] for span in third[3:]] == [LENGTH] * 3
    assert third[2].attributes["howdah.datanodes"] == ",".join(str(node) for node in nodes)
    assert third[1].attributes["howdah.path"] == "/report"
    assert third[1].attributes["howdah.bytes"] == LENGTH


@pytest.mark.req("TR-001")
@pytest.mark.parametrize("method", ["create", "addBlock", "fsync", "complete"])
def test_the_calls_of_a_write_are_in_its_tree(
    traces: list[str], collector: Collector, method: str
) -> None:
    name = f"ClientProtocol.{method}"
    (found, *_) = chain(collector, traces[0], name, 1)
    assert shown(found)[:2] == [
        ("application", "write a report"),
        ("application", "howdah.create"),
    ]
    assert shown(found)[-2:] == [("application", name), ("howdah-namenode", name)]
    assert found[-2].attributes["howdah.path"] == "/report"


@pytest.mark.req("TR-004")
def test_what_took_the_time_has_spans_of_its_own(traces: list[str], collector: Collector) -> None:
    (call, *_) = chain(collector, traces[0], "ClientProtocol.create", 1)
    writes = chain(collector, traces[0], "WRITE_BLOCK", 3)[-1]

    def below(span: Span) -> set[str]:
        return {each.name for each in collector.of(traces[0]) if each.parent == span.id}

    wait_until(lambda: "journal sync" in below(call[-1]), 60, "the span of the journal")
    for datanode in writes[3:]:
        wait_until(lambda: {"fsync", "finalize"} <= below(datanode), 60, "the disk's spans")  # noqa: B023
    assert ["open mirror" in below(datanode) for datanode in writes[3:]] == [True, True, False]


@pytest.mark.req("TR-001")
def test_a_read_is_one_tree(traces: list[str], collector: Collector) -> None:
    for name, service in (
        ("ClientProtocol.getBlockLocations", "howdah-namenode"),
        ("READ_BLOCK", "howdah-datanode"),
    ):
        (found, *_) = chain(collector, traces[1], name, 1)
        assert shown(found) == [
            ("application", "read a report"),
            ("application", "howdah.open"),
            ("application", name),
            (service, name),
        ]
    wait_until(
        lambda: any(
            span.name == "howdah.open" and span.attributes.get("howdah.bytes") == LENGTH
            for span in collector.of(traces[1])
        ),
        60,
        "the end of the read",
    )


@pytest.mark.req("TR-004")
def test_an_error_is_recorded_where_it_came_from(traces: list[str], collector: Collector) -> None:
    (found, *_) = chain(collector, traces[2], "ClientProtocol.getBlockLocations", 1)
    assert [span.failed for span in found] == [False, True, True, True]
    assert found[-1].attributes["error.type"] == "java.io.FileNotFoundException"
    assert "/nothing" in found[-1].error


@pytest.mark.req("TR-001")
def test_a_read_by_way_of_fsspec_is_in_the_callers_trace(
    traces: list[str], collector: Collector
) -> None:
    (found, *_) = chain(collector, traces[3], "READ_BLOCK", 1)
    assert shown(found)[0] == ("application", "through fsspec")
    assert shown(found)[-1] == ("howdah-datanode", "READ_BLOCK")


@pytest.mark.req("TR-001")
def test_a_command_is_one_trace_below_the_one_that_started_it(
    cluster: MiniCluster, collector: Collector
) -> None:
    trace, parent = "5" * 32, "6" * 16
    done = subprocess.run(
        [
            *(sys.executable, "-P", "-m", "howdah", "dfs", "-fs", cluster.uri),
            *("-D", "howdah.tracing.enabled=true", "-mkdir", "/made"),
        ],
        env={**os.environ, "TRACEPARENT": f"00-{trace}-{parent}-01"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    name = "ClientProtocol.mkdirs"

    def both() -> bool:
        return {span.service for span in collector.of(trace) if span.name == name} == {
            "howdah-dfs",
            "howdah-namenode",
        }

    wait_until(both, 60, "the command's call at both ends")
    (whole,) = [span for span in collector.of(trace) if span.name == "howdah dfs"]
    assert whole.parent == parent


@pytest.mark.req("TR-005")
def test_a_client_without_traces_is_served_as_ever_and_makes_none(
    cluster: MiniCluster, collector: Collector, traces: list[str]
) -> None:
    hdfs_native = pytest.importorskip("hdfs_native")
    before = set(collector.traces)
    client = hdfs_native.Client(cluster.uri)
    with client.create("/native", hdfs_native.WriteOptions(replication=3)) as out:
        out.write(b"y" * LENGTH)
    with client.read("/native") as file:
        assert file.read() == b"y" * LENGTH
    # A trace of the application comes after whatever those calls would have made.
    after = subprocess.run(
        [sys.executable, "-c", APPLICATION.replace("/report", "/after"), cluster.uri, "1000"],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert after.returncode == 0, after.stderr
    chain(collector, after.stdout.split()[1], "READ_BLOCK", 1)
    assert set(collector.traces) - before <= {*after.stdout.split(), "5" * 32}


def ask_with(cluster: MiniCluster, context: bytes, call_id: int) -> bool:
    """Whether the namenode answers a call that brings this context."""
    host, _, port = cluster.uri.removeprefix("hdfs://").partition(":")
    protocol, client = "org.apache.hadoop.hdfs.protocol.ClientProtocol", b"c" * 16
    request = client_namenode_pb2.GetFileInfoRequestProto(src="/")
    call = wire.encode_call(
        protocol=protocol,
        method="getFileInfo",
        request=request,
        call_id=call_id,
        client_id=client,
        trace=context,
    )
    with socket.create_connection((host, int(port)), timeout=60) as sock:
        sock.sendall(wire.preamble() + wire.encode_context(protocol, "me", client) + call)
        frames = wire.FrameBuffer()
        while not (found := frames.feed(sock.recv(4096))):
            pass
    header, _ = wire.decode_answer(found[0])
    return header.status == header.SUCCESS and header.callId == call_id


@pytest.mark.req("TR-003")
def test_contexts_of_strangers_are_ignored_with_one_line(cluster: MiniCluster) -> None:
    strange = [b"\xac\xed\x00\x05sr\x00\x11java.util.HashMap", b"x" * 100_000, b"\0", b"00-"]
    assert all(ask_with(cluster, each, number) for number, each in enumerate(strange))
    lines = [
        line for line in cluster.log("namenode").splitlines() if "context that is ignored" in line
    ]
    assert len(lines) == 1
    assert "ClientProtocol.getFileInfo" in lines[0]
    assert "java.uti" in lines[0]
    assert len(lines[0]) < 500
