"""Apache's HDFS in secure mode: a namenode and a datanode of Hadoop's, with Kerberos and tokens.

It offers every protection, for calls and for data; a client's configuration picks (`client_conf`).
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import howdah
from howdah.config import Configuration
from howdah.errors import HowdahError
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing.waiting import wait_until
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.servers import (
    DATANODE,
    NAMENODE,
    START_S,
    HadoopServers,
    free_port,
    write_site_files,
)

ALL: Final = "authentication,integrity,privacy"
AES: Final = "AES/CTR/NoPadding"
OTHER_REALM: Final = "OTHER.ORG"
"""Whose users are let in where the KDC trusts it."""
_RULES: Final = " ".join(
    [
        *(f"RULE:[2:$1@$0]({name}@{REALM})s/.*/hdfs/" for name in ("nn", "dn", "jn", "sn")),
        f"RULE:[1:$1@$0](.*@{OTHER_REALM})s/@.*//",
        "DEFAULT",
    ]
)
GROUPS: Final = "hdfs=supergroup;alice=users;bob=users;oozie=users"

WITHOUT_KERBEROS: Final = {
    "hadoop.security.authentication": "simple",
    "hadoop.security.authorization": "false",
    "hadoop.http.filter.initializers": "",
    "hadoop.http.authentication.type": "simple",
    "dfs.data.transfer.protection": "",
    "dfs.namenode.keytab.file": "",
    "dfs.datanode.keytab.file": "",
}
"""What undoes `security_settings`."""


def datanode_settings(directory: Path) -> dict[str, str]:
    """What a datanode on loopback needs, with or without security, and its namenode."""
    return {
        "hadoop.tmp.dir": str(directory / "tmp"),
        "hadoop.user.group.static.mapping.overrides": GROUPS,
        "dfs.datanode.data.dir": f"[DISK]file://{directory}/data,[ARCHIVE]file://{directory}/cold",
        "dfs.replication": "1",
        "dfs.namenode.safemode.extension": "0",
        "dfs.blocksize": str(1 << 20),
        "dfs.block.access.token.enable": "true",
        "dfs.datanode.address": "localhost:0",
        "dfs.datanode.ipc.address": "localhost:0",
        "dfs.datanode.http.address": "localhost:0",
        "dfs.datanode.https.address": "localhost:0",
        "dfs.datanode.hostname": "localhost",
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        "dfs.heartbeat.interval": "1",
        "dfs.encrypt.data.transfer.cipher.suites": AES,
    }


def security_settings(kdc: Kdc, secret: Path) -> dict[str, str]:
    """What makes servers secured ones. Cookies are signed by what is in the file `secret`."""
    keytab = str(kdc.services_keytab)
    return {
        "hadoop.security.authentication": "kerberos",
        "hadoop.security.authorization": "true",
        "hadoop.rpc.protection": ALL,
        "hadoop.security.auth_to_local": _RULES,
        "hadoop.proxyuser.oozie.hosts": "*",
        "hadoop.proxyuser.oozie.users": "bob",
        "hadoop.proxyuser.httpfs.hosts": "*",
        "hadoop.proxyuser.httpfs.users": "alice,bob",
        "hadoop.proxyuser.router.hosts": "*",
        "hadoop.proxyuser.router.users": "*",
        "dfs.namenode.kerberos.principal": f"nn/_HOST@{REALM}",
        "dfs.namenode.keytab.file": keytab,
        "dfs.datanode.kerberos.principal": f"dn/_HOST@{REALM}",
        "dfs.datanode.keytab.file": keytab,
        "dfs.web.authentication.kerberos.principal": f"HTTP/_HOST@{REALM}",
        "dfs.web.authentication.kerberos.keytab": keytab,
        "dfs.cluster.administrators": "hdfs",
        "hadoop.http.filter.initializers": (
            "org.apache.hadoop.security.AuthenticationFilterInitializer"
        ),
        "hadoop.http.authentication.type": "kerberos",
        "hadoop.http.authentication.kerberos.principal": f"HTTP/_HOST@{REALM}",
        "hadoop.http.authentication.kerberos.keytab": keytab,
        "hadoop.http.authentication.signature.secret.file": str(secret),
        "dfs.data.transfer.protection": ALL,
    }


def client_settings(conf: Mapping[str, str], protection: Mapping[str, str]) -> dict[str, str]:
    """What a client is given: `rpc`, `data` and `suites` in place of what the servers have."""
    mine = dict(conf)
    mine["hadoop.rpc.protection"] = protection.get("rpc", "authentication")
    mine["dfs.data.transfer.protection"] = protection.get("data", "authentication")
    mine["dfs.encrypt.data.transfer.cipher.suites"] = protection.get("suites", "")
    return {name: value for name, value in mine.items() if value}


def make_homes(fs: HdfsFileSystem) -> None:
    """Make the directories of the users, as the superuser."""
    for user in ("alice", "bob"):
        fs.mkdirs(f"/user/{user}")
        fs.set_owner(f"/user/{user}", user, "users")


class SecuredHadoop:
    """Runs until it is closed; the KDC is the caller's."""

    def __init__(
        self,
        directory: Path,
        jars: str,
        kdc: Kdc,
        conf: Mapping[str, str] | None = None,
        java_options: Sequence[str] = (),
        rpc_port: int | None = None,
    ) -> None:
        """`java_options` are the servers', beside the usual ones. `rpc_port` is the namenode's, by
        default a free one."""
        self.directory = directory
        self.kdc = kdc
        self.rpc_port, self.http_port = rpc_port or free_port(), free_port()
        self.conf = {**self._defaults(), **(conf or {})}
        self.conf_dir = directory / "conf"
        self._servers = HadoopServers(directory, jars, kdc.environment, java_options)
        write_site_files(self.conf_dir, self.conf)
        self.secret.write_text("a secret of this test alone\n")
        self.secret.chmod(0o600)
        try:
            self._format()
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        """Start the servers, and wait until they serve. A cluster that was made is started."""
        self._start_namenode()
        self._start_datanode("datanode", self.conf_dir)
        self.wait_until_up()

    def wait_until_up(self) -> None:
        """Wait until the servers serve."""
        wait_until(self._is_up, timeout_s=START_S)

    def _format(self) -> None:
        self._servers.run("format", NAMENODE, self.conf_dir, "-format", "-nonInteractive")

    def _start_namenode(self) -> None:
        self._servers.start("namenode", NAMENODE, self.conf_dir)

    def _start_datanode(self, name: str, conf_dir: Path) -> None:
        self._servers.start(name, DATANODE, conf_dir)

    def add_datanode(self, name: str, data: Path) -> None:
        """Start another one, with a directory of its own."""
        conf_dir = self.directory / f"conf-{name}"
        write_site_files(conf_dir, {**self.conf, "dfs.datanode.data.dir": f"file://{data}"})
        self._start_datanode(name, conf_dir)

    @property
    def namenode_pid(self) -> int:
        return self._servers.pid("namenode")

    def is_running(self, server: str) -> bool:
        """Whether it was started and not killed."""
        return server in self._servers.running

    def restart_namenode(self) -> None:
        """Kill it, and start another one on what it leaves."""
        self._servers.kill("namenode")
        self._start_namenode()

    def kill_datanode_at(self, address: str) -> None:
        """Kill the datanode whose data port is `ip:port`."""
        said = self._says_of_itself(address)
        (name,) = [each for each in self._servers.running if said in self.log(each)]
        self._servers.kill(name)

    def _says_of_itself(self, address: str) -> str:
        """What the log of a datanode has about its data port, and no other log."""
        return f"Opened streaming server at /{address}"

    @property
    def name_directory(self) -> Path:
        return self.directory / "name"

    @property
    def uri(self) -> str:
        return f"hdfs://localhost:{self.rpc_port}"

    @property
    def is_secured(self) -> bool:
        return self.conf["hadoop.security.authentication"] == "kerberos"

    def log(self, server: str) -> str:
        return self._servers.log(server)

    def client_conf(self, **protection: str) -> dict[str, str]:
        """What a client is given; see `client_settings`."""
        return client_settings(self.conf, protection)

    def connect(
        self, user: str = "alice", conf: Mapping[str, str] | None = None, **protection: str
    ) -> HdfsFileSystem:
        """A client that logs in by the user's keytab; without security, by the name."""
        values = Configuration({**self.client_conf(**protection), **(conf or {})})
        if self.is_secured:
            keytab, principal = str(self.kdc.keytab(user)), f"{user}@{REALM}"
            fs = howdah.connect(self.uri, conf=values, keytab=keytab, principal=principal)
        else:
            fs = howdah.connect(self.uri, conf=values, user=user)
        assert isinstance(fs, HdfsFileSystem)
        return fs

    def close(self) -> None:
        """Kill the servers; `start` starts others on what they leave."""
        self._servers.close()

    def _is_up(self) -> bool:
        self._servers.check()
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", self.rpc_port)):
                return False
        try:
            rpc = self.conf.get("hadoop.rpc.protection", "authentication")
            with self.connect("hdfs", rpc=rpc) as fs:
                live = fs.datanode_report("live")
                # One that has registered has no volume before its first heartbeat.
                if not any(node.capacity for node in live) or fs.set_safe_mode("get"):
                    return False
                make_homes(fs)
                return True
        except ConnectionError:
            return False
        except HowdahError as error:
            raise AssertionError(f"{error}\n{self.log('namenode')[-3000:]}") from error

    @property
    def secret(self) -> Path:
        """What cookies are signed by."""
        return self.directory / "secret"

    def _defaults(self) -> dict[str, str]:
        return {
            "fs.defaultFS": self.uri,
            "dfs.namenode.rpc-address": f"localhost:{self.rpc_port}",
            "dfs.namenode.http-address": f"localhost:{self.http_port}",
            "dfs.namenode.name.dir": f"file://{self.name_directory}",
            **datanode_settings(self.directory),
            **security_settings(self.kdc, self.secret),
            # It takes images of a secondary, however soon they follow each other.
            "dfs.namenode.checkpoint.period": "0",
            # Its pages need no TLS then.
            "ignore.secure.ports.for.testing": "true",
        }
