"""`howdah completion`: scripts by which bash, zsh and fish complete howdah's command line.

`candidates` says what may stand where, `scripts` writes that in the language of a shell, and
`remote` lists the directory that somebody is typing the path of: the scripts call
`howdah completion --path WORD` for it.
"""

from __future__ import annotations

from howdah.cli.arguments.usage import UsageError
from howdah.config import Configuration

USAGE = """\
Usage: howdah completion bash|zsh|fish
  bash: source <(howdah completion bash)
  zsh:  source <(howdah completion zsh), after compinit
  fish: howdah completion fish | source"""


def main(argv: list[str], conf: Configuration) -> int:
    """Print the script of a shell; with `--path WORD`, what the word may become."""
    if argv in (["-h"], ["-help"], ["--help"]):
        print(USAGE)
        return 0
    if argv[:1] == ["--path"] and len(argv) == 2:
        from howdah.cli.completion.remote import candidates

        for path in candidates(argv[1], conf):
            print(path)
        return 0
    from howdah.cli.completion.candidates import lines
    from howdah.cli.completion.scripts import SCRIPTS

    if len(argv) != 1 or argv[0] not in SCRIPTS:
        raise UsageError(f"the name of a shell is needed\n{USAGE}")
    print(SCRIPTS[argv[0]](lines()), end="")
    return 0
