from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from howdah.config import Configuration, keys, namenode_address
from howdah.errors import InvalidConfiguration


def site(directory: Path, properties: str, name: str = "hdfs-site.xml") -> Path:
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(
        f"<?xml version='1.0'?><configuration>{properties}</configuration>"
    )
    return directory


def prop(name: str, value: str, *, final: bool = False) -> str:
    mark = "<final>true</final>" if final else ""
    return f"<property><name>{name}</name><value>{value}</value>{mark}</property>"


@pytest.fixture(autouse=True)
def no_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)


# -- files ------------------------------------------------------------------------


def test_hdfs_site_replaces_core_site(tmp_path: Path) -> None:
    site(tmp_path, prop("dfs.replication", "1"), "core-site.xml")
    site(tmp_path, prop("dfs.replication", "2"))
    assert Configuration.load(tmp_path).get(keys.DFS_REPLICATION) == 2


def test_final_value_is_not_replaced_by_a_later_file(tmp_path: Path) -> None:
    site(tmp_path, prop("dfs.replication", "1", final=True), "core-site.xml")
    site(tmp_path, prop("dfs.replication", "2"))
    assert Configuration.load(tmp_path).get(keys.DFS_REPLICATION) == 1


def test_override_wins_over_a_final_value(tmp_path: Path) -> None:
    site(tmp_path, prop("dfs.replication", "1", final=True))
    conf = Configuration.load(tmp_path, {"dfs.replication": "5"})
    assert conf.get(keys.DFS_REPLICATION) == 5


def test_environment_names_the_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(site(tmp_path, prop("dfs.replication", "4"))))
    assert Configuration.load().get(keys.DFS_REPLICATION) == 4


def test_environment_may_be_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(site(tmp_path, prop("dfs.replication", "4"))))
    assert Configuration.load(environment=False).get(keys.DFS_REPLICATION) == 3


def test_defaults_hold_where_there_is_no_file() -> None:
    assert Configuration.load().get(keys.DFS_BLOCKSIZE) == 128 * 1024 * 1024


def test_named_directory_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match="nowhere"):
        Configuration.load(tmp_path / "nowhere")


def test_property_may_be_written_as_attributes(tmp_path: Path) -> None:
    site(tmp_path, "<property name='dfs.replication' value='7'/>")
    assert Configuration.load(tmp_path).get(keys.DFS_REPLICATION) == 7


def test_comments_and_unknown_elements_are_passed_over(tmp_path: Path) -> None:
    site(
        tmp_path,
        "<!-- a remark --><property><name> dfs.replication </name><!-- two --><value>2</value>"
        "<description>how <b>many</b></description></property>",
    )
    assert Configuration.load(tmp_path).get(keys.DFS_REPLICATION) == 2


def test_included_file_is_read_relative_to_its_parent(tmp_path: Path) -> None:
    site(tmp_path / "more", prop("dfs.replication", "6"), "extra.xml")
    site(
        tmp_path,
        "<xi:include xmlns:xi='http://www.w3.org/2001/XInclude' href='more/extra.xml'/>",
    )
    assert Configuration.load(tmp_path).get(keys.DFS_REPLICATION) == 6


def test_missing_included_file_is_an_error(tmp_path: Path) -> None:
    site(tmp_path, "<include href='gone.xml'/>")
    with pytest.raises(InvalidConfiguration, match=r"gone\.xml does not exist"):
        Configuration.load(tmp_path)


@pytest.mark.parametrize(
    ("is_there", "expected"), [(True, ("in the file", None)), (False, ("fallen back", "2"))]
)
def test_fallback_counts_only_where_the_included_file_is_not_there(
    tmp_path: Path, is_there: bool, expected: tuple[str, str | None]
) -> None:
    if is_there:
        (tmp_path / "extra.xml").write_text(
            "<configuration><property><name>a.a</name><value>in the file</value></property>"
            "</configuration>"
        )
    site(
        tmp_path,
        "<xi:include xmlns:xi='http://www.w3.org/2001/XInclude' href='extra.xml'><xi:fallback>"
        "<property><name>a.a</name><value>fallen back</value></property>"
        "<property><name>a.b</name><value>2</value></property></xi:fallback></xi:include>"
        "<property><name>a.c</name><value>3</value></property>",
    )
    conf = Configuration.load(tmp_path)
    assert (conf.raw("a.a"), conf.raw("a.b")) == expected
    assert conf.raw("a.c") == "3"


def test_file_that_may_be_missing_has_an_empty_fallback(tmp_path: Path) -> None:
    site(tmp_path, "<include href='gone.xml'><fallback/></include>")
    assert list(Configuration.load(tmp_path).items()) == []


def test_file_that_includes_itself_is_an_error(tmp_path: Path) -> None:
    site(tmp_path, "<include href='hdfs-site.xml'/>")
    with pytest.raises(InvalidConfiguration, match="includes one in another"):
        Configuration.load(tmp_path)


def test_remote_include_is_refused(tmp_path: Path) -> None:
    site(tmp_path, "<include href='http://example.org/site.xml'/>")
    with pytest.raises(InvalidConfiguration, match="only local files"):
        Configuration.load(tmp_path)


def test_broken_xml_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "core-site.xml").write_text("<configuration><property>")
    with pytest.raises(InvalidConfiguration, match=r"core-site\.xml is not well-formed"):
        Configuration.load(tmp_path)


def test_other_top_element_is_refused(tmp_path: Path) -> None:
    (tmp_path / "core-site.xml").write_text("<html/>")
    with pytest.raises(InvalidConfiguration, match="expected <configuration>"):
        Configuration.load(tmp_path)


def test_entity_declaration_is_refused(tmp_path: Path) -> None:
    (tmp_path / "core-site.xml").write_text(
        "<!DOCTYPE c [<!ENTITY a 'aaaa'>]><configuration></configuration>"
    )
    with pytest.raises(InvalidConfiguration, match="entity declarations"):
        Configuration.load(tmp_path)


def test_property_without_a_name_is_refused(tmp_path: Path) -> None:
    site(tmp_path, "<property><value>3</value></property>")
    with pytest.raises(InvalidConfiguration, match="without a <name>"):
        Configuration.load(tmp_path)


def test_property_without_a_value_leaves_the_default(tmp_path: Path) -> None:
    site(tmp_path, "<property><name>dfs.replication</name></property>")
    assert Configuration.load(tmp_path).get(keys.DFS_REPLICATION) == 3


def test_written_file_is_read_back_the_same(tmp_path: Path) -> None:
    conf = Configuration({"fs.defaultFS": "hdfs://h:1", "x": "<&>'\" ${user.name}"})
    (tmp_path / "core-site.xml").write_text(conf.to_xml())
    assert dict(Configuration.load(tmp_path).items()) == dict(conf.items())


def test_written_file_is_plain_xml(tmp_path: Path) -> None:
    root = ElementTree.fromstring(Configuration({"a": "1"}).to_xml())
    assert [(p.findtext("name"), p.findtext("value")) for p in root] == [("a", "1")]


# -- names ------------------------------------------------------------------------


@pytest.mark.parametrize(("old", "new"), sorted(keys.DEPRECATED.items()))
def test_deprecated_name_sets_the_key_of_today(old: str, new: str) -> None:
    conf = Configuration({old: "value"})
    assert conf.raw(new) == "value"
    assert conf.raw(old) == "value"


def test_deprecated_name_in_a_file_sets_the_key_of_today(tmp_path: Path) -> None:
    site(tmp_path, prop("dfs.block.size", "1m"))
    assert Configuration.load(tmp_path).get(keys.DFS_BLOCKSIZE) == 1048576


def test_deprecated_names_lead_to_known_keys() -> None:
    assert set(keys.DEPRECATED.values()) <= set(keys.KNOWN)


def test_constants_are_named_after_their_keys() -> None:
    constants = {name.upper().replace(".", "_").replace("-", "_"): name for name in keys.KNOWN}
    found = {name: getattr(keys, constant, None) for constant, name in constants.items()}
    assert [name for name, key in found.items() if key is not keys.KNOWN[name]] == []


def test_defaults_are_readable() -> None:
    conf, unreadable = Configuration(), []
    for name, key in keys.KNOWN.items():
        try:
            conf.get(key)
        except InvalidConfiguration as error:
            unreadable.append((name, str(error)))
    assert unreadable == []


def test_default_addresses_are_on_loopback() -> None:
    addresses = {n: key.default for n, key in keys.KNOWN.items() if key.kind == "address"}
    given = {name: default for name, default in addresses.items() if default is not None}
    assert [name for name, at in given.items() if not at.startswith("127.0.0.1:")] == []
    assert given


def test_unknown_key_is_text(tmp_path: Path) -> None:
    assert Configuration({"my.own": " x "}).raw("my.own") == " x "


def test_unset_unknown_key_is_none() -> None:
    assert Configuration().raw("my.own") is None


# -- variables ---------------------------------------------------------------------


def test_variable_is_another_key() -> None:
    conf = Configuration({"hadoop.tmp.dir": "/data"})
    assert conf.get(keys.DFS_NAMENODE_NAME_DIR) == [Path("/data/dfs/name")]


def test_variables_nest() -> None:
    conf = Configuration({"a": "${b}/a", "b": "${c}/b", "c": "c"})
    assert conf.raw("a") == "c/b/a"


def test_user_name_is_the_system_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "ann")
    assert Configuration({"a": "${user.name}"}).raw("a") == "ann"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("${env.HERE}", "yes"),
        ("${env.EMPTY}", ""),
        ("${env.GONE}", "${env.GONE}"),
        ("${env.GONE-other}", "other"),
        ("${env.EMPTY-other}", ""),
        ("${env.EMPTY:-other}", "other"),
        ("${env.HERE:-other}", "yes"),
    ],
)
def test_environment_is_read_as_in_a_shell(
    expression: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERE", "yes")
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.delenv("GONE", raising=False)
    assert Configuration({"a": expression}).raw("a") == expected


def test_unknown_variable_stays_as_it_stands() -> None:
    assert Configuration({"a": "${nobody}/${b}", "b": "2"}).raw("a") == "${nobody}/2"


def test_cycle_of_variables_is_an_error() -> None:
    with pytest.raises(InvalidConfiguration, match="is there a cycle"):
        Configuration({"a": "${b}", "b": "${a}"}).raw("a")


def test_twenty_variables_in_one_value_are_allowed() -> None:
    assert Configuration({"a": "${b}" * 20, "b": "x"}).raw("a") == "x" * 20


# -- values ------------------------------------------------------------------------


def test_bad_value_names_key_value_and_file(tmp_path: Path) -> None:
    site(tmp_path, prop("dfs.replication", "many"))
    with pytest.raises(InvalidConfiguration) as caught:
        Configuration.load(tmp_path).get(keys.DFS_REPLICATION)
    message = str(caught.value)
    assert "dfs.replication" in message
    assert "'many'" in message
    assert str(tmp_path / "hdfs-site.xml") in message


def test_bad_override_names_the_command_line() -> None:
    conf = Configuration.load(None, {"dfs.replication": "0"})
    with pytest.raises(InvalidConfiguration, match=r"command line.*at least 1"):
        conf.get(keys.DFS_REPLICATION)


def test_configuration_is_left_alone_by_with_values() -> None:
    conf = Configuration({"dfs.replication": "2"})
    conf.with_values({"dfs.replication": "9"})
    assert conf.get(keys.DFS_REPLICATION) == 2


def test_optional_key_is_none_where_it_is_empty() -> None:
    conf = Configuration({"dfs.client.read.prefetch.size": ""})
    assert conf.get(keys.DFS_CLIENT_READ_PREFETCH_SIZE) is None


def test_source_of_an_unset_key_is_the_default() -> None:
    assert Configuration().source("dfs.replication") == "default"


# -- the namenode's address ----------------------------------------------------------


def test_rpc_address_goes_before_the_default_filesystem() -> None:
    conf = Configuration({"dfs.namenode.rpc-address": "a:1", "fs.defaultFS": "hdfs://b:2"})
    assert namenode_address(conf) == ("a", 1)


def test_default_filesystem_without_a_port_is_at_8020() -> None:
    assert namenode_address(Configuration({"fs.defaultFS": "hdfs://b/"})) == ("b", 8020)


def test_default_filesystem_of_another_kind_names_no_namenode() -> None:
    with pytest.raises(InvalidConfiguration, match="names no namenode"):
        namenode_address(Configuration())


def test_files_are_read_anew_and_what_was_given_beside_them_stays(tmp_path: Path) -> None:
    site = tmp_path / "hdfs-site.xml"

    def write(blocksize: str, replication: str) -> None:
        site.write_text(
            "<configuration>"
            f"<property><name>dfs.blocksize</name><value>{blocksize}</value></property>"
            f"<property><name>dfs.replication</name><value>{replication}</value></property>"
            "</configuration>"
        )

    write("1m", "2")
    conf = Configuration.load(tmp_path, {"dfs.replication": "5"}).with_values({"a.b": "c"})
    write("2m", "3")
    fresh = conf.reloaded()
    assert (conf.get(keys.DFS_BLOCKSIZE), fresh.get(keys.DFS_BLOCKSIZE)) == (1 << 20, 2 << 20)
    assert (fresh.get(keys.DFS_REPLICATION), fresh.raw("a.b")) == (5, "c")
    assert fresh.reloaded().get(keys.DFS_REPLICATION) == 5
