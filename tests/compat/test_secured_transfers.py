"""Images and segments of secured namenodes and journal nodes, which go over HTTP by SPNEGO: of this
project's servers among themselves, and beside Hadoop's."""

from __future__ import annotations

import contextlib
import hashlib
import io
import shutil
from collections.abc import Iterator
from typing import Final

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.failover.state.service import ServiceState
from howdah.namenode.journal.checkpoints.primary import Primary
from howdah.runtime.tls.client import ClientTls
from howdah.runtime.tls.http_policy import Place
from howdah.testing.waiting import wait_until
from tests.support.security.kdc import Kdc
from tests.support.security.secured_quorum import SecuredQuorum
from tests.support.security.servers import NAMENODE, write_site_files

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]

_CHECKPOINTS: Final = {
    "dfs.ha.standby.checkpoints": "true",
    "dfs.namenode.checkpoint.txns": "20",
    "dfs.namenode.checkpoint.check.period": "1",
    "dfs.ha.log-roll.period": "5",
    # Segments are read over HTTP alone.
    "dfs.ha.tail-edits.in-progress": "false",
}


class Transfers(SecuredQuorum):
    """The standby alone makes images. One namenode may be Hadoop's."""

    theirs = ""

    def _write_files(self) -> None:
        super()._write_files()
        if self.theirs == "nn1":
            return  # It makes none by itself, and would not take those of others.
        own = {
            "dfs.ha.namenode.id": "nn1",
            "dfs.namenode.name.dir": f"file://{self.directory}/nn1",
            "dfs.namenode.checkpoint.txns": "1000000",
        }
        write_site_files(self.conf_dir_of("nn1"), {**self.conf, **own})

    def start(self, name: str) -> None:
        if name == self.theirs:
            self.servers.start(name, NAMENODE, self.conf_dir_of(name))
        else:
            super().start(name)


class FirstIsTheirs(Transfers):
    theirs = "nn1"


class SecondIsTheirs(Transfers):
    theirs = "nn2"


_OUR_STANDBYS: Final = [
    pytest.param((Transfers, ()), id="ours"),
    pytest.param((FirstIsTheirs, ()), id="to-hadoops", marks=pytest.mark.torture),
    pytest.param((Transfers, ("journalnode",)), id="journals", marks=pytest.mark.torture),
]
_THEIR_STANDBY: Final = pytest.param(
    (SecondIsTheirs, ()), id="from-hadoops", marks=pytest.mark.torture
)


@pytest.fixture(scope="module", params=[*_OUR_STANDBYS, _THEIR_STANDBY])
def quorum(
    request: pytest.FixtureRequest,
    kdc: Kdc,
    hadoop_classpath: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[SecuredQuorum]:
    kind, hadoops = request.param
    directory = tmp_path_factory.mktemp("transfers")
    with kdc.in_environment():
        made: SecuredQuorum = kind(
            directory, hadoop_classpath, kdc, _CHECKPOINTS, hadoops=hadoops, journal_nodes=1
        )
    yield made
    made.close()


def images(quorum: SecuredQuorum, name: str) -> set[int]:
    """The transactions of the images of a namenode."""
    names = [path.name for path in (quorum.directory / name / "current").glob("fsimage_*")]
    numbers = [name.rpartition("_")[2] for name in names]
    return {int(number) for number in numbers if number.isdigit()}


def work(quorum: SecuredQuorum, name: str) -> None:
    with quorum.connect(rpc="privacy") as fs:
        for number in range(30):
            fs.mkdirs(f"/user/alice/{name}/{number}")


def first_namenode(quorum: SecuredQuorum) -> Primary:
    """As another namenode calls it."""
    return Primary(
        ("localhost", quorum.ports["nn1"]["rpc"]),
        Place(False, "localhost", quorum.ports["nn1"]["http"]),
        tls=ClientTls(Configuration(quorum.client_conf(rpc="privacy"))),
        bytes_per_s=0,
        timeout_s=60,
        go_on=lambda: None,
        user=quorum.caller("nn/localhost"),
    )


def wait_for_standby(quorum: SecuredQuorum) -> None:
    try:
        wait_until(lambda: quorum.state("nn2") is ServiceState.STANDBY, timeout_s=60)
    except AssertionError as error:
        raise AssertionError(f"{error}: {quorum.log('nn2')[-6000:]}") from error


def test_a_standby_reads_segments_and_sends_its_image(quorum: SecuredQuorum) -> None:
    """One that was away has none of the active's memory, and reads what journal nodes have."""
    assert quorum.active() == "nn1"
    quorum.kill("nn2")
    work(quorum, "away")
    quorum.start("nn2")
    wait_for_standby(quorum)
    before = max(images(quorum, "nn1"), default=0)
    work(quorum, "back")
    wait_until(lambda: max(images(quorum, "nn1"), default=0) > before, timeout_s=60)
    words = "nn1 has the image of transaction", "Uploaded image with txid"
    wait_until(lambda: any(each in quorum.log("nn2") for each in words), what="it says so")


def test_a_server_proves_itself_also_where_it_has_no_need_of_an_image(
    quorum: SecuredQuorum,
) -> None:
    with contextlib.closing(first_namenode(quorum)) as primary:
        txid = primary.image_txid()
        path = quorum.directory / "nn1" / "current" / f"fsimage_{txid:019}"
        md5 = hashlib.md5(path.read_bytes()).hexdigest()
        version = primary.version()
        assert not primary.send_image(version, txid, path, md5)
        with pytest.raises(errors.CheckpointFailed, match=r"40[04]|410|500"):
            primary.fetch_image(version, txid + 100_000, io.BytesIO())


@pytest.mark.parametrize("quorum", _OUR_STANDBYS, indirect=True)
def test_a_new_standby_fetches_the_image(quorum: SecuredQuorum) -> None:
    work(quorum, "before-image")
    wait_until(lambda: any(images(quorum, "nn1")), timeout_s=60, what="there is one to fetch")
    quorum.kill("nn2")
    shutil.rmtree(quorum.directory / "nn2")
    work(quorum, "before-bootstrap")
    # An active of Hadoop's tells no journal node that the beginning of a segment is committed.
    with contextlib.closing(first_namenode(quorum)) as primary:
        begun = primary.roll()
        assert primary.last_txid() == begun.segment_txid
    conf_dir = quorum.conf_dir_of("nn2")
    quorum.servers.run_ours("bootstrap", "namenode", conf_dir, "-bootstrapStandby")
    assert images(quorum, "nn2")
    quorum.start("nn2")
    wait_for_standby(quorum)
    assert quorum.fail_over() == "nn2"
    with quorum.connect(rpc="privacy") as fs:
        assert fs.exists("/user/alice/before-bootstrap/29")
