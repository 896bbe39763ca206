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
from howdah.fs.objects.names import key_of, path_of, prefix_of
from howdah.fs.objects.tree import Tree, markers_below
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
            parent = paths.parent_of(path)
            if parent is None:
                raise errors.IllegalArgument("the root cannot be deleted")
            by_parent[parent].append(path)
        for parent, names in by_parent.items():
            directories = self._directories(parent, names)
            for path in names:
                if path in directories:
                    failed += self._delete_one(path)
                else:
                    files.append(path)
        refused = self._tree.store.delete_many([key_of(path) for path in files])
        failed += [(path_of(refusal.key), refusal.error) for refusal in refused]
        for parent in by_parent:
            self._tree.ensure_directory(parent)
        return failed

    def _directories(self, parent: str, names: Sequence[str]) -> frozenset[str]:
        """Return those paths of one directory that are directories, not files.

        A directory `x` is listed as `x/`, after `x!` and `x-1`. Where keys are sorted, a listing
        must have passed `x/` to show whether `x` is a directory.
        """
        is_sorted = self._tree.store.sorts_keys
        wanted = {f"{key_of(path)}/": path for path in names}
        prefix, last = prefix_of(parent), max(wanted)
        directories: set[str] = set()
        files: set[str] = set()
        seen = ""
        # Just before the first name, be it a file's: `x` comes before `x-1`, and `x/` after it.
        start = min(key_of(path) for path in names)[:-1] if is_sorted else ""
        pages = self._tree.pages(prefix, delimiter=True, start_after=start)
        for number, page in enumerate(pages, 1):
            directories.update(page.prefixes, markers_below(page, prefix))
            files.update(f"{info.key}/" for info in page.objects if info.key[-1:] != "/")
            if is_sorted:
                seen = max((seen, *page.prefixes, *(info.key for info in page.objects)))
                if seen >= last:
                    break
                unknown = [key for key in wanted if key > seen]
            else:
                # What has keys below it is a file all the same, if its own key comes later.
                unknown = [key for key in wanted if key not in files]
            if number > len(unknown):
                # Few names with many others between them: each is asked for by itself.
                directories.difference_update(unknown)
                directories.update(key for key in unknown if self._is_directory(wanted[key]))
                break
        return frozenset(wanted[key] for key in wanted if key in directories and key not in files)

    def _is_directory(self, path: str) -> bool:
        return self._tree.file(path) is None and self._tree.is_prefix(path)
