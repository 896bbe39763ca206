"""The own tests of the Python package `hdfs`, a client of WebHDFS, at a namenode and at a gateway.

They are those of its source distribution, which pip brings; without an index of packages they are
skipped. It lacks the module that they share, for which `hdfs_package/util.py` stands, and their
directory of data, of which any other will do but for two tests.
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.testing import MiniCluster
from tests.support.started import gateway
from tests.support.unpacking import unpack

TIMEOUT_S = 300
UTIL = Path(__file__).parent / "hdfs_package" / "util.py"
pytestmark = [pytest.mark.req("FS-216", "FS-255"), pytest.mark.timeout(3 * TIMEOUT_S)]

# By their authors, at any server.
SKIPPED = {
    "TestConfig.test_config_path",
    "TestLatestExpansion.test_resolve_file",
    "TestOptions.test_timeout",
    "TestSetTimes.test_negative",
}
LEFT_OUT = {
    "test/test_ext_avro.py": "wants fastavro",
    "test/test_ext_dataframe.py": "wants fastavro",
    "test/test_ext_kerberos.py": "of Kerberos",
    "test/test_examples.py": "the source distribution has no examples",
}
DESELECTED = {
    "test/test_config.py::TestConfig::test_autoload_client_from_path": "reads a file of it",
    "test/test_config.py::TestConfig::test_autoload_client_from_module": "reads a file of it",
}


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tests of the version that is installed."""
    try:
        version = importlib.metadata.version("hdfs")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the package hdfs is not installed")
    place = tmp_path_factory.mktemp("hdfs-package")
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
    # pip asks the source for its name, which takes setuptools; no environment with another one.
    command += ["--no-build-isolation"]
    done = subprocess.run(
        [*command, "--dest", str(place), f"hdfs=={version}"],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"pip brings no source of hdfs {version}: {done.stderr[-300:]}")
    (archive,) = place.glob("hdfs-*.tar.gz")
    unpack(archive, place)
    (unpacked,) = place.glob("hdfs-*/")
    shutil.copy(UTIL, unpacked / "test" / "util.py")
    # Else `test` is the package of that name in Python's own library.
    (unpacked / "test" / "__init__.py").touch()
    data = unpacked / "test" / "dat"
    data.mkdir()
    for name in ("one", "two"):
        (data / name).write_text(name * 1000)
    return unpacked


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=1) as cluster:
        yield cluster


def outcomes(suite: Path, url: str, report: Path) -> dict[str, tuple[str, str]]:
    """How each test went: passed, skipped or failed, and why."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += [f"--ignore={name}" for name in LEFT_OUT]
    command += [f"--deselect={name}" for name in DESELECTED]
    done = subprocess.run(
        [*command, "--rootdir", str(suite), f"--junitxml={report}", "test"],
        cwd=suite,
        # Its tests write files of fixed names where temporary files are.
        env={**os.environ, "HDFSCLI_TEST_URL": url, "HOME": str(suite), "TMPDIR": str(suite)},
        capture_output=True,
        text=True,
        timeout=2 * TIMEOUT_S,
        check=False,
    )
    assert report.exists(), done.stdout + done.stderr
    found: dict[str, tuple[str, str]] = {}
    for case in ET.parse(report).iter("testcase"):
        name = f"{case.attrib['classname'].rpartition('.')[2]}.{case.attrib['name']}"
        kind, why = "passed", ""
        for tag, means in (("failure", "failed"), ("error", "failed"), ("skipped", "skipped")):
            element = case.find(tag)
            if element is not None:
                kind, why = means, f"{element.get('message')}\n{element.text}"
        found[name] = kind, why
    return found


@pytest.mark.parametrize("place", ["namenode", "gateway"])
def test_own_tests_of_the_package_pass(
    suite: Path, cluster: MiniCluster, tmp_path: Path, place: str
) -> None:
    report = tmp_path / "report.xml"
    if place == "namenode":
        found = outcomes(suite, cluster.http.rstrip("/"), report)
    else:
        with gateway(cluster) as address:
            found = outcomes(suite, f"http://{address}", report)
    assert len(found) > 200
    failed = [f"{name}: {why}" for name, (kind, why) in found.items() if kind == "failed"]
    assert not failed, "\n\n".join(failed)
    assert {name for name, (kind, _) in found.items() if kind == "skipped"} == SKIPPED
