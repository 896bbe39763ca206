"""A Kerberos realm of its own for a cluster on one machine: MIT's KDC on loopback, without root
(shell).

`DIR/kerberos`, which its owner alone can enter, has, made once and kept over restarts:

    krb5.conf           for clients and servers (KRB5_CONFIG); also Java's
    kdc.conf, principal…, stash     the KDC's own
    servers.keytab      the keys of all servers, and of their web ports
    keytabs/NAME.keytab the key of a user
    http-secret         what cookies of web ports are signed by
    caches/NAME         tickets that were asked for in the name of a user

It is for tests and for trying things out: one KDC, whose master key lies beside its database, and
everybody's keys in one place. A deployment has its own.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from howdah.config import keys
from howdah.config.value_types import Address
from howdah.errors import HowdahError, InvalidConfiguration
from howdah.protocol.sasl.keytab import principals_in
from howdah.runtime.atomic_files import replace_file

KDC: Final = "kdc"
"""The name of the server."""
DEFAULT_REALM: Final = "HOWDAH.TEST"
DEFAULT_USERS: Final = ("alice", "bob")
PROTECTION: Final = "privacy"
PROGRAMS: Final = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit")
CONFIGURATION: Final = "KRB5_CONFIG"
TICKET_CACHE: Final = "KRB5CCNAME"
JAVA_OPTIONS: Final = "JDK_JAVA_OPTIONS"
_PROFILE: Final = "KRB5_KDC_PROFILE"
_HOST: Final = "localhost"
_SUPERUSER: Final = "hdfs"
"""Where the user who runs this has a name that no principal should have."""
_USER: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_SERVERS: Final = ("nn", "dn", "jn")
_GATEWAY: Final = "httpfs"
"""No server of a layout, but whoever starts one beside it finds its key."""
_SYSTEM_DIRECTORIES: Final = (
    "/usr/sbin",
    "/sbin",
    "/usr/lib/mit/sbin",
    "/opt/homebrew/opt/krb5/sbin",
)
_PROGRAM_TIMEOUT_S: Final = 60.0
_POLL_S: Final = 0.02
_ANSWER_TIMEOUT_S: Final = 1.0
_SECRET_BYTES: Final = 32


class NoKdc(HowdahError, RuntimeError):
    """There can be no KDC here; the message says what is missing, and how it is installed."""


def check_available() -> None:
    """Raises NoKdc where something is missing that a secured cluster takes."""
    missing = [name for name in PROGRAMS if _path_of(name) is None]
    if missing:
        raise NoKdc(
            f"a cluster with Kerberos has a KDC of MIT's, and {', '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} not installed: apt-get install krb5-kdc "
            "krb5-admin-server krb5-user (Debian, Ubuntu), or dnf install krb5-server "
            "krb5-workstation (Fedora, RHEL)"
        )
    if importlib.util.find_spec("cryptography") is None:
        raise NoKdc(
            "data is encrypted by the package cryptography, which is not installed: pip install "
            "'howdah[tls]'"
        )
    from howdah.security import gssapi

    try:
        gssapi.library()
    except HowdahError as error:
        raise NoKdc(error.message) from error


def _path_of(name: str) -> str | None:
    path = os.pathsep.join((os.environ.get("PATH", ""), *_SYSTEM_DIRECTORIES))
    return shutil.which(name, path=path)


def program(name: str) -> str:
    """The path of one of MIT's programs. Raises NoKdc."""
    found = _path_of(name)
    if found is None:
        check_available()
        raise NoKdc(f"{name} is not installed")
    return found


@dataclass(frozen=True, slots=True)
class Realm:
    """The realm of a layout: what is decided once, and written to `cluster.json`."""

    name: str
    kdc: str
    """`host:port`."""
    superuser: str
    """Who the servers are, by `auth_to_local`."""
    users: tuple[str, ...]

    @classmethod
    def plan(cls, kdc: str, user: str, users: Iterable[str], name: str | None = None) -> Realm:
        """`user` runs the cluster. Raises InvalidConfiguration for names that no principal has."""
        superuser = user if _USER.fullmatch(user) else _SUPERUSER
        planned = cls(name or DEFAULT_REALM, kdc, superuser, (superuser,))
        return planned.with_users(users)

    def with_users(self, users: Iterable[str]) -> Realm:
        """The same with these users too. Raises InvalidConfiguration."""
        wanted = tuple(users)
        for user in wanted:
            if not _USER.fullmatch(user):
                raise InvalidConfiguration(
                    f"{user!r} is no user here: a name has letters, digits and . _ -"
                )
        everybody = tuple(dict.fromkeys((*self.users, *wanted)))
        return Realm(self.name, self.kdc, self.superuser, everybody)

    @classmethod
    def from_saved(cls, saved: Mapping[str, object]) -> Realm:
        """What `dataclasses.asdict` made of one, after its way through JSON."""
        users = saved["users"]
        assert isinstance(users, list)
        return cls(str(saved["name"]), str(saved["kdc"]), str(saved["superuser"]), tuple(users))

    def principal(self, user: str) -> str:
        """The full name of a user."""
        return f"{user}@{self.name}"

    # -- configuration --------------------------------------------------------------------

    @property
    def client_values(self) -> dict[str, str]:
        """What clients and servers have to know, which a user's values do not replace."""
        return {
            keys.HADOOP_SECURITY_AUTHENTICATION.name: "kerberos",
            keys.HADOOP_SECURITY_AUTHORIZATION.name: "true",
            keys.HADOOP_SECURITY_AUTH_TO_LOCAL.name: self._rules,
            keys.DFS_BLOCK_ACCESS_TOKEN_ENABLE.name: "true",
            keys.DFS_NAMENODE_KERBEROS_PRINCIPAL.name: self._at(_HOST, "nn"),
            keys.DFS_DATANODE_KERBEROS_PRINCIPAL.name: self._at(_HOST, "dn"),
            keys.DFS_JOURNALNODE_KERBEROS_PRINCIPAL.name: self._at(_HOST, "jn"),
        }

    @property
    def default_values(self) -> dict[str, str]:
        """What a user's values may replace."""
        overrides = [f"{user}=users" for user in self.users if user != self.superuser]
        return {
            keys.HADOOP_RPC_PROTECTION.name: PROTECTION,
            keys.DFS_DATA_TRANSFER_PROTECTION.name: PROTECTION,
            keys.DFS_ENCRYPT_DATA_TRANSFER_CIPHER_SUITES.name: "AES/CTR/NoPadding",
            "hadoop.user.group.static.mapping.overrides": ";".join(["dr.who=", *overrides]),
            # Not for the superuser, who is in no such group.
            f"hadoop.proxyuser.{_GATEWAY}.groups": "users",
            f"hadoop.proxyuser.{_GATEWAY}.hosts": "127.0.0.1",
        }

    def server_values(self, directory: Path, host: str) -> dict[str, str]:
        """What a server at `host` has to know beside that."""
        keytab = str(servers_keytab(directory))
        web = self._at(host, "HTTP")
        return {
            keys.DFS_NAMENODE_KEYTAB_FILE.name: keytab,
            keys.DFS_DATANODE_KEYTAB_FILE.name: keytab,
            # All keys are in one directory: web ports need no TLS to be as safe.
            keys.IGNORE_SECURE_PORTS_FOR_TESTING.name: "true",
            keys.DFS_JOURNALNODE_KEYTAB_FILE.name: keytab,
            # Of servers that may be started beside it.
            keys.DFS_SECONDARY_NAMENODE_KERBEROS_PRINCIPAL.name: self._at(_HOST, "nn"),
            keys.DFS_SECONDARY_NAMENODE_KEYTAB_FILE.name: keytab,
            keys.HTTPFS_HADOOP_AUTHENTICATION_KERBEROS_PRINCIPAL.name: self._at(_HOST, _GATEWAY),
            keys.HTTPFS_HADOOP_AUTHENTICATION_KERBEROS_KEYTAB.name: keytab,
            keys.HOWDAH_S3_KERBEROS_PRINCIPAL.name: self._at(_HOST, _GATEWAY),
            keys.HOWDAH_S3_KERBEROS_KEYTAB.name: keytab,
            keys.DFS_WEB_AUTHENTICATION_KERBEROS_PRINCIPAL.name: web,
            keys.DFS_WEB_AUTHENTICATION_KERBEROS_KEYTAB.name: keytab,
            keys.HADOOP_HTTP_AUTHENTICATION_TYPE.name: "kerberos",
            keys.HADOOP_HTTP_AUTHENTICATION_KERBEROS_PRINCIPAL.name: web,
            keys.HADOOP_HTTP_AUTHENTICATION_KERBEROS_KEYTAB.name: keytab,
            keys.HADOOP_HTTP_AUTHENTICATION_SIGNATURE_SECRET_FILE.name: str(
                directory / "http-secret"
            ),
            "hadoop.http.filter.initializers": (
                "org.apache.hadoop.security.AuthenticationFilterInitializer"
            ),
        }

    def _at(self, host: str, primary: str) -> str:
        return f"{primary}/{host}@{self.name}"

    @property
    def _rules(self) -> str:
        servers = [f"RULE:[2:$1@$0]({one}@{self.name})s/.*/{self.superuser}/" for one in _SERVERS]
        # Also where a process has another default realm.
        return " ".join([*servers, f"RULE:[1:$1@$0](.*@{self.name})s/@.*//", "DEFAULT"])

    # -- files ------------------------------------------------------------------------------

    def make(self, directory: Path, hosts: Iterable[str]) -> None:
        """Make what is not there yet: the realm, keys of servers at `hosts` and of the users.
        Raises NoKdc."""
        if not configuration_path(directory).is_file():
            self._create(directory)
        servers = [f"{primary}/{_HOST}" for primary in (*_SERVERS, _GATEWAY)]
        servers += [f"HTTP/{host}" for host in dict.fromkeys((_HOST, *hosts))]
        self._add(directory, servers, servers_keytab(directory))
        for user in self.users:
            self._add(directory, [user], user_keytab(directory, user))

    def _create(self, directory: Path) -> None:
        """A realm without anybody. One that was begun is begun anew."""
        check_available()
        if directory.exists():
            shutil.rmtree(directory)
        directory.mkdir(parents=True, mode=0o700)
        directory.chmod(0o700)
        for name in ("keytabs", "caches"):
            (directory / name).mkdir(mode=0o700)
        _write(directory / "http-secret", secrets.token_hex(_SECRET_BYTES))
        _write(directory / "kadm5.acl", "")
        _write(directory / "kdc.conf", self._kdc_conf(directory))
        fresh = directory / "krb5.conf.new"
        _write(fresh, self._krb5_conf(directory))
        environment = {**environment_of(directory), CONFIGURATION: str(fresh)}
        password = secrets.token_urlsafe(_SECRET_BYTES)
        # Not as an argument, which others on the machine could read.
        stdin = f"{password}\n{password}\n"
        _run(environment, "kdb5_util", "-r", self.name, "create", "-s", stdin=stdin)
        # The last one: that it is there says that all is.
        os.replace(fresh, configuration_path(directory))

    def _add(self, directory: Path, principals: Sequence[str], keytab: Path) -> None:
        known = set(principals_in(keytab.read_bytes())) if keytab.is_file() else set[str]()
        new = [name for name in principals if self.principal(name) not in known]
        if not new:
            return
        lines = [f"addprinc -randkey {name}" for name in new]
        lines += [f"ktadd -norandkey -k {_word(keytab)} {name}" for name in new]
        said = self.administer(directory, *lines)
        known = set(principals_in(keytab.read_bytes())) if keytab.is_file() else set[str]()
        for name in new:
            if self.principal(name) not in known:
                raise HowdahError(f"kadmin.local made no key of {name}: {said}")

    def administer(self, directory: Path, *lines: str) -> str:
        """Give kadmin these lines; what it says. It says of a line that fails that it did."""
        return _run(
            environment_of(directory),
            "kadmin.local",
            "-r",
            self.name,
            stdin="".join(f"{line}\n" for line in lines),
        )

    def log_in(self, directory: Path, user: str) -> Path:
        """Get a ticket of a user's into a cache of his, and return that. The KDC has to run."""
        cache = ticket_cache(directory, user)
        _run(
            environment_of(directory),
            "kinit",
            *("-k", "-t", str(user_keytab(directory, user)), "-c", str(cache), user),
        )
        return cache

    def _krb5_conf(self, directory: Path) -> str:
        return f"""\
[libdefaults]
  default_realm = {self.name}
  dns_lookup_realm = false
  dns_lookup_kdc = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
  default_ccache_name = FILE:{directory}/caches/default
[realms]
  {self.name} = {{
    kdc = {self.kdc}
  }}
[domain_realm]
  {_HOST} = {self.name}
[logging]
  kdc = STDERR
  admin_server = FILE:{directory}/kadmin.log
"""

    def _kdc_conf(self, directory: Path) -> str:
        return f"""\
[kdcdefaults]
  kdc_listen = {self.kdc}
  kdc_tcp_listen = {self.kdc}
[realms]
  {self.name} = {{
    database_name = {directory}/principal
    acl_file = {directory}/kadm5.acl
    key_stash_file = {directory}/stash
    max_life = 24h
    max_renewable_life = 7d
    supported_enctypes = aes256-cts:normal aes128-cts:normal
  }}
"""


def configuration_path(directory: Path) -> Path:
    """The krb5.conf."""
    return directory / "krb5.conf"


def servers_keytab(directory: Path) -> Path:
    return directory / "servers.keytab"


def user_keytab(directory: Path, user: str) -> Path:
    return directory / "keytabs" / f"{user}.keytab"


def environment_of(directory: Path) -> dict[str, str]:
    """What MIT's programs need to find the realm."""
    return {
        CONFIGURATION: str(configuration_path(directory)),
        _PROFILE: str(directory / "kdc.conf"),
    }


def ticket_cache(directory: Path, user: str) -> Path:
    return directory / "caches" / user


def client_environment(directory: Path, user: str | None) -> dict[str, str]:
    """What a client needs to find the realm, and the ticket of a user. Without a user there is
    no ticket where it looks."""
    configuration = configuration_path(directory)
    java = f"-Djava.security.krb5.conf={configuration}"
    return {
        CONFIGURATION: str(configuration),
        TICKET_CACHE: f"FILE:{ticket_cache(directory, user or 'none of anybody')}",
        JAVA_OPTIONS: f'"{java}"' if " " in java else java,
    }


def _write(path: Path, text: str) -> None:
    """For its owner alone."""
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(number, "w", encoding="utf-8") as file:
        file.write(text)


def _word(path: Path) -> str:
    """Return a path as kadmin reads it. Raises InvalidConfiguration.

    >>> _word(Path("/a b"))
    '"/a b"'
    """
    text = str(path)
    if not text.isprintable():
        raise InvalidConfiguration(f"kadmin can have no keytab at {text!r}")
    quoted = text.replace('"', '""')
    return f'"{quoted}"'


def _run(environment: Mapping[str, str], name: str, *arguments: str, stdin: str = "") -> str:
    done = subprocess.run(
        [program(name), *arguments],
        env={**os.environ, **environment},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=_PROGRAM_TIMEOUT_S,
        check=False,
        umask=0o077,
    )
    if done.returncode:
        raise HowdahError(
            f"{name} failed with status {done.returncode}: "
            f"{(done.stderr or done.stdout).strip()[-2000:]}"
        )
    return (done.stdout + done.stderr).strip()


# -- the KDC as a server of the cluster --------------------------------------------------------


def run_kdc(directory: Path, address: Address, ready_file: Path | None) -> int:
    """Run the KDC of `directory` until it ends or SIGTERM comes; its exit status.

    `ready_file` is written when it listens. The KDC belongs to our process group, so that who
    kills or stops the group kills or stops it too.
    """
    environment = {**os.environ, **environment_of(directory)}
    stops = threading.Event()
    started: list[subprocess.Popen[bytes]] = []

    def stop(*_: object) -> None:
        stops.set()
        for each in started:
            each.terminate()

    # Before it is started: a signal in between would leave it alone.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    server = subprocess.Popen([program("krb5kdc"), "-n"], env=environment, umask=0o077)
    started.append(server)
    if stops.is_set():
        server.terminate()
    while server.poll() is None and not _listens(address):
        time.sleep(_POLL_S)
    if server.poll() is None and ready_file is not None:
        facts = {"pid": os.getpid(), "role": KDC, "rpc": f"{address[0]}:{address[1]}"}
        replace_file(ready_file, json.dumps(facts).encode())
    status = server.wait()
    # As a server of ours that was told to stop.
    return 0 if status == -signal.SIGTERM else status


def _listens(address: Address) -> bool:
    try:
        with socket.create_connection(address, _ANSWER_TIMEOUT_S):
            return True
    except OSError:
        return False


# -- the environment of a process ----------------------------------------------------------------


class _Entered:
    """The realms whose clusters this process has, the newest first. MIT's library reads the
    environment whenever it is asked for something."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._realms: dict[str, str] = {}
        """Of the krb5.conf that each has."""
        self._before: str | None = None

    def enter(self, directory: Path, realm: Realm) -> None:
        """Raises InvalidConfiguration for a second realm of one name."""
        path = str(configuration_path(directory))
        with self._lock:
            if self._realms.get(path) == realm.name:
                return
            if realm.name in self._realms.values():
                raise InvalidConfiguration(
                    f"the realm {realm.name} of {directory} is that of another cluster that this "
                    "process has: close that one before"
                )
            if not self._realms:
                self._before = os.environ.get(CONFIGURATION)
            self._realms = {path: realm.name, **self._realms}
            os.environ[CONFIGURATION] = ":".join(self._realms)

    def leave(self, directory: Path) -> None:
        """The environment is as it was before, once all are left."""
        with self._lock:
            if self._realms.pop(str(configuration_path(directory)), None) is None:
                return
            if self._realms:
                os.environ[CONFIGURATION] = ":".join(self._realms)
            elif self._before is None:
                os.environ.pop(CONFIGURATION, None)
            else:
                os.environ[CONFIGURATION] = self._before

    def free_realm(self) -> str:
        """The name of a realm that no cluster of this process has."""
        stem, _, end = DEFAULT_REALM.partition(".")
        with self._lock:
            taken = set(self._realms.values())
        names = (f"{stem}{number if number > 1 else ''}.{end}" for number in itertools.count(1))
        return next(name for name in names if name not in taken)


_entered: Final = _Entered()
enter: Final = _entered.enter
"""Have this process, and those that it starts from now on, find the realm of a directory."""
leave: Final = _entered.leave
free_realm: Final = _entered.free_realm
