"""A namenode that offers a protection by its port, or by the client's address: this project's and
Apache's, with Java's client and with this project's."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.config import Configuration
from tests.support.hadoop.java import hadoop_java
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.our_servers import OurSecuredCluster
from tests.support.security.secured_hadoop import SecuredHadoop
from tests.support.security.servers import free_port, write_site_files

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]


@pytest.fixture(scope="module")
def auxiliary_port() -> int:
    """Offers privacy alone; the other port offers authentication alone."""
    return free_port()


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(OurSecuredCluster, id="ours"),
        pytest.param(SecuredHadoop, id="apache", marks=pytest.mark.torture),
    ],
)
def cluster(
    request: pytest.FixtureRequest,
    auxiliary_port: int,
    kdc: Kdc,
    hadoop_classpath: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[SecuredHadoop]:
    main_port = free_port()
    conf = {
        "dfs.namenode.rpc-address.auxiliary-ports": str(auxiliary_port),
        # Without it Hadoop's datanodes look for a host by the name of null.
        "dfs.namenode.servicerpc-address": f"localhost:{free_port()}",
        "hadoop.security.saslproperties.resolver.class": (
            "org.apache.hadoop.security.IngressPortBasedResolver"
        ),
        "ingress.port.sasl.configured.ports": f"{main_port},{auxiliary_port}",
        f"ingress.port.sasl.prop.{main_port}": "authentication",
    }

    kind: type[SecuredHadoop] = request.param
    with kdc.in_environment():
        directory = tmp_path_factory.mktemp("ports")
        cluster = kind(directory, hadoop_classpath, kdc, conf, rpc_port=main_port)
    yield cluster
    cluster.close()


@pytest.mark.parametrize("wanted", ["authentication", "privacy"])
@pytest.mark.parametrize("port", ["main", "auxiliary"])
def test_our_client_gets_what_the_port_offers(
    cluster: SecuredHadoop, auxiliary_port: int, port: str, wanted: str
) -> None:
    number = cluster.rpc_port if port == "main" else auxiliary_port
    conf = Configuration(cluster.client_conf(rpc=wanted))
    keytab = str(cluster.kdc.keytab("alice"))
    uri = f"hdfs://localhost:{number}"
    with howdah.connect(uri, conf=conf, keytab=keytab, principal=f"alice@{REALM}") as fs:
        if (port == "auxiliary") is (wanted == "privacy"):
            assert fs.exists("/user/alice")
            return
        offered = "authentication" if port == "main" else "privacy"
        with pytest.raises(errors.AuthenticationFailed, match=f"the server offers {offered}, "):
            fs.exists("/user/alice")


@pytest.mark.parametrize("wanted", ["authentication", "privacy"])
def test_javas_client_gets_what_the_auxiliary_port_offers(
    cluster: SecuredHadoop,
    auxiliary_port: int,
    hadoop_classpath: str,
    tmp_path: Path,
    wanted: str,
) -> None:
    conf_dir = tmp_path / "conf"
    # A client asks once: the answer does not change.
    retries = {"ipc.client.connect.max.retries.on.sasl": "0"}
    write_site_files(conf_dir, {**cluster.client_conf(rpc=wanted), **retries})
    options = [f"-Djava.security.krb5.conf={os.environ['KRB5_CONFIG']}"]
    command = hadoop_java(hadoop_classpath, conf_dir, options=options)
    done = subprocess.run(
        [
            *command,
            "org.apache.hadoop.fs.FsShell",
            *("-ls", f"hdfs://localhost:{auxiliary_port}/user"),
        ],
        env={
            **os.environ,
            "KRB5KEYTAB": str(cluster.kdc.keytab("alice")),
            "KRB5PRINCIPAL": f"alice@{REALM}",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if wanted == "privacy":
        assert done.returncode == 0, done.stderr
        assert "/user/alice" in done.stdout
    else:
        assert done.returncode != 0
        assert "No common protection layer between client and server" in done.stderr


@pytest.fixture(scope="module")
def own_address() -> str:
    """An address of this machine that is not of its loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.254", 9))  # Nothing is sent.
        except OSError:
            pytest.skip("this machine has no address but that of its loopback")
        address = str(probe.getsockname()[0])
    if address.startswith("127."):
        pytest.skip("this machine has no address but that of its loopback")
    return address


@pytest.mark.torture
@pytest.mark.parametrize(
    "kind", [pytest.param(OurSecuredCluster, id="ours"), pytest.param(SecuredHadoop, id="apache")]
)
def test_an_address_that_is_on_no_list_gets_privacy_alone(
    kdc: Kdc,
    hadoop_classpath: str,
    tmp_path: Path,
    own_address: str,
    kind: type[SecuredHadoop],
) -> None:
    conf = {
        "hadoop.rpc.protection": "authentication",
        "dfs.namenode.rpc-bind-host": "0.0.0.0",
        "hadoop.security.saslproperties.resolver.class": (
            "org.apache.hadoop.security.WhitelistBasedResolver"
        ),
        "hadoop.security.sasl.fixedwhitelist.file": str(tmp_path / "none"),
    }
    cluster = kind(tmp_path, hadoop_classpath, kdc, conf)
    keytab, principal = str(kdc.keytab("alice")), f"alice@{REALM}"

    def exists(host: str, wanted: str) -> bool:
        named = {"dfs.namenode.kerberos.principal.pattern": f"nn/localhost@{REALM}"}
        values = Configuration({**cluster.client_conf(rpc=wanted), **named})
        uri = f"hdfs://{host}:{cluster.rpc_port}"
        with howdah.connect(uri, conf=values, keytab=keytab, principal=principal) as fs:
            return fs.exists("/user/alice")

    try:
        assert exists("localhost", "authentication")
        assert exists(own_address, "privacy")
        with pytest.raises(errors.AuthenticationFailed, match="the server offers privacy, "):
            exists(own_address, "authentication")
    finally:
        cluster.close()
