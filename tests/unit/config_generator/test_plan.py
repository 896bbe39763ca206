"""What `howdah init` writes: configurations that are read back, and with which nothing is wrong."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.cli.main import main
from howdah.config import Configuration, keys
from howdah.config.keys.names.spelling import is_known
from howdah.config.nameservices import namenode_ids, rpc_addresses
from howdah.config_generator import kerberos, plan
from howdah.config_generator.plan import SSL_CLIENT, SSL_SERVER
from howdah.datanode.settings import check_datanode_protection
from howdah.doctor.certificates import certificate_of
from howdah.doctor.checks import examine
from howdah.doctor.inputs import Facts, Host
from howdah.errors import AuthenticationFailed, AuthorizationFailed, InvalidConfiguration
from howdah.gateway.security import (
    asks_for_proof,
    check_gateway_protection,
    with_plain_keys,
)
from howdah.namenode.server.process.secondary_security import check_secondary_protection
from howdah.namenode.server.security import check_namenode_protection
from howdah.runtime.tls.client import ClientTls
from howdah.runtime.tls.http_policy import among_servers
from howdah.runtime.users.proxy_users import Machines, ProxyUsers, Rules
from howdah.security.settings import SecuritySettings

HOSTS = ("alpha", "beta", "gamma", "delta", "epsilon")


def read(wish: plan.Wish) -> Configuration:
    files = plan.files(wish, {})
    conf = Configuration().with_site_file(files[plan.CORE].encode(), source=plan.CORE)
    return conf.with_site_file(files[plan.HDFS].encode(), source=plan.HDFS)


@given(
    st.integers(1, 5),
    st.sampled_from([None, False]),
    st.booleans(),
    st.booleans(),
    st.integers(1, 4),
    st.booleans(),
    st.sampled_from([None, "EXAMPLE.COM"]),
)
def test_every_plan_is_read_back_with_known_keys_and_nothing_wrong(
    count: int,
    available: bool | None,
    racks: bool,
    hosts_files: bool,
    disks: int,
    https: bool,
    realm: str | None,
) -> None:
    machines = HOSTS[:count]
    wish = plan.Wish(
        machines,
        highly_available=available,
        racks=dict.fromkeys(machines, "/r1") if racks else {},
        rack_script=racks and hosts_files,
        hosts_files=hosts_files,
        data_dirs=tuple(f"/disk{number}/data" for number in range(disks)),
        name_dirs=("/disk0/name", "/disk1/name"),
        https=https or realm is not None,
        realm=realm,
    )
    conf = read(wish)
    conf.check_values()
    assert among_servers(conf) == wish.https
    assert [name for name, _ in conf.items() if not is_known(name)] == []
    assert list(conf.set_in_vain()) == []
    names = conf.get(keys.DFS_NAMESERVICES)
    assert bool(names) == wish.has_takeovers
    ids = namenode_ids(conf, names[0]) if names else ("",)
    shared_edits = conf.get(keys.DFS_NAMENODE_SHARED_EDITS_DIR)
    seen = Facts(
        conf=conf,
        roles=frozenset({"namenode", "datanode"}),
        nameservices={names[0] if names else "": ids},
        hosts=tuple(Host(each, (f"10.0.0.{n}",), n == 0, False) for n, each in enumerate(machines)),
        shared_edits={names[0]: tuple(shared_edits)} if names else {},
        journal_nodes={names[0]: 3} if names else {},
        clock_is_kept=True,
    )
    left = {"one rack"} if not racks else set()
    assert {each.check for each in examine(seen)} <= left


def test_three_machines_have_namenodes_that_take_over() -> None:
    conf = read(plan.Wish(HOSTS[:3]))
    assert conf.get(keys.FS_DEFAULTFS) == "hdfs://howdah"
    assert rpc_addresses(conf, "howdah") == {
        "nn1": ("alpha", 8020),
        "nn2": ("beta", 8020),
        "nn3": ("gamma", 8020),
    }
    (shared,) = conf.get(keys.DFS_NAMENODE_SHARED_EDITS_DIR)
    assert shared == "qjournal://alpha:8485;beta:8485;gamma:8485/howdah"
    assert conf.get(keys.DFS_HA_AUTOMATIC_FAILOVER_ENABLED)


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"machines": ()}, "at least one"),
        ({"machines": ("a", "a")}, "twice"),
        ({"machines": ("a b",)}, "no host name"),
        ({"machines": ("a", "b"), "highly_available": True}, "takes 3 machines"),
        ({"machines": ("a", "b"), "namenodes": 2}, "take high availability"),
        ({"machines": ("a", "b", "c"), "namenodes": 1}, "2 to 3"),
        ({"machines": ("a", "b", "c"), "journal_nodes": 2}, "an odd number"),
        ({"machines": ("a", "b", "c"), "journal_nodes": 1}, "bear the loss"),
        ({"machines": ("a",), "zookeeper": "z:2181"}, "no election"),
        ({"machines": ("a", "b"), "replication": 3}, "can hold 1 to 2"),
        ({"machines": ("a", "b"), "racks": {"a": "/r"}}, "no rack is named for b"),
        ({"machines": ("a",), "racks": {"a": "r"}}, "is no rack"),
        ({"machines": ("a",), "racks": {"a": "/r", "b": "/r"}}, "none of the machines"),
        ({"machines": ("a",), "rack_script": True}, "wants racks"),
        ({"machines": ("a",), "base": "data"}, "no absolute path"),
        ({"machines": ("a",), "name": "a.b"}, "letters, digits"),
        ({"machines": ("a",), "realm": "A B", "https": True}, "is no realm"),
        ({"machines": ("a",), "realm": "A.COM"}, "takes TLS"),
        ({"machines": ("10.0.0.1",), "realm": "A.COM", "https": True}, "principals of names"),
        (
            {"machines": ("a",), "realm": "A.COM", "https": True, "secondary": "10.0.0.1"},
            "principals of names",
        ),
        ({"machines": ("a", "b", "c"), "secondary": "d"}, "for a single namenode"),
        ({"machines": ("a",), "users_group": "a,b"}, "no name of a group"),
        ({"machines": ("a",), "users_group": "*"}, "no name of a group"),
        ({"machines": ("a",), "users_group": "supergroup"}, "would be the superuser"),
    ],
)
def test_wishes_that_make_no_sense_are_refused(wish: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidConfiguration, match=words):
        plan.Wish(**wish)


def test_each_machine_has_a_keytab_of_its_own_servers_alone() -> None:
    wish = plan.Wish(HOSTS[:4], realm="EXAMPLE.COM", https=True)
    lines = plan.files(wish, {})[kerberos.KADMIN_SCRIPT].splitlines()
    keytabs = {line.split()[3]: line.split()[4:] for line in lines if line.startswith("ktadd ")}
    alpha = [f"{one}/alpha@EXAMPLE.COM" for one in ("nn", "dn", "jn", "HTTP")]
    assert keytabs["alpha.keytab"] == alpha
    assert keytabs["delta.keytab"] == ["dn/delta@EXAMPLE.COM", "HTTP/delta@EXAMPLE.COM"]
    made = {line.split()[2] for line in lines if line.startswith("addprinc -randkey ")}
    assert made == {name for names in keytabs.values() for name in names}
    assert len(lines) == len(made) + len(keytabs)


@pytest.mark.parametrize("count", [1, 4])
def test_all_servers_of_a_secured_plan_are_one_user_and_start(count: int) -> None:
    conf = read(plan.Wish(HOSTS[:count], realm="EXAMPLE.COM", https=True))
    check_namenode_protection(conf)
    check_datanode_protection(conf)
    settings = SecuritySettings.from_configuration(conf)
    for one in ("nn", "dn", *(("jn",) if count > 1 else ())):
        assert settings.user_of(f"{one}/alpha@EXAMPLE.COM", "EXAMPLE.COM") == "hdfs"
    with pytest.raises(AuthenticationFailed):
        settings.user_of("nn/alpha@ELSEWHERE.COM", "EXAMPLE.COM")


def test_routers_are_principals_who_act_for_users_from_their_machines_alone() -> None:
    wish = plan.Wish(HOSTS[:3], realm="EXAMPLE.COM", https=True, routers=(HOSTS[2], "gw.example"))
    lines = plan.files(wish, {})[kerberos.KADMIN_SCRIPT].splitlines()
    assert f"addprinc -randkey router/{HOSTS[2].lower()}@EXAMPLE.COM" in lines
    assert (
        "ktadd -norandkey -k gw.example.keytab router/gw.example@EXAMPLE.COM "
        "HTTP/gw.example@EXAMPLE.COM"
    ) in lines
    assert len([line for line in lines if f"HTTP/{HOSTS[2].lower()}@" in line]) == 2
    conf = read(wish)
    assert conf.raw("hadoop.proxyuser.router.hosts") == f"{HOSTS[2]},gw.example"
    assert conf.raw("dfs.federation.router.kerberos.principal") == "router/_HOST@EXAMPLE.COM"
    alone = plan.Wish(HOSTS[:1], realm="EXAMPLE.COM", https=True, routers=("gw.example",))
    assert read(alone).raw("dfs.journalnode.kerberos.principal") == "jn/_HOST@EXAMPLE.COM"
    assert (
        read(plan.Wish(HOSTS[:3], realm="EXAMPLE.COM", https=True)).raw(
            "hadoop.proxyuser.router.hosts"
        )
        is None
    )


@pytest.mark.parametrize("user", ["router", "httpfs"])
def test_who_acts_for_users_acts_for_no_superuser_and_from_nowhere_else(user: str) -> None:
    wish = plan.Wish(HOSTS[:1], realm="EXAMPLE.COM", https=True, routers=("gw",), gateways=("gw",))
    rules = ProxyUsers.parse(read(wish).items(), "hadoop.proxyuser.")
    assert rules.rules[user] == Rules(groups=frozenset({"users"}), machines=Machines(names=("gw",)))
    assert rules.needs_groups(user, "hdfs")
    rules.check_groups(user, "alice", ["alice", "users"])
    with pytest.raises(AuthorizationFailed):
        rules.check_groups(user, "hdfs", ["supergroup"])
    etl = plan.Wish(HOSTS[:1], realm="EXAMPLE.COM", https=True, routers=("gw",), users_group="etl")
    assert read(etl).raw("hadoop.proxyuser.router.groups") == "etl"


def test_gateways_have_keytabs_of_their_own_and_a_file_of_their_own() -> None:
    wish = plan.Wish(HOSTS[:2], realm="EXAMPLE.COM", https=True, gateways=(HOSTS[0], "gw"))
    files = plan.files(wish, {})
    lines = files[kerberos.KADMIN_SCRIPT].splitlines()
    keytabs = {line.split()[3]: line.split()[4:] for line in lines if line.startswith("ktadd ")}
    assert keytabs["alpha.httpfs.keytab"] == [
        "httpfs/alpha@EXAMPLE.COM",
        "HTTP/alpha@EXAMPLE.COM",
    ]
    assert "httpfs/alpha@EXAMPLE.COM" not in keytabs["alpha.keytab"]
    assert "gw.keytab" not in keytabs, "a gateway alone is no other server"
    assert len([line for line in lines if line == "addprinc -randkey HTTP/alpha@EXAMPLE.COM"]) == 1
    assert "httpfs." not in files[plan.HDFS]
    conf = read(wish).with_site_file(files[plan.HTTPFS].encode(), source=plan.HTTPFS)
    conf.check_values()
    assert [name for name, _ in conf.items() if not is_known(name)] == []
    gateway = with_plain_keys(conf)
    check_gateway_protection(gateway)
    assert asks_for_proof(gateway)
    assert conf.get(keys.HTTPFS_SSL_ENABLED)
    one = plan.Wish(HOSTS[:1], realm="EXAMPLE.COM", https=True, gateways=("gw",))
    assert "<value>gw</value>" in plan.files(one, {})[plan.HTTPFS]
    assert "howdah httpfs" in plan.next_steps(one)[-1]
    assert any("group users" in line and "not hdfs" in line for line in plan.next_steps(one))


@pytest.mark.parametrize("realm", [None, "EXAMPLE.COM"])
def test_a_secondary_has_an_address_and_a_login_that_its_namenode_takes(realm: str | None) -> None:
    wish = plan.Wish(HOSTS[:1], realm=realm, https=realm is not None, secondary="snn")
    conf = read(wish)
    check_secondary_protection(conf)
    check_namenode_protection(conf)
    assert conf.get(keys.DFS_NAMENODE_SECONDARY_HTTP_ADDRESS) == ("snn", 9868)
    assert plan.next_steps(wish)[-1] == "on snn: howdah secondarynamenode"
    assert "on alpha, snn, and on clients" in plan.next_steps(wish)[0]
    if realm is None:
        return
    assert conf.get(keys.DFS_NAMENODE_SECONDARY_HTTPS_ADDRESS) == ("snn", 9869)
    lines = plan.files(wish, {})[kerberos.KADMIN_SCRIPT].splitlines()
    assert "ktadd -norandkey -k snn.keytab nn/snn@EXAMPLE.COM HTTP/snn@EXAMPLE.COM" in lines
    settings = SecuritySettings.from_configuration(conf)
    assert settings.user_of("nn/snn@EXAMPLE.COM", "EXAMPLE.COM") == "hdfs"


def test_certificates_are_for_all_machines(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="certificates are made by cryptography")
    words = "init --machines alpha --secondary snn --routers rt --gateways gw --secure"
    more = ["--realm", "EXAMPLE.COM", "--self-signed", "--to", str(tmp_path)]
    assert main([*words.split(), *more]) == 0
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import pkcs12

    text = (tmp_path / SSL_SERVER).read_bytes()
    described = Configuration().with_site_file(text, source=SSL_SERVER)
    password = described.raw("ssl.server.keystore.password") or ""
    kept = (tmp_path / plan.TLS_DIR / "keystore.p12").read_bytes()
    certificate = pkcs12.load_key_and_certificates(kept, password.encode())[1]
    assert certificate is not None
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert {"alpha", "snn", "rt", "gw"} <= set(names.get_values_for_type(x509.DNSName))


@pytest.mark.parametrize("named", ["routers", "gateways"])
def test_routers_and_gateways_without_kerberos_are_refused(named: str) -> None:
    with pytest.raises(InvalidConfiguration, match="where Kerberos is"):
        plan.Wish(HOSTS[:3], **{named: ("gw",)})  # type: ignore[arg-type] # of one field


def test_a_realm_without_kerberos_is_refused() -> None:
    assert main(["init", "--machines", "localhost", "--realm", "EXAMPLE.COM"]) == 255


def test_what_is_given_wins() -> None:
    conf = read(plan.Wish(("a",), values={"dfs.replication": "1", "net.x": "<&>"}))
    assert conf.get(keys.DFS_REPLICATION) == 1
    assert conf.raw("net.x") == "<&>"


def test_the_rack_script_prints_the_rack_of_each_address(tmp_path: Path) -> None:
    words = "init --machines localhost,127.0.0.9 --racks localhost=/a,127.0.0.9=/b --rack-script"
    assert main([*words.split(), "--to", str(tmp_path), "--hosts-files"]) == 0
    script = tmp_path / plan.RACK_SCRIPT
    done = subprocess.run(
        [script, "127.0.0.1", "127.0.0.9", "10.1.1.1"], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["/a", "/b", "/default-rack"]
    assert (tmp_path / plan.HOSTS_FILE).read_text() == "localhost\n127.0.0.9\n"


def test_files_that_are_there_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["init", "--machines", "localhost", "--to", str(tmp_path)]
    assert main(words) == 0
    (tmp_path / plan.CORE).write_text("mine")
    assert main(words) == 1
    assert "--force replaces" in capsys.readouterr().err
    assert (tmp_path / plan.CORE).read_text() == "mine"
    assert main([*words, "--force", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["files"] == [str(tmp_path / plan.CORE), str(tmp_path / plan.HDFS)]
    assert "howdah namenode -format" in " ".join(told["next"])


def test_without_a_terminal_and_machines_it_says_what_it_wants(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["init"]) == 255
    assert "--machines" in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_it_asks_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = ["alpha,beta,gamma", "", "/srv", "/disk1,/disk2", "", "", "yes", str(tmp_path)]
    monkeypatch.setattr("sys.stdin", Terminal("".join(f"{each}\n" for each in answers)))
    assert main(["init"]) == 0
    conf = Configuration.load(tmp_path, environment=False)
    assert [str(path) for _, path in conf.get(keys.DFS_DATANODE_DATA_DIR)] == ["/disk1", "/disk2"]
    assert [str(path) for path in conf.get(keys.DFS_NAMENODE_NAME_DIR)] == ["/srv/name"]
    assert os.path.basename(conf.get(keys.HADOOP_TMP_DIR)) == "tmp"
    assert "on alpha, beta, gamma: howdah zkfc" in capsys.readouterr().out
    assert conf.get(keys.DFS_HTTP_POLICY) == "HTTPS_ONLY"


def test_a_half_answered_question_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", Terminal("alpha\n"))
    assert main(["init"]) == 255
    assert list(tmp_path.iterdir()) == []


# -- TLS -----------------------------------------------------------------------------------


@pytest.mark.req("FS-298")
def test_with_tls_every_server_has_a_secure_address_in_reach() -> None:
    conf = read(plan.Wish(HOSTS, https=True))
    for number, host in enumerate(HOSTS[:3], 1):
        assert conf.raw(f"dfs.namenode.https-address.howdah.nn{number}") == f"{host}:9871"
    for address in (
        conf.get(keys.DFS_DATANODE_HTTPS_ADDRESS),
        conf.get(keys.DFS_JOURNALNODE_HTTPS_ADDRESS),
        conf.get(keys.HOWDAH_FAILOVER_CONTROLLER_HTTPS_ADDRESS),
    ):
        assert (address or ("", 0))[0] == "0.0.0.0", address
    single = read(plan.Wish(("alpha",), https=True))
    assert single.get(keys.DFS_NAMENODE_HTTPS_ADDRESS) == ("alpha", 9871)
    assert SSL_SERVER not in plan.files(plan.Wish(HOSTS), {})


def shell(command: str, directory: Path) -> None:
    done = subprocess.run(["sh", "-ec", command], cwd=directory, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.req("FS-298")
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_what_it_says_of_certificates_makes_some(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["init", "--machines", "alpha", "--to", str(tmp_path), "--https", "--json"]
    assert main(words) == 0
    steps = [step for step in json.loads(capsys.readouterr().out)["next"] if "server.csr" in step]
    make = steps[0].partition("certificate: ")[2].partition("; the name")[0]
    (tmp_path / "tls").mkdir()
    shell(make.replace("$(hostname -f)", "alpha"), tmp_path)
    shell(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=ca "
        "-keyout ca.key -out tls/ca.pem && openssl x509 -req -in server.csr -CA tls/ca.pem "
        "-CAkey ca.key -CAcreateserial -copy_extensions copy -out server.crt",
        tmp_path,
    )
    shell(steps[1].partition("on each machine: ")[2], tmp_path)
    conf = Configuration.load(tmp_path, environment=False)
    found = certificate_of(conf)
    assert (found.problem, found.open_to_all) == ("", ())
    assert found.path == str(tmp_path / "tls" / "server.pem")
    assert ClientTls(conf).context("alpha") is not None


@pytest.mark.req("FS-298")
def test_a_self_signed_set_is_made_with_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("cryptography", reason="certificates are made by cryptography")
    words = ["init", "--machines", "alpha,[::1]", "--to", str(tmp_path), "--self-signed"]
    assert main(words) == 0
    told = capsys.readouterr()
    assert "warning: the certificates are of an authority that was made for this" in told.err
    assert "chmod 600" in told.out
    assert {path.name for path in (tmp_path / "tls").iterdir()} == {
        "ca.pem",
        "keystore.p12",
        "truststore.p12",
    }
    for name in (SSL_SERVER, "tls/keystore.p12"):
        assert (tmp_path / name).stat().st_mode & 0o077 == 0
    found = certificate_of(Configuration.load(tmp_path, environment=False))
    assert (found.problem, found.open_to_all) == ("", ())
    before = (tmp_path / "tls" / "keystore.p12").read_bytes()
    assert main(words) == 1
    assert "--force replaces" in capsys.readouterr().err
    assert (tmp_path / "tls" / "keystore.p12").read_bytes() == before
    assert main([*words, "--force", "--json"]) == 0
    told_json = json.loads(capsys.readouterr().out)
    assert str(tmp_path / "tls" / "keystore.p12") in told_json["files"]
    assert told_json["warnings"] == [plan.SELF_SIGNED_WARNING]
    assert (tmp_path / "tls" / "keystore.p12").read_bytes() != before
    assert certificate_of(Configuration.load(tmp_path, environment=False)).problem == ""


def test_certificates_that_will_lie_elsewhere_are_described_there(
    tmp_path: Path,
) -> None:
    pytest.importorskip("cryptography", reason="certificates are made by cryptography")
    words = ["init", "--machines", "alpha", "--to", str(tmp_path), "--self-signed"]
    assert main([*words, "--conf-dir", "/etc/howdah"]) == 0
    for name in (SSL_SERVER, SSL_CLIENT):
        text = (tmp_path / name).read_text()
        assert "/etc/howdah/tls/truststore.p12" in text
        assert str(tmp_path) not in text
