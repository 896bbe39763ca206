"""What a router answers over HTTP."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from howdah.config import Configuration
from howdah.router.server import Router


def conf(directory: Path, **more: str) -> Configuration:
    return Configuration(
        {
            "dfs.nameservices": "n1",
            "dfs.namenode.rpc-address.n1": "127.0.0.1:1",
            "dfs.federation.router.store.driver.file.directory": str(directory / "store"),
            "dfs.federation.router.rpc-address": "127.0.0.1:0",
            "dfs.federation.router.admin-address": "127.0.0.1:0",
            "dfs.federation.router.http-address": "127.0.0.1:0",
            **more,
        }
    )


def asked(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.req("FS-261")
@pytest.mark.req("FS-262")
def test_router_tells_its_figures_and_that_no_namenode_is_active(tmp_path: Path) -> None:
    async def scene() -> None:
        router = Router(conf(tmp_path))
        try:
            _, _, web = await router.start()
            port = web.first[1]

            async def ask(path: str) -> tuple[int, str]:
                return await asyncio.to_thread(asked, port, path)

            assert (await ask("/health"))[0] == 200
            status, said = await ask("/ready")
            ready: dict[str, Any] = json.loads(said)
            assert (status, ready["role"], ready["nameservices"]) == (503, "router", [])
            assert ready["safe_mode"] is False
            assert await ask("/isActive") == (200, "I am Active!\n")
            status, told = await ask("/prom")
            assert status == 200
            unavailable = 'state="unavailable"'
            lines = [line for line in told.splitlines() if unavailable in line]
            assert [line.rpartition(" ")[2] for line in lines] == ["1.0"]
            beans = json.loads((await ask("/jmx"))[1])["beans"]
            federation = next(b for b in beans if b["name"].endswith("name=FederationState"))
            assert (federation["NumNameservices"], federation["NumNamenodes"]) == (1, 1)
            status, page = await ask("/")
            assert (status, "has no active namenode" in page) == (200, True)
            assert (await ask("/nothing"))[0] == 404
        finally:
            await router.stop()

    asyncio.run(scene())


def test_router_without_a_web_port(tmp_path: Path) -> None:
    async def scene() -> None:
        router = Router(conf(tmp_path, **{"dfs.federation.router.http.enable": "false"}))
        try:
            _, _, web = await router.start()
            assert (web.http, web.https) == (None, None)
        finally:
            await router.stop()

    asyncio.run(scene())
