"""`GoogleFileSystem`: the objects of a bucket of Google's as files (`gs://BUCKET/`)."""

from __future__ import annotations

from howdah.config import Configuration
from howdah.fs.objects.filesystem import ObjectFileSystem
from howdah.fs.objects.google.settings import settings_of
from howdah.fs.objects.google.store import GoogleStore
from howdah.fs.objects.store import ObjectStore
from howdah.fs.objects.tuning import Tuning
from howdah.runtime.tls.client import ClientTls


class GoogleFileSystem(ObjectFileSystem):
    """A bucket of Google's Cloud Storage."""

    scheme = "gs"

    def _opened(self, authority: str, conf: Configuration) -> tuple[ObjectStore, Tuning]:
        settings = settings_of(authority, conf)
        return GoogleStore(settings, ClientTls(conf)), settings
