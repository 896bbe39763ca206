"""`howdah storagepolicies`: list the policies, and say which of them paths have.

Output and exit codes are those of `hdfs storagepolicies`.
"""

from __future__ import annotations

import sys
from typing import Final

import howdah
from howdah.cli.arguments.command_format import take_value
from howdah.config import Configuration
from howdah.errors import HowdahError

USAGE: Final = {
    "-listPolicies": "[-listPolicies]",
    "-setStoragePolicy": "[-setStoragePolicy -path <path> -policy <policy>]",
    "-getStoragePolicy": "[-getStoragePolicy -path <path>]",
    "-unsetStoragePolicy": "[-unsetStoragePolicy -path <path>]",
    "-satisfyStoragePolicy": "[-satisfyStoragePolicy -path <path>]",
}
EXIT_USAGE: Final = 1
EXIT_FAILURE: Final = 2


def main(argv: list[str], conf: Configuration) -> int:
    """Run one of the commands of `USAGE`."""
    if not argv or argv[0] not in USAGE:
        print("Usage: howdah storagepolicies [COMMAND]", file=sys.stderr)
        for usage in USAGE.values():
            print(f"          {usage}", file=sys.stderr)
        return EXIT_USAGE
    name, *rest = argv
    path, rest = take_value(rest, "-path")
    policy, rest = take_value(rest, "-policy")
    if name != "-listPolicies" and path is None:
        print(f"Please specify the path.\nUsage: {USAGE[name]}", file=sys.stderr)
        return EXIT_USAGE
    if name == "-setStoragePolicy" and policy is None:
        print(f"Please specify the policy name.\nUsage: {USAGE[name]}", file=sys.stderr)
        return EXIT_USAGE
    try:
        return _run(name, path or "/", policy or "", conf)
    except HowdahError as error:
        print(error, file=sys.stderr)
        return EXIT_FAILURE


def _run(name: str, path: str, policy: str, conf: Configuration) -> int:
    with howdah.connect(path if "://" in path else None, conf=conf) as fs:
        match name:
            case "-listPolicies":
                print("Block Storage Policies:")
                for known in fs.get_storage_policies():
                    print(f"\t{known}")
            case "-setStoragePolicy":
                fs.set_storage_policy(path, policy)
                print(f"Set storage policy {policy} on {path}")
            case "-unsetStoragePolicy":
                fs.unset_storage_policy(path)
                print(f"Unset storage policy from {path}")
            case "-satisfyStoragePolicy":
                fs.satisfy_storage_policy(path)
                print(f"Scheduled blocks to move based on the current storage policy on {path}")
            case _:
                policy_id = fs.get_file_status(path).storage_policy
                if policy_id == 0:
                    print(f"The storage policy of {path} is unspecified")
                    return 0
                # Behind a mount table: those of the path's namenode, not of all.
                there, _ = fs.resolve_path(path)
                assigned = next(p for p in there.get_storage_policies() if p.policy_id == policy_id)
                print(f"The storage policy of {path}:\n{assigned}")
    return 0
