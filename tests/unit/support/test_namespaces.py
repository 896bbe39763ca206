"""The comparisons of namespaces know every attribute that an inode has."""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType

import pytest

from howdah.namenode.state.inodes.inode_features import Features
from howdah.namenode.state.snapshots.snapshot_model import ATTRIBUTES, Version
from howdah.testing import fingerprint
from tests.support.namespaces import comparing


def attributes_in(module: ModuleType) -> set[str]:
    tree = ast.parse(Path(str(module.__file__)).read_text())
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


@pytest.mark.parametrize(
    "attribute", sorted({*Features.__slots__, *Version.__slots__} - {*ATTRIBUTES})
)
def test_the_fingerprint_has_every_attribute(attribute: str) -> None:
    """One that it lacks is lost in a replay or an image, and no history shows it. It has all those
    that snapshots keep of every inode."""
    assert attribute in attributes_in(fingerprint)


def test_versions_have_all_attributes_of_every_inode() -> None:
    assert {*ATTRIBUTES} <= {*Version.__slots__}


@pytest.mark.parametrize("attribute", sorted(set(Features.__slots__) - {"writer_machine"}))
def test_the_model_is_compared_in_every_attribute(attribute: str) -> None:
    by_function = {"acl": "acl", "storage_policy_id": "own_id"}
    assert by_function.get(attribute, attribute) in attributes_in(comparing)
