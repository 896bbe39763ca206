"""Which filesystem a URI names."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator

import pytest

import howdah
from howdah import errors
from howdah.config import Configuration
from howdah.fs import registry
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.runtime.users.names import real_user_of

CONF = Configuration({"fs.defaultFS": "hdfs://default:1234"})


@pytest.mark.req("FS-004")
def test_the_scheme_chooses_the_class() -> None:
    fs = howdah.connect("hdfs://nn:8020/some/path", conf=CONF)
    assert type(fs).__name__ == "HdfsFileSystem"
    assert fs.uri == "hdfs://nn:8020"


@pytest.mark.parametrize("uri", [None, "hdfs:///", "hdfs:///a", "/a"])
def test_without_an_authority_it_is_the_default_filesystem(uri: str | None) -> None:
    assert howdah.connect(uri, conf=CONF).uri == "hdfs://default:1234"


@pytest.mark.parametrize("uri", ["hdfs://default", "hdfs://default/a", "hdfs://default:0/"])
def test_default_for_a_host_is_the_default_filesystem(uri: str) -> None:
    conf = Configuration({"fs.defaultFS": "hdfs://there:1234"})
    assert howdah.connect(uri, conf=conf).uri == "hdfs://there:1234"
    with pytest.raises(errors.InvalidConfiguration, match="names no namenode"):
        howdah.connect(uri, conf=Configuration({"fs.defaultFS": "file:///"}))


@pytest.mark.parametrize("uri", ["gopher://x/", "s4://bucket/"])
def test_an_unknown_scheme_is_named_with_the_known_ones(uri: str) -> None:
    scheme = uri.partition(":")[0]
    with pytest.raises(errors.UnsupportedOperation, match=f"'{scheme}'.*hdfs"):
        howdah.connect(uri, conf=CONF)


def test_a_real_user_acts_for_the_user() -> None:
    fs = howdah.connect("hdfs://nn:8020", conf=CONF, user="joe", real_user="hive")
    assert isinstance(fs, HdfsFileSystem)
    for each in (fs, pickle.loads(pickle.dumps(fs))):
        assert (each.user, real_user_of(each.user)) == ("joe", "hive")
        assert each.home_directory() == "/user/joe"
    with pytest.raises(errors.IllegalArgument, match="name that one"):
        howdah.connect("hdfs://nn:8020", conf=CONF, real_user="hive")
    with pytest.raises(errors.IllegalArgument, match="is empty"):
        howdah.connect("hdfs://nn:8020", conf=CONF, user="joe", real_user="")


def test_a_host_without_a_scheme_is_refused() -> None:
    with pytest.raises(errors.IllegalArgument, match="hdfs://host:port"):
        howdah.connect("namenode:8020", conf=CONF)


@pytest.mark.parametrize("uri", ["hdfs://host:port/", "hdfs://:1/"])
def test_an_authority_that_names_no_namenode_is_refused(uri: str) -> None:
    with pytest.raises(errors.IllegalArgument, match="names no namenode"):
        howdah.connect(uri, conf=CONF)


def test_a_nameservice_is_no_host() -> None:
    values = {
        "dfs.nameservices": "alpha, beta",
        "dfs.namenode.rpc-address.beta": "b:9000",
        "dfs.ha.namenodes.alpha": "nn1,nn2",
    }
    conf = Configuration(values)
    fs = howdah.connect("hdfs://beta/", conf=conf)
    assert isinstance(fs, HdfsFileSystem)
    assert (fs.uri, fs.client.namenode.address) == ("hdfs://beta", ("b", 9000))
    with pytest.raises(ValueError, match=r"has a port.*write hdfs://beta"):
        howdah.connect("hdfs://beta:8020/", conf=conf)
    with pytest.raises(errors.InvalidConfiguration, match=r"no address of namenode alpha.nn1"):
        howdah.connect("hdfs://alpha/", conf=conf)


def test_a_nameservice_of_which_nothing_is_known_is_a_host() -> None:
    fs = howdah.connect("hdfs://gamma:1", conf=Configuration({"dfs.nameservices": "gamma"}))
    assert isinstance(fs, HdfsFileSystem)
    assert fs.client.namenode.address == ("gamma", 1)


@pytest.fixture
def own_scheme() -> Iterator[list[tuple[str, str | None]]]:
    asked: list[tuple[str, str | None]] = []

    def make(authority: str, conf: Configuration, user: str | None) -> howdah.FileSystem:
        asked.append((authority, user))
        return howdah.connect("hdfs://x:1", conf=conf)

    registry.register("own", make)
    yield asked
    del registry._registered["own"]


def test_a_scheme_can_be_registered(own_scheme: list[tuple[str, str | None]]) -> None:
    howdah.connect("own://place/a", conf=CONF, user="anna")
    assert own_scheme == [("place", "anna")]
    assert "own" in registry.schemes()


def test_paths_of_another_filesystem_are_refused() -> None:
    fs = howdah.connect("hdfs://nn:8020", conf=CONF)
    with pytest.raises(errors.IllegalArgument, match="Wrong filesystem: hdfs://other:8020/a"):
        fs.resolve("hdfs://other:8020/a")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("hdfs://nn:8020/a%20b", "/a%20b"),
        ("HDFS://NN:8020/a", "/a"),
        ("hdfs:///a", "/a"),
        ("a", "/user/anna/a"),
        ("/a//b/", "/a/b"),
    ],
)
def test_paths_are_resolved(path: str, expected: str) -> None:
    fs = howdah.connect("hdfs://nn:8020", conf=CONF, user="anna")
    assert fs.resolve(path) == expected


def test_importing_howdah_imports_nothing_of_it() -> None:
    code = "import sys, howdah; print([m for m in sys.modules if m.startswith('howdah.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_can_be_imported() -> None:
    for name in howdah.__all__:
        assert getattr(howdah, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        howdah.nothing  # noqa: B018


def test_a_filesystem_that_is_pickled_connects_anew_as_the_same_user() -> None:
    """As `multiprocessing`, dask and their kin do with what they hand to another process."""
    conf = CONF.with_values({"dfs.client.socket-timeout": "1234"})
    fs = howdah.connect("hdfs://nn:8020/", conf=conf, user="her")
    twin = pickle.loads(pickle.dumps(fs))
    assert isinstance(fs, HdfsFileSystem)
    assert (twin.uri, twin.user) == (fs.uri, "her")
    assert twin.client.settings == fs.client.settings
    assert twin.client.client_name != fs.client.client_name
