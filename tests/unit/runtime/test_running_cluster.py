"""Which filesystem is meant where nobody names one: one rule for all that have clients."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.cli.main import COMMANDS, main
from howdah.config import Configuration, namenode_address
from howdah.fs.registry import connect
from howdah.runtime import running_cluster
from howdah.runtime.process_identity import start_time

ADDRESS = "127.0.0.1:15999"
URI = f"hdfs://{ADDRESS}"
HINT = "fs.defaultFS is not configured"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without a cluster, and the working directory in it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_site(directory: Path, **values: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    text = Configuration({name.replace("__", "."): value for name, value in values.items()})
    (directory / "core-site.xml").write_text(text.to_xml())


def leave_cluster(home: Path, *, since: str | None = None, **values: str) -> Path:
    """What `howdah up` leaves in the directory of its cluster, which this process is."""
    base = home / ".howdah" / "default"
    write_site(base / "conf", **(values or {"fs__defaultFS": URI, "dfs__replication": "2"}))
    (base / "run").mkdir(exist_ok=True)
    began = since or start_time(os.getpid())
    (base / "run" / "processes.json").write_text(json.dumps({"namenode": [os.getpid(), began]}))
    return base


# -- nobody says which, and no cluster runs --------------------------------------------


def test_without_configuration_and_cluster_there_is_no_filesystem(home: Path) -> None:
    (home / "mine").write_text("mine")
    with pytest.raises(errors.InvalidConfiguration, match=f"{HINT}.*howdah up") as caught:
        howdah.connect()
    assert "file:///" in str(caught.value)
    with pytest.raises(errors.InvalidConfiguration, match=HINT):
        howdah.connect(str(home / "mine"))


def test_the_local_disk_is_what_says_file(home: Path) -> None:
    for fs in (connect("file:///"), connect(conf=Configuration({"fs.defaultFS": "file:///"}))):
        with fs:
            assert fs.uri == "file:///" or fs.scheme == "file"


def test_a_default_may_have_the_form_of_old_files(capfd: pytest.CaptureFixture[str]) -> None:
    """Hadoop takes `HOST:PORT` for an HDFS, and `local` for the local disk, with `-fs` as well."""
    with connect(conf=Configuration({"fs.defaultFS": ADDRESS})) as fs:
        assert fs.uri == URI
    assert namenode_address(Configuration({"fs.default.name": ADDRESS})) == ("127.0.0.1", 15999)
    with connect(conf=Configuration({"fs.defaultFS": "local"})) as fs:
        assert fs.scheme == "file"
    assert main(["dfs", "-fs", "local", "-test", "-d", "/"]) == 0, capfd.readouterr().err


def test_hdfs_without_a_host_names_no_namenode() -> None:
    for uri in ("hdfs:///a", "hdfs:/a", "hdfs://default/a"):
        with pytest.raises(errors.InvalidConfiguration, match=r"names no namenode.*fs\.defaultFS"):
            connect(uri)


def test_fsspec_has_no_default_either() -> None:
    fsspec = pytest.importorskip("fsspec")
    with pytest.raises(errors.InvalidConfiguration, match=HINT):
        fsspec.filesystem("howdah", skip_instance_cache=True)


ADMINISTRATION = [
    ["getconf", "-confKey", "fs.defaultFS"],
    ["dfsadmin", "-report"],
    ["dfsadmin", "-safemode", "get"],
    ["fsck", "/"],
    ["balancer"],
    ["mover"],
    ["cacheadmin", "-listPools"],
    ["storagepolicies", "-listPolicies"],
    ["groups"],
    ["lsSnapshottableDir"],
    ["snapshotDiff", "/a", "a", "b"],
    ["sync", "/a", "/b"],
    ["debug", "recoverLease", "-path", "/a"],
    ["diskbalancer", "-report"],
    ["dfs", "-ls", "/"],
    ["fs", "-rm", "-r", "-skipTrash", "a"],
]


@pytest.mark.parametrize("words", ADMINISTRATION, ids=" ".join)
def test_every_command_says_what_to_do(
    words: list[str], home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (home / "a").mkdir()
    assert main(words) != 0
    told = capfd.readouterr()
    assert HINT in told.err + told.out
    assert "howdah up" in told.err + told.out
    assert (home / "a").is_dir()
    assert not (home / "b").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["namespace", "/a"],
        ["namespace", "--before", "/a", "file:///a"],
        ["verify", "/a"],
        ["compact", "/a"],
        ["distcp", "/a", "file:///b"],
        ["distcp", "file:///a", "b"],
    ],
    ids=" ".join,
)
def test_a_job_says_so_before_it_starts_a_spark(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyspark")

    def started(*_: object) -> None:
        pytest.fail("a session was started")

    for name in ("namespace", "verify", "compact", "distcp"):
        monkeypatch.setattr(f"howdah.cli.{name}.session_of", started)
    assert main(words) != 0
    assert HINT in capfd.readouterr().err


# -- the cluster of `howdah up` runs ----------------------------------------------------


def test_the_cluster_of_howdah_up_is_found(home: Path) -> None:
    leave_cluster(home)
    with connect() as fs:
        assert fs.uri == URI
    with connect("/a") as fs:
        assert fs.uri == URI
    with connect("hdfs:///a") as fs:
        assert fs.uri == URI
    with connect(conf=Configuration({"dfs.blocksize": "1m"})) as fs:
        assert fs.uri == URI


def test_fsspec_finds_the_cluster_of_howdah_up(home: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    leave_cluster(home)
    assert fsspec.filesystem("howdah", skip_instance_cache=True).fsid == URI


def test_getconf_finds_it(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    leave_cluster(home)
    assert main(["getconf", "-confKey", "fs.defaultFS"]) == 0
    assert main(["getconf", "-nnRpcAddresses"]) == 0
    assert capfd.readouterr().out.splitlines() == [URI, ADDRESS]


@pytest.mark.parametrize(
    "words", [words for words in ADMINISTRATION if words[0] != "getconf"], ids=" ".join
)
def test_every_command_goes_to_it(
    words: list[str], home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nobody listens there: the command says of whom it asked."""
    impatient = {"ipc__client__connect__max__retries": "0", "fs__defaultFS": "hdfs://127.0.0.1:1"}
    leave_cluster(home, **impatient)
    assert main(words) != 0
    told = capfd.readouterr()
    assert "127.0.0.1:1" in told.err + told.out


def test_a_nameservice_of_it_is_known_by_name(home: Path) -> None:
    leave_cluster(
        home,
        fs__defaultFS="hdfs://howdah",
        dfs__nameservices="howdah",
        dfs__ha__namenodes__howdah="nn0",
    )
    found = running_cluster.of_authority(Configuration(), "hdfs", "howdah")
    assert found.raw("dfs.nameservices") == "howdah"


def test_who_names_it_by_its_address_gets_the_rest(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Where its pages are, above all."""
    http = {"dfs__namenode__http_address".replace("http_", "http-"): "127.0.0.1:2"}
    leave_cluster(home, fs__defaultFS="hdfs://127.0.0.1:1", **http)
    found = running_cluster.with_running_cluster(Configuration({"fs.defaultFS": "hdfs://other:1"}))
    assert found.raw("dfs.namenode.http-address") == "127.0.0.1:9870"
    same = Configuration({"fs.defaultFS": "hdfs://127.0.0.1:1/"})
    found = running_cluster.with_running_cluster(same)
    assert found.raw("dfs.namenode.http-address") == "127.0.0.1:2"


def test_what_is_configured_besides_lies_above_it(home: Path) -> None:
    leave_cluster(home)
    found = running_cluster.with_running_cluster(Configuration({"dfs.replication": "5"}))
    assert found.raw("dfs.replication") == "5"
    assert found.raw("fs.defaultFS") == URI


def test_a_filesystem_at_another_address_has_nothing_of_its_settings(home: Path) -> None:
    leave_cluster(home)
    borrowed = running_cluster.with_running_cluster(Configuration({"dfs.blocksize": "1m"}))
    for conf in (borrowed, borrowed.with_values({"dfs.blocksize": "1m"})):
        other = running_cluster.of_authority(conf, "hdfs", "production:8020")
        assert dict(other.items()) == {"dfs.blocksize": "1m"}
        own = running_cluster.of_authority(conf, "hdfs", ADDRESS)
        assert own.raw("dfs.replication") == "2"


def test_a_job_takes_the_settings_along_to_executors(home: Path) -> None:
    pytest.importorskip("pyspark")
    from howdah.copy.common.filesystems import Place

    leave_cluster(home)
    place = Place.of(None, Configuration(), None)
    assert place.uri == URI
    assert dict(place.settings)["dfs.replication"] == "2"
    borrowed = running_cluster.with_running_cluster(Configuration())
    assert Place.of("hdfs://production:8020", borrowed, None).settings == ()


def test_a_cluster_that_was_stopped_is_not_taken(home: Path) -> None:
    leave_cluster(home, since="1")
    assert running_cluster.default_cluster_conf() is None
    with pytest.raises(errors.InvalidConfiguration, match=HINT):
        connect()


@pytest.mark.parametrize("text", ["{", "[]", '{"namenode": 5}', '{"namenode": ["x", "y"]}', "\xff"])
def test_a_damaged_list_of_its_processes_is_named(text: str, home: Path) -> None:
    base = leave_cluster(home)
    (base / "run" / "processes.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(errors.InvalidConfiguration, match=r"processes\.json is damaged"):
        connect()
    with connect(URI) as fs:
        assert fs.uri == URI


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("run/processes.json", "damaged"),
        ("run/processes.json", "unreadable"),
        ("conf/core-site.xml", "damaged"),
    ],
)
def test_only_who_needs_the_running_cluster_needs_its_files(
    name: str, how: str, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = leave_cluster(home) / name
    path.unlink()
    if how == "damaged":
        path.write_text("<{")
    else:
        path.mkdir()  # which nobody can read as a file, not even the superuser
    with connect("file:///") as local, connect("hdfs://production") as named:
        assert (local.scheme, named.uri) == ("file", "hdfs://production")
    assert main(["dfs", "-test", "-d", f"file://{home}"]) == 0
    assert main(["-fs", "file:///", "dfs", "-test", "-d", str(home)]) == 0
    assert main(["getconf", "-confKey", "dfs.blocksize"]) == 0
    capfd.readouterr()
    assert main(["dfs", "-test", "-d", "/"]) != 0
    told = capfd.readouterr().err
    assert f"{HINT}, and {path}" in told
    assert "howdah up" in told


# -- a configuration says which ----------------------------------------------------------


def test_a_configuration_comes_before_the_running_cluster(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_cluster(home)
    write_site(home / "conf", fs__defaultFS="hdfs://production:8020")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(home / "conf"))
    confs: list[Callable[[], Configuration | None]] = [
        lambda: None,
        lambda: Configuration({"dfs.replication": "1"}),
    ]
    for make in confs:
        with connect(conf=make()) as fs:
            assert fs.uri == "hdfs://production:8020"


def test_a_configuration_of_namenodes_without_a_default_is_not_mixed_with_it(home: Path) -> None:
    leave_cluster(home)
    conf = Configuration({"dfs.nameservices": "a,b"})
    with pytest.raises(errors.InvalidConfiguration, match=HINT):
        connect(conf=conf)
    assert running_cluster.with_running_cluster(conf) is conf


def test_servers_do_not_join_the_running_cluster(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    leave_cluster(home)
    assert main(["namenode"]) != 0
    assert "names no namenode: set it to hdfs://host:port" in capfd.readouterr().err


def test_every_command_is_known() -> None:
    """A command that is added here as one of a server or not."""
    from howdah.cli.main import SERVERS

    assert set(SERVERS) <= set(COMMANDS)
