"""Encryption zones at the namenode: made, found, kept; keys of new files; what cannot cross."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.formats.edits import edits
from howdah.formats.edits.edits import XAttr, XAttrNamespace
from howdah.namenode.service.calls.namespace_changes import TreeCalls
from howdah.namenode.service.calls.trash import TrashEmptier
from howdah.namenode.service.calls.zone_keys import KeyAwaited, ZoneKeys
from howdah.namenode.service.writing.pending_creates import WAIT_MS
from howdah.namenode.state.tree.encryption_zones import Zone, file_key, zone_of
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.encryption_zones.messages import encrypted_key_of
from howdah.testing.in_memory import InMemoryNamenode, reloaded
from tests.support.zones import SM4_ZONE, Scene, Server

CLIENT = b"c" * 16


@pytest.fixture
def scene() -> Scene:
    scene = Scene()
    scene.mkdir("/z")
    scene.mkdir("/plain")
    scene.make_zone("/z")
    return scene


def test_a_zone_is_an_attribute_and_one_edit(scene: Scene) -> None:
    [logged] = [e for e in scene.namenode.edits() if isinstance(e, edits.SetXAttrOp)]
    assert (logged.path, len(logged.xattrs)) == ("/z", 1)
    assert logged.xattrs[0].name == "hdfs.crypto.encryption.zone"
    assert scene.zones() == [("/z", "payroll")]
    assert scene.zones_counted() == 1
    zone = scene.call("getEZForPath", pb.GetEZForPathRequestProto(src="/z/a/b")).zone
    assert (zone.path, zone.keyName, zone.suite, zone.cryptoProtocolVersion) == (
        "/z", "payroll", types_pb2.AES_CTR_NOPADDING, types_pb2.ENCRYPTION_ZONES,
    )  # fmt: skip
    assert not scene.call("getEZForPath", pb.GetEZForPathRequestProto(src="/plain")).HasField(
        "zone"
    )
    assert scene.status("/z").flags & types_pb2.HdfsFileStatusProto.HAS_CRYPT
    assert not scene.status("/plain").flags & types_pb2.HdfsFileStatusProto.HAS_CRYPT


def test_a_file_has_a_key_of_its_own_wherever_it_is_asked_for(scene: Scene) -> None:
    infos = []
    for name in ("a", "b"):
        made = scene.create(f"/z/{name}").fs
        shown = made.fileEncryptionInfo
        assert made.flags & types_pb2.HdfsFileStatusProto.HAS_CRYPT
        assert scene.status(f"/z/{name}").fileEncryptionInfo == shown
        locations = scene.call(
            "getBlockLocations",
            pb.GetBlockLocationsRequestProto(src=f"/z/{name}", offset=0, length=1),
        ).locations
        assert locations.fileEncryptionInfo == shown
        infos.append(shown)
    listed = scene.call(
        "getListing", pb.GetListingRequestProto(src="/z", startAfter=b"", needLocation=False)
    )
    assert [one.fileEncryptionInfo for one in listed.dirList.partialListing] == infos
    assert encrypted_key_of(infos[0]) != encrypted_key_of(infos[1])
    assert {info.ezKeyVersionName for info in infos} == {"payroll@0"}


def test_the_raw_path_shows_no_key(scene: Scene) -> None:
    scene.create("/z/a")
    raw = scene.status("/.reserved/raw/z/a")
    assert not raw.HasField("fileEncryptionInfo")
    listed = scene.call(
        "getListing",
        pb.GetListingRequestProto(src="/.reserved/raw/z", startAfter=b"", needLocation=False),
    )
    assert not listed.dirList.partialListing[0].HasField("fileEncryptionInfo")
    names = scene.call("listXAttrs", pb_xattrs("/.reserved/raw/z/a")).xAttrs
    assert [one.name for one in names] == ["hdfs.crypto.file.encryption.info"]
    assert not scene.call("listXAttrs", pb_xattrs("/z/a")).xAttrs


def pb_xattrs(path: str) -> types_pb2.ListXAttrsRequestProto:
    return types_pb2.ListXAttrsRequestProto(src=path)


def test_who_copies_raw_brings_zone_and_key(scene: Scene) -> None:
    shown = scene.create("/z/a").fs.fileEncryptionInfo
    scene.mkdir("/copy")
    for source, target in (("/z", "/copy"), ("/z/a", "/copy/a")):
        if target.endswith("/a"):
            made = scene.create(f"/.reserved/raw{target}")
            assert not made.fs.HasField("fileEncryptionInfo")
        got = scene.call(
            "getXAttrs", types_pb2.GetXAttrsRequestProto(src=f"/.reserved/raw{source}")
        ).xAttrs
        for xattr in got:
            scene.call(
                "setXAttr",
                types_pb2.SetXAttrRequestProto(
                    src=f"/.reserved/raw{target}", xAttr=xattr, flag=types_pb2.XATTR_CREATE
                ),
            )
    assert scene.status("/copy/a").fileEncryptionInfo == shown
    assert scene.zones() == [("/z", "payroll"), ("/copy", "payroll")]


def test_a_zone_of_another_cipher_is_listed_and_takes_no_files(scene: Scene) -> None:
    scene.zone_from_elsewhere("/sm4", SM4_ZONE.SerializeToString())
    scene.zone_from_elsewhere("/damaged", b"\xff")
    listed = scene.call("listEncryptionZones", pb.ListEncryptionZonesRequestProto(id=0)).zones
    assert [(zone.path, zone.keyName, zone.suite) for zone in listed] == [
        ("/z", "payroll", types_pb2.AES_CTR_NOPADDING),
        ("/sm4", "sm4", types_pb2.SM4_CTR_NOPADDING),
        ("/damaged", "", types_pb2.UNKNOWN),
    ]
    assert scene.zones_counted() == 3
    for path, words in (("/sm4", "SM4_CTR_NOPADDING"), ("/damaged", "is damaged")):
        # Others see that it is there, and nobody writes plain text into it.
        assert scene.status(path).flags & types_pb2.HdfsFileStatusProto.HAS_CRYPT
        with pytest.raises(errors.HowdahError, match=words):
            scene.create(f"{path}/a")
        assert not names_in(scene, f"/.reserved/raw{path}")
    assert names_in(scene, "/") == ["damaged", "plain", "sm4", "z"]


def test_directories_of_a_zone_are_listed_as_they_are(scene: Scene) -> None:
    for path in ("/z/d", "/z/d/e", "/plain/d"):
        scene.mkdir(path)
    for root in ("", "/.reserved/raw"):
        for path, name, is_in_zone in (
            ("/z", "d", True),
            ("/z/d", "e", True),
            ("/plain", "d", False),
        ):
            request = pb.GetListingRequestProto(
                src=f"{root}{path}", startAfter=b"", needLocation=False
            )
            [entry] = scene.call("getListing", request).dirList.partialListing
            status = scene.status(f"{root}{path}/{name}")
            assert entry.flags == status.flags
            assert bool(entry.flags & types_pb2.HdfsFileStatusProto.HAS_CRYPT) is is_in_zone


def names_in(scene: Scene, path: str) -> list[str]:
    request = pb.GetListingRequestProto(src=path, startAfter=b"", needLocation=False)
    listed = scene.call("getListing", request).dirList
    return [entry.path.decode() for entry in listed.partialListing]


def test_a_client_that_knows_no_zones_writes_nothing(scene: Scene) -> None:
    for versions in ((), (1,)):
        with pytest.raises(errors.RemoteError, match="No crypto protocol versions") as refused:
            scene.create("/z/a", versions=versions)
        assert refused.value.remote_class.endswith("UnknownCryptoProtocolVersionException")
    assert not scene.call("getFileInfo", pb.GetFileInfoRequestProto(src="/z/a")).HasField("fs")
    assert scene.create("/plain/a", versions=()).fs.fileId


def test_keys_are_asked_for_before_they_are_all_taken(scene: Scene) -> None:
    scene.server.answers_at_once = False
    for name in ("a", "b", "c"):
        scene.create(f"/z/{name}")
    [(key_name, count, _)] = scene.server.asked
    assert (key_name, count) == ("payroll", 3)
    scene.create("/z/d")
    scene.server.answer()
    scene.create("/z/e")


def test_a_call_that_finds_no_key_waits_for_one(scene: Scene) -> None:
    scene.server.answers_at_once = False
    for number in range(4):
        scene.create(f"/z/{number}")
    held = [scene.create(f"/z/deep/{name}", client_id=CLIENT, call_id=number + 1)
            for number, name in enumerate("xy")]  # fmt: skip
    assert not held[0].settled
    # Nothing was changed for it yet.
    assert scene.namesystem.namespace.find("/z/deep") is None
    scene.create("/plain/a")
    scene.server.answer()
    assert {self_of(scene.settled(answer)) for answer in held} == {"payroll"}
    # A repeated call has the first one's file.
    again = scene.create("/z/deep/x", client_id=CLIENT, call_id=1, retry_count=1)
    assert again.fs.fileId == scene.settled(held[0]).fs.fileId


def self_of(answer: pb.CreateResponseProto) -> str:
    return answer.fs.fileEncryptionInfo.keyName


def test_a_key_server_that_refuses_is_named(scene: Scene) -> None:
    scene.server.answers_at_once = False
    for number in range(4):
        scene.create(f"/z/{number}")
    held = scene.create("/z/x")
    scene.server.answer(errors.AccessDenied("the key server refuses hdfs"))
    with pytest.raises(errors.AccessDenied, match="refuses hdfs"):
        scene.settled(held)
    # The next one asks again.
    held = scene.create("/z/x")
    scene.server.answer()
    assert scene.settled(held).fs.fileId


@pytest.mark.parametrize("error", [errors.Unreachable, errors.CallTimeout])
def test_key_servers_that_are_away_are_no_reason_to_ask_another_namenode(
    scene: Scene, error: type[errors.HowdahError]
) -> None:
    scene.server.answers_at_once = False
    for number in range(4):
        scene.create(f"/z/{number}")
    held = scene.create("/z/x")
    scene.server.answer(error("the key server http://k:9600 is silent"))
    with pytest.raises(errors.RemoteError, match=r"no key server answers.*http://k:9600") as found:
        scene.settled(held)
    assert type(found.value) is errors.RemoteError


def test_nobody_waits_for_ever(scene: Scene) -> None:
    scene.server.answers_at_once = False
    for number in range(4):
        scene.create(f"/z/{number}")
    held = scene.create("/z/x")
    scene.namenode.tick(WAIT_MS - 1)
    assert not held.settled
    scene.namenode.tick(1)
    with pytest.raises(errors.RemoteError, match="no key by payroll within"):
        scene.settled(held)
    scene.server.answer()
    assert scene.namesystem.namespace.find("/z/x") is None


def test_who_is_gone_opens_nothing(scene: Scene) -> None:
    scene.server.answers_at_once = False
    for number in range(4):
        scene.create(f"/z/{number}")
    held = scene.create("/z/x")
    held.withdraw()
    scene.server.answer()
    assert scene.namesystem.namespace.find("/z/x") is None


def test_a_standby_answers_those_who_wait(scene: Scene) -> None:
    scene.server.answers_at_once = False
    for number in range(4):
        scene.create(f"/z/{number}")
    held = scene.create("/z/x")
    scene.namenode.client.refuse_waiting(errors.StandbyError("not here"))
    with pytest.raises(errors.StandbyError):
        scene.settled(held)


@pytest.mark.parametrize(
    ("path", "key_name", "words"),
    [
        ("/none", "payroll", "cannot find /none"),
        ("/z", "payroll", "Directory /z is already an encryption zone"),
        ("/full", "payroll", "non-empty directory"),
        ("/full/f", "payroll", "for a file"),
        ("/plain", "none", "Key none doesn't exist."),
        ("/plain", "", "Must specify a key name"),
    ],
)
def test_what_is_no_zone(scene: Scene, path: str, key_name: str, words: str) -> None:
    scene.create("/full/f")
    with pytest.raises(errors.HowdahError, match=words):
        scene.make_zone(path, key_name)


def test_zones_are_made_and_listed_by_superusers(scene: Scene) -> None:
    with pytest.raises(errors.AccessDenied):
        scene.make_zone("/plain", user="bob")
    with pytest.raises(errors.AccessDenied):
        scene.call("listEncryptionZones", pb.ListEncryptionZonesRequestProto(id=0), user="bob")


def test_without_key_servers_there_are_no_zones(scene: Scene) -> None:
    scene.namesystem.zone_keys = None
    with pytest.raises(errors.RemoteError, match="since no key provider is available"):
        scene.make_zone("/plain")
    with pytest.raises(errors.RemoteError, match="No KeyProvider is configured"):
        scene.create("/z/a")


def test_nothing_crosses_the_bounds_of_a_zone(scene: Scene) -> None:
    scene.mkdir("/z2")
    scene.make_zone("/z2", "audit")
    scene.create("/z/a")
    scene.create("/plain/p")
    for source, target, words in (
        ("/z/a", "/plain/a", "/z/a can't be moved from an encryption zone."),
        ("/plain/p", "/z/p", "/plain/p can't be moved into an encryption zone."),
        ("/z/a", "/z2/a", "from encryption zone /z to encryption zone /z2."),
    ):
        with pytest.raises(errors.RemoteError, match=words):
            scene.rename(source, target)
        with pytest.raises(errors.RemoteError, match=words):
            scene.call("rename", pb.RenameRequestProto(src=source, dst=target))
    scene.mkdir("/z/in")
    scene.rename("/z/a", "/z/in/a")
    scene.rename("/z", "/elsewhere")
    assert scene.zones() == [("/elsewhere", "payroll"), ("/z2", "audit")]
    assert scene.status("/elsewhere/in/a").fileEncryptionInfo.keyName == "payroll"
    with pytest.raises(
        errors.IllegalArgument, match="concat can not be called for files in an enc"
    ):
        scene.call("concat", pb.ConcatRequestProto(trg="/elsewhere/in/a", srcs=["/elsewhere/in/b"]))


def test_a_zone_in_a_zone_has_its_own_key(scene: Scene) -> None:
    scene.mkdir("/z/inner")
    scene.make_zone("/z/inner", "audit")
    assert self_of(scene.create("/z/inner/a")) == "audit"
    assert self_of(scene.create("/z/a")) == "payroll"
    # As what is in the outer zone it stays there.
    with pytest.raises(errors.RemoteError, match="from an encryption zone"):
        scene.rename("/z/inner", "/inner")
    scene.rename("/z/inner", "/z/moved")
    answer = scene.call("getEnclosingRoot", pb.GetEnclosingRootRequestProto(filename="/z/moved/a"))
    assert answer.enclosingRootPath == "/z/moved"


def test_log_and_image_have_all_of_it(scene: Scene) -> None:
    scene.create("/z/a")
    before = scene.status("/z/a").fileEncryptionInfo
    replayed = InMemoryNamenode()
    replayed.namesystem.role.writable = False
    for number, edit in enumerate(scene.namenode.edits()[1:], start=2):
        replayed.namesystem.follow(edits.LoggedEdit(number, edit))
    for namespace in (reloaded(scene.namesystem.namespace), replayed.namesystem.namespace):
        assert namespace.zones
        file = namespace.find("/z/a")
        assert file is not None
        zone = zone_of(file)
        assert isinstance(zone, Zone)
        assert file_key(file.xattrs, zone) == encrypted_key_of(before)


def test_zones_that_are_gone_are_not_listed(scene: Scene) -> None:
    scene.call("delete", pb.DeleteRequestProto(src="/z", recursive=True))
    assert scene.zones() == []
    scene.namenode.tick(1000)
    assert scene.zones() == []


def test_listings_of_zones_have_pages(scene: Scene) -> None:
    for number in range(120):
        scene.mkdir(f"/many/{number:03}")
        scene.make_zone(f"/many/{number:03}")
    found: list[str] = []
    behind, pages = 0, 0
    while True:
        request = pb.ListEncryptionZonesRequestProto(id=behind)
        answer = scene.call("listEncryptionZones", request)
        found += [zone.path for zone in answer.zones]
        pages += 1
        if not answer.hasMore:
            break
        behind = answer.zones[-1].id
    assert pages == 2
    assert found == ["/z", *(f"/many/{number:03}" for number in range(120))]


def test_a_damaged_zone_takes_no_file(scene: Scene) -> None:
    namespace = scene.namesystem.namespace
    directory = namespace.find("/z")
    assert directory is not None
    directory.xattrs = (XAttr(XAttrNamespace.RAW, "hdfs.crypto.encryption.zone", b"\xff"),)
    with pytest.raises(errors.RemoteError, match="is damaged"):
        scene.create("/z/a")


def test_snapshots_keep_the_key(scene: Scene) -> None:
    before = scene.create("/z/a").fs.fileEncryptionInfo
    scene.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/z"))
    scene.call("createSnapshot", pb.CreateSnapshotRequestProto(snapshotRoot="/z", snapshotName="s"))
    scene.call("delete", pb.DeleteRequestProto(src="/z/a", recursive=True))
    assert scene.status("/z/.snapshot/s/a").fileEncryptionInfo == before


def test_a_file_that_is_emptied_gets_another_key(scene: Scene) -> None:
    """What is written next would be a second text under the key stream of the first."""
    scene.write("/z/a")
    scene.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/z"))
    scene.call("createSnapshot", pb.CreateSnapshotRequestProto(snapshotRoot="/z", snapshotName="s"))
    before = scene.status("/z/a").fileEncryptionInfo
    assert scene.truncate("/z/a", 0, client_id=CLIENT, call_id=1).result
    after = scene.status("/z/a").fileEncryptionInfo
    assert (after.iv != before.iv, after.key != before.key) == (True, True)
    assert scene.status("/z/.snapshot/s/a").fileEncryptionInfo == before
    # Whoever repeats the call, or goes on with the file, has that key.
    assert scene.truncate("/z/a", 0, client_id=CLIENT, call_id=1).result
    opened = scene.call("append", pb.AppendRequestProto(src="/z/a", clientName="writer", flag=4))
    assert opened.stat.fileEncryptionInfo == after
    for from_image in (False, True):
        scene.restart(from_image=from_image)
        assert scene.status("/z/a").fileEncryptionInfo == after
        assert scene.status("/z/.snapshot/s/a").fileEncryptionInfo == before


def test_only_what_is_emptied_gets_another_key(scene: Scene) -> None:
    for path in ("/z/a", "/z/raw", "/plain/a"):
        scene.write(path)
    before = {path: scene.status(path).fileEncryptionInfo for path in ("/z/a", "/z/raw")}
    assert not scene.truncate("/z/a", 50).result
    assert scene.truncate("/.reserved/raw/z/raw", 0).result
    assert {path: scene.status(path).fileEncryptionInfo for path in before} == before
    scene.namesystem.zone_keys = None
    assert scene.truncate("/plain/a", 0).result
    scene.write("/plain/b")


def test_emptying_a_file_waits_for_a_key(scene: Scene) -> None:
    scene.write("/z/a")
    before = scene.status("/z/a")
    scene.server.answers_at_once = False
    for number in range(3):
        scene.create(f"/z/{number}")
    answer = scene.truncate("/z/a", 0)
    assert not answer.settled
    assert scene.status("/z/a") == before
    scene.server.answer()
    assert scene.settled(answer).result
    now = scene.status("/z/a")
    assert (now.length, now.fileEncryptionInfo.iv == before.fileEncryptionInfo.iv) == (0, False)
    scene.write("/z/b")
    scene.namesystem.zone_keys = None
    with pytest.raises(errors.RemoteError, match="No KeyProvider is configured"):
        scene.truncate("/z/b", 0)
    assert scene.status("/z/b").length == 100


def test_the_trash_of_a_zone_is_emptied(scene: Scene) -> None:
    scene.mkdir("/z/.Trash/bob/Current/z/a")
    hour_ms = 3_600_000
    emptier = TrashEmptier(
        scene.namesystem,
        TreeCalls(scene.namesystem),
        interval_ms=hour_ms,
        checkpoint_interval_ms=hour_ms,
    )
    trash = scene.namesystem.namespace.find("/z/.Trash/bob")
    assert trash is not None
    for left in (1, 0):
        while not emptier.is_due():
            scene.namenode.tick(hour_ms // 2)
        assert not any(emptier.round())
        names = list(trash.sorted_names())  # type: ignore[attr-defined]
        if left:
            assert len(names) == 1
            assert names[0] != "Current"
        scene.namenode.tick(2 * hour_ms)
    assert names == []


def test_keys_of_zone_keys_end() -> None:
    server, now = Server(), [0]
    keys = ZoneKeys(server, lambda: now[0], size=4, low=0.5, expiry_ms=100)
    server.answers_at_once = False
    keys.warm_up("a")
    keys.warm_up("a")
    assert len(server.asked) == 1
    server.answer()
    keys.take("a")
    now[0] = 100
    with pytest.raises(KeyAwaited):
        keys.take("a")
    server.answer()
    keys.forget("a")
    with pytest.raises(KeyAwaited):
        keys.take("a")
