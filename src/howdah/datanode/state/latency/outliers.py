"""Which of many are much slower than the rest (pure).

OutlierDetector in Hadoop. Slow is whatever takes longer than each of these:

1. a floor, below which nothing is slow;
2. three times the median of all;
3. the median and three times the median absolute deviation, which is scaled by 1.4826 so that
   it estimates a standard deviation (Leys et al., "Detecting outliers", 2013).

Of too few nothing is slow: the median of two says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Final

SCALE: Final = 1.4826
DEVIATIONS: Final = 3
MEDIANS: Final = 3


@dataclass(frozen=True, slots=True)
class Outlier:
    """What a slow one takes, and what it was compared with; all in milliseconds."""

    mean_ms: float
    median_ms: float
    deviation_ms: float
    limit_ms: float


def outliers(means_ms: Mapping[str, float], *, least: int, floor_ms: float) -> dict[str, Outlier]:
    """Those of the named that are slow. `least`: of fewer none is."""
    if not means_ms or len(means_ms) < least:
        return {}
    middle = median(means_ms.values())
    deviation = SCALE * median(abs(mean - middle) for mean in means_ms.values())
    limit = max(floor_ms, MEDIANS * middle, middle + DEVIATIONS * deviation)
    return {
        name: Outlier(mean, middle, deviation, limit)
        for name, mean in means_ms.items()
        if mean > limit
    }
