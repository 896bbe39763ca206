"""Who may speak which protocol. Verdicts and words are Hadoop's
(`tests/compat/test_service_authorization.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.config.keys.names.policy_names import POLICY_NAMES
from howdah.runtime.users.service_policy import SERVICES, GroupsOf, ServicePolicy, Speaker

CLIENT = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
DATANODE = "org.apache.hadoop.hdfs.server.protocol.DatanodeProtocol"
GROUPS = {"joe": ("staff", "x"), "sue": ("admins",)}
DENIED = (
    "User {} (auth:SIMPLE) is not authorized for protocol interface {}: denied by configured ACL"
)
ACL = "security.client.protocol.acl"
HOSTS = "security.client.protocol.hosts"
DEFAULT = "security.service.authorization.default"


def verdict(
    values: Mapping[str, str],
    user: str = "joe",
    address: str = "10.1.2.3",
    protocol: str = CLIENT,
    machines: Mapping[str, Sequence[str]] | None = None,
    principal: str | None = None,
    asked: list[object] | None = None,
) -> str:
    """What the connection is told; `ok` if it may speak."""
    speaker = Speaker(protocol, user, f"{user} (auth:SIMPLE)", address, principal)
    judgement = ServicePolicy.parse(values.get).judge(speaker)
    answer: Sequence[str] | None = None
    try:
        question = judgement.send(None)
        while True:
            if asked is not None:
                asked.append(question)
            if isinstance(question, GroupsOf):
                answer = GROUPS.get(question.user, ())
            elif machines is None:
                question = judgement.throw(errors.RetriableError("nobody can be asked"))
                continue
            else:
                answer = machines.get(question.machine, ())
            question = judgement.send(answer)
    except StopIteration:
        return "ok"
    except errors.HowdahError as error:
        return error.message


def test_without_lists_everybody_speaks_every_protocol_from_everywhere() -> None:
    asked: list[object] = []
    verdicts = {verdict({}, protocol=each, asked=asked) for each in SERVICES}
    assert verdicts == {"ok"}
    assert asked == []


def test_the_keys_of_all_protocols_are_known_names() -> None:
    used = {f"{prefix}.acl" for prefix in (*SERVICES.values(), DEFAULT)}
    assert used <= POLICY_NAMES


def test_an_unknown_protocol_is_spoken_by_nobody() -> None:
    assert verdict({}, protocol="x.Y") == "Protocol interface x.Y is not known."


@pytest.mark.parametrize(
    ("text", "joe", "sue"),
    [
        ("*", True, True),
        (" * ", True, True),
        ("joe", True, False),
        ("ann,joe ", True, False),
        # A blank behind a comma begins the groups, too.
        ("ann, joe", False, False),
        (" staff", True, False),
        ("sue staff,other", True, True),
        ("ann admins", False, True),
        ("joe *", True, True),
        ("", False, False),
        (" ", False, False),
        # A star among others is a name.
        ("*,ann", False, False),
    ],
)
def test_a_list_names_users_and_groups(text: str, joe: bool, sue: bool) -> None:
    for user, may in (("joe", joe), ("sue", sue)):
        said = "ok" if may else DENIED.format(user, CLIENT)
        assert verdict({ACL: text}, user) == said
        said = DENIED.format(user, CLIENT) if may else "ok"
        assert verdict({f"{ACL}.blocked": text}, user) == said


def test_who_is_listed_and_blocked_is_refused() -> None:
    values = {ACL: "joe,sue", f"{ACL}.blocked": " staff"}
    assert verdict(values) == DENIED.format("joe", CLIENT)
    assert verdict(values, "sue") == "ok"


def test_groups_are_asked_for_where_no_list_names_the_user() -> None:
    asked: list[object] = []
    assert verdict({ACL: "joe staff"}, asked=asked) == "ok"
    assert asked == []
    assert verdict({ACL: "ann staff"}, asked=asked) == "ok"
    assert asked == [GroupsOf("joe")]


def test_a_protocol_has_its_own_lists() -> None:
    values = {ACL: "joe", "security.datanode.protocol.acl": "hdfs"}
    assert verdict(values) == "ok"
    assert verdict(values, protocol=DATANODE) == DENIED.format("joe", DATANODE)
    assert verdict(values, "hdfs", protocol=DATANODE) == "ok"


def test_what_is_not_set_is_the_default() -> None:
    values = {f"{DEFAULT}.acl": "hdfs", ACL: "joe", f"{DEFAULT}.hosts.blocked": "10.1.2.9"}
    assert verdict(values) == "ok"
    assert verdict(values, "hdfs", protocol=DATANODE) == "ok"
    assert verdict(values, protocol=DATANODE) == DENIED.format("joe", DATANODE)
    said = f"Host 10.1.2.9 is not authorized for protocol interface {CLIENT}"
    assert verdict(values, address="10.1.2.9") == said
    assert verdict({**values, f"{HOSTS}.blocked": ""}, address="10.1.2.9") == "ok"
    blocked = {f"{DEFAULT}.acl.blocked": "joe"}
    assert verdict(blocked) == DENIED.format("joe", CLIENT)


def test_of_a_protocol_for_one_principal_a_refusal_names_that() -> None:
    said = verdict({ACL: ""}, principal="dn/here@REALM")
    assert said.endswith(f"interface {CLIENT}: this service is only accessible by dn/here@REALM")


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("*", True),
        ("10.1.2.3", True),
        ("10.1.2.4, 10.1.2.3", True),
        ("10.1.0.0/16", True),
        ("10.2.0.0/16", False),
        ("10.1.2.4", False),
        ("", False),
        ("here", True),
        ("there", False),
        ("there,here", True),
    ],
)
def test_a_list_names_machines(text: str, may: bool) -> None:
    machines = {"here": ("10.1.2.3",), "there": ("10.9.9.9",)}
    refused = f"Host 10.1.2.3 is not authorized for protocol interface {CLIENT}"
    assert verdict({HOSTS: text}, machines=machines) == ("ok" if may else refused)
    said = verdict({f"{HOSTS}.blocked": text}, machines=machines)
    assert said == (refused if may else "ok")


def test_a_machine_that_cannot_be_looked_up_lets_nobody_in_and_nobody_past() -> None:
    assert verdict({HOSTS: "here"}).startswith("Host 10.1.2.3 is not authorized")
    assert verdict({HOSTS: "here,10.1.2.3"}) == "ok"
    assert verdict({f"{HOSTS}.blocked": "there"}) == "nobody can be asked"


def test_a_range_that_is_none_is_told_with_its_key() -> None:
    with pytest.raises(errors.InvalidConfiguration, match=r"protocol\.hosts = '10.0.0.0/99'"):
        ServicePolicy.parse({HOSTS: "10.0.0.0/99"}.get)


NAMES = st.sampled_from(["joe", "sue", "ann", "*", "", " "])
GROUP_NAMES = st.sampled_from(["staff", "admins", "x", "*", "", " "])
LISTS = st.builds(
    lambda users, groups: ",".join(users) + " " + ",".join(groups),
    st.lists(NAMES, max_size=3),
    st.lists(GROUP_NAMES, max_size=3),
)


@given(
    st.dictionaries(
        st.sampled_from(sorted(POLICY_NAMES)), LISTS.filter(lambda text: "/" not in text)
    )
)
def test_what_is_blocked_as_well_only_takes_away(values: dict[str, str]) -> None:
    """Every list is read, whatever it says, and to block somebody lets in nobody."""
    for user in ("joe", "sue"):
        before = verdict(values, user, machines={})
        after = verdict({**values, f"{ACL}.blocked": "sue admins"}, user, machines={})
        if user == "sue":
            assert after == DENIED.format("sue", CLIENT)
        else:
            unblocked = verdict({**values, f"{ACL}.blocked": ""}, user, machines={})
            assert after == unblocked
            assert before in (after, DENIED.format("joe", CLIENT))
