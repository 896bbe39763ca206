"""What every server shows: its log, levels, stacks, configuration, and the files of pages."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from howdah.web.channel import Channel
from howdah.web.configuration import Property
from howdah.web.http import Request, Response
from howdah.web.pages import assets, log_levels, logs, settings
from howdah.web.pages.common import Common
from howdah.web.pages.html import joined
from howdah.web.process_bridge import OtherProcess
from howdah.web.server import Later


@pytest.fixture
def common() -> Common:
    properties = [
        Property("dfs.a", "<b>", "hdfs-site.xml"),
        Property("x.password", "hunter2", "core-site.xml"),
    ]
    return Common("tester", lambda: "here:1", (), lambda: properties)


def got(common: Common, path: str, headers: dict[str, str] | None = None, **query: str) -> Response:
    found = common.answer(Request("GET", path, query, headers or {}, "10.0.0.9"))
    assert isinstance(found, Later)
    found.run(cast(Channel, None))
    return found.done()


def text(response: Response) -> str:
    return response.body.decode()


@pytest.mark.req("FS-283")
def test_pages_forbid_what_they_do_not_have(common: Common) -> None:
    policy = got(common, "/logLevel").headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "connect-src 'self';" in policy
    assert "<script>" not in text(got(common, "/logLevel"))
    assert "style=" not in text(got(common, "/logLevel"))


@pytest.mark.req("FS-283")
@pytest.mark.parametrize(
    "name", ["../common.py", "..%2fcommon.py", "%2e%2e/", "/etc/passwd", "", "__init__.py", "a\0b"]
)
def test_static_files_are_those_and_no_others(name: str) -> None:
    assert assets.respond(Request("GET", f"/static/{name}")).status == 404


def test_static_files_may_be_kept() -> None:
    found = assets.respond(Request("GET", "/static/howdah.css"))
    assert found.status == 200
    assert "max-age" in found.headers["Cache-Control"]
    assert assets.query().startswith("?v=")


# -- configuration ---------------------------------------------------------------------


@pytest.mark.req("FS-283")
def test_browsers_get_the_configuration_as_a_page_without_secrets(common: Common) -> None:
    page = text(got(common, "/conf", {"accept": "text/html,*/*"}))
    assert "&lt;b&gt;" in page
    assert "hunter2" not in page
    assert "0 keys" in text(got(common, "/conf", {"accept": "text/html"}, q="hunter2"))
    assert text(got(common, "/conf", {"accept": "*/*"})).startswith("<?xml")
    assert text(got(common, "/conf", {"accept": "text/html"}, format="json")).startswith("{")


def test_what_an_administrator_calls_a_secret_is_in_no_page_either() -> None:
    properties = [
        Property("hadoop.security.sensitive-config-keys", "pin$", "core-site.xml"),
        Property("site.door.pin", "4711", "core-site.xml"),
    ]
    shown = joined(settings.page(properties, ""))
    assert "4711" not in shown
    assert "0 keys" in joined(settings.page(properties, "4711"))


def test_a_key_goes_on_in_the_next_line_behind_a_point() -> None:
    shown = joined(settings.page([Property("dfs.ha.id", "a", "x")], ""))
    assert "dfs.<wbr/>ha.<wbr/>id" in shown


# -- logs ------------------------------------------------------------------------------


@pytest.mark.req("FS-283")
@pytest.mark.parametrize(
    "secret",
    [
        "x.password=hunter2",
        "ssl.server.keystore.password = hunter2",
        '"password": "hunter2"',
        "Authorization: Bearer hunter2",
        "http://user:hunter2@host/",
        "GET /webhdfs/v1/?delegation=x&token=hunter2&op=OPEN",
        "fs.s3a.access.key=hunter2,",
        "secret is hunter2",
    ],
)
def test_secrets_in_logs_are_blackened(secret: str) -> None:
    assert "hunter2" not in logs.redacted(f"before {secret} after")
    assert logs.redacted(secret).startswith(secret[:3])


@pytest.mark.parametrize("word", ["a.", "token", "http://", "password is "])
def test_a_log_of_anybodys_text_is_shown_in_time(word: str) -> None:
    """A time that grows with the square of its length would be an hour."""
    text = word * ((1 << 20) // len(word))
    assert len(logs.redacted(text)) > len(text) // 2


@pytest.mark.parametrize(
    "line", ["/data/tokens/a was opened", "2 passwords were wrong", "blk_1 of /secret/x"]
)
def test_what_is_no_secret_stays(line: str) -> None:
    assert logs.redacted(line) == line


@pytest.fixture
def file(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path / "log", os.O_RDWR | os.O_CREAT)
    yield descriptor
    os.close(descriptor)


@pytest.mark.req("FS-283")
def test_the_end_of_a_long_log_is_shown(file: int) -> None:
    for number in range(20_000):
        os.write(file, b"line %d <b> password=hunter2\n" % number)
    body = joined(logs.page(logs.Log(file)))
    assert "line 19999 &lt;b&gt;" in body
    assert "line 0 " not in body
    assert "hunter2" not in body
    assert len(body) < 3 * logs.SHOWN_BYTES
    # The writer's place is where it was.
    os.write(file, b"the end\n")
    assert "the end" in joined(logs.page(logs.Log(file)))


def other_process(set_level: Callable[[str, int], None] = lambda name, level: None) -> OtherProcess:
    return OtherProcess("its other process", set_level, lambda: "it hangs", lambda: "it logged")


def test_a_log_that_is_a_file_is_that_of_both_processes(file: int) -> None:
    os.write(file, b"of both\n")
    body = joined(logs.page(logs.Log(file, other_process())))
    assert "of both" in body
    assert "it logged" not in body


def test_a_log_that_is_no_file_is_kept_in_memory() -> None:
    reader, writer = os.pipe()
    log = logs.Log(writer, other_process())
    handler = logging.getLogger().handlers[-1]
    try:
        logging.getLogger("howdah.test").error("<b> x.password=%s", "hunter2")
        body = joined(logs.page(log))
    finally:
        logging.getLogger().removeHandler(handler)
        os.close(reader)
        os.close(writer)
    assert "&lt;b&gt; x.password=&lt;redacted&gt;" in body
    assert "its other process:\n\nit logged" in body


# -- log levels ------------------------------------------------------------------------


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    found = logging.getLogger("howdah.test.levels")
    found.setLevel(logging.NOTSET)
    yield found
    found.setLevel(logging.NOTSET)


def test_a_level_is_shown_and_set_as_hadoops_command_does(
    common: Common, logger: logging.Logger
) -> None:
    answer = text(got(common, "/logLevel", log=logger.name, level="DEBUG"))
    marked = [line for line in answer.splitlines() if line.startswith("<!-- OUTPUT -->")]
    assert marked[-1].startswith("<!-- OUTPUT -->Effective Level: <b>DEBUG</b>")
    assert logger.level == logging.DEBUG


@pytest.mark.req("FS-283")
@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "http://evil", "host": "here:1"},
        {"referer": "http://evil/x", "host": "here:1"},
        {"host": "here:1", "user-agent": "Mozilla/5.0 (X11)"},
        {"referer": "http://evil/x", "user-agent": "Mozilla/5.0 (X11)"},
        {"referer": "", "user-agent": "Mozilla/5.0 (X11)"},
    ],
)
def test_a_foreign_page_sets_no_level(
    common: Common, logger: logging.Logger, headers: dict[str, str]
) -> None:
    answer = got(common, "/logLevel", headers, log=logger.name, level="DEBUG")
    assert (answer.status, logger.level) == (403, logging.NOTSET)


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "same-origin", "referer": "http://here:1/x", "host": "here:1"},
        {"sec-fetch-site": "none", "user-agent": "Mozilla/5.0 (X11)"},
        # Over plain HTTP.
        {"referer": "http://here:1/x", "host": "here:1", "user-agent": "Mozilla/5.0 (X11)"},
    ],
)
def test_our_own_page_sets_it(
    common: Common, logger: logging.Logger, headers: dict[str, str]
) -> None:
    assert got(common, "/logLevel", headers, log=logger.name, level="warn").status == 200
    assert logger.level == logging.WARNING


@pytest.mark.parametrize(
    ("name", "level", "status"),
    [("no.such.logger", "DEBUG", 404), ("<b>", "", 404), ("howdah.test.levels", "LOUD", 400)],
)
def test_what_is_no_logger_or_level_is_refused(
    common: Common, logger: logging.Logger, name: str, level: str, status: int
) -> None:
    before = len(logging.root.manager.loggerDict)
    answer = got(common, "/logLevel", log=name, level=level)
    assert answer.status == status
    assert "<b><b>" not in text(answer)
    assert len(logging.root.manager.loggerDict) == before


@pytest.mark.req("FS-268")
def test_another_process_of_the_server_is_told_of_a_level_that_is_set(
    logger: logging.Logger,
) -> None:
    told: list[tuple[str, int]] = []
    also = other_process(lambda name, level: told.append((name, level)))
    common = Common("tester", lambda: "here:1", (), tuple, also=also)
    root = logging.getLogger().level
    try:
        assert "its other process" not in text(got(common, "/logLevel", log=logger.name))
        answer = text(got(common, "/logLevel", log=logger.name, level="DEBUG"))
        assert "It is set in its other process as well." in answer
        got(common, "/logLevel", log="root", level="ERROR")
        assert got(common, "/logLevel", log=logger.name, level="LOUD").status == 400
        foreign = {"sec-fetch-site": "cross-site"}
        assert got(common, "/logLevel", foreign, log=logger.name, level="INFO").status == 403
    finally:
        logging.getLogger().setLevel(root)
    assert told == [(logger.name, logging.DEBUG), ("", logging.ERROR)]


def test_marked_lines_are_hadoops() -> None:
    assert log_levels.MARKER == "<!-- OUTPUT -->"


# -- stacks, and addresses of Hadoop's -------------------------------------------------


def test_stacks_have_every_thread(common: Common) -> None:
    found = got(common, "/stacks")
    assert found.headers["Content-Type"].startswith("text/plain")
    assert "test_stacks_have_every_thread" in text(found)


@pytest.mark.req("FS-268")
def test_stacks_have_both_processes_of_a_server() -> None:
    common = Common("tester", lambda: "here:1", (), tuple, also=other_process())
    found = text(got(common, "/stacks"))
    assert "test_stacks_have_both_processes" in found
    assert found.endswith("\nits other process:\n\nit hangs")


def test_hadoops_addresses_lead_here(common: Common) -> None:
    found = common.answer(Request("GET", "/dfshealth.html"))
    assert isinstance(found, Response)
    assert (found.status, found.headers["Location"]) == (302, "/")
    assert common.answer(Request("GET", "/nothing")) is None
    assert common.answer(Request("POST", "/logLevel")) is None
