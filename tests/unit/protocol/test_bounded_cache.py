from __future__ import annotations

from howdah.protocol.bounded_cache import MAX_KEPT_LENGTH, cache_short


def test_what_is_short_is_made_once_and_what_is_long_each_time() -> None:
    made: list[str] = []

    @cache_short(4)
    def shout(text: str) -> str:
        made.append(text)
        return text.upper()

    short, long = "x" * MAX_KEPT_LENGTH, "y" * (MAX_KEPT_LENGTH + 1)
    for text in (short, short, long, long):
        assert shout.of(len(text))(text) == text.upper()
    assert made == [short, long, long]


def test_the_oldest_result_makes_room_for_a_new_one() -> None:
    made: list[int] = []

    @cache_short(2)
    def number(key: int) -> int:
        made.append(key)
        return key

    for key in (1, 2, 3, 3, 2, 1):
        number.of(0)(key)
    assert made == [1, 2, 3, 1]
