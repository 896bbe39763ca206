"""What a policy depends on is asked on a thread, or beside a loop."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.runtime.users import service_authorization
from howdah.runtime.users.async_groups import Loop
from howdah.runtime.users.groups import KnownGroups
from howdah.runtime.users.service_authorization import OnLoop, OnThread, read_policy
from howdah.runtime.users.service_policy import ServicePolicy, Speaker
from howdah.testing.waiting import wait_until

CLIENT = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
ACL = "security.client.protocol.acl"
HOSTS = "security.client.protocol.hosts"


def speaker(user: str = "joe", address: str = "10.1.2.3") -> Speaker:
    return Speaker(CLIENT, user, f"{user} (auth:SIMPLE)", address)


def on_thread(values: dict[str, str], resolve: Callable[[str], Sequence[str]]) -> OnThread:
    groups = {"joe": ("staff",)}
    return OnThread(ServicePolicy.parse(values.get), lambda user: groups.get(user, ()), resolve)


class BesideALoop:
    """The groups of users and the addresses of machines come from threads. What is posted to the
    loop is run by `outcome`."""

    def __init__(self, values: dict[str, str], resolve: Callable[[str], Sequence[str]]) -> None:
        self.posted: list[Callable[[], None]] = []
        loop = Loop(self.posted.append, lambda delay_s, call: None)
        groups = {"joe": ("staff",)}
        known = KnownGroups(
            lambda user: groups.get(user, ()),
            lambda user: False,
            loop,
            fresh_s=60.0,
            changed=lambda user: None,
        )
        self.authorization = OnLoop(ServicePolicy.parse(values.get), known, loop, resolve)

    def outcome(self, who: Speaker) -> errors.HowdahError | None:
        told: list[errors.HowdahError | None] = []
        self.authorization.authorize_protocol(who, told.append)

        def is_told() -> bool:
            while self.posted:
                self.posted.pop(0)()
            return bool(told)

        wait_until(is_told, timeout_s=20)
        assert len(told) == 1
        return told[0]


def outcome_on_thread(found: OnThread, who: Speaker) -> errors.HowdahError | None:
    told: list[errors.HowdahError | None] = []
    found.authorize_protocol(who, told.append)
    assert len(told) == 1
    return told[0]


def resolve(name: str) -> Sequence[str]:
    if name == "lost":
        raise OSError("the name server does not answer")
    return {"here": ("10.1.2.3",)}.get(name, ())


SCENES: list[tuple[dict[str, str], str, str, str]] = [
    ({}, "joe", "10.1.2.3", ""),
    ({ACL: " staff"}, "joe", "10.1.2.3", ""),
    ({ACL: " staff"}, "sue", "10.1.2.3", "User sue"),
    ({HOSTS: "nowhere,lost,here"}, "joe", "10.1.2.3", ""),
    ({HOSTS: "nowhere,lost,here"}, "joe", "10.1.2.4", "Host 10.1.2.4"),
    ({ACL: " staff", f"{HOSTS}.blocked": "here"}, "joe", "10.1.2.3", "Host 10.1.2.3"),
    ({ACL: " staff", f"{HOSTS}.blocked": "here"}, "joe", "10.1.2.4", ""),
]


@pytest.mark.parametrize(("values", "user", "address", "refused"), SCENES)
def test_both_shells_ask_what_a_judgement_depends_on(
    values: dict[str, str], user: str, address: str, refused: str
) -> None:
    who = speaker(user, address)
    for error in (
        outcome_on_thread(on_thread(values, resolve), who),
        BesideALoop(values, resolve).outcome(who),
    ):
        if refused:
            assert isinstance(error, errors.AuthorizationFailed)
            assert str(error).startswith(f"{refused} ")
        else:
            assert error is None


def test_who_cannot_be_judged_now_is_told_to_try_again() -> None:
    values = {f"{HOSTS}.blocked": "lost"}
    on_this_thread = outcome_on_thread(on_thread(values, resolve), speaker())
    beside = BesideALoop(values, resolve).outcome(speaker())
    assert isinstance(on_this_thread, errors.RetriableError)
    assert isinstance(beside, errors.RetriableError)


def test_another_policy_holds_for_who_is_judged_from_then_on() -> None:
    found = on_thread({}, resolve)
    scene = BesideALoop({}, resolve)
    strict = ServicePolicy.parse({ACL: "sue"}.get)
    found.replace(strict)
    scene.authorization.replace(strict)
    for error in (outcome_on_thread(found, speaker()), scene.outcome(speaker())):
        assert isinstance(error, errors.AuthorizationFailed)


def test_the_log_says_who_was_refused_and_why(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    found = on_thread({ACL: "sue"}, resolve)
    outcome_on_thread(found, speaker("sue"))
    outcome_on_thread(found, speaker())
    said = [(each.levelname, each.getMessage()) for each in caplog.records]
    assert said == [
        (
            "DEBUG",
            f"Authorization successful for sue (auth:SIMPLE) for protocol=interface {CLIENT}",
        ),
        (
            "WARNING",
            f"Authorization failed for joe (auth:SIMPLE) for protocol=interface {CLIENT} from "
            f"10.1.2.3: User joe (auth:SIMPLE) is not authorized for protocol interface {CLIENT}: "
            "denied by configured ACL",
        ),
    ]


def test_the_policy_is_in_a_file_beside_the_others(tmp_path: Path) -> None:
    (tmp_path / "core-site.xml").write_text(
        Configuration({"hadoop.security.authorization": "true", ACL: "ann"}).to_xml()
    )
    (tmp_path / "hadoop-policy.xml").write_text(
        Configuration({ACL: "${who}", "who": "joe"}).to_xml()
    )
    conf = Configuration.load(tmp_path, environment=False)
    assert outcome_on_thread(OnThread(read_policy(conf), resolve), speaker()) is None
    given = conf.with_values({ACL: "sue"})
    assert outcome_on_thread(OnThread(read_policy(given), resolve), speaker()) is not None
    (tmp_path / "hadoop-policy.xml").unlink()
    fresh = read_policy(conf.reloaded())
    assert outcome_on_thread(OnThread(fresh, resolve), speaker("ann")) is None


def test_a_misspelt_key_of_the_policy_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "core-site.xml").write_text(Configuration().to_xml())
    (tmp_path / "hadoop-policy.xml").write_text(
        Configuration({"security.client.protocl.acl": "joe", ACL: "*"}).to_xml()
    )
    read_policy(Configuration.load(tmp_path, environment=False))
    assert f"was {ACL} meant?" in caplog.text


def test_without_the_switch_no_policy_is_followed() -> None:
    assert service_authorization.OnThread.of(Configuration({ACL: "sue"})) is None
    on = Configuration({ACL: "sue", "hadoop.security.authorization": "true"})
    assert service_authorization.OnThread.of(on) is not None


def test_a_policy_that_cannot_be_read_stops_a_server() -> None:
    conf = Configuration({HOSTS: "10.0.0.0/99", "hadoop.security.authorization": "true"})
    with pytest.raises(errors.InvalidConfiguration, match=r"client\.protocol\.hosts"):
        service_authorization.OnThread.of(conf)
