"""The commands: what each takes, what it asks of the namenode, and what it prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from howdah import errors
from howdah.cli.arguments.admin_commands import (
    EXIT_FAILURE,
    Command,
    Nonsense,
    Words,
    Wrong,
    checked_path,
    complain,
    connected,
    error_text,
    usage_of,
)
from howdah.cli.arguments.tables import described
from howdah.cli.erasurecoding.policy_file import read_policies
from howdah.config import Configuration
from howdah.fs.status import ErasureCodingPolicy
from howdah.protocol.striping.messages import policy_name_of
from howdah.protocol.striping.policies import REPLICATION_NAME

EXIT_SET_FAILURE: Final = 3
EXIT_NOT_CHECKED: Final = 255


def _command(
    name: str,
    options: str,
    about: str,
    meanings: tuple[tuple[str, str], ...],
    run: Callable[[Words, Configuration], int],
    failure: int = EXIT_FAILURE,
) -> Command:
    words = described(meanings) if meanings else ""
    return Command(name, options, f"{usage_of(name, options)}\n\n{about}\n{words}", run, failure)


def _required(words: Words, option: str, command: str, said: str) -> str:
    value = words.value(option)
    if value is None:
        known = next(each for each in COMMANDS if each.name == command)
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
    with connected(conf) as fs:
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
    with connected(conf) as fs:
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
    with connected(conf, path) as fs:
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
    with connected(conf, path) as fs:
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
    with connected(conf, path) as fs:
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
    with connected(conf) as fs:
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
    with connected(conf) as fs:
        fs.client.namenode.remove_erasure_coding_policy(name)
    print(f"Erasure coding policy {name} is removed")
    return 0


def _enable_policy(words: Words, conf: Configuration) -> int:
    name = _policy_named(words, "-enablePolicy")
    with connected(conf) as fs:
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
    with connected(conf) as fs:
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
    with connected(conf) as fs:
        result = fs.client.namenode.check_topology_for_policies(names)
    print(result.resultMessage)
    return 0 if result.isSupported else EXIT_FAILURE


_POLICY: Final = (("<policy>", "The name of the erasure coding policy"),)
COMMANDS: Final = (
    _command(
        "-listPolicies", "", "Get the list of all erasure coding policies.", (), _list_policies
    ),
    _command(
        "-addPolicies",
        "-policyFile <file>",
        "Add a list of user defined erasure coding policies.",
        (("<file>", "The path of the xml file which defines the EC policies to add"),),
        _add_policies,
    ),
    _command(
        "-getPolicy",
        "-path <path>",
        "Get the erasure coding policy of a file/directory.\n",
        (("<path>", "The path of the file/directory for getting the erasure coding policy"),),
        _get_policy,
    ),
    _command(
        "-removePolicy",
        "-policy <policy>",
        "Remove an user defined erasure coding policy.",
        _POLICY,
        _remove_policy,
    ),
    _command(
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
    _command(
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
    _command(
        "-listCodecs",
        "",
        "Get the list of supported erasure coding codecs and coders.\n"
        "A coder is an implementation of a codec. A codec can have different implementations, "
        "thus different coders.\n"
        "The coders for a codec are listed in a fall back order.",
        (),
        _list_codecs,
    ),
    _command(
        "-enablePolicy",
        "-policy <policy>",
        "Enable the erasure coding policy.\n",
        _POLICY,
        _enable_policy,
    ),
    _command(
        "-disablePolicy",
        "-policy <policy>",
        "Disable the erasure coding policy.\n",
        _POLICY,
        _disable_policy,
    ),
    _command(
        "-verifyClusterSetup",
        "[-policy <policy>...<policy>]",
        "Verify if the cluster setup can support all enabled erasure coding policies. If optional "
        "parameter -policy is specified, verify if the cluster setup can support the given policy.",
        (),
        _verify_cluster_setup,
        EXIT_NOT_CHECKED,
    ),
)
