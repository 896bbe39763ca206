"""What the tests of the package `hdfs` import as `test.util`, which its source distribution lacks.

By what they use of it: a client of `HDFSCLI_TEST_URL` whose root is emptied before each test (None,
and the test is skipped, where the class found that the server lacks something), and three helpers.
"""

from __future__ import annotations

import getpass
import os
from typing import Any

import hdfs  # type: ignore[import-untyped]  # the package that is tested
import pytest

ROOT = "/tmp/hdfscli"


def save_config(config: Any, path: str | None = None) -> None:
    """Into its own file."""
    with open(path or config.path, "w") as writer:
        config.write(writer)


class _IntegrationTest:
    client: Any = None

    @classmethod
    def setup_class(cls) -> None:
        cls.client = hdfs.InsecureClient(
            os.environ["HDFSCLI_TEST_URL"], user=getpass.getuser(), root=ROOT
        )

    @classmethod
    def teardown_class(cls) -> None:
        if cls.client is not None:
            cls.client.delete("", recursive=True)

    def setup_method(self) -> None:
        if self.client is None:
            pytest.skip("the server lacks it")
        self.client.delete("", recursive=True)
        self.client.makedirs("")

    def _read(self, path: str, encoding: str | None = None) -> Any:
        with self.client.read(path, encoding=encoding) as reader:
            return reader.read()

    def _write(self, path: str, data: Any, encoding: str | None = None) -> None:
        self.client.write(path, data, encoding=encoding)

    def _exists(self, path: str) -> bool:
        return self.client.status(path, strict=False) is not None
