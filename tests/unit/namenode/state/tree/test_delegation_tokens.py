"""Delegation tokens and their keys, as a namespace keeps them."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.formats.edits import edits
from howdah.formats.edits.codec import decode_record, encode_record
from howdah.formats.edits.edits import DelegationKey, DelegationTokenIdentifier
from howdah.formats.image import records as rec
from howdah.formats.image.fsimage import ImageReader
from howdah.namenode.state.images.image import read_image, write_image
from howdah.namenode.state.inodes.block_events import EditDoesNotFit
from howdah.namenode.state.tree.namespace import Namespace
from howdah.testing.fingerprint import fingerprint
from howdah.testing.in_memory import InMemoryNamenode

KEY = DelegationKey(7, 1_795_219_821_354, bytes.fromhex("6e6475f21d40b9aa"))
TOKEN = DelegationTokenIdentifier("alice@EXAMPLE.COM", "yarn", "", 1_000, 9_000, 3, 7)
OTHER = DelegationTokenIdentifier("bob", "yarn", "oozie@EXAMPLE.COM", 2_000, 9_500, 4, 7)


def after(*made: edits.Edit) -> Namespace:
    namespace = Namespace()
    for txid, edit in enumerate(made, 1):
        namespace.apply(decode_record(encode_record(txid, edit)).edit)
    return namespace


def image_of(namespace: Namespace) -> io.BytesIO:
    image = io.BytesIO()
    write_image(namespace, 1, 9, image)
    image.seek(0)
    return image


def reloaded(namespace: Namespace) -> Namespace:
    return read_image(image_of(namespace), "image")[0]


def test_a_token_is_kept_until_an_edit_takes_it() -> None:
    namespace = after(
        edits.UpdateMasterKeyOp(KEY),
        edits.GetDelegationTokenOp(TOKEN, 4_000),
        edits.GetDelegationTokenOp(OTHER, 4_500),
        edits.RenewDelegationTokenOp(TOKEN, 6_000),
    )
    assert namespace.tokens.expiry_ms(TOKEN) == 6_000
    assert namespace.tokens.expiry_ms(OTHER) == 4_500
    namespace.apply(edits.CancelDelegationTokenOp(OTHER))
    assert namespace.tokens.expiry_ms(OTHER) is None
    assert len(namespace.tokens) == 1
    # Its number is not given out again.
    assert namespace.tokens.sequence_number == OTHER.sequence_number
    assert namespace.tokens.current_key_id == KEY.key_id


def test_a_token_is_issued_once() -> None:
    namespace = after(edits.GetDelegationTokenOp(TOKEN, 1))
    with pytest.raises(EditDoesNotFit, match="there is a token for alice@"):
        namespace.apply(edits.GetDelegationTokenOp(TOKEN, 2))


def test_calls_that_were_logged_behind_a_cancellation_have_no_effect() -> None:
    namespace = after(
        edits.GetDelegationTokenOp(TOKEN, 1),
        edits.CancelDelegationTokenOp(TOKEN),
        edits.RenewDelegationTokenOp(TOKEN, 2),
        edits.CancelDelegationTokenOp(TOKEN),
    )
    assert len(namespace.tokens) == 0


def test_an_image_says_of_tokens_what_hadoops_does() -> None:
    namespace = after(edits.UpdateMasterKeyOp(KEY), edits.GetDelegationTokenOp(OTHER, 4_500))
    assert ImageReader(image_of(namespace), "image").secrets() == rec.SecretsRecord(
        7,
        4,
        (rec.DelegationKeyRecord(7, KEY.expiry_date_ms, KEY.key),),
        (
            rec.DelegationTokenRecord(
                None, "bob", "yarn", "oozie@EXAMPLE.COM", 2_000, 9_500, 4, 7, 4_500
            ),
        ),
    )


def test_an_image_with_a_token_twice_is_damaged() -> None:
    namespace = after(edits.GetDelegationTokenOp(TOKEN, 1))
    token = namespace.tokens.record().tokens[0]
    record = rec.SecretsRecord(1, 3, (), (token, token))
    namespace.tokens.record = lambda: record  # type: ignore[method-assign]
    with pytest.raises(errors.CorruptImage, match="its delegation tokens make no sense"):
        reloaded(namespace)


NUMBERS = st.integers(-3, 5)
TIMES = st.integers(0, 1 << 50)
TOKENS = st.builds(
    DelegationTokenIdentifier,
    st.sampled_from(["a", "nn/host@R"]),
    st.sampled_from(["", "yarn"]),
    st.sampled_from(["", "oozie"]),
    st.sampled_from([0, 1 << 41]),
    st.sampled_from([0, 1 << 42]),
    NUMBERS,
    NUMBERS,
)
EDITS: st.SearchStrategy[edits.Edit] = st.one_of(
    st.builds(edits.GetDelegationTokenOp, TOKENS, TIMES),
    st.builds(edits.RenewDelegationTokenOp, TOKENS, TIMES),
    st.builds(edits.CancelDelegationTokenOp, TOKENS),
    st.builds(
        edits.UpdateMasterKeyOp,
        st.builds(DelegationKey, NUMBERS, TIMES, st.binary(max_size=32)),
    ),
)


@given(history=st.lists(EDITS, max_size=30))
@pytest.mark.req("FS-041")
def test_tokens_are_the_same_live_replayed_and_from_an_image(history: list[edits.Edit]) -> None:
    live, fitting = Namespace(), list[edits.Edit]()
    for edit in history:
        before = live.tokens.record()
        try:
            live.tokens.appliers[type(edit)](edit)
        except EditDoesNotFit:
            assert live.tokens.record() == before
        else:
            fitting.append(edit)
    replayed = after(*fitting)
    assert fingerprint(live) == fingerprint(replayed) == fingerprint(reloaded(live))
    assert image_of(reloaded(live)).getvalue() == image_of(live).getvalue()


def test_a_namenode_that_starts_anew_has_them() -> None:
    namenode = InMemoryNamenode()
    namesystem = namenode.namesystem
    for edit in (edits.UpdateMasterKeyOp(KEY), edits.GetDelegationTokenOp(TOKEN, 4_000)):
        namesystem.commit(edit)
    kept = namesystem.namespace.tokens.record()
    for from_image in (False, True):
        again = namenode.restarted(from_image=from_image)
        assert again.namesystem.namespace.tokens.record() == kept
