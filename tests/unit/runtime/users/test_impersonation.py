"""What rules depend on is asked beside a loop, or on a thread."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Callable

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.runtime.users import impersonation
from howdah.runtime.users.async_groups import Loop
from howdah.runtime.users.groups import Groups
from howdah.runtime.users.impersonation import OnLoop, OnThread, addresses_of, read_rules
from howdah.runtime.users.proxy_users import ProxyUsers
from howdah.testing.waiting import wait_until

CONF = {
    "hadoop.proxyuser.hive.groups": "staff",
    "hadoop.proxyuser.hive.hosts": "10.0.0.1,node1,node2",
    "hadoop.proxyuser.oozie.users": "*",
    "hadoop.proxyuser.oozie.hosts": "${gateways}",
    "gateways": "node1",
    "hadoop.user.group.static.mapping.overrides": "joe=staff",
}
FROM_ELSEWHERE = "Unauthorized connection for super-user: {} from IP /10.0.0.9"


class World:
    """A loop that is turned by hand, a directory of users, and a name server."""

    def __init__(self) -> None:
        self.posted: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.wanted: list[tuple[str, Callable[[errors.HowdahError | None], None]]] = []
        self.resolved: list[str] = []
        self.told: list[str] = []
        self.answers = threading.Event()
        self.answers.set()
        self.machines = {"node1": ("10.0.0.2",), "node2": ("10.0.0.3", "::1")}
        self.on_loop = OnLoop(
            read_rules(Configuration(CONF)),
            lambda user, go_on: self.wanted.append((user, go_on)),
            Groups("joe=staff;sue=admins"),
            Loop(self.posted.put, lambda delay_s, call: None),
            self.resolve,
        )

    def resolve(self, name: str) -> tuple[str, ...]:
        self.resolved.append(name)
        assert self.answers.wait(30)
        if name not in self.machines:
            raise socket.gaierror(socket.EAI_AGAIN, "the name server is silent")
        return self.machines[name]

    def ask(self, real_user: str, user: str, address: str) -> None:
        self.on_loop.authorize(real_user, user, address, self.tell)

    def tell(self, error: errors.HowdahError | None) -> None:
        self.told.append("ok" if error is None else str(error))

    def turn(self, count: int = 1) -> None:
        for _ in range(count):
            self.posted.get(timeout=30)()


def test_a_stranger_is_refused_at_once_and_nobody_is_asked() -> None:
    world = World()
    world.ask("mallory", "joe", "10.0.0.1")
    assert world.told == ["User: mallory is not allowed to impersonate joe"]
    assert (world.wanted, world.resolved) == ([], [])


def test_a_loop_waits_for_the_groups_of_the_user() -> None:
    world = World()
    world.ask("hive", "joe", "10.0.0.1")
    world.ask("hive", "sue", "10.0.0.1")
    assert world.told == []
    for _, go_on in world.wanted:
        go_on(None)
    assert world.told == ["ok", "User: hive is not allowed to impersonate sue"]


def test_whoever_asks_hears_that_groups_cannot_be_had() -> None:
    world = World()
    world.ask("hive", "joe", "10.0.0.1")
    world.wanted[0][1](errors.RetriableError("the directory is silent"))
    assert world.told == ["the directory is silent"]


def test_a_loop_waits_for_machines_and_the_first_that_fits_will_do() -> None:
    world = World()
    world.machines["node2"] = ()
    world.ask("oozie", "joe", "10.0.0.2")
    assert world.told == []
    world.turn(2)
    assert world.told == ["ok"]
    world.ask("oozie", "sue", "10.0.0.9")
    assert world.told == ["ok", FROM_ELSEWHERE.format("oozie")]
    assert world.resolved == ["node1"]


def test_a_machine_that_cannot_be_looked_up_is_not_the_one_and_is_asked_for_again() -> None:
    world = World()
    world.on_loop.replace(
        ProxyUsers.parse([("p.hive.users", "*"), ("p.hive.hosts", "gone,node1")], "p.")
    )
    world.ask("hive", "joe", "10.0.0.9")
    wait_until(lambda: world.posted.qsize() == 3, timeout_s=30)
    world.turn(3)
    assert world.told == [FROM_ELSEWHERE.format("hive")]
    world.ask("hive", "joe", "10.0.0.2")
    assert world.told[1:] == ["ok"]
    wait_until(lambda: world.resolved.count("gone") == 2, timeout_s=30)


def test_rules_that_are_replaced_hold_for_whoever_asks_next() -> None:
    world = World()
    world.ask("oozie", "joe", "10.0.0.2")
    world.on_loop.replace(ProxyUsers())
    world.turn(2)
    world.ask("oozie", "joe", "10.0.0.2")
    assert world.told == ["ok", "User: oozie is not allowed to impersonate joe"]


def test_a_thread_waits_for_its_answer() -> None:
    world = World()
    on_thread = OnThread(
        read_rules(Configuration(CONF)), Groups("joe=staff;sue=admins"), world.resolve
    )
    on_thread.check("hive", "joe", "10.0.0.3")
    on_thread.check("hive", "joe", "10.0.0.1")
    world.machines.clear()
    with pytest.raises(errors.AuthorizationFailed, match=r"from IP /10\.0\.0\.3"):
        on_thread.check("hive", "joe", "10.0.0.3")
    with pytest.raises(errors.AuthorizationFailed, match="impersonate sue"):
        on_thread.check("hive", "sue", "10.0.0.1")


def test_what_a_thread_has_heard_it_remembers_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, asked = [0.0], list[str]()
    monkeypatch.setattr(impersonation, "_MOST_REMEMBERED", 2)

    def ask(name: str) -> list[str]:
        asked.append(name)
        return [name.upper()]

    remembered = impersonation.Remembered(ask, 60.0, lambda: now[0])
    assert [remembered("a"), remembered("a"), remembered("b")] == [("A",), ("A",), ("B",)]
    assert asked == ["a", "b"]
    now[0] = 60.0
    assert remembered("a") == ("A",)
    for name in ("c", "d", "a"):
        remembered(name)
    assert asked == ["a", "b", "a", "c", "d", "a"]


def test_rules_come_from_the_configuration_with_its_variables() -> None:
    found = read_rules(Configuration(CONF))
    assert found.rules["oozie"].machines.names == ("node1",)
    own = read_rules(Configuration({"httpfs.proxyuser.hue.users": "*"}), "httpfs.proxyuser.")
    assert list(own.rules) == ["hue"]


def test_rules_of_another_kind_are_refused() -> None:
    key = "hadoop.security.impersonation.provider.class"
    own = "org.apache.hadoop.security.authorize.DefaultImpersonationProvider"
    read_rules(Configuration({key: own}))
    with pytest.raises(errors.InvalidConfiguration, match=key):
        read_rules(Configuration({key: "com.example.Anybody"}))


def test_a_machine_without_an_address_has_none() -> None:
    assert "127.0.0.1" in addresses_of("127.0.0.1")
    assert addresses_of("a" * 64 + ".invalid") == ()
    assert addresses_of("a..b") == ()
