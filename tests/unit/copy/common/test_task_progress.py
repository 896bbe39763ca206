"""How tasks report how far they are."""

from __future__ import annotations

import howdah
from howdah.copy.common.progress import reported
from howdah.copy.common.task_progress import LINE_BYTES, Amount, Gauge, last_of, line_of


def test_progress_is_told_by_the_last_whole_line() -> None:
    lines = line_of(Amount(1, 5)) + line_of(Amount(3, 1 << 40))
    assert len(lines) == 2 * LINE_BYTES
    assert last_of(lines + b"   4") == Amount(3, 1 << 40)
    assert last_of(b"  4") == last_of(b"") == Amount()


def test_task_tells_where_somebody_looks_and_nowhere_else() -> None:
    now_s = [0.0]
    fs = howdah.connect("mem://gauge/")
    fs.mkdirs("/progress")
    gauge = Gauge(fs, "/progress", "00001-7", clock=lambda: now_s[0])
    for count in (10, 20, 30):
        gauge.add(1, count)
        now_s[0] += 0.6
    assert reported(fs, "/progress") == Amount(3, 60)
    assert [status.name for status in fs.list_status("/progress")] == ["00001-7"]
    # The job has ended; a task that Spark runs once more leaves nothing behind.
    fs.delete("/progress", recursive=True)
    now_s[0] += 2.0
    gauge.add(1, 1)
    gauge.close()
    assert list(fs.list_status("/")) == []


def test_of_attempts_at_one_task_the_farther_one_counts() -> None:
    fs = howdah.connect("mem://told/")
    for name, done in (("00000-1", (5, 50)), ("00000-9", (2, 20)), ("00001-2", (1, 1))):
        with fs.create(f"/progress/{name}") as out:
            out.write(line_of(Amount(0, 0)) + line_of(Amount(*done)))
    with fs.create("/progress/stray") as out:
        out.write(b"no numbers\n")
    fs.mkdirs("/progress/a directory")
    assert reported(fs, "/progress") == Amount(6, 51)
