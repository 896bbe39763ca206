"""How options are told from arguments."""

from __future__ import annotations

import pytest

from howdah.cli.arguments.command_format import integer, parse, take_value
from howdah.cli.arguments.usage import UsageError
from howdah.cli.main import main


def test_options_end_at_the_first_argument() -> None:
    parsed = parse(["-R", "/", "-h"], flags=("R", "h"))
    assert parsed.flags == {"R"}
    assert parsed.arguments == ("/", "-h")


def test_two_dashes_end_the_options() -> None:
    assert parse(["--", "-R"], flags=("R",)).arguments == ("-R",)


def test_a_lone_dash_is_an_argument() -> None:
    assert parse(["-f", "-", "/x"], flags=("f",)).arguments == ("-", "/x")


def test_options_are_not_run_together() -> None:
    with pytest.raises(UsageError, match="Illegal option -Rh"):
        parse(["-Rh"], flags=("R", "h"))


def test_an_option_takes_the_next_word_as_its_value() -> None:
    parsed = parse(["-t", "5", "-f", "a"], flags=("f",), valued=("t",))
    assert parsed.number("t", 1) == 5
    assert parsed.arguments == ("a",)


def test_a_number_that_is_missing_is_the_default() -> None:
    assert parse(["a"], valued=("t",)).number("t", 7) == 7


@pytest.mark.parametrize("text", ["", "x", "1.5", "1e3", "--1", "²"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="For input string"):
        integer(text)


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (["-t", "ssd", "/a"], "ssd"),
        (["-t", "", "/a"], ""),
        (["-t", "/a", "/b"], None),
        (["-t", "-v", "/a"], None),
        (["-t", "a"], None),
    ],
)
def test_an_optional_value_is_never_a_path_or_an_option(
    words: list[str], value: str | None
) -> None:
    assert parse(words, flags=("v",), optional=("t",)).values.get("t") == value


def test_too_few_and_too_many_arguments_are_counted_out() -> None:
    with pytest.raises(UsageError, match="Not enough arguments: expected 2 but got 1"):
        parse(["a"], least=2)
    with pytest.raises(UsageError, match="Too many arguments: expected 1 but got 2"):
        parse(["a", "b"], most=1)


# -- values from anywhere ------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "value", "rest"),
    [
        (["/a"], None, ["/a"]),
        (["-policy", "HOT", "/a"], "HOT", ["/a"]),
        (["/a", "-policy", "HOT"], "HOT", ["/a"]),
        (["-policy", "-policy", "/a"], "-policy", ["/a"]),
    ],
)
def test_value_is_taken_from_wherever_it_stands(
    arguments: list[str], value: str | None, rest: list[str]
) -> None:
    assert take_value(arguments, "-policy") == (value, rest)


def test_option_at_the_end_has_no_value() -> None:
    with pytest.raises(UsageError, match="option -policy requires 1 argument"):
        take_value(["/a", "-policy"], "-policy")


def test_storage_policy_without_a_value_is_a_wrong_call(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["storagepolicies", "-setStoragePolicy", "-policy", "HOT", "-path"]) == 255
    assert capsys.readouterr().err == "howdah storagepolicies: option -path requires 1 argument.\n"
