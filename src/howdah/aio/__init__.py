"""The client for asyncio.

    async with howdah.aio.connect("hdfs://namenode:8020") as fs:
        async with fs.open("/a/b") as f:
            async for chunk in f.chunks():
                ...

There are threads beneath: each call is one of the synchronous client's, made on a thread of the
filesystem's own. What is awaited never holds up the loop.
"""

from __future__ import annotations

from howdah.aio.filesystem import AsyncFileSystem, connect
from howdah.aio.streams import AsyncInputStream, AsyncOutputStream

__all__ = ["AsyncFileSystem", "AsyncInputStream", "AsyncOutputStream", "connect"]
