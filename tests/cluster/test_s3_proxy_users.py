"""`howdah s3` under its own name: it acts for the users of its keys, whose permissions count."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from howdah.testing import MiniCluster, NoKdc
from tests.support.s3_gateway import Door, add_key, before

OWNER = getpass.getuser()
RULES = {
    f"hadoop.proxyuser.{OWNER}.users": "alice,bob",
    f"hadoop.proxyuser.{OWNER}.hosts": "127.0.0.1",
}


def check_permissions(cluster: MiniCluster, door: Door) -> None:
    """alice and bob may be acted for, and eve may not, though she has a key."""
    with cluster.connect() as admin:
        admin.mkdirs("/s3")
        admin.set_permission("/s3", 0o1777)
        alice = door.client()
        alice.create_bucket(Bucket="private")
        alice.put_object(Bucket="private", Key="dir/k", Body=b"hers", Metadata={"a": "b"})
        status = admin.get_file_status("/s3/private/dir/k")
        assert (status.owner, status.length) == ("alice", 4)
        admin.set_permission("/s3/private", 0o700)
        head = alice.head_object(Bucket="private", Key="dir/k")
        assert head["Metadata"] == {"a": "b"}
        for user in ("bob", "eve"):
            client = replace(
                door, access_key=f"AK{user.upper()}", secret_key=f"secret+/of-{user}"
            ).client()
            for act in acts_of(client):
                with pytest.raises(ClientError) as refused:
                    act()
                assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403
        assert admin.read_bytes("/s3/private/dir/k") == b"hers"
        names = {each.name for each in admin.list_status("/s3/private/.howdah-s3")}
        assert names == {"alice"}


def acts_of(client: Any) -> tuple[Callable[[], object], ...]:
    place = {"Bucket": "private", "Key": "dir/k"}
    return (
        lambda: client.get_object(**place),
        lambda: client.head_object(**place),
        lambda: client.list_objects_v2(Bucket="private"),
        lambda: client.put_object(**place, Body=b"his"),
        lambda: client.delete_object(**place),
        lambda: client.create_multipart_upload(**place),
        lambda: client.copy_object(Bucket="private", Key="copy", CopySource=place),
        lambda: client.delete_bucket(Bucket="private"),
    )


def add_keys(cluster: MiniCluster) -> None:
    for user in ("bob", "eve"):
        add_key(cluster.dir / "access-keys", user)


def test_users_are_acted_for_as_the_rules_of_the_cluster_say() -> None:
    with MiniCluster(datanodes=1, conf=RULES) as cluster:
        add_keys(cluster)
        with before(cluster, "alice", "-D", "howdah.s3.impersonation=true") as door:
            check_permissions(cluster, door)


@pytest.fixture
def secured() -> Iterator[MiniCluster]:
    try:
        # Its configuration has the login of a gateway, and a rule for that.
        made = MiniCluster(datanodes=1, secure=True, users=("alice", "bob"))
    except NoKdc as missing:
        pytest.skip(missing.message)
    with made:
        yield made


def test_a_gateway_logs_in_before_a_secured_cluster_and_acts_for_users(
    secured: MiniCluster,
) -> None:
    add_keys(secured)
    with before(secured, "alice") as door:
        check_permissions(secured, door)
