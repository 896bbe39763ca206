"""What Hadoop's own servers answer is what the file of their answers says.

The file is `hadoop_answers.json` beside this one; `tests/cluster/test_answers.py`
compares ours with it. To make it anew, for another version of Hadoop:

    HOWDAH_RECORD=1 python -m pytest tests/compat/test_answers_java.py
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.support.answers.conversation import converse
from tests.support.answers.facts import differences

RECORDED = Path(__file__).with_name("hadoop_answers.json")


def test_the_recorded_answers_are_those_of_hadoops_servers(
    hadoop_tools: Any, tmp_path: Path
) -> None:
    hadoop_tools("serve", tmp_path)
    try:
        answers = converse(("127.0.0.1", int((tmp_path / "port").read_text())))
    finally:
        hadoop_tools("stop")
    if os.environ.get("HOWDAH_RECORD"):
        RECORDED.write_text(json.dumps(answers, indent=1) + "\n")
    assert list(differences(json.loads(RECORDED.read_text()), answers)) == []
