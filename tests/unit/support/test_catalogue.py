"""Which of Hadoop's tests look into a server's process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.hadoop.catalogue import CLUSTER, Catalogue, read, written
from tests.support.hadoop.class_files import ClassFile, Member, Method
from tests.support.hadoop.judges import ALONE, BATCH, Judges, batches, pattern

TEST = "Lorg/junit/jupiter/api/Test;"
BEFORE = "Lorg/junit/jupiter/api/BeforeEach;"
NODE = "org/apache/hadoop/hdfs/server/namenode/NameNode"
START: Member = (CLUSTER, "getFileSystem", "()V")


def method(name: str, *members: Member, mark: str = "") -> Method:
    return Method(name, "()V", frozenset({mark} if mark else ()), frozenset(members))


def class_of(name: str, *methods: Method, above: str | None = None) -> ClassFile:
    return ClassFile(name, above, False, methods)


STAND_IN = (class_of(CLUSTER, method("getFileSystem"), method("shutdown")),)


def suites(*classes: ClassFile) -> dict[str, dict[str, frozenset[str]]]:
    return Catalogue(classes, STAND_IN).suites()


def test_test_that_asks_as_a_client_needs_nothing_inside() -> None:
    one = class_of("a/T", method("testA", START, (NODE, "getRpcServer", "()V"), mark=TEST))
    assert suites(one) == {"a.T": {"testA": frozenset()}}


def test_test_that_is_overridden_without_being_one_is_none() -> None:
    above = class_of("a/T", method("testA", START, mark=TEST), method("testB", START, mark=TEST))
    below = class_of("a/U", method("testA", START), above="a/T")
    assert suites(above, below)["a.U"] == {"testB": frozenset()}


def test_class_that_starts_no_cluster_is_no_suite() -> None:
    assert suites(class_of("a/T", method("testA", (NODE, "stop", "()V"), mark=TEST))) == {}


def test_what_is_called_on_the_way_counts() -> None:
    helper = class_of("a/Helper", method("deep", (NODE, "getFSImage", "()V")))
    one = class_of(
        "a/T",
        method("testA", START, ("a/T", "own", "()V"), mark=TEST),
        method("own", ("a/Helper", "deep", "()V")),
        method("testB", START, mark=TEST),
    )
    found = suites(one, helper)["a.T"]
    assert found == {"testA": frozenset({"NameNode.getFSImage"}), "testB": frozenset()}


def test_lambda_counts_for_the_method_that_has_it() -> None:
    one = class_of(
        "a/T",
        method("testA", START, mark=TEST),
        method("lambda$testA$0", (NODE, "getFSImage", "()V")),
    )
    assert suites(one)["a.T"]["testA"] == {"NameNode.getFSImage"}


def test_what_runs_before_each_test_counts_for_all() -> None:
    above = class_of("a/Base", method("setUp", (CLUSTER, "injectBlocks", "()V"), mark=BEFORE))
    one = class_of("a/T", method("testA", START, mark=TEST), above="a/Base")
    assert suites(one, above)["a.T"]["testA"] == {"MiniDFSCluster.injectBlocks"}


def test_overridden_method_is_that_of_the_suite() -> None:
    above = class_of(
        "a/Base",
        method("testA", START, ("a/Base", "part", "()V"), mark=TEST),
        method("part", (NODE, "getFSImage", "()V")),
    )
    one = class_of("a/T", method("part"), above="a/Base")
    found = suites(above, one)
    assert found["a.Base"]["testA"] == {"NameNode.getFSImage"}
    assert found["a.T"]["testA"] == frozenset()


def test_file_gives_back_what_was_written() -> None:
    found = {"a.T": {"testA": frozenset({"B.c", "A.b"}), "testB": frozenset[str]()}}
    assert read(written(found)) == {"a.T": {"testA": "A.b", "testB": ""}}


def judges(directory: Path, left_out: str) -> Judges:
    (directory / "hadoop_tests.txt").write_text(
        "a.T\n testA\n testB X.inside\na.U\n testC\na.V\n testD X.inside\n"
    )
    (directory / "left_out.txt").write_text(left_out)
    return Judges(directory)


def test_only_tests_that_are_not_left_out_run(tmp_path: Path) -> None:
    assert judges(tmp_path, "# why\n").run() == {
        "a.T": (["testA"], ["testB"]),
        "a.U": (["testC"], []),
    }
    assert judges(tmp_path, "a.U#* because\na.T#testA so\n").run() == {}


@pytest.mark.parametrize("lines", ["a.T#testA\n", "a.T#testA x\na.T#testA y\n"])
def test_every_line_has_one_reason(tmp_path: Path, lines: str) -> None:
    with pytest.raises(ValueError, match="testA"):
        judges(tmp_path, lines).reasons()


def test_batches_have_every_class_once() -> None:
    names = [f"a.T{number}" for number in range(2 * BATCH + 1)] + [ALONE[0]]
    found = list(batches(names))
    assert sorted(name for batch in found for name in batch) == sorted(names)
    assert found[-1] == (ALONE[0],)
    assert max(map(len, found)) == BATCH


def test_pattern_is_for_one_method_alone() -> None:
    assert pattern("a.b.T$X", "testA") == r"^a\.b\.T\$X#testA$"
