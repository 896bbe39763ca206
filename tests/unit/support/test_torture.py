from __future__ import annotations

import pytest

from tests.support.torture import times


@pytest.mark.parametrize(("told", "examples"), [(None, 50), ("1", 50), ("10", 500)])
def test_the_environment_says_how_many_times(
    told: str | None, examples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOWDAH_TORTURE", raising=False)
    if told is not None:
        monkeypatch.setenv("HOWDAH_TORTURE", told)
    assert times(50) == examples


@pytest.mark.parametrize("told", ["", "0", "-1", "1.5", "many"])
def test_what_is_no_number_is_no_torture(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOWDAH_TORTURE", told)
    with pytest.raises(ValueError, match="how many times"):
        times(50)
