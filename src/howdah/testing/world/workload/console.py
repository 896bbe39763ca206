"""What an administrator types and looks at: commands, pages, and waiting for what they bring."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from howdah.testing.world.cluster import Cluster, Server
from howdah.testing.world.processes import Process
from howdah.testing.world.world import Unexpected

_LOOK_S: Final = 0.5
_PATIENCE_S: Final = 120.0


class Console:
    """Runs commands in one process, and keeps where one does not do what it has to; `settle` raises
    Unexpected then."""

    def __init__(
        self, cluster: Cluster, process: Process, settings: Mapping[str, str] | None = None
    ) -> None:
        self._cluster = cluster
        self._process = process
        self._settings = settings
        self._clock = process.modules.load("time")
        self._errors = process.modules.load("howdah.errors")
        self.commands = 0
        self.problems: list[str] = []

    def load(self, name: str) -> Any:
        """Return a module of the process."""
        return self._process.modules.load(name)

    def sleep(self, seconds: float) -> None:
        self._clock.sleep(seconds)

    def run(
        self,
        name: str,
        *words: str,
        status: int = 0,
        shows: str = "",
        server: Server | None = None,
    ) -> str:
        """Run a command, which has to end with `status`; its output has to have the expression
        `shows`."""
        found, text = self.try_to(name, *words, server=server)
        if found != status or re.search(shows, text) is None:
            self._note(
                f"{name} {' '.join(words)} has the status {found}, not {status}, and says\n{text}\n"
                f"which has to have {shows!r}"
            )
        return text

    def _note(self, what: str) -> None:
        self.problems.append(what)
        self._cluster.world.story.record(self._process.name, f"finds it wrong: {what}")

    def check(self, is_so: object, what: object) -> None:
        """Keep that something is not so."""
        if not is_so:
            self._note(str(what))

    def settle(self) -> None:
        """Raise Unexpected if anything was wrong."""
        if self.problems:
            raise Unexpected("\n".join(self.problems))

    def try_to(self, name: str, *words: str, server: Server | None = None) -> tuple[int, str]:
        """Run a command that may fail."""
        self.commands += 1
        return self._cluster.run_command(
            self._process, name, *words, server=server, settings=self._settings
        )

    def get(self, place: str, path: str, status: int = 200) -> bytes:
        """Return the page of a server, whose place is host and port."""
        found, body = self.answer(place, "GET", path)
        self.check(found == status, f"{place}{path} answers {found}, not {status}: {body[:500]!r}")
        return body

    def answer(self, place: str, method: str, path: str) -> tuple[int, bytes]:
        """Send a request without a body, and return the status and the body of the answer."""
        client = self._process.modules.load("http.client")
        connection = client.HTTPConnection(place, timeout=60)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            return int(answer.status), bytes(answer.read())
        finally:
            connection.close()

    def beans(self, place: str, query: str = "") -> list[dict[str, Any]]:
        """Return what a server tells monitoring."""
        found = json.loads(self.get(place, f"/jmx?qry={query}" if query else "/jmx"))
        beans: list[dict[str, Any]] = found["beans"]
        return beans

    def wait(self, what: str, is_so: Callable[[], object], timeout_s: float = _PATIENCE_S) -> None:
        """Look until it is so, through errors of a cluster that is busy with itself."""
        until_s = self._clock.monotonic() + timeout_s
        why: object = ""
        while True:
            try:
                if is_so():
                    return
            except (self._errors.HowdahError, OSError) as error:
                why = f"{type(error).__name__}: {error}"
            if self._clock.monotonic() > until_s:
                before = "".join(f"\nbefore: {each}" for each in self.problems)
                raise Unexpected(f"not within {timeout_s:g} s: {what}; {why}{before}")
            self._clock.sleep(_LOOK_S)

    def fails(self, act: Callable[[], object], *names: str) -> None:
        """Do what has to be refused by an error with one of these names."""
        try:
            act()
        except (self._errors.HowdahError, OSError, ValueError) as error:
            found = {each.__name__ for each in type(error).__mro__}
            self.check(found & set(names), f"{type(error).__name__}: {error}, and not {names}")
        else:
            self._note(f"nothing was refused, which has to be by {names}")
