"""Which of Hadoop's tests start a cluster, and which of these look into its processes (shell).

A test that asks a `MiniDFSCluster` for clients alone can judge any servers that speak the same
protocols. One that takes a namenode or a datanode apart, in its own process, cannot. Which
one a test is follows from its byte code: `Catalogue` goes along the calls from the test, from
what is run before and after it, and from its class's constructors, as far as they stay in the
jars of tests. What then leads into a server, other than by the few members that the stand-in in
tests/support answers, is named.

    python -m tests.support.hadoop.catalogue STAND_IN JAR... > hadoop_tests.txt
"""

from __future__ import annotations

import re
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.support.hadoop.class_files import ClassFile, Member, Method, read_class

CLUSTER: Final = "org/apache/hadoop/hdfs/MiniDFSCluster"
_TESTS: Final = frozenset(
    f"Lorg/junit/jupiter/{name};"
    for name in ("api/Test", "params/ParameterizedTest", "api/RepeatedTest", "api/TestTemplate")
)
_AROUND: Final = frozenset(
    f"Lorg/junit/jupiter/api/{name};"
    for name in ("BeforeEach", "BeforeAll", "AfterEach", "AfterAll")
)
_SERVERS: Final = re.compile(r"org/apache/hadoop/hdfs/server/(namenode|datanode|blockmanagement)/")
# Classes of these packages that clients and their tests have, and those that the stand-in brings.
_NO_SERVERS: Final = re.compile(
    r".*/(NotReplicatedYet|LeaseExpired|SafeMode|RemoteNameNode|RemoteDataNode|ReplicaFiles"
    r"|FsDatasetTestUtils\$MaterializedReplica"
    r"|ha/(ConfiguredFailover|AbstractNN|ObserverRead|RequestHedging|HATestUtil|IPFailover))"
)
_ANSWERED: Final[Mapping[str, frozenset[str]]] = {
    "org/apache/hadoop/hdfs/server/namenode/NameNode": frozenset(
        (
            *("getAddress", "getNameNodeAddress", "getHttpAddress", "getHttpsAddress", "getUri"),
            *("getRpcServer", "getNamesystem", "isInSafeMode", "getHostAndPort"),
        )
    ),
    "org/apache/hadoop/hdfs/server/datanode/DataNode": frozenset(
        (
            *("getDatanodeId", "getDatanodeUuid", "getDisplayName", "getXferAddress"),
            *("getXferPort", "getIpcPort", "getInfoPort", "getDNRegistrationForBP", "shutdown"),
        )
    ),
    "org/apache/hadoop/hdfs/server/namenode/FSNamesystem": frozenset(
        ("getBlockPoolId", "isInSafeMode", "enterSafeMode", "leaveSafeMode", "saveNamespace")
    ),
}


class Catalogue:
    """The classes of some jars of tests, and of the stand-in that goes before them."""

    def __init__(self, classes: Iterable[ClassFile], stand_in: Iterable[ClassFile] = ()) -> None:
        self._classes = {each.name: each for each in classes}
        self._stand_in = {(each.name, method.name) for each in stand_in for method in each.methods}
        self._methods: dict[Member, Method] = {}
        self._lambdas: dict[tuple[str, str], list[Member]] = defaultdict(list)
        for each in self._classes.values():
            for method in each.methods:
                member = (each.name, method.name, method.descriptor)
                self._methods[member] = method
                if method.name.startswith("lambda$"):
                    self._lambdas[each.name, method.name.split("$")[1]].append(member)

    def suites(self) -> dict[str, dict[str, frozenset[str]]]:
        """The tests of each class that starts a cluster, by name; and of each what it needs
        from inside a server: nothing, where it can judge any."""
        found = {}
        for name, one in sorted(self._classes.items()):
            tests = {} if one.is_abstract else self._tests_of(name)
            if not tests:
                continue
            around = self._reached_around(name)
            reached = {test: around | self._reached(name, at) for test, at in tests.items()}
            if any(_starts_cluster(members) for members in reached.values()):
                found[name.replace("/", ".")] = {
                    test: frozenset(self._inside(members)) for test, members in reached.items()
                }
        return found

    def _chain(self, name: str | None) -> Iterator[ClassFile]:
        while name in self._classes:
            one = self._classes[name]
            yield one
            name = one.above

    def _tests_of(self, name: str) -> dict[str, Member]:
        found: dict[str, Member] = {}
        overridden: set[tuple[str, str]] = set()
        for one in self._chain(name):
            for method in one.methods:
                key = (method.name, method.descriptor)
                # Overridden without the annotation it is no test any more.
                if method.annotations & _TESTS and key not in overridden:
                    found.setdefault(method.name, (one.name, *key))
                overridden.add(key)
        return found

    def _reached_around(self, name: str) -> set[Member]:
        reached: set[Member] = set()
        for one in self._chain(name):
            for method in one.methods:
                if method.annotations & _AROUND or method.name in ("<init>", "<clinit>"):
                    reached |= self._reached(name, (one.name, method.name, method.descriptor))
        return reached

    def _reached(self, suite: str, start: Member) -> set[Member]:
        """Members outside of the jars, and those of the cluster, that `start` comes to."""
        own = {one.name for one in self._chain(suite)}
        seen: set[Member] = set()
        outside: set[Member] = set()
        stack = [start]
        while stack:
            at = stack.pop()
            if at in seen:
                continue
            seen.add(at)
            stack += self._lambdas.get((at[0], at[1]), [])
            for owner, name, descriptor in self._methods[at].members:
                target = None
                if name[0] != "." and not owner.startswith(CLUSTER):
                    top = suite if owner in own else owner
                    target = self._resolved(top, name, descriptor)
                if target is None:
                    outside.add((owner, name, descriptor))
                else:
                    stack.append(target)
                is_inner = "$" in owner and not owner.startswith(CLUSTER)
                if name == "<init>" and is_inner and owner in self._classes:
                    # Somebody calls what an inner class is made for.
                    one = self._classes[owner]
                    stack += [(owner, each.name, each.descriptor) for each in one.methods]
        return outside

    def _resolved(self, name: str, method: str, descriptor: str) -> Member | None:
        for one in self._chain(name):
            member = (one.name, method, descriptor)
            if member in self._methods:
                return member
        return None

    def _inside(self, members: Iterable[Member]) -> Iterator[str]:
        for owner, name, _ in members:
            short = owner.rpartition("/")[2]
            if owner == CLUSTER or owner.startswith(f"{CLUSTER}$"):
                if name[0] != "." and (owner, name) not in self._stand_in:
                    yield f"{short}.{name}"
            elif (
                _SERVERS.match(owner)
                and not _NO_SERVERS.match(owner)
                and name[0] != "."
                and name not in _ANSWERED.get(owner, ())
            ):
                yield f"{short}.{name}"


def _starts_cluster(members: Iterable[Member]) -> bool:
    return any(owner == CLUSTER or owner.startswith(f"{CLUSTER}$") for owner, _, _ in members)


def read_jars(jars: Sequence[Path]) -> Iterator[ClassFile]:
    """The classes of the jars."""
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if name.endswith(".class"):
                    yield read_class(archive.read(name))


def read_directory(directory: Path) -> Iterator[ClassFile]:
    """The classes that were compiled into a directory."""
    for path in sorted(directory.rglob("*.class")):
        yield read_class(path.read_bytes())


def written(suites: Mapping[str, Mapping[str, frozenset[str]]]) -> Iterator[str]:
    """The lines of a file that has the suites: a class, then its tests, each behind a blank, and
    behind another blank the first thing that the test takes from inside a server."""
    for suite, tests in suites.items():
        yield suite
        for test, inside in sorted(tests.items()):
            yield f" {test} {min(inside)}" if inside else f" {test}"


def read(lines: Iterable[str]) -> dict[str, dict[str, str]]:
    """The same from such a file: of each test what it takes, or nothing."""
    found: dict[str, dict[str, str]] = {}
    suite = ""
    for line in lines:
        if line.startswith(" "):
            test, _, inside = line[1:].partition(" ")
            found[suite][test] = inside
        elif line:
            suite = line
            found[suite] = {}
    return found


def main(arguments: Sequence[str]) -> int:
    """Print the tests of the jars that start a cluster. The first argument is the directory of
    the stand-in's classes."""
    stand_in, *jars = map(Path, arguments)
    catalogue = Catalogue(read_jars(jars), read_directory(stand_in))
    print(*written(catalogue.suites()), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
