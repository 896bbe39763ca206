"""Create and close in a namenode with ten million files, beside one with ten thousand (FS-025).

Both namenodes run at once, and each round puts the same load of eight callers on one and then on
the other, every second round the other way round. So what the machine does meanwhile meets both,
which a rate with few files and one with many, taken minutes apart, do not have. The trees are
those of `scale`: files of one block, a hundred in each directory, of which no datanode has a
replica. The CPU time is that of the namenode's process, user and system.

HOWDAH_BENCH_FILES is another number of files; ten million take 2.5 GB and some minutes of one
core before the first round.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from contextlib import ExitStack

from harness import Options, Results, figure, group_cpu, in_turn, main, progress, scratch
from scale import Asking, Howdah, creations, image_of, wait_until_idle

FEW = 10_000
WARM_UP = 2


def measure(options: Options) -> Results:
    many = int(os.environ.get("HOWDAH_BENCH_FILES", 1_000_000 if options.quick else 10_000_000))
    made = 2_000 if options.quick else 8_000
    names = {many: f"create+close with {many:,} files", FEW: f"with {FEW:,} files"}
    cpu_us: dict[int, list[float]] = {many: [], FEW: []}
    with ExitStack() as stack:
        base = stack.enter_context(scratch(options, "many_files"))
        runs: dict[str, Callable[[], float]] = {}
        for files, name in names.items():
            progress(f"a namenode with {files:,} files")
            subject = Howdah(base / f"namenode-{files}")
            stack.callback(subject.stop)
            subject.start(image_of(base / f"image-{files}", files))
            asking = Asking(subject.address)
            stack.callback(asking.close)
            asking.first_answer()
            wait_until_idle(subject.pid)
            asking.leave_safe_mode()
            runs[name] = _rounds(subject, made, cpu_us[files])
        rates = in_turn(runs, options.repeats(15, 3), warm_up=WARM_UP, both_ways=True)
    target = "≥ 0.9 of few"
    ours, few = names.values()
    yield figure(ours, "/s", rates[ours], {few: rates[few]}, target=target)
    if cpu_us[many]:
        each = {files: times[WARM_UP:] for files, times in cpu_us.items()}
        yield figure(f"{ours}: CPU each", "µs", each[many], {few: each[FEW]})


def _rounds(subject: Howdah, made: int, cpu_us: list[float]) -> Callable[[], float]:
    """Make so many files in a directory of its own, each time it is called: files a second."""
    numbers = itertools.count()

    def run() -> float:
        before = group_cpu(subject.pid)
        rate = creations(subject.address, made, f"made-{next(numbers)}")
        after = group_cpu(subject.pid)
        if before is not None and after is not None:
            cpu_us.append((after - before).total_s * 1e6 / made)
        return rate

    return run


if __name__ == "__main__":
    main(measure)
