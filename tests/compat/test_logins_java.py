"""Hadoop's FsShell at a cluster without Kerberos whose users log in at web ports."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.request
from pathlib import Path

from howdah.cli.tokens.files import write_file
from howdah.formats.passwords import Cost, record_of
from howdah.formats.tokens.credentials import Credentials
from howdah.formats.tokens.token import Token
from howdah.protocol.web_authentication.basic import header_of
from howdah.testing import MiniCluster
from tests.support.hadoop.java import hadoop_java

SHELL = "org.apache.hadoop.fs.FsShell"


def test_java_calls_as_before_and_asks_web_ports_by_a_token(
    hadoop_classpath: str, tmp_path: Path
) -> None:
    passwords, tokens = tmp_path / "passwords", tmp_path / "tokens"
    record = record_of("alice", "alice's password", b"0123456789abcdef", Cost(4, 1, 1))
    passwords.write_text(record.line)
    passwords.chmod(0o600)
    conf = {
        "howdah.http.authentication": "file",
        "howdah.http.authentication.file": str(passwords),
    }

    def shell(*words: str, token_file: Path | None = None) -> subprocess.CompletedProcess[str]:
        environment = dict(os.environ)
        if token_file is not None:
            environment["HADOOP_TOKEN_FILE_LOCATION"] = str(token_file)
        return subprocess.run(
            [*hadoop_java(hadoop_classpath, cluster.conf_dir), SHELL, *words],
            check=False,
            capture_output=True,
            text=True,
            env=environment,
            timeout=120,
        )

    with MiniCluster(datanodes=1, conf=conf) as cluster:
        with cluster.connect() as fs:
            fs.mkdirs("/user/alice")
            with fs.create("/user/alice/secret") as out:
                out.write(b"for alice\n")
            fs.set_permission("/user/alice/secret", 0o600)
            fs.set_owner("/user/alice/secret", "alice", "users")
        authority = cluster.http.partition("://")[2]
        request = urllib.request.Request(
            f"{cluster.http}/webhdfs/v1/?op=GETDELEGATIONTOKEN",
            headers={"Authorization": header_of("alice", "alice's password")},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = json.load(answer)["Token"]["urlString"]
        token = Token.from_url_string(text)
        service = Token(token.identifier, token.password, token.kind, authority)
        write_file(tokens, Credentials({authority: service}))

        by_rpc = shell("-cat", f"{cluster.uri}/user/alice/secret")
        assert by_rpc.stdout == "for alice\n", by_rpc.stderr
        by_name = shell("-cat", f"webhdfs://{authority}/user/alice/secret")
        assert (by_name.returncode, by_name.stdout) == (1, "")
        by_token = shell("-cat", f"webhdfs://{authority}/user/alice/secret", token_file=tokens)
        assert by_token.stdout == "for alice\n", by_token.stderr
