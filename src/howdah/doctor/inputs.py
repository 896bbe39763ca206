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
    clock_is_kept: bool | None = None
    """Whether the system's clock follows NTP or the like."""

    @property
    def spans_machines(self) -> bool:
        """Whether the configuration names a host other than this machine."""
        return any(not host.is_here for host in self.hosts)
