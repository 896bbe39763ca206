"""The commands: what each takes, what it asks of the namenode, and what it prints."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import howdah
from howdah import errors
from howdah.cli.arguments.administered import administered
from howdah.cli.arguments.tables import described
from howdah.cli.cacheadmin.args import Nonsense, Words, Wrong, checked_path
from howdah.cli.erasurecoding.policy_file import read_policies
from howdah.config import Configuration
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.status import ErasureCodingPolicy
from howdah.protocol.striping.messages import policy_name_of
from howdah.protocol.striping.policies import REPLICATION_NAME

EXIT_USAGE: Final = 1
EXIT_FAILURE: Final = 2
EXIT_SET_FAILURE: Final = 3
EXIT_NOT_CHECKED: Final = 255
_HELP: Final = "[-help <command-name>]"


@dataclass(frozen=True, slots=True)
class Command:
    """`run` gets the words behind the name; it returns the exit code. `failure` is that where the
    namenode refuses."""

    name: str
    options: str
    about: str
    meanings: tuple[tuple[str, str], ...]
    run: Callable[[Words, Configuration], int]
    failure: int = EXIT_FAILURE

    @property
    def usage(self) -> str:
        return f"[{self.name}{' ' if self.options else ''}{self.options}]"

    @property
    def help(self) -> str:
        return f"{self.usage}\n\n{self.about}\n" + (
            described(self.meanings) if self.meanings else ""
        )


def named(name: str) -> Command | None:
    return next((command for command in COMMANDS if command.name == name), None)


def complain(text: str) -> None:
    print(text, file=sys.stderr)


def error_text(error: errors.HowdahError) -> str:
    name = error.remote_class.rpartition(".")[2].rpartition("$")[2]
    return f"{name}: {error.message.partition(chr(10))[0]}"


def print_usage() -> None:
    complain("Usage: howdah ec [COMMAND]")
    for command in COMMANDS:
        complain(f"          {command.usage}")
    complain(f"          {_HELP}\n")


def help_of(names: list[str]) -> int:
    """`-help`: of all commands, or of one that is named without its dash."""
    if not names:
        for command in COMMANDS:
            complain(command.help)
        return EXIT_USAGE
    if len(names) != 1:
        complain("You must give exactly one argument to -help.")
        return EXIT_USAGE
    command_of = named(f"-{names[0]}")
    if command_of is None:
        complain(f"Unknown command '{names[0]}'.\nValid help command names are:")
        complain(", ".join(command.name[1:] for command in COMMANDS))
        return EXIT_USAGE
    sys.stderr.write(command_of.help)
    return 0


def _connected(conf: Configuration, path: str | None = None) -> HdfsFileSystem:
    if path is not None and "://" in path:
        fs = howdah.connect(path, conf=conf, laid_over=False)
    else:
        fs = administered(conf)
    if not isinstance(fs, HdfsFileSystem):
        raise Nonsense(f"IllegalArgumentException: FileSystem {fs.uri} is not an HDFS file system")
    return fs


def _required(words: Words, option: str, command: str, said: str) -> str:
    value = words.value(option)
    if value is None:
        known = named(command)
        assert known is not None
        raise Wrong(f"{said}\nUsage: {known.help}")
    return value


def _nothing_left(words: Words, command: str) -> None:
    if words.left:
        raise Wrong(f"{command}: Too many arguments")


def described_policy(policy: ErasureCodingPolicy) -> str:
    """A policy as Hadoop's records print themselves."""
    options = "".join(f", {key}={value}" for key, value in policy.options)
    return (
        f"ErasureCodingPolicy=[Name={policy.name}, Schema=[ECSchema=[Codec={policy.codec}, "
        f"numDataUnits={policy.data_units}, numParityUnits={policy.parity_units}{options}]], "
        f"CellSize={policy.cell_size}, Id={policy.policy_id}], State={policy.state}"
    )


def _list_policies(words: Words, conf: Configuration) -> int:
    _nothing_left(words, "-listPolicies")
    with _connected(conf) as fs:
        policies = fs.get_erasure_coding_policies()
    if not policies:
        print("There is no erasure coding policies in the cluster.")
        return 0
    print("Erasure Coding Policies:")
    for policy in policies:
        print(described_policy(policy))
    return 0


def _add_policies(words: Words, conf: Configuration) -> int:
    location = _required(
        words, "-policyFile", "-addPolicies", "Please specify the path with -policyFile."
    )
    _nothing_left(words, "-addPolicies")
    policies = read_policies(location)
    if not policies:
        print(f"No EC policy parsed out from {location}")
        return 0
    with _connected(conf) as fs:
        for answer in fs.client.namenode.add_erasure_coding_policies(policies):
            name = policy_name_of(answer.policy) if answer.succeed else answer.policy.name
            said = (
                "succeed." if answer.succeed else (f"failed and error message is {answer.errorMsg}")
            )
            print(f"Add ErasureCodingPolicy {name} {said}")
    return 0


def _get_policy(words: Words, conf: Configuration) -> int:
    path = checked_path(
        _required(words, "-path", "-getPolicy", "Please specify the path with -path.")
    )
    _nothing_left(words, "-getPolicy")
    with _connected(conf, path) as fs:
        policy = fs.get_erasure_coding_policy(path)
    if policy is None:
        print(f"The erasure coding policy of {path} is unspecified")
    else:
        print(policy.name)
    return 0


def _set_policy(words: Words, conf: Configuration) -> int:
    path = checked_path(
        _required(
            words, "-path", "-setPolicy", "Please specify the path for setting the EC policy."
        )
    )
    policy = words.value("-policy")
    replicate = words.flag("-replicate")
    _nothing_left(words, "-setPolicy")
    if replicate and policy is not None:
        complain("-setPolicy: -replicate and -policy cannot been used at the same time")
        return EXIT_FAILURE
    if replicate:
        policy = REPLICATION_NAME
    with _connected(conf, path) as fs:
        fs.set_erasure_coding_policy(path, policy)
        name = policy or "default"
        print(f"Set {name} erasure coding policy on {path}")
        if next(iter(fs.list_status_iter(path)), None) is not None:
            print(
                "Warning: setting erasure coding policy on a non-empty directory will not "
                f"automatically convert existing files to {name} erasure coding policy"
            )
    return 0


def _unset_policy(words: Words, conf: Configuration) -> int:
    path = checked_path(_required(words, "-path", "-unsetPolicy", "Please specify a path."))
    _nothing_left(words, "-unsetPolicy")
    with _connected(conf, path) as fs:
        try:
            fs.unset_erasure_coding_policy(path)
        except errors.NoCodingPolicySet as error:
            complain(error_text(error))
            complain(
                "Use '-setPolicy -path <PATH> -replicate' to enforce default replication policy "
                "irrespective of EC policy defined on parent."
            )
            return EXIT_FAILURE
        print(f"Unset erasure coding policy from {path}")
        if next(iter(fs.list_status_iter(path)), None) is not None:
            print(
                "Warning: unsetting erasure coding policy on a non-empty directory will not "
                "automatically convert existing files to replicated data."
            )
    return 0


def _list_codecs(words: Words, conf: Configuration) -> int:
    _nothing_left(words, "-listCodecs")
    with _connected(conf) as fs:
        codecs = fs.get_erasure_coding_codecs()
    if not codecs:
        print("No erasure coding codecs are supported on the cluster.")
        return 0
    print("Erasure Coding Codecs: Codec [Coder List]")
    for codec, coders in codecs.items():
        print(f"\t{codec.upper()} [{coders.upper()}]")
    return 0


def _policy_named(words: Words, command: str) -> str:
    name = _required(words, "-policy", command, "Please specify the policy name.")
    _nothing_left(words, command)
    return name


def _remove_policy(words: Words, conf: Configuration) -> int:
    name = _policy_named(words, "-removePolicy")
    with _connected(conf) as fs:
        fs.client.namenode.remove_erasure_coding_policy(name)
    print(f"Erasure coding policy {name} is removed")
    return 0


def _enable_policy(words: Words, conf: Configuration) -> int:
    name = _policy_named(words, "-enablePolicy")
    with _connected(conf) as fs:
        fs.client.namenode.enable_erasure_coding_policy(name)
        print(f"Erasure coding policy {name} is enabled")
        result = fs.client.namenode.check_topology_for_policies([name])
    if not result.isSupported:
        complain(
            f"Warning: The cluster setup does not support EC policy {name}. "
            f"Reason: {result.resultMessage}"
        )
    return 0


def _disable_policy(words: Words, conf: Configuration) -> int:
    name = _policy_named(words, "-disablePolicy")
    with _connected(conf) as fs:
        fs.client.namenode.disable_erasure_coding_policy(name)
    print(f"Erasure coding policy {name} is disabled")
    return 0


def _verify_cluster_setup(words: Words, conf: Configuration) -> int:
    names: list[str] = []
    if words.flag("-policy"):
        names, words.left = words.left, []
        if not names:
            raise Nonsense(
                "NotEnoughArgumentsException: Not enough arguments: expected 1 but got 0"
            )
    _nothing_left(words, "-verifyClusterSetup")
    with _connected(conf) as fs:
        result = fs.client.namenode.check_topology_for_policies(names)
    print(result.resultMessage)
    return 0 if result.isSupported else EXIT_FAILURE


_POLICY: Final = (("<policy>", "The name of the erasure coding policy"),)
COMMANDS: Final = (
    Command(
        "-listPolicies", "", "Get the list of all erasure coding policies.", (), _list_policies
    ),
    Command(
        "-addPolicies",
        "-policyFile <file>",
        "Add a list of user defined erasure coding policies.",
        (("<file>", "The path of the xml file which defines the EC policies to add"),),
        _add_policies,
    ),
    Command(
        "-getPolicy",
        "-path <path>",
        "Get the erasure coding policy of a file/directory.\n",
        (("<path>", "The path of the file/directory for getting the erasure coding policy"),),
        _get_policy,
    ),
    Command(
        "-removePolicy",
        "-policy <policy>",
        "Remove an user defined erasure coding policy.",
        _POLICY,
        _remove_policy,
    ),
    Command(
        "-setPolicy",
        "-path <path> [-policy <policy>] [-replicate]",
        "Set the erasure coding policy for a file/directory.\n",
        (
            ("<path>", "The path of the file/directory to set the erasure coding policy"),
            *_POLICY,
            ("-replicate", "force 3x replication scheme on the directory"),
        ),
        _set_policy,
        EXIT_SET_FAILURE,
    ),
    Command(
        "-unsetPolicy",
        "-path <path>",
        "Unset the erasure coding policy for a directory.\n",
        (
            (
                "<path>",
                "The path of the directory from which the erasure coding policy will be unset.",
            ),
        ),
        _unset_policy,
    ),
    Command(
        "-listCodecs",
        "",
        "Get the list of supported erasure coding codecs and coders.\n"
        "A coder is an implementation of a codec. A codec can have different implementations, "
        "thus different coders.\n"
        "The coders for a codec are listed in a fall back order.",
        (),
        _list_codecs,
    ),
    Command(
        "-enablePolicy",
        "-policy <policy>",
        "Enable the erasure coding policy.\n",
        _POLICY,
        _enable_policy,
    ),
    Command(
        "-disablePolicy",
        "-policy <policy>",
        "Disable the erasure coding policy.\n",
        _POLICY,
        _disable_policy,
    ),
    Command(
        "-verifyClusterSetup",
        "[-policy <policy>...<policy>]",
        "Verify if the cluster setup can support all enabled erasure coding policies. If optional "
        "parameter -policy is specified, verify if the cluster setup can support the given policy.",
        (),
        _verify_cluster_setup,
        EXIT_NOT_CHECKED,
    ),
)
