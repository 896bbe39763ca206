"""Java's calls that list more than one directory, or more than names."""

from __future__ import annotations

from typing import Any

import pytest

from howdah.testing import MiniCluster

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def java_fs(howdah_cluster: MiniCluster, spark: Any) -> Any:
    jvm = spark._jvm
    uri = jvm.java.net.URI(howdah_cluster.uri)
    return jvm.org.apache.hadoop.fs.FileSystem.get(uri, spark._jsc.hadoopConfiguration())


@pytest.fixture(scope="module")
def tree(howdah_cluster: MiniCluster) -> None:
    with howdah_cluster.connect() as fs:
        for directory in range(3):
            for name in range(directory):
                fs.mkdirs(f"/listed-by-java/{directory}/{name}")
        fs.mkdirs("/listed-by-java/0")


def paths(jvm: Any, *names: str) -> Any:
    found = jvm.java.util.ArrayList()
    for name in names:
        found.add(jvm.org.apache.hadoop.fs.Path(f"/listed-by-java/{name}"))
    return found


@pytest.mark.usefixtures("tree")
def test_directories_listed_together(java_fs: Any, spark: Any) -> None:
    listings = java_fs.batchedListStatusIterator(paths(spark._jvm, "2", "0", "1"))
    told = []
    while listings.hasNext():
        listing = listings.next()
        directory = listing.getListedPath().getName()
        told.append((directory, [each.getPath().getName() for each in listing.get()]))
    assert told == [("2", ["0", "1"]), ("0", []), ("1", ["0"])]


@pytest.mark.usefixtures("tree")
def test_a_directory_that_is_not_there_is_an_error_of_its_own(java_fs: Any, spark: Any) -> None:
    from py4j.protocol import Py4JJavaError

    listings = java_fs.batchedListStatusIterator(paths(spark._jvm, "missing", "1"))
    missing, there = listings.next(), listings.next()
    with pytest.raises(Py4JJavaError) as caught:
        missing.get()
    assert "FileNotFoundException" in str(caught.value.java_exception)
    assert len(there.get()) == 1


def test_open_files_are_listed(howdah_cluster: MiniCluster, java_fs: Any) -> None:
    with howdah_cluster.connect() as fs, fs.create("/listed-by-java/open"):
        entries = java_fs.listOpenFiles()
        found = []
        while entries.hasNext():
            found.append(entries.next().getFilePath())
    assert "/listed-by-java/open" in found


def test_lost_files_are_listed(java_fs: Any, spark: Any) -> None:
    found = java_fs.listCorruptFileBlocks(spark._jvm.org.apache.hadoop.fs.Path("/listed-by-java"))
    assert not found.hasNext()
