"""What is known of an installation before anything is judged (pure).

Whatever could not be found out is None or empty, and no check speaks of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from howdah.config import Configuration

NAMENODE: Final = "namenode"
DATANODE: Final = "datanode"
JOURNALNODE: Final = "journalnode"
CONTROLLER: Final = "zkfc"
ROUTER: Final = "router"
GATEWAY: Final = "httpfs"
ROLES: Final = (NAMENODE, DATANODE, JOURNALNODE, CONTROLLER, ROUTER, GATEWAY)


@dataclass(frozen=True, slots=True)
class Build:
    """Which howdah runs here, and what of it is native."""

    howdah: str
    python: str
    """Version and path."""
    kernel: str
    """Its revision, and how it computes CRC32C; empty where its twins in Python run."""
    why_no_kernel: str
    hot_modules: str
    """Whether those of a namenode are compiled, or why the sources run."""

    def lines(self) -> list[str]:
        """For people."""
        return [
            f"howdah {self.howdah}, Python {self.python}",
            f"kernel: {self.kernel or f'its twins in Python run: {self.why_no_kernel}'}",
            f"hot modules of a namenode: {self.hot_modules}",
        ]

    def as_dict(self) -> dict[str, str | None]:
        """As an object of JSON."""
        return {
            "howdah": self.howdah,
            "python": self.python,
            "kernel": self.kernel or None,
            "hotModules": self.hot_modules,
        }


@dataclass(frozen=True, slots=True)
class Host:
    """A host that the configuration names. `addresses` is empty if it could not be looked up."""

    name: str
    addresses: tuple[str, ...]
    is_here: bool
    is_loopback: bool


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that listens at a port, by its command line; without words one that cannot be
    seen, as it is another user's."""

    pid: int = 0
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"process {self.pid} ({' '.join(self.words)})"


@dataclass(frozen=True, slots=True)
class Listener:
    """An address at which a server of this machine listens. `holder` is the process that has the
    port; None if the port is free."""

    key: str
    role: str
    host: str
    port: int
    holder: Holder | None = None
    is_loopback: bool = False
    refused: str = ""
    """Why it cannot be bound though nobody has it: no such address here, a privileged port."""
    is_ephemeral: bool = False
    """Whether the system may give the port to any outgoing connection."""


@dataclass(frozen=True, slots=True)
class Namenode:
    """What a namenode said when it was asked. `state` is None if it did not answer, which
    `error` then explains."""

    name: str
    nameservice: str
    address: str
    state: str | None
    error: str = ""
    ahead_s: float | None = None
    """How far its clock is ahead of ours."""
    doubt_s: float = 0.0
    """By how much `ahead_s` may be wrong."""


@dataclass(frozen=True, slots=True)
class ErasureCoding:
    """What a namenode says of erasure coding: the names of enabled policies, and how many block
    groups there are."""

    enabled: tuple[str, ...]
    block_groups: int


@dataclass(frozen=True, slots=True)
class AskedKeyServer:
    """A key server, and why it did not answer."""

    name: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class EncryptedZone:
    """What a namenode says of an encryption zone, and key servers of its key."""

    path: str
    key_name: str
    is_key_there: bool | None = None
    """None where no key server said."""
    current_version: str = ""
    """Of its key, if that was ever rolled."""
    version_name: str = ""
    """By which its files were last re-encrypted; empty if they never were."""
    failures: int = 0
    """Files that were not, then."""


@dataclass(frozen=True, slots=True)
class Encryption:
    """Key servers and encryption zones."""

    provider: str = ""
    """Where the namenode says that key servers are, or the configuration."""
    problem: str = ""
    """Why that is no address of key servers."""
    servers: tuple[AskedKeyServer, ...] = ()
    zones: tuple[EncryptedZone, ...] = ()


@dataclass(frozen=True, slots=True)
class JournalNode:
    """What a journal node said when it was asked for the journal of a nameservice. `is_formatted`
    is None if it did not answer, which `error` then explains."""

    nameservice: str
    address: str
    is_formatted: bool | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory of a server, or the nearest one above that is there (`is_there` is False)."""

    key: str
    role: str
    path: str
    is_there: bool
    is_directory: bool
    device: int
    free_bytes: int
    total_bytes: int
    reserved_bytes: int
    is_read_only: bool
    is_writable: bool
    is_temporary: bool
    kind: str = "DISK"
    error: str = ""


@dataclass(frozen=True, slots=True)
class Certificate:
    """What servers of this machine show over TLS. `problem` says why they cannot."""

    path: str
    problem: str = ""
    left_s: float | None = None
    """For how long it counts; None if that is not known."""
    open_to_all: tuple[str, ...] = ()
    """Files with the key, or the password of it, that everybody can read."""


@dataclass(frozen=True, slots=True)
class SecuredServer:
    """How a server wants its clients to prove themselves, as it says to everybody who connects."""

    name: str
    """`namenode nn1`, `datanode host:port`."""
    address: str
    methods: tuple[str, ...] = ()
    """`KERBEROS`, `TOKEN`, `SIMPLE`; none of a datanode."""
    principal: str = ""
    """Who it says that it is."""
    problem: str = ""
    """Why this client does not believe that."""
    protections: tuple[str, ...] | None = None
    """What it offers; None if it does not say, empty of a datanode that does without SASL."""
    remark: str = ""
    """Why it could not be asked, or was not."""

    def line(self) -> str:
        """For people."""
        said = [self.remark] if self.remark else []
        if self.methods:
            said.append(f"takes {', '.join(self.methods)}")
        if self.principal:
            said.append(f"is {self.principal}")
        if self.protections is not None:
            said.append(
                f"offers {','.join(self.protections)}" if self.protections else "wants no SASL"
            )
        return f"{self.name} at {self.address}: {'; '.join(said)}"


@dataclass(frozen=True, slots=True)
class Kerberos:
    """What this process has to prove itself by on a secured cluster, and what servers want."""

    files: tuple[tuple[str, bool], ...] = ()
    """Those of krb5.conf, and whether they can be read."""
    realm: str = ""
    """The default one."""
    kdcs: tuple[str, ...] = ()
    """Those that krb5.conf names for it."""
    source: str = ""
    """The ticket cache or the keytab that a login comes from."""
    principal: str = ""
    left_s: int | None = None
    """For how long still."""
    keytab_principals: tuple[str, ...] = ()
    problem: str = ""
    """Why there is no login."""
    tokens: tuple[str, ...] = ()
    """The kind and the service of each that the process was given."""
    kdc_ahead_s: float | None = None
    """How far the KDC's clock is ahead of ours."""
    expected: tuple[tuple[str, str], ...] = ()
    """Keys of principals of servers, and their values."""
    rpc_protections: tuple[str, ...] = ()
    data_protections: tuple[str, ...] = ()
    encrypts_data: bool = False
    """Whether a namenode says that all data is encrypted, by keys of its own."""
    servers: tuple[SecuredServer, ...] = ()

    def lines(self) -> list[str]:
        """For people."""
        files = ", ".join(name if there else f"{name} (not there)" for name, there in self.files)
        lines = [f"krb5.conf: {files}; realm {self.realm or 'none'}"]
        if self.kdcs:
            lines[0] += f"; KDC {', '.join(self.kdcs)}"
        if self.kdc_ahead_s is not None:
            lines[0] += f", whose clock differs by {abs(self.kdc_ahead_s):.0f} s"
        login = f"login: {self.source}"
        if self.keytab_principals:
            login += f" of {', '.join(self.keytab_principals)}"
        if self.principal:
            login += f": {self.principal}"
        if self.left_s is not None:
            login += f", for {_span(self.left_s)}"
        lines.append(login)
        lines += [f"token: {token}" for token in self.tokens]
        lines += [f"{key}: {value}" for key, value in self.expected]
        lines.append(
            f"protection here: {','.join(self.rpc_protections)} for calls, "
            f"{','.join(self.data_protections) or 'none'} for data"
        )
        lines += [server.line() for server in self.servers]
        return lines


def _span(seconds: int) -> str:
    hours, minutes = divmod(seconds // 60, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds % 60} s"


@dataclass(frozen=True, slots=True)
class Limits:
    """What the system grants a process that is started from here; None is without limit."""

    descriptors: int | None
    locked_bytes: int | None


@dataclass(frozen=True, slots=True)
class Facts:
    """All of it. `conf` has defaults where `unreadable` says that a value has no sense."""

    conf: Configuration
    roles: frozenset[str]
    build: Build | None = None
    unreadable: tuple[str, ...] = ()
    missing_files: tuple[tuple[str, str], ...] = ()
    """Files that the configuration names and that cannot be used: the key, and path and reason."""
    nameservices: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Their namenodes; a nameservice without a name is the empty string."""
    hosts: tuple[Host, ...] = ()
    listeners: tuple[Listener, ...] = ()
    namenodes: tuple[Namenode, ...] = ()
    racks: tuple[str, ...] | None = None
    """The rack of each live datanode, as a namenode says; None if none answered."""
    coding: ErasureCoding | None = None
    encryption: Encryption | None = None
    """None where there are neither key servers nor zones."""
    shared_edits: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The shared log of each nameservice with several namenodes."""
    journal_nodes: dict[str, int] = field(default_factory=dict)
    """How many journal nodes keep it."""
    journals: tuple[JournalNode, ...] = ()
    """What each of them said."""
    directories: tuple[Directory, ...] = ()
    limits: Limits | None = None
    certificate: Certificate | None = None
    """None where no server has HTTPS."""
    logins_problem: str = ""
    """What is wrong with the passwords or the settings by which users log in, if they do."""
    provider_problem: str = ""
    """Why the provider does not answer by which users log in."""
    clock_is_kept: bool | None = None
    """Whether the system's clock follows NTP or the like."""
    kerberos: Kerberos | None = None
    """None where the configuration does not ask for it."""

    @property
    def spans_machines(self) -> bool:
        """Whether the configuration names a host other than this machine."""
        return any(not host.is_here for host in self.hosts)
