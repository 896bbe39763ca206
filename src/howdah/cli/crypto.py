"""`howdah crypto`: encryption zones, as an administrator manages them.

Output and exit codes are those of `hdfs crypto` (CryptoAdmin).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from howdah import errors
from howdah.cli.arguments.admin_commands import (
    EXIT_FAILURE,
    Command,
    Nonsense,
    Program,
    Words,
    Wrong,
    checked_path,
    complain,
    connected,
    error_text,
    usage_of,
)
from howdah.cli.arguments.tables import described, table
from howdah.config import Configuration
from howdah.fs.hdfs.encryption import EncryptionZone

_EXIT_NOTHING: Final = 2
_EXIT_NO_ACTION: Final = 2
_EXIT_NO_ZONE: Final = 3
_EXIT_REFUSED: Final = 4
_EXIT_FAILURE: Final = 3


_UNWRAPPED: Final = (errors.AccessDenied, errors.SafeMode, errors.Unreachable)
"""Hadoop's client takes no other error apart that a namenode answers to these calls."""


def _remote(error: errors.HowdahError) -> str:
    return f"RemoteException: {error.message.partition(chr(10))[0]}"


def main(argv: list[str], conf: Configuration) -> int:
    """Run one of the commands of `COMMANDS`."""
    return Program("crypto", COMMANDS).run(argv, conf)


def _create_zone(words: Words, conf: Configuration) -> int:
    path = words.value("-path")
    if path is None:
        raise Wrong("You must specify a path with -path.")
    key_name = words.value("-keyName")
    if key_name is None:
        raise Wrong("You must specify a key name with -keyName.")
    words.none_left()
    with connected(conf, checked_path(path)) as fs:
        try:
            fs.create_encryption_zone(path, key_name)
        except _UNWRAPPED:
            raise
        except errors.HowdahError as error:
            complain(_remote(error))
            return EXIT_FAILURE
    print(f"Added encryption zone {path}")
    return 0


def _list_zones(words: Words, conf: Configuration) -> int:
    words.none_left()
    with connected(conf) as fs:
        zones = list(fs.list_encryption_zones())
    widths = [max((len(cell) for cell in column), default=0) for column in _columns(zones)]
    for zone in zones:
        print(f"{zone.path:<{widths[0]}}  {zone.key_name:<{widths[1]}} ")
    print()
    return 0


def _columns(zones: list[EncryptionZone]) -> tuple[list[str], list[str]]:
    return [zone.path for zone in zones], [zone.key_name for zone in zones]


def _reencrypt_zone(words: Words, conf: Configuration) -> int:
    path = words.value("-path")
    starts, cancels = words.flag("-start"), words.flag("-cancel")
    words.none_left()
    if starts == cancels:
        complain("You must specify either [-start] or [-cancel]. ")
        return _EXIT_NO_ACTION
    if path is None:
        complain("You must specify a zone directory with [-path]. ")
        return _EXIT_NO_ZONE
    with connected(conf, checked_path(path)) as fs:
        try:
            fs.reencrypt_zone(path, cancel=cancels)
        except _UNWRAPPED as error:
            complain(error_text(error))
            return _EXIT_REFUSED
        except errors.HowdahError as error:
            complain(_remote(error))
            return _EXIT_REFUSED
    action = "CANCEL" if cancels else "START"
    print(f"re-encrypt command successfully submitted for zone: {path} action: {action}")
    return 0


def _time_text(millis: int) -> str:
    """A moment in local time. Hadoop: Time.formatTime."""
    moment = datetime.fromtimestamp(millis // 1000).astimezone()
    return f"{moment:%Y-%m-%d %H:%M:%S},{millis % 1000:03}{moment:%z}"


_STATUS_COLUMNS: Final = (
    "Zone Name",
    "Status",
    "EZKey Version Name",
    "Submission Time",
    "Is Canceled?",
    "Completion Time",
    "Number of files re-encrypted",
    "Number of failures",
    "Last File Checkpointed",
)


def _list_reencryption_status(words: Words, conf: Configuration) -> int:
    """Words behind it are not looked at, as Hadoop's command does not."""
    with connected(conf) as fs:
        statuses = list(fs.list_reencryption())
    rows = [
        (
            status.path,
            status.state,
            status.version_name,
            _time_text(status.submitted_ms),
            "true" if status.is_cancelled else "false",
            "N/A" if status.completed_ms is None else _time_text(status.completed_ms),
            str(status.reencrypted),
            str(status.failures),
            status.last_file,
        )
        for status in statuses
    ]
    print(table([(title, False) for title in _STATUS_COLUMNS], rows))
    if any(status.failures for status in statuses):
        print(
            "There are re-encryption failures. Files that are failed to re-encrypt are still using "
            "the old EDEKs. Please check NameNode log to see which files failed, then either fix "
            "the error and re-encrypt again, or manually copy the failed files to use new EDEKs."
        )
    return 0


def _path_of(words: Words, command: str) -> str:
    path = words.value("-path")
    words.none_left()
    if path is None:
        usage = usage_of(command, "-path <path>")
        raise Wrong(f"You must specify a path with -path.\nUsage: {usage}")
    return checked_path(path)


def _provision_trash(words: Words, conf: Configuration) -> int:
    path = _path_of(words, "-provisionTrash")
    with connected(conf, path) as fs:
        try:
            fs.provision_encryption_zone_trash(path)
        except errors.IllegalArgument as error:
            raise Nonsense(f"IllegalArgumentException: {error.message}") from None
    print(f"Created a trash directory for {path}")
    return 0


def _file_encryption_info(words: Words, conf: Configuration) -> int:
    path = _path_of(words, "-getFileEncryptionInfo")
    with connected(conf, path) as fs:
        try:
            info = fs.get_file_encryption_info(path)
        except errors.HowdahError as error:
            complain(error_text(error))
            return _EXIT_FAILURE
    if info is None:
        complain(f"No FileEncryptionInfo found for path {path}")
        return _EXIT_NOTHING
    print(
        "{cipherSuite: {name: AES/CTR/NoPadding, algorithmBlockSize: 16}, cryptoProtocolVersion: "
        "CryptoProtocolVersion{description='Encryption zones', version=2, unknownValue=null}, "
        f"edek: {info.encrypted_key.hex()}, iv: {info.iv.hex()}, keyName: {info.key_name}, "
        f"ezKeyVersionName: {info.version_name}}}"
    )
    return 0


def _command(
    name: str,
    options: str,
    about: str,
    run: Callable[[Words, Configuration], int],
    *meanings: tuple[str, str],
) -> Command:
    words = described(meanings) if meanings else ""
    return Command(name, options, f"{usage_of(name, options)}\n\n{about}\n\n{words}", run)


COMMANDS: Final = (
    _command(
        "-createZone",
        "-keyName <keyName> -path <path>",
        "Create a new encryption zone.",
        _create_zone,
        (
            "<path>",
            "The path of the encryption zone to create. It must be an empty directory. A trash "
            "directory is provisioned under this path.",
        ),
        ("<keyName>", "Name of the key to use for the encryption zone."),
    ),
    _command(
        "-listZones",
        "",
        "List all encryption zones. Requires superuser permissions.",
        _list_zones,
    ),
    _command(
        "-provisionTrash",
        "-path <path>",
        "Provision a trash directory for an encryption zone.",
        _provision_trash,
        ("<path>", "The path to the root of the encryption zone."),
    ),
    _command(
        "-getFileEncryptionInfo",
        "-path <path>",
        "Get encryption info of a file.",
        _file_encryption_info,
        ("<path>", "The path to the file to show encryption info."),
    ),
    _command(
        "-reencryptZone",
        "<action> -path <zone>",
        "Issue a re-encryption command for an encryption zone. Requires superuser permissions.",
        _reencrypt_zone,
        ("<action>", "The re-encrypt action to perform. Must be -start or -cancel."),
        ("<zone>", "The path to the zone to be re-encrypted."),
    ),
    _command(
        "-listReencryptionStatus",
        "",
        "List re-encryption statuses of encryption zones. Requires superuser permissions.",
        _list_reencryption_status,
    ),
)
