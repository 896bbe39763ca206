"""What the stores of Azure and Google make of answers that an emulator does not give."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.fs.objects.amazon.connection import PAGE
from howdah.fs.objects.azure import settings as azure
from howdah.fs.objects.azure import store as azure_store
from howdah.fs.objects.azure.store import AzureStore
from howdah.fs.objects.google import settings as google
from howdah.fs.objects.google.store import GoogleStore
from howdah.fs.objects.http_client import Answer, Request, Requests
from howdah.fs.objects.s3 import S3Store
from howdah.fs.objects.settings import settings_of as s3_settings_of
from howdah.fs.objects.store import NotAsExpected, ObjectInfo, Page, Stored
from howdah.runtime.tls.client import ClientTls
from howdah.runtime.tls.http_policy import Place

SOURCE = ObjectInfo("a", 5, 0, "1")
QUICK = {"fs.azure.io.retry.min.backoff.interval": "1ms", "fs.azure.io.retry.max.retries": "1"}


class Scripted(Requests):
    """Answers in their order; what was asked is kept."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self._answers = list(answers)
        self.asked: list[Request] = []

    def send(self, place: Place, request: Request) -> Answer:
        self.asked.append(request)
        return self._answers.pop(0)


def azure_of(*answers: Answer) -> tuple[AzureStore, Scripted]:
    conf = Configuration(QUICK)
    store = AzureStore(azure.settings_of("az", "c@a", conf, {}), ClientTls(conf))
    scripted = Scripted(answers)
    store._requests = scripted
    return store, scripted


def google_of(*answers: Answer) -> tuple[GoogleStore, Scripted]:
    conf = Configuration({"fs.gs.auth.type": "UNAUTHENTICATED"})
    store = GoogleStore(google.settings_of("b", conf, {}), ClientTls(conf))
    scripted = Scripted(answers)
    store._requests = scripted
    return store, scripted


def amazon_of() -> S3Store:
    keys = {
        "fs.s3a.access.key": "a",
        "fs.s3a.secret.key": "s",
        "fs.s3a.endpoint": "http://[::1]:1",
        "fs.s3a.retry.limit": "1",
        "fs.s3a.retry.interval": "1ms",
    }
    return S3Store(s3_settings_of(Configuration(keys), "bucket"))


class Amazon:
    """botocore's client; the answers of each kind of request come in their order."""

    def __init__(self, **answers: list[dict[str, Any]]) -> None:
        self._answers = answers
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., dict[str, Any]]:
        def ask(**_: object) -> dict[str, Any]:
            self.asked.append(name)
            return self._answers[name].pop(0)

        return ask


@pytest.mark.req("FS-195")
def test_directories_of_a_hierarchical_namespace_are_refused_by_name() -> None:
    headers = {"x-ms-resource-type": "directory", "x-ms-meta-hdi_isfolder": "true"}
    store, _ = azure_of(Answer(200, headers, b""))
    with pytest.raises(errors.UnsupportedOperation, match="account a has a hierarchical namespace"):
        store.head("d/")
    body = (
        b"<E><Blobs><Blob><Name>d</Name><Properties><ResourceType>directory</ResourceType>"
        b"</Properties></Blob></Blobs></E>"
    )
    store, _ = azure_of(Answer(200, {}, body))
    with pytest.raises(errors.UnsupportedOperation, match="hierarchical namespace"):
        store.list_page("", delimiter=True)


@pytest.mark.req("FS-190")
def test_a_copy_that_takes_its_time_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(azure_store, "_COPY_PAUSE_S", 0)
    pending = Answer(202, {"x-ms-copy-status": "pending"}, b"")
    done = Answer(200, {"x-ms-copy-status": "success", "etag": '"2"'}, b"")
    store, scripted = azure_of(pending, pending, done)
    assert store.copy(SOURCE, "b").etag == "2"
    assert [each.method for each in scripted.asked] == ["PUT", "HEAD", "HEAD"]
    store, _ = azure_of(pending, Answer(200, {"x-ms-copy-status": "failed"}, b""))
    with pytest.raises(errors.RemoteError, match="b: its copy ended as failed"):
        store.copy(SOURCE, "b")
    store, _ = azure_of(Answer(412, {"x-ms-error-code": "SourceConditionNotMet"}, b""))
    with pytest.raises(NotAsExpected):
        store.copy(SOURCE, "b")


@pytest.mark.req("FS-196")
def test_what_a_batch_does_not_remove_is_tried_alone_or_told() -> None:
    batch = (
        "--b\r\nContent-ID: 0\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n"
        "--b\r\nContent-ID: 1\r\n\r\nHTTP/1.1 503 Busy\r\n\r\n"
        "--b\r\nContent-ID: 2\r\n\r\nHTTP/1.1 403 No\r\nx-ms-error-code: Denied\r\n\r\n--b--"
    )
    head = {"content-type": "multipart/mixed; boundary=b"}
    store, scripted = azure_of(
        Answer(202, head, batch.encode()), Answer(404, {}, b""), Answer(202, {}, b"")
    )
    refused = store.delete_many(["x", "y", "z", "w"])
    assert [(each.key, type(each.error)) for each in refused] == [("z", errors.AccessDenied)]
    assert [each.method for each in scripted.asked] == ["POST", "DELETE", "DELETE"]


def test_at_google_what_a_batch_does_not_remove_says_why() -> None:
    batch = (
        "--b\r\nContent-ID: <response-0>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"
        "--b\r\nContent-ID: <response-1>\r\n\r\nHTTP/1.1 403 No\r\n\r\n--b--"
    )
    head = {"content-type": "multipart/mixed; boundary=b"}
    store, _ = google_of(Answer(200, head, batch.encode()), Answer(403, {}, b""))
    refused = store.delete_many(["x", "y"])
    assert [(each.key, type(each.error)) for each in refused] == [("y", errors.AccessDenied)]


def test_a_copy_that_neither_ends_nor_goes_on_is_an_error() -> None:
    store, _ = google_of(Answer(200, {}, b'{"done": false}'))
    with pytest.raises(errors.ProtocolViolation, match="neither done nor goes on"):
        store.copy(SOURCE, "b")


def test_a_listing_that_goes_on_where_it_began_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    again = b"<EnumerationResults><NextMarker>n</NextMarker></EnumerationResults>"
    azure, _ = azure_of(*[Answer(200, {}, again)] * 9)
    google, _ = google_of(*[Answer(200, {}, b'{"nextPageToken": "n"}')] * 9)
    for store in (azure, google):
        with pytest.raises(errors.ProtocolViolation, match="goes on where it began"):
            store.list_page("", delimiter=False)
    amazon = amazon_of()
    monkeypatch.setattr(amazon, "_list", lambda *_: Page((SOURCE,), (), "n"))
    assert amazon.list_page("", delimiter=False).token == "n"
    with pytest.raises(errors.ProtocolViolation, match="goes on where it began"):
        amazon.list_page("", delimiter=False, token="n")
    monkeypatch.setattr(amazon, "_list", lambda *_: Page((), (), "n"))
    with pytest.raises(errors.ProtocolViolation, match="goes on where it began"):
        amazon.list_page("", delimiter=False)
    with pytest.raises(errors.ProtocolViolation, match="goes on where it began"):
        amazon.list_page("", delimiter=False, token="n")
    page = {"IsTruncated": True, "NextKeyMarker": "k", "NextUploadIdMarker": "u"}
    monkeypatch.setattr(amazon, "_list", lambda *_: page)
    with pytest.raises(errors.ProtocolViolation, match="goes on where it began"):
        amazon.uploads("")


def test_an_empty_page_is_not_the_end_of_a_listing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a directory is taken for nothing, or for an empty one."""
    amazon = amazon_of()
    asked: list[dict[str, Any]] = []
    pages = [Page((), (), "n"), Page((), (), "m"), Page((SOURCE,), (), None)]

    def listed(_: str, prefix: str, ask: Callable[[Any], Page], *__: object) -> Page:
        class Client:
            def list_objects_v2(self, **given: Any) -> dict[str, Page]:
                asked.append(given)
                return {PAGE: pages.pop(0)}

        return ask(Client())

    monkeypatch.setattr(amazon, "_list", listed)
    page = amazon.list_page("a", delimiter=False, start_after="A", limit=1)
    assert page == Page((SOURCE,), (), None)
    ways = [(each.get("StartAfter"), each.get("ContinuationToken")) for each in asked]
    assert ways == [("A", None), (None, "n"), (None, "m")]


@pytest.mark.parametrize("astray", [Page((SOURCE,), (), None), Page((), ("a/",), None)])
def test_what_a_listing_was_not_asked_for_is_refused(
    monkeypatch: pytest.MonkeyPatch, astray: Page
) -> None:
    """Else the removal of a directory would remove its neighbours."""
    blobs = "".join(
        f"<Blob><Name>{each.key}</Name><Properties></Properties></Blob>" for each in astray.objects
    ) + "".join(f"<BlobPrefix><Name>{each}</Name></BlobPrefix>" for each in astray.prefixes)
    azure, _ = azure_of(
        Answer(200, {}, f"<E><Blobs>{blobs}</Blobs></E>".encode()), Answer(404, {}, b"")
    )
    items = [{"name": each.key, "size": "1"} for each in astray.objects]
    document = {"items": items, "prefixes": astray.prefixes}
    google, _ = google_of(Answer(200, {}, json.dumps(document).encode()))
    amazon = amazon_of()
    monkeypatch.setattr(amazon, "_list", lambda *_: astray)
    for store in (azure, google, amazon):
        with pytest.raises(errors.ProtocolViolation, match="begins with 'ab/' has the key 'a"):
            store.list_page("ab/", delimiter=True)


def test_an_answer_that_does_not_say_what_was_made_is_no_success(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a web server before a store that is away, say."""
    amazon = amazon_of()
    mine: dict[str, Any] = {"ContentLength": 3, "ETag": '"e"', "Metadata": {"howdah-writer": "w"}}
    heads: list[dict[str, Any]] = [
        {"ContentLength": 3},
        {**mine, "Metadata": {}},
        {**mine, "ContentLength": 2},
        mine,
    ]
    client = Amazon(
        put_object=[{}] * 4,
        head_object=heads,
        copy_object=[{}, {"CopyObjectResult": {}}, {}, {"CopyObjectResult": {"ETag": '"e"'}}],
        complete_multipart_upload=[{}, {}, {}, {"ETag": '"e"'}],
    )
    monkeypatch.setattr(amazon._connection, "made", lambda: client)
    for _ in range(3):
        with pytest.raises(errors.RemoteError, match="does not answer as S3 does"):
            amazon.put("f", b"abc", exclusive=True, writer="w")
    assert amazon.put("f", b"abc", exclusive=True, writer="w").etag == "e"
    makes: list[Callable[[], Stored]] = [
        lambda: amazon.copy(SOURCE, "f"),
        lambda: amazon.complete_upload("f", "u", [], exclusive=True),
    ]
    for make in makes:
        with pytest.raises(errors.RetriableError, match="does not say what it made"):
            make()
        assert make().etag == "e"
    assert client.asked.count("copy_object") == 4
    page = Answer(200, {}, b"It works!")
    azure, _ = azure_of(page, page, page)
    makes = [
        lambda: azure.put("f", b"abc", exclusive=True, writer="w"),
        lambda: azure.complete_upload("f", "u", [], exclusive=False),
        lambda: azure.copy(SOURCE, "f"),
    ]
    for make in makes:
        with pytest.raises(errors.HowdahError, match=r"does not answer as the Blob|ended as None"):
            make()
    google, _ = google_of(page, page)
    with pytest.raises(errors.ProtocolViolation, match="answers no JSON"):
        google.put("f", b"abc", exclusive=True, writer="w")
    with pytest.raises(errors.ProtocolViolation, match="answers no JSON"):
        google.copy(SOURCE, "f")


@pytest.mark.req("FS-188")
def test_a_session_without_a_name_is_no_session() -> None:
    store, _ = google_of(Answer(200, {"location": "/upload"}, b""))
    with pytest.raises(errors.ProtocolViolation, match="without a name"):
        store.begin_upload("a", exclusive=True, writer=None)


@pytest.mark.req("FS-197")
def test_the_uri_of_a_session_is_in_no_error() -> None:
    location = {"location": "https://elsewhere/upload?upload_id=what-nobody-may-read"}
    store, scripted = google_of(
        Answer(200, location, b""), Answer(400, {}, b"{}"), Answer(410, {}, b"")
    )
    upload = store.begin_upload("a", exclusive=False, writer="w")
    assert "what-nobody-may-read" not in upload
    for _ in range(2):
        with pytest.raises(errors.HowdahError) as told:
            store.complete_upload("a", upload, [], exclusive=False)
        assert "what-nobody-may-read" not in str(told.value)
    assert scripted.asked[-1].target == "/upload?upload_id=what-nobody-may-read"
