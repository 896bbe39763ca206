"""What is counted of the calls of a port."""

from __future__ import annotations

from howdah.runtime.metrics.rpc import MAX_USERS, OTHERS, RpcMetrics


def test_calls_count_by_method_and_user() -> None:
    figures = RpcMetrics({"create", "delete"})
    figures.answered("create", "ann", 2_000_000)
    figures.answered("create", "bob", 1_000_000)
    figures.answered("create", "ann", 1_000_000)
    create = figures.methods["create"]
    assert (create.times.count, create.times.total_ns) == (3, 4_000_000)
    assert create.users == {"ann": 2, "bob": 1}
    assert "delete" not in figures.methods
    assert (figures.successes, figures.requests) == (3, 3)


def test_failures_count_by_the_name_of_the_exception() -> None:
    figures = RpcMetrics(set())
    figures.failed("java.io.FileNotFoundException", 5)
    figures.failed("a.b.SnapshotAccessControlException$Deep", 5)
    assert sorted(figures.failures) == ["Deep", "FileNotFoundException"]
    assert (figures.successes, figures.requests) == (0, 2)


def test_memory_is_bounded_whatever_names_come() -> None:
    figures = RpcMetrics({"create"})
    for number in range(MAX_USERS + 50):
        figures.answered("create", f"user{number}", 1)
        figures.failed(f"x.Exception{number}", 1)
    users = figures.methods["create"].users
    assert len(users) == MAX_USERS + 1
    assert users[OTHERS] == 50
    assert len(figures.failures) <= 201
    assert figures.requests == 2 * (MAX_USERS + 50)
