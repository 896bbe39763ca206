"""Words of commands of our own."""

from __future__ import annotations

import pytest

from howdah.cli.arguments.parser import Arguments
from howdah.cli.arguments.usage import UsageError


@pytest.mark.parametrize("word", ["-h", "-help", "--help"])
def test_help_is_understood_however_it_is_asked_for(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = Arguments(prog="howdah it")
    parser.add_argument("-format", action="store_true", help="make it")
    with pytest.raises(SystemExit) as ended:
        parser.parse_args([word])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert said.startswith("usage: howdah it [-h] [-format]\n")
    assert "-help " not in said.replace("--help", "")


def test_wrong_usage_is_an_error_and_no_end_of_the_process() -> None:
    with pytest.raises(UsageError, match="unrecognized arguments: -what"):
        Arguments(prog="howdah it").parse_args(["-what"])
