"""Ceph's s3-tests judge the gateway: a suite that other servers of S3 are measured by, too.

No registry has it. `HOWDAH_S3_TESTS` names a clone of it, with what it needs installed in
directories behind it, separated as in PYTHONPATH. `ceph_s3_tests.txt` says which tests are run, and
why some of them do not pass.
"""

from __future__ import annotations

import configparser
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from howdah.config import keys
from howdah.testing import MiniCluster
from tests.support.s3_gateway import add_key, before

CHOICE = Path(__file__).with_name("ceph_s3_tests.txt")
PLACE = "HOWDAH_S3_TESTS"
TIMEOUT_S = 1200
USERS = {
    "s3 main": "main",
    "s3 alt": "alt",
    "s3 tenant": "tenant",
    "iam": "iam",
    "iam root": "root",
    "iam alt root": "root",
}


def choice() -> dict[str, str]:
    """Each test that is run, and why it does not pass; empty for one that does."""
    found = {}
    for line in CHOICE.read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, reason = line.partition(": ")
            found[name] = reason
    return found


def write_settings(path: Path, address: str) -> None:
    """What the suite has to know of the server, and of six users."""
    host, port = address.split(":")
    settings = configparser.RawConfigParser()
    settings["DEFAULT"] = {"host": host, "port": port, "is_secure": "False", "ssl_verify": "False"}
    settings["fixtures"] = {
        "bucket prefix": "x-{random}-",
        "iam name prefix": "s3-tests-",
        "iam path prefix": "/s3-tests/",
    }
    for section, user in USERS.items():
        settings[section] = {
            "display_name": user,
            "user_id": user,
            "email": f"{user}@example.org",
            "api_name": "default",
            "access_key": f"AK{user.upper()}",
            "secret_key": f"secret+/of-{user}",
            "tenant": "testx",
        }
    with path.open("w") as file:
        settings.write(file)


def outcomes(report: Path) -> dict[str, bool]:
    """Which tests have passed, by their names as in the choice."""
    found = {}
    for case in ElementTree.parse(report).iter("testcase"):
        module = case.get("classname", "").rpartition(".")[2]
        passed = case.find("failure") is None and case.find("error") is None
        found[f"{module}.py::{case.get('name')}"] = passed
    return found


@pytest.mark.torture
@pytest.mark.timeout(TIMEOUT_S)
def test_the_suite_of_ceph(tmp_path: Path) -> None:
    places = os.environ.get(PLACE)
    if not places:
        pytest.skip(f"Ceph's s3-tests: {PLACE} names no clone of them")
    suite = Path(places.split(os.pathsep)[0])
    chosen = choice()
    with MiniCluster(datanodes=1) as cluster:
        with cluster.connect() as fs:
            fs.mkdirs("/s3", 0o1777)
            fs.set_permission("/s3", 0o1777)
        for user in set(USERS.values()):
            add_key(cluster.dir / "access-keys", user)
        options = []
        for name, value in (
            # Buckets and objects are private unless a test says otherwise.
            (keys.FS_PERMISSIONS_UMASK_MODE.name, "077"),
            (keys.HOWDAH_S3_ANONYMOUS_USER.name, "anonymous"),
        ):
            options += ["-D", f"{name}={value}"]
        with before(cluster, "main", *options) as door:
            write_settings(tmp_path / "s3tests.conf", door.address)
            ran = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider"]
                + ["-p", "no:howdah", "-p", "no:xdist", "-p", "tests.support.s3_clean_up"]
                + ["-c", str(suite / "pytest.ini"), "--rootdir", str(suite)]
                + [f"--junitxml={tmp_path / 'report.xml'}"]
                + [f"s3tests/functional/{name}" for name in chosen],
                cwd=suite,
                env=os.environ
                | {
                    "S3TEST_CONF": str(tmp_path / "s3tests.conf"),
                    "S3TEST_CLUSTER": cluster.uri,
                    "PYTHONDONTWRITEBYTECODE": "1",
                    "PYTHONPATH": os.pathsep.join([places, os.getcwd(), *sys.path]),
                },
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
            )
    assert ran.returncode == 1, ran.stdout[-3000:] + ran.stderr[-3000:]
    found = outcomes(tmp_path / "report.xml")
    assert found == {name: not reason for name, reason in chosen.items()}
