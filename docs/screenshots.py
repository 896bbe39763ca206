"""Takes the pictures of docs/pages: `.venv/bin/python docs/screenshots.py [DIR]`.

A healthy cluster of two namespaces, then the same with datanodes, a namenode and a replica lost,
and at last without any replica of some blocks. Then the other servers, well and in trouble.
Wants a Chromium and Playwright.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import urllib.request
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from howdah.config import Configuration
from howdah.namenode.server.monitoring.startup_http import Starting
from howdah.namenode.service.monitoring.startup import Phase
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.routers import Routers
from tests.support.started import server

PLACE = Path(__file__).parent / "pages"
WIDTH, HEIGHT = 1000, 720
PHONE = 390


def take(page: Page, address: str, name: str, place: Path) -> None:
    page.goto(address)
    page.wait_for_timeout(700)
    page.screenshot(path=place / f"{name}.png", animations="disabled")


def explore(page: Page, http: str, name: str, place: Path) -> None:
    page.goto(f"{http}/explorer#/logs/2026/events.log")
    page.get_by_role("button", name="First part").click()
    page.locator("#file pre").or_(page.locator("#trouble:not([hidden])")).first.wait_for()
    page.screenshot(path=place / f"{name}.png", full_page=True)


def healthy(browser: Browser, cluster: MiniCluster, place: Path) -> None:
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    for path, name in (
        ("/", "namenode"),
        ("/nodes", "nodes"),
        ("/racks", "racks"),
        ("/snapshots", "snapshots"),
        ("/cluster", "cluster"),
        ("/conf?q=dfs.name", "configuration"),
        ("/logs", "log"),
        ("/logLevel?log=howdah", "log-levels"),
        ("/explorer#/logs/2026", "directory"),
    ):
        take(page, f"{cluster.http}{path}", name, place)
    explore(page, cluster.http, "file", place)
    http = cluster.process("datanode0").addresses["http"]
    take(page, f"http://{http}/", "datanode", place)
    page.close()
    phone = browser.new_page(viewport={"width": PHONE, "height": 780}, color_scheme="dark")
    take(phone, cluster.http, "namenode-phone-dark", place)
    phone.close()


def broken(browser: Browser, cluster: MiniCluster, place: Path) -> None:
    cluster.kill("datanode1")
    cluster.kill("datanode2")
    cluster.kill("namenode1")
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    page.goto(cluster.http)
    wait_until(lambda: "2 of 4" in page.locator("#tiles").inner_text(), 120)
    wait_until(lambda: "low on replicas" in page.locator("#verdict").inner_text(), 120)
    for path, name in (
        ("/", "namenode-broken"),
        ("/nodes", "nodes-broken"),
        ("/racks", "racks-broken"),
        ("/cluster", "cluster-broken"),
    ):
        take(page, f"{cluster.http}{path}", name, place)
    explore(page, cluster.http, "file-broken", place)
    # The last two go at once: nothing is copied in between.
    cluster.kill("datanode0", "datanode3")
    page.goto(cluster.http)
    wait_until(lambda: "cannot be read" in page.locator("#verdict").inner_text(), 120)
    for path, name in (("/", "namenode-lost"), ("/blocks?id=blk_1073741825", "blocks-lost")):
        take(page, f"{cluster.http}{path}", name, place)
    page.close()


def sick_disk(browser: Browser, place: Path) -> None:
    """A datanode that has lost one of its two volumes."""
    conf: dict[str, str | int] = {
        "dfs.datanode.failed.volumes.tolerated": 1,
        "dfs.datanode.disk.check.min.gap": "0s",
        "dfs.datanode.directoryscan.interval": "1s",
    }
    with MiniCluster(datanodes=1, volumes=2, conf=conf) as cluster, cluster.connect() as fs:
        fs.write_bytes("/report", bytes(3 << 20))
        shutil.rmtree(cluster.data_dirs("datanode0")[0] / "current")
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        address = f"http://{cluster.process('datanode0').addresses['http']}/"
        page.goto(address)
        wait_until(lambda: "fail" in page.locator(".verdict").inner_text(), 120)
        take(page, address, "datanode-broken", place)
        page.close()


def shared(browser: Browser, place: Path, directory: Path) -> None:
    """What stands around several namenodes."""
    with MiniCluster(datanodes=1, namenodes=2) as cluster:
        page = browser.new_page(viewport={"width": WIDTH, "height": 420})
        http = cluster.process("journalnode0").addresses["http"]
        take(page, f"http://{http}/", "journalnode", place)
        routers = Routers(directory, {"east": cluster})
        with server("router", routers.values, directory) as told:
            take(page, f"http://{told['http']}/", "router", place)
        page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        http = cluster.process("zkfc0").addresses["http"]
        take(page, f"http://{http}/", "failover-controller", place)
        in_trouble(browser, place, directory, cluster)
        page.close()


def in_trouble(browser: Browser, place: Path, directory: Path, cluster: MiniCluster) -> None:
    """The same when both namenodes and one of three journal nodes are gone."""
    http = {role: cluster.process(f"{role}0").addresses["http"] for role in ("zkfc", "journalnode")}
    routers = Routers(directory / "trouble", {"east": cluster})
    with server("router", routers.values, directory / "trouble") as told:
        http["router"] = told["http"]
        cluster.kill("namenode0", "namenode1")
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        for role, name in (
            ("zkfc", "failover-controller-broken"),
            ("router", "router-broken"),
        ):
            page.goto(f"http://{http[role]}/")
            wait_until(lambda: page.locator(".verdict:not(.ok)").count() == 1, 120)
            take(page, f"http://{http[role]}/", name, place)
        page.close()


def secondary(browser: Browser, place: Path, directory: Path) -> None:
    with MiniCluster(datanodes=1) as cluster, cluster.connect() as fs:
        fs.mkdirs("/logs/2026")
        values = {
            "fs.defaultFS": cluster.uri,
            "dfs.namenode.http-address": cluster.http.removeprefix("http://"),
            "dfs.namenode.secondary.http-address": "127.0.0.1:0",
            "dfs.namenode.checkpoint.dir": (directory / "2nn").as_uri(),
            "dfs.namenode.checkpoint.check.period": "1s",
        }
        page = browser.new_page(viewport={"width": WIDTH, "height": 480})
        with server("secondarynamenode", values, directory) as told:
            page.goto(f"http://{told['http']}/")
            wait_until(lambda: " ago" in page.locator("#checkpoints").inner_text(), 120)
            take(page, f"http://{told['http']}/", "secondarynamenode", place)
            cluster.kill("namenode")
            wait_until(lambda: page.locator(".verdict:not(.ok)").count() == 1, 120)
            take(page, f"http://{told['http']}/", "secondarynamenode-broken", place)
        page.close()


def gateway(browser: Browser, place: Path, directory: Path) -> None:
    with MiniCluster(datanodes=1) as cluster, cluster.connect() as fs:
        fs.write_bytes("/report", bytes(3 << 20))
        values = {"fs.defaultFS": cluster.uri, "httpfs.http.port": "0"}
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        with server("httpfs", values, directory) as told:
            api = f"http://{told['http']}/webhdfs/v1"
            for query in ("report?op=OPEN", "?op=LISTSTATUS", "?op=GETFILESTATUS", "a?op=MKDIRS"):
                method = "PUT" if query.endswith("MKDIRS") else "GET"
                asked = urllib.request.Request(f"{api}/{query}&user.name={fs.user}", method=method)
                urllib.request.urlopen(asked, timeout=60).read()
            take(page, f"http://{told['http']}/", "gateway", place)
        page.close()


def start(browser: Browser, place: Path) -> None:
    """A namenode that reads a long image; its numbers are made up."""
    starting = Starting(
        Configuration(
            {"fs.defaultFS": "hdfs://127.0.0.1:8020", "dfs.namenode.http-address": "127.0.0.1:0"}
        )
    )
    starting.listen()
    image = "/data/name/current/fsimage_0000000000004200017"
    starting.progress.begin(Phase.IMAGE)
    starting.progress.reads(Phase.IMAGE, image, 1_400_000_000, lambda: 580_000_000)
    starting.progress.counts(Phase.IMAGE, lambda: 6_210_000, lambda: 10_000_000)
    page = browser.new_page(viewport={"width": WIDTH, "height": 480})
    take(page, "http://{}:{}/".format(*starting.web.first), "start", place)
    page.close()
    starting.http.stop()


def main() -> None:
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else PLACE
    place.mkdir(exist_ok=True)
    path = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        conf: dict[str, str | int] = {
            "dfs.namenode.heartbeat.recheck-interval": 2000,
            "dfs.client.block.write.replace-datanode-on-failure.policy": "NEVER",
        }
        with MiniCluster(
            datanodes=4,
            nameservices=["east", "west"],
            racks=["/hall-1/rack-a", "/hall-1/rack-b"],
            volumes=2,
            conf=conf,
        ) as cluster:
            with cluster.connect() as fs:
                fs.mkdirs("/logs/2026")
                for name in ("events.log", "metrics.log"):
                    with fs.create(f"/logs/2026/{name}", replication=3, block_size=1 << 20) as out:
                        for number in range(40_000):
                            out.write(b"2026-07-01T12:00:00Z event %07d user=42 ok\n" % number)
                fs.allow_snapshot("/logs")
                fs.create_snapshot("/logs", "before-upgrade")
            healthy(browser, cluster, place)
            broken(browser, cluster, place)
        sick_disk(browser, place)
        with tempfile.TemporaryDirectory() as directory:
            shared(browser, place, Path(directory) / "shared")
            secondary(browser, place, Path(directory) / "secondary")
            gateway(browser, place, Path(directory) / "gateway")
        start(browser, place)
        browser.close()


if __name__ == "__main__":
    main()
