"""`howdah haadmin`: what an administrator asks of highly available namenodes.

Mirrors `hdfs haadmin` (HAAdmin, DFSHAAdmin): commands, output and exit codes. Where failover
controllers decide, a failover is asked of the controller of the namenode that is to become
active, and other changes of state are refused unless `--forcemanual` insists.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.cli.arguments.confirm import confirm

if TYPE_CHECKING:
    from howdah.config import Configuration
    from howdah.failover.namenodes import Namenode
    from howdah.failover.state.service import Target

FAILED: Final = 255
_FORCE_FENCE: Final = "forcefence"
_FORCE_ACTIVE: Final = "forceactive"
_FORCE_MANUAL: Final = "forcemanual"
_USAGE: Final = "Usage: haadmin [-ns <nameserviceId>]"
_OTHER_NODE_TIMEOUT_S: Final = 5.0

_AUTOMATIC: Final = (
    "Automatic failover is enabled for {}\n"
    "Refusing to manually manage HA state, since it may cause\n"
    "a split-brain scenario or other incorrect state.\n"
    "If you are very sure you know what you are doing, please \n"
    "specify the --forcemanual flag."
)
_DANGEROUS: Final = (
    "You have specified the --forcemanual flag. This flag is "
    "dangerous, as it can induce a split-brain scenario that WILL "
    "CORRUPT your HDFS namespace, possibly irrecoverably.\n"
    "\n"
    "It is recommended not to use this flag, but instead to shut down the "
    "cluster and disable automatic failover if you prefer to manually "
    "manage your HA state.\n"
    "\n"
    "You may abort safely by answering 'n' or hitting ^C now.\n"
    "\n"
    "Are you sure you want to continue?"
)


class Refused(Exception):
    """Why nothing was done, as it is printed."""


@dataclass(frozen=True, slots=True)
class Words:
    """What follows a command."""

    arguments: list[str]
    options: frozenset[str]


class Admin:
    """The commands, for one nameservice."""

    def __init__(self, conf: Configuration, nameservice: str | None) -> None:
        from howdah.failover.settings import Timeouts, only_nameservice, targets
        from howdah.failover.state.service import RequestSource
        from howdah.security.identity import user_of

        self._conf = conf
        self._user = user_of(conf)
        self._targets = targets(conf, nameservice or only_nameservice(conf))
        self._timeouts = Timeouts.of(conf)
        self._source = RequestSource.USER

    def insist(self) -> None:
        """Have namenodes obey though controllers decide."""
        from howdah.failover.state.service import RequestSource

        self._source = RequestSource.USER_FORCED

    def get_service_state(self, words: Words) -> None:
        target = self._target(words.arguments[0])
        with self._asking(target, self._timeouts.check_s) as namenode:
            print(namenode.status().state.value)

    def get_all_service_state(self, words: Words) -> None:
        if not self._targets:
            raise Refused("Failed to get service IDs")
        for target in self._targets.values():
            host, port = target.address
            try:
                with self._asking(target, self._timeouts.check_s) as namenode:
                    state = namenode.status().state.value
            except errors.HowdahError as error:
                state = f"Failed to connect: {_first_line(error)}"
            print(f"{f'{host}:{port}':<50} {state:<10}")

    def check_health(self, words: Words) -> None:
        target = self._target(words.arguments[0])
        with self._asking(target, self._timeouts.check_s) as namenode:
            try:
                namenode.check_health()
            except errors.HealthCheckFailed as error:
                raise Refused(f"Health check failed: {_first_line(error)}") from error

    def transition_to_active(self, words: Words) -> None:
        wanted = words.arguments[0]
        target = self._target(wanted)
        if _FORCE_ACTIVE not in words.options:
            self._check_others(wanted)
        self._check_manual(target)
        with self._asking(target, self._timeouts.to_active_s) as namenode:
            namenode.make_active(self._source)

    def transition_to_standby(self, words: Words) -> None:
        target = self._target(words.arguments[0])
        self._check_manual(target)
        with self._asking(target, self._timeouts.to_active_s) as namenode:
            namenode.make_standby(self._source)

    def transition_to_observer(self, words: Words) -> None:
        target = self._target(words.arguments[0])
        self._check_manual(target)
        with self._asking(target, self._timeouts.to_active_s) as namenode:
            namenode.make_observer(self._source)

    def failover(self, words: Words) -> None:
        before, after = (self._target(name) for name in words.arguments)
        if before.is_automatic:
            if words.options & {_FORCE_FENCE, _FORCE_ACTIVE}:
                raise Refused(
                    f"{_FORCE_FENCE} and {_FORCE_ACTIVE} flags not "
                    "supported with auto-failover enabled."
                )
            self._ask_controller(after)
            return
        from howdah.failover.fencing_methods import Fencer
        from howdah.failover.manual_failover import ManualFailover

        try:
            ManualFailover(Fencer(self._conf), self._timeouts, self._source, self._user).run(
                before,
                after,
                forces_fence=_FORCE_FENCE in words.options,
                forces_active=_FORCE_ACTIVE in words.options,
            )
        except errors.FailoverFailed as error:
            raise Refused(f"Failover failed: {error}") from error
        print(f"Failover from {words.arguments[0]} to {words.arguments[1]} successful")

    def _ask_controller(self, after: Target) -> None:
        from howdah.failover.namenodes import Controller

        controller = Controller(after, self._timeouts.to_active_s, self._user)
        try:
            controller.fail_over_to_it()
        finally:
            controller.close()
        print(f"Failover to {_as_java_says(after)} successful")

    @contextmanager
    def _asking(self, target: Target, timeout_s: float) -> Iterator[Namenode]:
        """A namenode that is asked within the block."""
        from howdah.failover.namenodes import Namenode

        namenode = Namenode(target, timeout_s, self._user)
        try:
            yield namenode
        finally:
            namenode.close()

    def _target(self, namenode: str) -> Target:
        target = self._targets.get(namenode)
        if target is None:
            raise errors.InvalidConfiguration(
                f"Unable to determine service address for namenode '{namenode}'"
            )
        return target

    def _check_manual(self, target: Target) -> None:
        from howdah.failover.state.service import RequestSource

        if target.is_automatic and self._source is RequestSource.USER:
            raise Refused(_AUTOMATIC.format(_as_java_says(target)))

    def _check_others(self, wanted: str) -> None:
        """Nobody else is active."""
        from howdah.failover.state.service import ServiceState

        usage = _usage_of("-transitionToActive")
        for name, target in self._targets.items():
            if name == wanted:
                continue
            self._check_manual(target)
            try:
                with self._asking(target, _OTHER_NODE_TIMEOUT_S) as namenode:
                    state = namenode.status().state
            except errors.HowdahError as error:
                message = f"Unexpected error occurred  {_first_line(error)}\n{usage}"
                raise Refused(message) from error
            if state is ServiceState.ACTIVE:
                raise Refused(f"transitionToActive: Node {name} is already active\n{usage}")


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its synopsis, what it does, and how it is called."""

    synopsis: str
    help: str
    run: Callable[[Admin, Words], None] | None
    arguments: int = 1
    options: tuple[str, ...] = ()


COMMANDS: Final[dict[str, Command]] = {
    "-checkHealth": Command(
        "<serviceId>",
        "Requests that the service perform a health check.\n"
        "The HAAdmin tool will exit with a non-zero exit code\n"
        "if the check fails.",
        Admin.check_health,
    ),
    "-failover": Command(
        f"[--{_FORCE_FENCE}] [--{_FORCE_ACTIVE}] <serviceId> <serviceId>",
        "Failover from the first service to the second.\n"
        f"Unconditionally fence services if the --{_FORCE_FENCE} option is used.\n"
        "Try to failover to the target service even if it is not ready if the "
        f"--{_FORCE_ACTIVE} option is used.",
        Admin.failover,
        2,
        (_FORCE_FENCE, _FORCE_ACTIVE, _FORCE_MANUAL),
    ),
    "-getAllServiceState": Command(
        "", "Returns the state of all the services", Admin.get_all_service_state, 0
    ),
    "-getServiceState": Command(
        "<serviceId>", "Returns the state of the service", Admin.get_service_state
    ),
    "-help": Command("<command>", "Displays help on the specified command", None),
    "-transitionToActive": Command(
        f"[--{_FORCE_ACTIVE}] <serviceId>",
        "Transitions the service into Active state",
        Admin.transition_to_active,
        1,
        (_FORCE_ACTIVE, _FORCE_MANUAL),
    ),
    "-transitionToObserver": Command(
        "<serviceId>",
        "Transitions the service into Observer state",
        Admin.transition_to_observer,
        1,
        (_FORCE_MANUAL,),
    ),
    "-transitionToStandby": Command(
        "<serviceId>",
        "Transitions the service into Standby state",
        Admin.transition_to_standby,
        1,
        (_FORCE_MANUAL,),
    ),
}


def main(argv: list[str], conf: Configuration) -> int:
    """Run one of the commands of `COMMANDS`; 0, or 255 for whatever went wrong."""
    try:
        return _run(argv, conf)
    except Refused as refusal:
        print(refusal, file=sys.stderr)
    except ValueError as error:
        if not isinstance(error, errors.HowdahError):
            raise
        print(f"Illegal argument: {_first_line(error)}", file=sys.stderr)
    except errors.HowdahError as error:
        print(f"Operation failed: {_first_line(error)}", file=sys.stderr)
    return FAILED


def _run(argv: list[str], conf: Configuration) -> int:
    nameservice = None
    if argv and argv[0] == "-ns":
        if len(argv) < 3:
            missing = "nameservice ID" if len(argv) == 1 else "command"
            raise Refused(f"Missing {missing}\n{_usage()}")
        nameservice, argv = argv[1], argv[2:]
    if not argv:
        raise Refused(_usage())
    name, *rest = argv
    if not name.startswith("-"):
        raise Refused(f"Bad command '{name}': expected command starting with '-'\n{_usage()}")
    command = COMMANDS.get(name)
    if command is None:
        raise Refused(f"{name[1:]}: Unknown command\n{_usage()}")
    if command.run is None:
        return _help(rest)
    words = _parse_arguments(name, command, rest)
    admin = Admin(conf, nameservice)
    if _FORCE_MANUAL in words.options:
        if not confirm(_DANGEROUS):
            raise Refused("Aborted")
        admin.insist()
    command.run(admin, words)
    return 0


def _parse_arguments(name: str, command: Command, rest: list[str]) -> Words:
    options = {word.lstrip("-") for word in rest if word.startswith("-")}
    arguments = [word for word in rest if not word.startswith("-")]
    if options - set(command.options):
        raise Refused(f"{name[1:]}: incorrect arguments\n{_usage_of(name)}")
    if len(arguments) != command.arguments:
        problem = "incorrect arguments" if name == "-failover" else "incorrect number of arguments"
        raise Refused(f"{name[1:]}: {problem}\n{_usage_of(name)}")
    return Words(arguments, frozenset(options))


def _help(rest: list[str]) -> int:
    if not rest:
        print(_usage())
        return 0
    if len(rest) > 1:
        raise Refused(_usage_of("-help"))
    name = rest[0] if rest[0].startswith("-") else f"-{rest[0]}"
    command = COMMANDS.get(name)
    if command is None:
        raise Refused(f"{name}: Unknown command\n{_usage()}")
    synopsis = f" [{command.synopsis}]" if command.synopsis else ""
    print(f"{name}{synopsis}: {command.help}")
    return 0


def _usage() -> str:
    lines = [_USAGE]
    lines += [
        f"    [{f'{name} {command.synopsis}'.rstrip()}]" for name, command in COMMANDS.items()
    ]
    return "\n".join(lines)


def _usage_of(name: str) -> str:
    return f"{_USAGE} [{f'{name} {COMMANDS[name].synopsis}'.rstrip()}]"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _as_java_says(target: Target) -> str:
    """With host name and address, as Java prints an address that it has looked up."""
    host, port = target.address
    try:
        address = socket.gethostbyname(host)
    except (OSError, UnicodeError):
        address = "<unresolved>"
    return f"NameNode at {host}/{address}:{port}"
