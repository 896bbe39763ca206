"""Mount tables: what their keys say, and what a path leads to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.fs import paths
from howdah.fs.viewfs import links
from howdah.fs.viewfs.mount_table import MountTable

T = "fs.viewfs.mounttable.c."


def of(*entries: tuple[str, str], nested: bool = True) -> MountTable:
    return links.parse("c", [(T + key, value) for key, value in entries], nested=nested)


def leads_to(found: MountTable, path: str, *, last: bool = True) -> str:
    """The URI that a path is resolved to; of an internal directory its path and the rest."""
    resolved = found.resolve(path, last=last)
    if resolved.link is None:
        assert resolved.directory is not None
        return f"{resolved.directory.path}|{resolved.remaining}"
    target = resolved.link.target
    return f"{target.scheme}://{target.authority}{resolved.behind}"


@pytest.mark.req("FS-043", "FS-047")
@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("/user", "hdfs://one/u"),
        ("/user/me/f", "hdfs://one/u/me/f"),
        ("/share/data/x", "hdfs://two/x"),
        ("/share", "/share|/"),
        ("/", "/|/"),
    ],
)
def test_a_path_leads_where_its_link_says(path: str, uri: str) -> None:
    found = of(("link./user", "hdfs://one/u"), ("link./share/data", "hdfs://two/"))
    assert leads_to(found, path) == uri


def test_what_no_link_covers_does_not_exist() -> None:
    found = of(("link./a/b", "hdfs://one/"))
    with pytest.raises(errors.PathNotFound, match=r"File/Directory does not exist: /a/c$"):
        found.resolve("/a/c/d")


def test_what_no_link_covers_is_in_the_fallback_under_its_whole_path() -> None:
    found = of(("link./a/b", "hdfs://one/"), ("linkFallback", "hdfs://rest/top"))
    assert leads_to(found, "/a/c/d") == "hdfs://rest/top/a/c/d"
    assert leads_to(found, "/a") == "/a|/"
    assert not found.resolve("/a/c").is_mount_link


def test_a_merge_slash_table_is_one_target() -> None:
    found = of(("linkMergeSlash", "hdfs://one/"))
    assert leads_to(found, "/a/b") == "hdfs://one/a/b"
    assert leads_to(found, "/") == "hdfs://one/"
    assert found.resolve("/").is_mount_point


def test_the_longest_of_nested_links_counts() -> None:
    found = of(("link./a/b/c", "hdfs://two/"), ("link./a", "hdfs://one/x"))
    assert leads_to(found, "/a/b/c/d") == "hdfs://two/d"
    assert leads_to(found, "/a") == "hdfs://one/x"
    assert leads_to(found, "/a/f") == "hdfs://one/x/f"
    # Not `/f`, as Hadoop 3.5 has it: that is the file `/a/f`.
    assert leads_to(found, "/a/b/f") == "hdfs://one/x/b/f"
    assert leads_to(found, "/a/b") == "hdfs://one/x/b"


def test_nested_links_can_be_forbidden() -> None:
    with pytest.raises(
        errors.PathExists, match=r"/a already exists as link.*link\./a/b lies below"
    ):
        of(("link./a", "hdfs://one/"), ("link./a/b", "hdfs://two/"), nested=False)


def test_a_new_name_belongs_to_the_directory_above() -> None:
    found = of(("link./a/b", "hdfs://one/"))
    assert leads_to(found, "/a/b", last=False) == "/a|/b"
    assert leads_to(found, "/a/b/c", last=False) == "hdfs://one/c"
    assert leads_to(found, "/new", last=False) == "/|/new"


def test_other_tables_and_keys_of_all_tables_are_passed_over() -> None:
    found = links.parse(
        "c",
        [
            (T + "link./a", "hdfs://one/"),
            ("fs.viewfs.mounttable.d.link./b", "hdfs://two/"),
            ("fs.viewfs.mounttable.path", "hdfs://x/"),
            (T + "homedir", "/home"),
        ],
    )
    assert list(found.links) == ["/a"]
    assert found.home_prefix == "/home"
    default = links.parse("default", [("fs.viewfs.mounttable.default.name.key", "c")])
    assert default.is_empty


@pytest.mark.parametrize(
    ("entries", "kind", "said"),
    [
        ([("link.a", "hdfs://x/")], errors.InvalidConfiguration, "Non absolute mount name"),
        ([("link./", "hdfs://x/")], errors.InvalidConfiguration, "Use linkMergeSlash instead"),
        ([("link./a/../b", "hdfs://x/")], errors.InvalidConfiguration, "`.` or `..`"),
        ([("link.//a", "hdfs://x/")], errors.InvalidConfiguration, "is empty"),
        ([("link./a", "/no/scheme")], errors.InvalidConfiguration, "no URI of a filesystem"),
        ([("link./a", "")], errors.InvalidConfiguration, "no URI of a filesystem"),
        ([("link./a", "hdfs://x/../..")], errors.InvalidConfiguration, "above the root"),
        ([("link./a", "hdfs://x/"), ("link./a/", "hdfs://y/")], errors.PathExists, "cannot create"),
        ([("linkFallback.x", "hdfs://x/")], errors.InvalidConfiguration, "Invalid linkFallback"),
        ([("linkMerge./a", "hdfs://x/")], errors.UnsupportedOperation, "linkMerge"),
        (
            [("linkMergeSlash", "hdfs://x/"), ("link./a", "hdfs://x/")],
            errors.InvalidConfiguration,
            "merge slash link",
        ),
        ([("lnik./a", "hdfs://x/")], errors.InvalidConfiguration, "Invalid entry in Mount table"),
        ([("homedir", "home")], errors.InvalidConfiguration, "Home dir should start with"),
        ([("linkNfly./a", "mem://x/,mem://y/")], errors.InvalidConfiguration, "linkNfly.SETTINGS"),
        ([("linkNfly../a", "mem://x/")], errors.InvalidConfiguration, "there are 1 targets"),
        ([("linkNfly../a", "mem://x/,mem://x")], errors.InvalidConfiguration, "named twice"),
        (
            [("linkNfly.minReplication=0./a", "mem://x/,mem://y/")],
            errors.InvalidConfiguration,
            "is no setting",
        ),
        ([("linkRegex.^/(a", "hdfs://x/")], errors.InvalidConfiguration, "bad src path regex"),
        ([("linkRegex.^/a", "hdfs://x/$1")], errors.InvalidConfiguration, "has no group '1'"),
        ([(r"linkRegex.^/\p{L}", "hdfs://x/")], errors.UnsupportedOperation, r"'\\\\p'"),
        ([("linkRegex.[a-z&&[b]]", "hdfs://x/")], errors.UnsupportedOperation, "not supported"),
        ([("linkRegex.nobody:a:b#.^/a", "hdfs://x/")], errors.InvalidConfiguration, "Illegal"),
    ],
)
def test_a_bad_entry_is_told_with_its_key(
    entries: list[tuple[str, str]], kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said) as caught:
        of(*entries)
    assert entries[0][0].rstrip("/").removeprefix("link") in str(caught.value)


@pytest.mark.parametrize(
    ("key", "target", "path", "uri"),
    [
        (r"^/(?<firstDir>\w+)", "hdfs://ns1/${firstDir}", "/images/a/b", "hdfs://ns1/images/a/b"),
        (r"^/user/(?<u>\w+)", "hdfs://ns-$u/home/$u", "/user/ada/x", "hdfs://ns-ada/home/ada/x"),
        (r"^/(\w+)/(\d+)", "mem://$1/$2", "/logs/17/y", "mem://logs/17/y"),
        (
            r"replaceresolveddstpath:_:-#.^/(\w+)",
            "hdfs://ns/$1",
            "/a_b_c/d_e",
            "hdfs://ns/a-b-c/d_e",
        ),
    ],
)
def test_a_link_by_expression_leads_to_what_its_groups_say(
    key: str, target: str, path: str, uri: str
) -> None:
    assert leads_to(of((f"linkRegex.{key}", target)), path) == uri


def test_links_by_expression_come_before_others_and_leave_the_rest() -> None:
    found = of((r"linkRegex.^/data-(\d+)", "hdfs://n$1/"), ("link./user", "hdfs://one/"))
    assert leads_to(found, "/data-7/f") == "hdfs://n7/f"
    assert leads_to(found, "/user/f") == "hdfs://one/f"
    assert leads_to(found, "/") == "/|/"


NAMES = st.sampled_from(["a", "b", "c"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(lambda names: "/" + "/".join(names))


@given(st.dictionaries(PATHS, st.just(None), max_size=6), st.booleans(), PATHS)
def test_any_path_of_any_table_is_what_a_scan_over_the_links_says(
    mounts: dict[str, None], fallback: bool, path: str
) -> None:
    entries = [(f"link.{mount}", f"mem://{mount[1:].replace('/', '-')}/t") for mount in mounts]
    if fallback:
        entries.append(("linkFallback", "mem://rest/"))
    found = of(*entries)
    covering = max((m for m in mounts if paths.is_under(path, m)), key=len, default=None)
    if covering is not None:
        rest = path[len(covering) :]
        assert leads_to(found, path) == f"mem://{covering[1:].replace('/', '-')}/t{rest}"
        assert found.resolve(path).is_mount_point == (path == covering)
    elif any(paths.is_under(mount, path) for mount in mounts):
        assert leads_to(found, path) == f"{path}|/"
    elif fallback:
        assert leads_to(found, path) == f"mem://rest{path}"
    else:
        with pytest.raises(errors.PathNotFound):
            found.resolve(path)
