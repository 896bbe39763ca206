"""Copies keys from key servers to others, as they are (shell).

Whoever moves to other key servers needs all versions of all keys there, under their names: what
files keep of their own keys says by which version they are encrypted.
"""

from __future__ import annotations

from howdah import errors
from howdah.security.key_servers import KeyServers, KeyVersion


def copy_key(source: KeyServers, target: KeyServers, name: str) -> tuple[int, int]:
    """Copy the versions of a key that the target lacks; how many there are, and how many of them
    were copied. What broke off is gone on with by copying again.

    Raises PathNotFound for a key that is not there, AccessDenied for a source that does not give
    out the bytes of keys, and RemoteError for a target that has another key of this name.
    """
    known = source.metadata(name)
    if known is None:
        raise errors.PathNotFound(f"{source} has no key {name}")
    wanted = _with_bytes(source, name)
    there = [] if target.metadata(name) is None else _with_bytes(target, name)
    if there != wanted[: len(there)]:
        raise errors.RemoteError(f"{target} has another key {name}, or more versions of it")
    for number, (version_name, material) in enumerate(wanted):
        if number < len(there):
            continue
        if number:
            made = target.roll(name, material)
        else:
            made = target.create(
                name,
                cipher=str(known.get("cipher") or ""),
                length_bits=len(material) * 8,
                description=str(known.get("description") or ""),
                attributes=known.get("attributes") or {},
                material=material,
            )
        if made.version_name != version_name:
            raise errors.RemoteError(
                f"{target} calls the version {version_name} {made.version_name}: delete the key "
                f"{name} there, and copy it again"
            )
    return len(wanted), len(wanted) - len(there)


def _with_bytes(servers: KeyServers, name: str) -> list[tuple[str, bytes]]:
    return [
        (version.version_name, _bytes_of(servers, version)) for version in servers.versions(name)
    ]


def _bytes_of(servers: KeyServers, version: KeyVersion) -> bytes:
    if version.material is None:
        raise errors.AccessDenied(
            f"{servers} does not give out the bytes of {version.version_name}: that needs "
            "hadoop.kms.acl.GET, and READ for the key"
        )
    return version.material
