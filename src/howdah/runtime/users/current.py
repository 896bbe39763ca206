"""As whom this process calls others (shell: asks the environment and the system)."""

from __future__ import annotations

import getpass
import os
from typing import Final

from howdah.runtime.users.names import ProxyUser

TOKEN_FILE: Final = "HADOOP_TOKEN_FILE_LOCATION"
"""The environment variable that names a file of tokens."""


def process_user() -> str:
    """The user that a process is: `HADOOP_USER_NAME`, else who runs it."""
    return os.environ.get("HADOOP_USER_NAME") or getpass.getuser()


def current_user() -> str:
    """The user that calls are made as: `process_user`, or `HADOOP_PROXY_USER`, for whom that one
    acts then (`howdah.runtime.users.names.ProxyUser`). Raises IllegalArgument for what is no
    name."""
    user, acts_for = process_user(), os.environ.get("HADOOP_PROXY_USER")
    return ProxyUser(acts_for, user) if acts_for else user
