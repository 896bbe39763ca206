"""Many files in one request (shell).

A store takes the removal of anything for done, so what is a directory has to be known before:
a listing of the names between the first and the last target of a directory says it, a page of
1,000 names a request; targets that are few and far between are asked for one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from howdah import errors
from howdah.fs import paths
from howdah.fs.bulk_delete import BulkDelete, Deletes
from howdah.fs.objects.names import behind, key_of, path_of, prefix_of
from howdah.fs.objects.tree import Tree
from howdah.fs.paths import PathLike


class ObjectBulkDelete(BulkDelete):
    """Deletes files by the page; empty directories go as well."""

    def __init__(self, fs: Deletes, tree: Tree, base_path: PathLike, page_size: int) -> None:
        super().__init__(fs, base_path)
        self._tree = tree
        self.page_size = page_size

    def delete(self, targets: Sequence[PathLike]) -> list[tuple[str, Exception]]:
        resolved = self._checked(targets)
        failed: list[tuple[str, Exception]] = []
        files: list[str] = []
        by_parent: defaultdict[str, list[str]] = defaultdict(list)
        for path in resolved:
            by_parent[paths.parent_of(path) or paths.SEPARATOR].append(path)
        for parent, names in by_parent.items():
            directories = self._directories(parent, names)
            for path in names:
                if path not in directories:
                    files.append(path)
                    continue
                try:
                    self._fs.delete(path, recursive=False)
                except (errors.HowdahError, OSError) as error:
                    failed.append((path, error))
        refused = self._tree.store.delete_many([key_of(path) for path in files])
        failed += [(path_of(each.key), each.error) for each in refused]
        for parent in by_parent:
            self._tree.keep(parent)
        return failed

    def _directories(self, parent: str, names: Sequence[str]) -> frozenset[str]:
        """Which of the paths in one directory are directories, and no files."""
        wanted = set(names)
        prefix, last = prefix_of(parent), behind(f"{max(names)}/")
        found: set[str] = set()
        files: set[str] = set()
        # Just before the first name: the one character that sorts before all others behind it.
        start = key_of(min(names))[:-1]
        pages = self._tree.pages(prefix, delimiter=True, start_after=start)
        for number, page in enumerate(pages, 1):
            found.update(path_of(each) for each in page.prefixes)
            files.update(path_of(each.key) for each in page.objects if each.key != prefix)
            seen = max(found | files, default="")
            if seen > last:
                break
            unseen = [path for path in wanted if path > seen]
            if number > len(unseen):
                # Few names with many others between them: each is asked for by itself.
                found.update(path for path in unseen if self._is_directory(path))
                break
        return frozenset(wanted & found - files)

    def _is_directory(self, path: str) -> bool:
        return self._tree.file(path) is None and self._tree.is_prefix(path)
