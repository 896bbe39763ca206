"""A namenode reads anew who may act for whom, and who may speak which protocol."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.namenode.server.process.impersonation import ProtocolRules, ProxyUserRules
from howdah.runtime.users.async_groups import Loop
from howdah.runtime.users.groups import Groups, KnownGroups
from howdah.runtime.users.proxy_users import ProxyUsers
from howdah.runtime.users.service_policy import ServicePolicy, Speaker

NOW = Loop(lambda call: call(), lambda delay_s, call: None)
Found = Callable[[ProxyUsers | errors.HowdahError], None]


class Site:
    """Configuration files, which are read when `look` is called."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.write("hive")
        self.waiting: list[tuple[Callable[[], ProxyUsers], Found]] = []
        groups = Groups("")
        known = KnownGroups(groups, lambda user: True, NOW, fresh_s=60.0, changed=lambda user: None)
        self.proxying = ProxyUserRules(
            Configuration.load(directory, {"fs.defaultFS": "hdfs://here"}),
            known,
            NOW,
            lambda work, found: self.waiting.append((work, found)),
        )

    def write(self, name: str, hosts: str = "*") -> None:
        conf = Configuration(
            {f"hadoop.proxyuser.{name}.users": "*", f"hadoop.proxyuser.{name}.hosts": hosts}
        )
        (self.directory / "core-site.xml").write_text(conf.to_xml())

    def look(self) -> None:
        work, found = self.waiting.pop(0)
        try:
            found(work())
        except errors.HowdahError as error:
            found(error)


def test_the_rules_are_those_of_the_files_when_somebody_asks(tmp_path: Path) -> None:
    site = Site(tmp_path)
    told: list[object] = []
    site.write("oozie")
    assert list(site.proxying.rules.rules) == ["hive"]
    site.proxying.read_again(told.append)
    assert told == []
    site.look()
    assert told == [None]
    assert list(site.proxying.rules.rules) == ["oozie"]


def test_the_rules_stay_where_the_files_have_none(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site = Site(tmp_path)
    told: list[object] = []
    site.write("oozie", hosts="10.0.0.0/99")
    site.proxying.read_again(told.append)
    site.look()
    assert isinstance(told[0], errors.InvalidConfiguration)
    assert "hadoop.proxyuser.oozie.hosts" in caplog.text
    assert list(site.proxying.rules.rules) == ["hive"]


def _tell(told: list[str], name: str, error: object) -> None:
    told.append(name)


def test_those_who_ask_during_a_look_share_the_next_one(tmp_path: Path) -> None:
    site = Site(tmp_path)
    told: list[str] = []
    for name in "abc":
        site.proxying.read_again(partial(_tell, told, name))
    assert len(site.waiting) == 1
    site.look()
    assert told == ["a"]
    assert len(site.waiting) == 1
    site.look()
    assert told == ["a", "b", "c"]
    assert site.waiting == []


def test_a_namenode_does_not_start_with_what_is_no_rule() -> None:
    conf = Configuration({"hadoop.proxyuser.hive.hosts": "10.0.0.0/99"})
    known = KnownGroups(Groups(""), lambda user: True, NOW, fresh_s=60.0, changed=lambda user: None)
    with pytest.raises(errors.InvalidConfiguration, match=r"hadoop\.proxyuser\.hive\.hosts"):
        ProxyUserRules(conf, known, NOW)


# Who may speak which protocol.

POLICY = "hadoop-policy.xml"
CLIENT = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
ACL = "security.client.protocol.acl"


class PolicySite:
    """The same for the policy."""

    def __init__(self, directory: Path, *, is_on: bool = True) -> None:
        self.directory = directory
        self.write("joe")
        (directory / "core-site.xml").write_text(
            Configuration({"hadoop.security.authorization": str(is_on).lower()}).to_xml()
        )
        self.waiting: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []
        self.heard: list[ServicePolicy] = []
        known = KnownGroups(
            Groups(""), lambda user: True, NOW, fresh_s=60.0, changed=lambda user: None
        )
        self.rules = ProtocolRules(
            Configuration.load(directory, environment=False),
            known,
            NOW,
            lambda work, found: self.waiting.append((work, found)),
        )
        self.rules.on_change.append(self.heard.append)

    def write(self, user: str, **others: str) -> None:
        (self.directory / POLICY).write_text(Configuration({ACL: user, **others}).to_xml())

    def look(self) -> None:
        work, found = self.waiting.pop(0)
        try:
            found(work())
        except errors.HowdahError as error:
            found(error)

    def may(self, user: str) -> bool:
        told: list[object] = []
        assert self.rules.authorization is not None
        speaker = Speaker(CLIENT, user, user, "10.1.2.3")
        self.rules.authorization.authorize_protocol(speaker, told.append)
        return told == [None]


def test_the_policy_is_that_of_the_files_when_somebody_asks(tmp_path: Path) -> None:
    site = PolicySite(tmp_path)
    told: list[object] = []
    site.write("sue")
    site.rules.read_again(told.append)
    assert (site.may("joe"), site.may("sue"), told, site.heard) == (True, False, [], [])
    site.look()
    assert (site.may("joe"), site.may("sue"), told) == (False, True, [None])
    assert len(site.heard) == 1


def test_the_policy_stays_where_the_files_have_none(tmp_path: Path) -> None:
    site = PolicySite(tmp_path)
    told: list[object] = []
    site.write("sue", **{"security.client.protocol.hosts": "10.0.0.0/99"})
    site.rules.read_again(told.append)
    site.look()
    assert isinstance(told[0], errors.InvalidConfiguration)
    assert (site.may("joe"), site.may("sue"), site.heard) == (True, False, [])


def test_without_the_switch_there_is_no_policy_to_be_read(tmp_path: Path) -> None:
    site = PolicySite(tmp_path, is_on=False)
    told: list[object] = []
    site.rules.read_again(told.append)
    assert isinstance(told[0], errors.AuthorizationFailed)
    assert str(told[0]) == "Service Level Authorization not enabled!"
    assert site.rules.authorization is None
    assert site.waiting == []
