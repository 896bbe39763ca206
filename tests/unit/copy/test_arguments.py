"""The arguments of DistCp, as Hadoop reads and refuses them."""

from __future__ import annotations

import pytest

from howdah.copy.arguments import OPTIONS, parse, usage
from howdah.copy.options import Attribute, InvalidOptions, Options, Strategy, attributes


def options(*words: str) -> Options:
    return parse([*words, "/src", "/dst"]).options


def test_paths_are_sources_and_then_a_target() -> None:
    arguments = parse(["/a", "hdfs://b/c", "/dst"])
    assert arguments.sources == ("/a", "hdfs://b/c")
    assert arguments.target == "/dst"


def test_p_alone_preserves_what_hadoop_preserves() -> None:
    assert options("-p").preserve == attributes("rbugpct")


@pytest.mark.parametrize("words", [("-pugp",), ("-p=ugp",), ("--p=ugp",)])
def test_p_with_letters_preserves_those(words: tuple[str, ...]) -> None:
    wanted = {Attribute.USER, Attribute.GROUP, Attribute.PERMISSION}
    assert options(*words).preserve == wanted


def test_letters_may_be_capital() -> None:
    assert attributes("RBUGPCAXTE") == frozenset(Attribute) - {Attribute.RAW}  # which has none


def test_unknown_letter_is_refused() -> None:
    with pytest.raises(InvalidOptions, match="No attribute for z"):
        options("-pz")


@pytest.mark.parametrize("words", [("-m", "7"), ("-m7",), ("-m=7",), ("--m", "7")])
def test_value_is_the_next_word_or_attached(words: tuple[str, ...]) -> None:
    assert options(*words).max_maps == 7


def test_two_hyphens_are_as_good_as_one() -> None:
    assert options("--update", "--delete") == options("-update", "-delete")


def test_at_least_one_map_copies() -> None:
    assert options("-m", "0").max_maps == 1


def test_no_more_than_forty_threads_list() -> None:
    assert options("-numListstatusThreads", "100").list_threads == 40


def test_unknown_strategy_is_the_default() -> None:
    assert options("-strategy", "what").strategy is Strategy.UNIFORM_SIZE
    assert options("-strategy", "DYNAMIC").strategy is Strategy.DYNAMIC


def test_deprecated_limits_are_said_to_have_no_effect() -> None:
    arguments = parse(["-filelimit", "1", "-sizelimit", "2", "/a", "/b"])
    assert arguments.notes == (
        "sizelimit is a deprecated option. Ignoring.",
        "filelimit is a deprecated option. Ignoring.",
    )


def test_parts_of_files_preserve_block_sizes_and_append_nothing() -> None:
    given = options("-blocksperchunk", "2", "-update", "-append")
    assert Attribute.BLOCK_SIZE in given.preserve
    assert not given.append


def test_snapshots_are_a_pair() -> None:
    assert options("-update", "-diff", "s1", "s2").diff == ("s1", "s2")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["/dst"], "Neither source file listing nor source paths present"),
        ([], "Target path not specified"),
        (["-f", "/l", "/a", "/b"], "Both source file listing and source paths present"),
        (["-m", "x", "/a", "/b"], "Number of maps is invalid: x"),
        (["-filelimit", "x", "/a", "/b"], "File-limit is invalid: x"),
        (["-sizelimit", "x", "/a", "/b"], "Size-limit is invalid: x"),
        (["-bandwidth", "x", "/a", "/b"], "Bandwidth specified is invalid: x"),
        (["-bandwidth", "-1", "/a", "/b"], "Bandwidth specified is not positive: -1.0"),
        (["-blocksperchunk", "x", "/a", "/b"], "blocksPerChunk is invalid: x"),
        (["-nonsense", "/a", "/b"], "Unrecognized option: -nonsense"),
        (["-m"], "Missing argument for option: m"),
        (["/a", "/b", "-update"], "Options go before the paths: -update"),
        (["-tmp", "/t", "/a", "/b"], "-tmp work-path can only be specified along with -atomic"),
        (
            ["-atomic", "-update", "/a", "/b"],
            "Atomic commit can't be used with sync folder or overwrite options",
        ),
        (
            ["-delete", "/a", "/b"],
            "Delete missing is applicable only with update or overwrite options",
        ),
        (
            ["-overwrite", "-update", "/a", "/b"],
            "Overwrite and update options are mutually exclusive",
        ),
        (["-append", "/a", "/b"], "Append is valid only with update options"),
        (
            ["-update", "-append", "-skipcrccheck", "/a", "/b"],
            "Append is disallowed when skipping CRC",
        ),
        (["-diff", "a", "b", "/a", "/b"], "-diff/-rdiff is valid only with -update option"),
        (
            ["-update", "-diff", "a", "b", "-rdiff", "b", "a", "/a", "/b"],
            "-diff and -rdiff are mutually exclusive",
        ),
        (
            ["-update", "-diff", "a", "b", "-delete", "/a", "/b"],
            "-delete and -diff/-rdiff are mutually exclusive. The -delete option will be ignored.",
        ),
        (["-v", "/a", "/b"], "-v is valid only with -log option"),
    ],
)
def test_contradiction_is_refused_in_hadoops_words(words: list[str], message: str) -> None:
    with pytest.raises(InvalidOptions) as raised:
        parse(words)
    assert str(raised.value) == message


def test_usage_names_every_option() -> None:
    text = usage()
    assert all(f"-{name} " in text for name in OPTIONS)
