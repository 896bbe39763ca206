"""Hadoop's configuration: `core-site.xml`, `hdfs-site.xml`, `-D key=value`.

Mirrors org.apache.hadoop.conf.Configuration as far as an administrator can see
it, so that the files of a Hadoop installation are read as they are:

1. Files come in order, core-site then hdfs-site; a later value replaces an
   earlier one, unless the earlier one was `<final>`.
2. Overrides (`-D`, `-fs`) come last and win, over final values too.
3. A deprecated name is the new name, wherever it is written or asked for.
4. `${name}` is another key, `${env.NAME}` the environment (with `-` and `:-`
   defaults as in a shell), `${user.name}`, `${user.home}` and
   `${java.io.tmpdir}` what Java would say. What is unknown stays as it stands.
5. `<xi:include href="…">` reads a further file, relative to the one it is in.

What is unlike Hadoop: a value that cannot be read raises `InvalidConfiguration`
with key, value and source, where Hadoop warns and takes the default. A
`Configuration` never changes; `with_values` makes another one.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast
from xml.parsers import expat

from howdah.config import keys
from howdah.config.keys.guards import GUARDS
from howdah.config.keys.names.of_servers import is_of_servers
from howdah.config.keys.names.secret import HIDDEN, is_secret
from howdah.config.site_files import site_file
from howdah.config.value_types import Address, Key, parse_address
from howdah.errors import InvalidConfiguration

T = TypeVar("T")

SITE_FILES = ("core-site.xml", "hdfs-site.xml")
MAX_EXPANSIONS = 20
MAX_INCLUDE_DEPTH = 20
DEFAULT_NAMENODE_PORT = 8020

_log = logging.getLogger(__name__)
_warned: set[str] = set()
_XINCLUDE = "http://www.w3.org/2001/XInclude"
_VARIABLE = re.compile(r"\$\{([^}$ ]+)\}")


@dataclass(frozen=True, slots=True)
class Setting:
    """One value as it was written, and where."""

    value: str
    source: str
    final: bool = False


class Configuration:
    """An immutable set of settings over the declared defaults.

    >>> conf = Configuration({"dfs.blocksize": "64m"})
    >>> conf.get(keys.DFS_BLOCKSIZE)
    67108864
    """

    __slots__ = ("_borrowed", "_files", "_given", "_own_files", "_parsed", "_settings")

    def __init__(self, values: Mapping[str, str] | None = None, *, source: str = "code") -> None:
        self._settings: dict[str, Setting] = {}
        self._parsed: dict[str, Any] = {}
        self._files: tuple[Path | None, tuple[Path, ...]] = None, ()
        self._own_files: tuple[Path | None, tuple[Path, ...]] = self._files
        self._borrowed: dict[str, Setting] = {}
        for name, value in (values or {}).items():
            self._settings[current_name(name)] = Setting(value, source)
        self._given = dict(self._settings)

    @classmethod
    def load(
        cls,
        conf_dir: Path | None = None,
        overrides: Mapping[str, str] | None = None,
        *,
        files: Sequence[Path] = (),
        environment: bool = True,
    ) -> Configuration:
        """The site files of `conf_dir` (else of HADOOP_CONF_DIR, else none), then `overrides`.

        `files` are read after the site files; without `environment` HADOOP_CONF_DIR
        doesn't count. A site file that isn't there is skipped; a directory or file that the
        caller or HADOOP_CONF_DIR names must exist.
        """
        if conf_dir is None:
            named = os.environ.get("HADOOP_CONF_DIR") if environment else None
            conf_dir = Path(named) if named else None
            if conf_dir is not None and not conf_dir.is_dir():
                raise InvalidConfiguration(
                    f"HADOOP_CONF_DIR is {conf_dir}, and there is no such directory"
                )
        elif not conf_dir.is_dir():
            raise InvalidConfiguration(f"configuration directory {conf_dir} does not exist")
        conf = cls()
        if conf_dir is not None:
            for file_name in SITE_FILES:
                if (conf_dir / file_name).is_file():
                    _read_into(conf._settings, conf_dir / file_name)
        for path in files:
            _read_into(conf._settings, path)
        conf._files = conf._own_files = conf_dir, tuple(files)
        return conf.with_values(overrides or {}, source="command line")

    def with_values(self, values: Mapping[str, str], *, source: str = "code") -> Configuration:
        """A copy in which `values` win over everything, final settings too."""
        copy = Configuration()
        copy._settings = dict(self._settings)
        copy._files, copy._own_files = self._files, self._own_files
        copy._borrowed = self._borrowed
        given = {current_name(name): Setting(value, source) for name, value in values.items()}
        copy._settings.update(given)
        copy._given = {**self._given, **given}
        return copy

    def laid_over(self, below: Configuration) -> Configuration:
        """A copy that borrows from `below` what it does not set itself.

        `without_borrowed` takes that away again."""
        copy = self.with_values({})
        copy._borrowed = {
            name: setting for name, setting in below._settings.items() if name not in self._settings
        }
        copy._settings.update(copy._borrowed)
        if self.directory is None:
            copy._files = below.directory, self._files[1]
        return copy

    @property
    def is_borrowed(self) -> bool:
        """Whether it has settings that it borrows."""
        return bool(self._borrowed)

    def without_borrowed(self) -> Configuration:
        """A copy of what was set before it was laid over another one, and since then."""
        copy = self.with_values({})
        copy._settings = {
            name: setting
            for name, setting in self._settings.items()
            if self._borrowed.get(name) is not setting
        }
        copy._borrowed = {}
        copy._files = self._own_files
        return copy

    def with_own_site_file(self, name: str) -> Configuration:
        """A copy that has read one more site file of the configuration's directory, if it is
        there; `-D` and what a program sets stays above it. Raises InvalidConfiguration."""
        directory = self._files[0]
        if directory is None or not (directory / name).is_file():
            return self
        copy = self.with_values({})
        _read_into(copy._settings, directory / name)
        copy._settings.update(self._given)
        return copy

    def with_site_file(self, data: bytes, *, source: str) -> Configuration:
        """A copy with the properties of a site file from elsewhere, which may include no other.

        Raises InvalidConfiguration for what is no site file.
        """
        copy = self.with_values({})
        _SiteFile(copy._settings, Path(source), 0, data).read()
        return copy

    @property
    def directory(self) -> Path | None:
        """Where its site files were looked for."""
        return self._files[0]

    def reloaded(self) -> Configuration:
        """As it is when its files are read anew; what was given beside them stays as it was.

        Raises what `load` does."""
        conf_dir, files = self._files
        fresh = Configuration.load(conf_dir, files=files, environment=False)
        fresh._settings.update(self._given)
        fresh._given = dict(self._given)
        fresh._own_files = self._own_files
        return fresh

    def get(self, key: Key[T]) -> T:
        """The typed value of a known key, its default where nothing is set."""
        if key.name in self._parsed:
            return cast(T, self._parsed[key.name])
        value = self._parse(key)
        self._parsed[key.name] = value
        return value

    def raw(self, name: str) -> str | None:
        """The text of any key with variables expanded; known keys have their defaults."""
        text = self._written(current_name(name))
        return None if text is None else self._expand(name, text)

    def is_set(self, key: Key[Any]) -> bool:
        """Whether a file or an override sets the key, be it to its default."""
        return key.name in self._settings

    def source(self, name: str) -> str:
        """Where the value of a key comes from: a file, the command line, or the default."""
        setting = self._settings.get(current_name(name))
        return setting.source if setting else "default"

    def set_in_vain(self) -> Iterator[tuple[str, str]]:
        """What is set to other than its default though it has no effect; name and reason."""
        for name, value in self.items():
            reason = keys.WITHOUT_EFFECT.get(name)
            if reason is not None and value.strip() != keys.KNOWN[name].default:
                yield name, reason

    def guards_asked_for(self) -> Iterator[tuple[str, str, str]]:
        """What asks for a protection that is not here: the key, what it asks for, and why."""
        for name, value in self.items():
            guard = GUARDS.get(name)
            for word in guard.asked_for(value) if guard is not None else ():
                yield name, word, guard.reason if guard is not None else ""

    def unknown_to_servers(self) -> list[str]:
        """Keys that are set and that servers of Hadoop's have, but none of these does."""
        return [name for name, _ in self.items() if is_of_servers(name) and name not in GUARDS]

    def misspelt(self) -> Iterator[tuple[str, str]]:
        """Yield each name that is set and only resembles a key, with that key."""
        for name, _ in self.items():
            if name not in keys.KNOWN:
                from howdah.config.keys.names.spelling import (
                    closest_key,  # large, and hardly ever needed
                )

                key = closest_key(name)
                if key is not None:
                    yield name, key

    def check_values(self) -> None:
        """Raises InvalidConfiguration for the first known key whose value cannot be read.

        A server asks before it does anything: a bad value is no reason to stop later.
        """
        for name, _ in self.items():
            key = keys.KNOWN.get(name)
            if key is not None:
                self.get(key)

    def items(self) -> Iterator[tuple[str, str]]:
        """What is set, as written (variables not expanded), without the defaults."""
        for name, setting in sorted(self._settings.items()):
            yield name, setting.value

    def to_xml(self) -> str:
        """The settings as a site file that Hadoop reads as well."""
        return site_file(dict(self.items()))

    def __repr__(self) -> str:
        shown = {name: HIDDEN if is_secret(name) else value for name, value in self.items()}
        return f"Configuration({shown!r})"

    # -- how a value is found --------------------------------------------------

    def _parse(self, key: Key[T]) -> T:
        text = self.raw(key.name)
        if text is None or (key.unset is not None and not text.strip()):
            if key.unset is None:
                raise InvalidConfiguration(f"{key.name} has no value and no default")
            return key.unset()
        try:
            return key.parse(text)
        except ValueError as error:
            raise InvalidConfiguration(
                f"{key.name} = {text!r} (from {self.source(key.name)}): {error}"
            ) from error

    def _written(self, name: str) -> str | None:
        setting = self._settings.get(name)
        if setting is not None:
            return setting.value
        key = keys.KNOWN.get(name)
        return key.default if key else None

    def _expand(self, name: str, text: str) -> str:
        """Replace variables one by one from the left, what they expand to included."""
        start = 0
        for _ in range(MAX_EXPANSIONS):
            match = _VARIABLE.search(text, start)
            while match is not None:
                value = self._variable(match.group(1))
                if value is not None:
                    break
                start = match.end()
                match = _VARIABLE.search(text, start)
            else:
                return text
            text = text[: match.start()] + value + text[match.end() :]
            start = match.start()
        if _VARIABLE.search(text, start) is None:
            return text
        raise InvalidConfiguration(
            f"{name} = {self._written(current_name(name))!r} (from {self.source(name)}): more than "
            f"{MAX_EXPANSIONS} variables one in another, is there a cycle? (got to {text!r})"
        )

    def _variable(self, name: str) -> str | None:
        if name.startswith("env."):
            return _environment(name.removeprefix("env."))
        match name:
            case "user.name":
                import getpass  # here and below: most commands never get here, and they load slowly

                return getpass.getuser()
            case "user.home":
                return str(Path.home())
            case "java.io.tmpdir":
                import tempfile

                return tempfile.gettempdir()
        return self._written(current_name(name))


def warn_of_misspelt(conf: Configuration) -> None:
    """Log each name that is probably a misspelt key, once a process."""
    for name, key in conf.misspelt():
        if name not in _warned:
            _warned.add(name)
            _log.warning(
                "%s (from %s) is no key and has no effect: was %s meant?",
                name,
                conf.source(name),
                key,
            )


def current_name(name: str) -> str:
    """The name that a deprecated key has today; any other name as it is."""
    return keys.DEPRECATED.get(name, name)


def namenode_address(conf: Configuration) -> Address:
    """Where the namenode answers clients: `dfs.namenode.rpc-address`, else `fs.defaultFS`."""
    explicit = conf.get(keys.DFS_NAMENODE_RPC_ADDRESS)
    if explicit is not None:
        return explicit
    uri = conf.get(keys.FS_DEFAULTFS)
    where = conf.source(keys.FS_DEFAULTFS.name)
    if not conf.is_set(keys.FS_DEFAULTFS):
        raise InvalidConfiguration(
            f"{keys.FS_DEFAULTFS.name} is not configured, so it names no namenode: set it to "
            f"hdfs://host:port, or set {keys.DFS_NAMENODE_RPC_ADDRESS.name} (the directory of the "
            "files is HADOOP_CONF_DIR, or --conf)"
        )
    if not uri.lower().startswith("hdfs://"):
        raise InvalidConfiguration(
            f"{keys.FS_DEFAULTFS.name} = {uri!r} (from {where}) names no namenode: "
            f"set it to hdfs://host:port, or set {keys.DFS_NAMENODE_RPC_ADDRESS.name}"
        )
    try:
        return parse_address(uri, DEFAULT_NAMENODE_PORT)
    except ValueError as error:
        raise InvalidConfiguration(
            f"{keys.FS_DEFAULTFS.name} = {uri!r} (from {where}): {error}"
        ) from error


def check_protection(conf: Configuration, there: Container[str] = ()) -> None:
    """Raises InvalidConfiguration for a protection that is asked for and isn't there. `there` are
    the keys of what a server has.

    A server that would ignore such a key leaves open what its administrator takes for closed.
    """
    authentication = keys.HADOOP_SECURITY_AUTHENTICATION.name
    if conf.get(keys.HADOOP_SECURITY_AUTHENTICATION) != "simple" and authentication not in there:
        raise InvalidConfiguration(f"{authentication}: only 'simple' is supported")
    logins = keys.HOWDAH_HTTP_AUTHENTICATION
    if conf.get(logins) != "none" and logins.name not in there:
        raise InvalidConfiguration(
            f"{logins.name} = {conf.get(logins)} (from {conf.source(logins.name)}) is not "
            "supported by this server: its web port would believe the name that a caller gives"
        )
    for name, value, reason in conf.guards_asked_for():
        if name not in there:
            raise InvalidConfiguration(
                f"{name} = {value} (from {conf.source(name)}) is not supported: {reason}"
            )


def _environment(expression: str) -> str | None:
    """Return the value of `NAME`, `NAME-default` (where unset) or `NAME:-default` (where unset or
    empty)."""
    match = re.match(r"(.*?)(:?-)(.*)", expression, re.DOTALL)
    if match is None:
        return os.environ.get(expression)
    name, operator, fallback = match.groups()
    value = os.environ.get(name)
    if value is None or (operator == ":-" and not value):
        return fallback
    return value


# -- reading files --------------------------------------------------------------


class _SiteFile:
    """One site file on its way through the parser (expat: the XML modules load slowly)."""

    def __init__(
        self, settings: dict[str, Setting], path: Path, depth: int, data: bytes | None = None
    ) -> None:
        self._data = data
        self._settings = settings
        self._path = path
        self._depth = depth
        self._open: list[str] = []
        self._property: dict[str, str] | None = None
        self._text: list[str] = []
        self._absent: Path | None = None
        """The file that is to be included and does not exist, up to a `<fallback>`."""
        self._has_included = False
        """Whether the file of the `<include>` that is open was read: its fallback is not."""

    def read(self) -> None:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text.append
        # A site file has no business declaring entities; refusing them closes
        # the door on the entity bombs that XML is known for.
        parser.EntityDeclHandler = self._entity
        try:
            parser.Parse(self._path.read_bytes() if self._data is None else self._data, True)
        except expat.ExpatError as error:
            raise InvalidConfiguration(f"{self._path} is not well-formed XML: {error}") from error
        except OSError as error:
            raise InvalidConfiguration(f"{self._path} cannot be read: {error}") from error

    def _start(self, element: str, attributes: dict[str, str]) -> None:
        namespace, _, local = element.rpartition(" ")
        self._text.clear()
        if not self._open and local != "configuration":
            raise InvalidConfiguration(
                f"{self._path}: expected <configuration> at the top, found <{local}>"
            )
        self._open.append(local)
        if local == "include" and namespace in ("", _XINCLUDE):
            self._include(attributes)
        elif local == "fallback" and "include" in self._open:
            self._absent = None
        elif local == "property" and not self._has_included:
            self._property = dict(attributes)

    def _end(self, element: str) -> None:
        local = self._open.pop()
        if local == "include":
            if self._absent is not None:
                raise InvalidConfiguration(
                    f"{self._path}: included file {self._absent} does not exist"
                )
            self._has_included = False
        elif local == "property" and self._property is not None:
            self._finish(self._property)
            self._property = None
        elif self._property is not None and local in ("name", "value", "final"):
            self._property[local] = "".join(self._text)
        self._text.clear()

    def _finish(self, written: dict[str, str]) -> None:
        name = written.get("name", "").strip()
        if not name:
            raise InvalidConfiguration(f"{self._path}: a <property> without a <name>")
        if "value" not in written:
            return
        new_name = current_name(name)
        if new_name != name:
            _log.info("%s: %s is deprecated, it is called %s now", self._path, name, new_name)
        before = self._settings.get(new_name)
        if before is not None and before.final:
            if before.value != written["value"]:
                _log.warning("%s: ignoring %s, it is final in %s", self._path, name, before.source)
            return
        final = written.get("final", "").strip().lower() == "true"
        self._settings[new_name] = Setting(written["value"], str(self._path), final)

    def _include(self, attributes: dict[str, str]) -> None:
        href = attributes.get("href", "")
        if self._data is not None:
            raise InvalidConfiguration(f"{self._path}: only local files can include {href!r}")
        if not href or "://" in href.removeprefix("file://"):
            raise InvalidConfiguration(f"{self._path}: cannot include {href!r}, only local files")
        if self._depth >= MAX_INCLUDE_DEPTH:
            raise InvalidConfiguration(
                f"{self._path}: more than {MAX_INCLUDE_DEPTH} includes one in another"
            )
        target = self._path.parent / href.removeprefix("file://")
        if not target.is_file():
            self._absent = target
            return
        self._has_included = True
        _SiteFile(self._settings, target, self._depth + 1).read()

    def _entity(self, *_: object) -> None:
        raise InvalidConfiguration(f"{self._path}: entity declarations are not allowed")


def _read_into(settings: dict[str, Setting], path: Path) -> None:
    _SiteFile(settings, path, 0).read()
