"""How far a start of a namenode is, and who is told."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah import errors
from howdah.config import Configuration, keys
from howdah.namenode.server.monitoring.startup_http import Starting
from howdah.namenode.server.process.format import format_namenode
from howdah.namenode.server.process.loading import load
from howdah.namenode.service.monitoring import startup
from howdah.namenode.service.monitoring.startup import Phase, StartupProgress
from howdah.web.http import Request, Response, text_response
from howdah.web.pages.cluster_reading import ClusterReader
from howdah.web.pages.html import joined


class Start:
    """A start under a clock that is moved by hand."""

    def __init__(self) -> None:
        self.now_ms = 1_000
        self.read = self.found = 0
        self.progress = StartupProgress(lambda: self.now_ms)

    def reads_image(self) -> None:
        self.progress.begin(Phase.IMAGE)
        self.progress.reads(Phase.IMAGE, "/name/fsimage_7", 2048, lambda: self.read)
        self.progress.counts(Phase.IMAGE, lambda: self.found, lambda: 100)

    def pass_by(self, ms: int) -> None:
        self.now_ms += ms


@pytest.fixture
def start() -> Start:
    return Start()


@pytest.mark.req("FS-269")
def test_an_image_is_as_far_as_its_bytes_are(start: Start) -> None:
    assert startup.startup_text(start.progress.see()) == "it begins"
    start.reads_image()
    start.read, start.found = 512, 90
    start.pass_by(3_000)
    seen = start.progress.see()
    assert seen.current is not None
    assert (seen.current.share, seen.current.count, seen.current.elapsed_ms) == (0.25, 90, 3_000)
    assert startup.startup_text(seen) == "the image is read: 25% (90 of 100 inodes)"
    assert (seen.share, seen.elapsed_ms) == (0.0625, 3_000)


def test_what_has_ended_stays_as_it_was(start: Start) -> None:
    start.reads_image()
    start.found = 100
    start.pass_by(10)
    start.progress.end(Phase.IMAGE)
    start.found = 5
    start.pass_by(10)
    start.progress.end(Phase.IMAGE)
    image = start.progress.see().phases[0]
    assert (image.status, image.count, image.total) == ("COMPLETE", 100, 100)
    assert (image.elapsed_ms, image.share) == (10, 1.0)


def test_a_phase_that_was_not_begun_does_not_end(start: Start) -> None:
    start.progress.end(Phase.SAFE_MODE)
    assert {each.status for each in start.progress.see().phases} == {"PENDING"}


def test_a_start_is_over_when_safe_mode_is(start: Start) -> None:
    for phase in Phase:
        start.progress.begin(phase)
        start.pass_by(10)
        start.progress.end(phase)
    start.pass_by(1_000)
    seen = start.progress.see()
    assert (seen.share, seen.elapsed_ms, seen.current) == (1.0, 40, None)
    assert startup.startup_text(seen) == "it is about to serve"


def test_edits_whose_number_is_not_known_are_counted(start: Start) -> None:
    start.progress.begin(Phase.EDITS)
    start.progress.counts(Phase.EDITS, lambda: 1_234, lambda: 0)
    seen = start.progress.see()
    assert startup.startup_text(seen) == "the log is replayed: 0% (1,234 edits)"
    assert seen.phases[1].share == 0


@pytest.mark.req("FS-260", "FS-269")
def test_the_json_and_the_bean_have_hadoops_fields(start: Start) -> None:
    start.reads_image()
    start.progress.end(Phase.IMAGE)
    start.progress.begin(Phase.EDITS)
    start.progress.reads(Phase.EDITS, "/name", None, None)
    start.progress.counts(Phase.EDITS, lambda: 3, lambda: 4)
    seen = start.progress.see()
    told = json.loads(startup.respond(seen).body)
    assert told.keys() == {"elapsedTime", "percentComplete", "phases"}
    image, edits, checkpoint, safe_mode = told["phases"]
    assert (image["name"], image["status"]) == ("LoadingFsImage", "COMPLETE")
    assert (image["file"], image["size"]) == ("/name/fsimage_7", 2048)
    (step,) = image["steps"]
    assert (step["name"], step["desc"], step["total"]) == ("Inodes", "inodes", 100)
    (step,) = edits["steps"]
    assert "name" not in step
    assert (step["file"], step["count"], step["percentComplete"]) == ("/name", 3, 0.75)
    assert checkpoint["steps"] == safe_mode["steps"] == []
    assert safe_mode["status"] == "PENDING"
    assert edits["percentComplete"] == startup.bean(seen)["LoadingEditsPercentComplete"]
    assert startup.bean(seen)["LoadingEditsTotal"] == 4


@pytest.mark.req("FS-262", "FS-269")
def test_nothing_is_healthy_before_it_serves(start: Start) -> None:
    start.reads_image()
    found = startup.report(start.progress.see())
    assert not found.ok
    assert found.facts["phase"] == "LoadingFsImage"


@pytest.mark.req("FS-283")
def test_the_page_escapes_names_of_files(start: Start) -> None:
    start.progress.begin(Phase.IMAGE)
    start.progress.reads(Phase.IMAGE, "/<script>", 10, None)
    text = joined(startup.page(start.progress.see()))
    assert "&lt;script&gt;" in text
    assert "<script" not in text


# -- a start from directories ------------------------------------------------------------------


def settings(directory: Path, **more: str) -> Configuration:
    return Configuration(
        {
            keys.FS_DEFAULTFS.name: "hdfs://127.0.0.1:18020",
            keys.DFS_NAMENODE_NAME_DIR.name: directory.as_uri(),
            keys.DFS_NAMENODE_HTTP_ADDRESS.name: "127.0.0.1:0",
            **more,
        }
    )


@pytest.mark.req("FS-269")
def test_a_start_tells_of_each_of_its_phases(tmp_path: Path, start: Start) -> None:
    format_namenode(settings(tmp_path))
    loaded = load([tmp_path], [tmp_path], progress=start.progress)
    for lock in loaded.locks:
        lock.release()
    image, edits, checkpoint, safe_mode = start.progress.see().phases
    assert {each.status for each in (image, edits, checkpoint)} == {"COMPLETE"}
    assert safe_mode.status == "RUNNING"
    assert image.file.endswith("fsimage_0000000000000000000")
    assert image.size_bytes == Path(image.file).stat().st_size
    assert (image.count, image.total) == (1, 1)
    assert edits.count == edits.total == loaded.last_txid
    assert edits.file == str(tmp_path)


# -- the web port ------------------------------------------------------------------------------


def get(starting: Starting, path: str, method: str = "GET") -> tuple[int, str]:
    host, port = starting.web.first
    connection = http.client.HTTPConnection(host, port, timeout=60)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@pytest.fixture
def starting(tmp_path: Path) -> Iterator[Starting]:
    found = Starting(settings(tmp_path))
    found.listen()
    yield found
    found.http.stop()


@pytest.mark.req("FS-262", "FS-269", "FS-280")
def test_the_web_port_says_how_far_the_start_is(starting: Starting) -> None:
    starting.progress.begin(Phase.IMAGE)
    starting.progress.reads(Phase.IMAGE, "/name/fsimage_7", 100, lambda: 40)
    for path in ("/health", "/ready"):
        status, told = get(starting, path)
        assert status == 503
        assert json.loads(told)["phase"] == "LoadingFsImage"
        assert "the image is read: 40%" in told
    status, told = get(starting, startup.PATH)
    assert (status, json.loads(told)["phases"][0]["percentComplete"]) == (200, 0.4)
    for path in ("/", "/jmx", "/prom", "/conf", "/logLevel", "/stacks"):
        assert get(starting, path)[0] == 200, path
    assert "startup_progress_loading_fs_image_percent_complete 0.4" in get(starting, "/prom")[1]
    status, told = get(starting, "/jmx?qry=Hadoop:service=NameNode,name=NameNodeStatus")
    assert json.loads(told)["beans"][0]["State"] == "initializing"
    for path in ("/nodes", "/imagetransfer?getimage=1", "/fsck?path=/"):
        status, told = get(starting, path)
        assert status == 503
        assert told.startswith("the namenode is starting, come again: ")
    assert get(starting, "/imagetransfer", "PUT")[0] == 503


@pytest.mark.req("FS-269")
def test_clients_of_webhdfs_are_told_to_come_again(starting: Starting) -> None:
    status, told = get(starting, "/webhdfs/v1/a?op=GETFILESTATUS")
    assert status == 403
    assert json.loads(told)["RemoteException"]["exception"] == "RetriableException"


@pytest.mark.req("FS-284")
def test_the_cluster_page_of_another_namenode_says_that_it_starts(starting: Starting) -> None:
    host, port = starting.web.first
    conf = settings(Path("/none"), **{keys.DFS_NAMENODE_HTTP_ADDRESS.name: f"{host}:{port}"})
    (member,) = ClusterReader(conf).read()
    assert member.trouble == "it is starting: its image and log are being loaded"


def test_whoever_serves_takes_over_open_connections(starting: Starting) -> None:
    def answer(request: Request) -> Response:
        return text_response(200, f"served {request.path}")

    host, port = starting.web.first
    connection = http.client.HTTPConnection(host, port, timeout=60)
    try:
        connection.request("GET", "/health")
        assert connection.getresponse().read().startswith(b"{")
        starting.http.serve_by(answer, beside={"/beside": lambda _: text_response(200, "beside")})
        for path, said in (("/health", b"served /health\n"), ("/beside", b"beside\n")):
            connection.request("GET", path)
            assert connection.getresponse().read() == said
    finally:
        connection.close()


@pytest.mark.req("FS-269")
def test_a_keystore_that_is_not_described_is_found_before_anything_is_loaded(
    tmp_path: Path,
) -> None:
    starting = Starting(settings(tmp_path, **{keys.DFS_HTTP_POLICY.name: "HTTP_AND_HTTPS"}))
    with pytest.raises(errors.InvalidConfiguration, match=r"ssl-server\.xml"):
        starting.listen()
    assert starting.progress.see().current is None
