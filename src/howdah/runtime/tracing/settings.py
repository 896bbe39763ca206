"""What the keys say of traces."""

from __future__ import annotations

from dataclasses import dataclass

from howdah.config import Configuration, keys
from howdah.config.settings import read, setting


@dataclass(frozen=True, slots=True)
class TracingSettings:
    """`ratio` of the traces that begin here are recorded; None leaves it to
    `OTEL_TRACES_SAMPLER`, and so all of them if that is not set."""

    enabled: bool = setting(keys.HOWDAH_TRACING_ENABLED)
    ratio: float | None = setting(keys.HOWDAH_TRACING_SAMPLE_RATIO)

    @classmethod
    def of(cls, conf: Configuration) -> TracingSettings:
        return read(cls, conf)


OFF = TracingSettings()
