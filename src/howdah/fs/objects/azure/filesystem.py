"""`AzureFileSystem`: the blobs of a container as files.

`az://CONTAINER@ACCOUNT/`, and Hadoop's names of the same container:
`abfs[s]://CONTAINER@ACCOUNT.dfs.core.windows.net/` and
`wasb[s]://CONTAINER@ACCOUNT.blob.core.windows.net/`.
"""

from __future__ import annotations

from howdah.config import Configuration
from howdah.fs.objects.azure.settings import settings_of
from howdah.fs.objects.azure.store import AzureStore
from howdah.fs.objects.filesystem import ObjectFileSystem
from howdah.fs.objects.store import ObjectStore
from howdah.fs.objects.tuning import Tuning
from howdah.runtime.tls.client import ClientTls


class AzureFileSystem(ObjectFileSystem):
    """A container, over TLS; the account may be said by the environment."""

    scheme = "az"

    def _opened(self, authority: str, conf: Configuration) -> tuple[ObjectStore, Tuning]:
        settings = settings_of(self.scheme, authority, conf)
        return AzureStore(settings, ClientTls(conf)), settings


class AbfsFileSystem(AzureFileSystem):
    """By ABFS's name; over TLS unless `fs.azure.always.use.https` is false."""

    scheme = "abfs"


class AbfssFileSystem(AzureFileSystem):
    """By ABFS's name, over TLS."""

    scheme = "abfss"


class WasbFileSystem(AzureFileSystem):
    """By WASB's name, without TLS."""

    scheme = "wasb"


class WasbsFileSystem(AzureFileSystem):
    """By WASB's name, over TLS."""

    scheme = "wasbs"
