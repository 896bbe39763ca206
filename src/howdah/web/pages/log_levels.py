"""`/logLevel`: what is logged, looked at and changed while a server runs (shell).

    /logLevel?log=howdah.namenode              what level a logger has
    /logLevel?log=howdah.namenode&level=DEBUG  set it

Hadoop's LogLevel.Servlet: its address, its parameters, and the marked lines of its answer, so
that `hadoop daemonlog` works. A level is set for programs and for pages of this server; a
browser that another server's page may have led here gets 403. Only loggers that are there have
levels, which bounds what a caller can make.
"""

from __future__ import annotations

import logging
import re
from typing import Final

from howdah.web.cross_site import is_from_another_page
from howdah.web.http import Request
from howdah.web.pages.html import Child, Html, tag
from howdah.web.pages.layout import live, table
from howdah.web.process_bridge import OtherProcess

PATH: Final = "/logLevel"
MARKER: Final = Html("<!-- OUTPUT -->")
LEVELS: Final = ("DEBUG", "INFO", "WARN", "ERROR", "FATAL")
_PYTHON: Final = {
    "WARN": logging.WARNING,
    "WARNING": logging.WARNING,
    "FATAL": logging.CRITICAL,
    "CRITICAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
}
_HADOOP: Final = {"WARNING": "WARN", "CRITICAL": "FATAL"}
_ROOT: Final = "root"

log = logging.getLogger(__name__)


def page(request: Request, also: OtherProcess | None = None) -> tuple[int, list[Child]]:
    """Do what the request asks for, and return the status and the body of the page."""
    name = request.query.get("log", "").strip()
    level = request.query.get("level", "").strip()
    status: int = 200
    said: list[Child] = []
    if name:
        status, said = _about(request, name, level, also)
    return status, [
        tag("div", said, role="status", class_="card") if said else None,
        _form(name),
        live(
            "levels",
            table(
                "Loggers with a level of their own",
                ("Logger", "Level"),
                [
                    (logger.name, _level_name(logger.level))
                    for logger in [logging.getLogger(), *_known()]
                    if logger.level != logging.NOTSET
                ],
            ),
        ),
        tag(
            "details", tag("summary", "All loggers"), tag("p", ", ".join(e.name for e in _known()))
        ),
    ]


def _about(
    request: Request, name: str, level: str, also: OtherProcess | None
) -> tuple[int, list[Child]]:
    said: list[Child] = [_line("Submitted Class Name: ", tag("b", name))]
    logger = _called(name)
    if logger is None:
        return 404, [*said, _line("There is no logger of that name here.")]
    said.append(_line("Log Class: ", tag("b", type(logger).__name__)))
    status = 200
    if level:
        said.append(_line("Submitted Level: ", tag("b", level)))
        number = _PYTHON.get(level.upper())
        if number is None:
            said.append(_line("Bad Level : ", tag("b", level), f"; there are {', '.join(LEVELS)}"))
            status = 400
        elif is_from_another_page(request):
            said.append(_line("A page of another server may not change anything here."))
            status = 403
        else:
            said.append(_line("Setting Level to ", tag("b", level), " ..."))
            before = _level_name(logger.getEffectiveLevel())
            logger.setLevel(number)
            if also is not None:
                also.set_level("" if name == _ROOT else name, number)
                said.append(_line(f"It is set in {also.name} as well."))
            now = _level_name(number)
            log.warning(
                "%s asked over HTTP that %s logs %s and above (%s before), until this process ends",
                request.peer,
                name,
                now,
                before,
            )
    said.append(_line("Effective Level: ", tag("b", _level_name(logger.getEffectiveLevel()))))
    return status, said


def _line(*children: Child) -> Child:
    """In a line of its own, as Hadoop's command looks for it."""
    return [Html("\n"), MARKER, *children, tag("br")]


def _level_name(level: int) -> str:
    name = logging.getLevelName(level)
    return _HADOOP.get(name, name)


def _known() -> list[logging.Logger]:
    loggers = dict(logging.root.manager.loggerDict)
    # The others stand for names that only have loggers below them.
    return [
        logger for name in sorted(loggers) if isinstance(logger := loggers[name], logging.Logger)
    ]


def _called(name: str) -> logging.Logger | None:
    """A logger that is there, or one above some that are."""
    if name == _ROOT:
        return logging.getLogger()
    if not re.fullmatch(r"[\w.]{1,200}", name) or name not in logging.root.manager.loggerDict:
        return None
    return logging.getLogger(name)


def _form(name: str) -> Html:
    return tag(
        "form",
        tag(
            "label",
            "Logger",
            tag("input", name="log", value=name or "howdah", required=True, list="loggers"),
        ),
        tag(
            "label",
            "Level (until this process ends)",
            tag(
                "select",
                tag("option", "show only", value=""),
                [tag("option", level, value=level) for level in LEVELS],
                name="level",
            ),
        ),
        tag("button", "Apply", type="submit"),
        tag("datalist", [tag("option", value=logger.name) for logger in _known()], id="loggers"),
        method="get",
        action=PATH,
    )
