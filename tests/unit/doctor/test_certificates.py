"""What the doctor says of the certificate of servers."""

from __future__ import annotations

import base64
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from howdah.config import Configuration
from howdah.doctor import tls
from howdah.doctor.certificates import certificate_of
from howdah.doctor.collect import gather
from howdah.doctor.inputs import DATANODE, Certificate, Facts
from howdah.local import certificates
from howdah.runtime.tls.expiry import not_after

pytestmark = pytest.mark.kind("hdfs")


@pytest.fixture
def made(tmp_path: Path) -> Path:
    certificates.make(tmp_path / "tls", [])
    return tmp_path / "tls"


def said(found: Certificate) -> list[str]:
    facts = Facts(Configuration(), frozenset({DATANODE}), certificate=found)
    return [each.line() for each in tls.check(facts)]


def test_a_sound_certificate_is_not_spoken_of(made: Path) -> None:
    found = certificate_of(Configuration(certificates.settings(made)))
    assert found.left_s is not None
    assert found.left_s == pytest.approx(certificates.VALID.total_seconds(), rel=0.01)
    assert said(found) == []


@pytest.mark.parametrize(
    ("days", "words"),
    [(-3, "error: the certificate in /k ended 3 days ago"), (7, "/k ends in 7 days"), (40, "")],
)
def test_its_end_is_told_ahead(days: int, words: str) -> None:
    lines = said(Certificate("/k", left_s=days * 86400.0))
    assert [words in line for line in lines] == ([True] if words else [])


def test_a_key_that_everybody_can_read_is_told(made: Path) -> None:
    (made / "keystore.p12").chmod(0o644)
    (line,) = said(certificate_of(Configuration(certificates.settings(made))))
    assert f"{made}/keystore.p12 can be read by everybody" in line


def test_what_stops_a_start_is_told_without_the_password(made: Path) -> None:
    described = made / "ssl-server.xml"
    described.write_text(described.read_text().replace("keystore.p12", "none.p12"))
    (line,) = said(certificate_of(Configuration(certificates.settings(made))))
    assert line.startswith("error: servers here have no certificate")
    assert "none.p12" in line


def test_it_is_looked_at_where_servers_have_https_alone(made: Path) -> None:
    values = certificates.settings(made)
    assert gather(Configuration(values), [DATANODE], asks=False).certificate is None
    values["dfs.http.policy"] = "HTTPS_ONLY"
    found = gather(Configuration(values), [DATANODE], asks=False)
    assert found.certificate is not None
    assert found.certificate.problem == ""
    assert any(each.key == "dfs.datanode.https.address" for each in found.listeners)
    shutil.rmtree(made)
    lost = gather(Configuration(values), [DATANODE], asks=False).certificate
    assert lost is not None
    assert "there is no file" in lost.problem
    assert said(replace(lost, left_s=None))


def test_the_end_of_a_certificate_is_read_as_it_stands(made: Path) -> None:
    text = (made / "ca.pem").read_text()
    der = base64.b64decode("".join(text.splitlines()[1:-1]))
    expected = datetime.now(UTC) + certificates.VALID
    assert abs(not_after(der) - expected) < timedelta(minutes=10)
    for cut in range(100):
        with pytest.raises(ValueError, match=r"no certificate|does not match"):
            not_after(der[:cut])
