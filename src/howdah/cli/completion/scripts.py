"""Completion scripts in the languages of three shells.

All three read the words before the cursor in the same way: options with a value, the command,
options again, the sub-command. Then a table says what may follow. zsh runs the script of bash.
Bash takes colons and equals signs for words of their own, so it completes no full URIs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from howdah.cli.completion.candidates import GENERIC, Line, Place

Lines = Mapping[str, Line]

_BASH: Final = """\
_howdah() {
    local cur="${COMP_WORDS[COMP_CWORD]}" command="" sub="" words="" remote="" files=""
    local word line i=1
    local -a options
    options=()
    COMPREPLY=()
    while [ "$i" -lt "$COMP_CWORD" ] && [ -z "$sub" ]; do
        word="${COMP_WORDS[$i]}"
        case "$word" in
            @GENERIC@)
                options+=("$word" "${COMP_WORDS[$((i + 1))]}")
                i=$((i + 2))
                ;;
            :|=)
                if [ "${#options[@]}" -gt 0 ]; then
                    options[$((${#options[@]} - 1))]+="$word${COMP_WORDS[$((i + 1))]}"
                fi
                i=$((i + 2))
                ;;
            -D*)
                options+=("$word")
                i=$((i + 1))
                ;;
            *)
                if [ -z "$command" ]; then command="$word"; else sub="$word"; fi
                i=$((i + 1))
                ;;
        esac
    done
    if [ "$i" -gt "$COMP_CWORD" ]; then files=1; else
        case "$command" in
@TABLE@
        esac
    fi
    case "${COMP_WORDS[$((COMP_CWORD - 1))]}:$cur" in
        :*|=*|*::*) return ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    case "$cur" in
        -*) return ;;
    esac
    if [ -n "$files" ] || [ -n "$remote" ]; then compopt -o filenames 2>/dev/null; fi
    if [ -n "$files" ]; then
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$cur")
    fi
    if [ -n "$remote" ]; then
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(
            "${COMP_WORDS[0]}" completion ${options[@]+"${options[@]}"} \\
                --path "${cur//\\\\/}" 2>/dev/null </dev/null
        )
        case "${#COMPREPLY[@]}:${COMPREPLY[0]}" in
            1:*/) compopt -o nospace 2>/dev/null ;;
        esac
    fi
}
complete -F _howdah howdah
"""

_FISH: Final = """\
function __howdah_complete
    set -l cur (commandline -ct)
    set -l tokens (commandline -opc)
    set -l options
    set -l command ''
    set -l sub ''
    set -l words
    set -l remote ''
    set -l files ''
    set -l i 2
    while test $i -le (count $tokens); and test -z "$sub"
        set -l word $tokens[$i]
        set i (math $i + 1)
        switch $word
            case @GENERIC@
                set options $options $word $tokens[$i]
                set i (math $i + 1)
            case '-D*'
                set options $options $word
            case '*'
                if test -z "$command"
                    set command $word
                else
                    set sub $word
                end
        end
    end
    if test $i -gt (math (count $tokens) + 1)
        set files 1
    else
        switch "$command"
@TABLE@
        end
    end
    test (count $words) -gt 0; and printf '%s\\n' $words
    string match -q -- '-*' "$cur"; and return
    test -n "$files"; and __fish_complete_path "$cur"
    test -n "$remote"
    and $tokens[1] completion $options --path "$cur" 2>/dev/null </dev/null
end
complete -c howdah -f -a '(__howdah_complete)'
"""


def bash(lines: Lines) -> str:
    """The script of bash."""
    table = "\n".join(f"            {line}" for line in _bash_table(lines))
    return _filled(_BASH, "|".join(GENERIC), table)


def zsh(lines: Lines) -> str:
    """The script of bash, under zsh's own layer for such."""
    return f"autoload -U +X bashcompinit && bashcompinit\n{bash(lines)}"


def fish(lines: Lines) -> str:
    """The script of fish."""
    table = "\n".join(f"            {line}" for line in _fish_table(lines))
    return _filled(_FISH, " ".join(GENERIC), table)


SCRIPTS: Final[dict[str, Callable[[Lines], str]]] = {"bash": bash, "zsh": zsh, "fish": fish}


def _filled(script: str, generic: str, table: str) -> str:
    return script.replace("@GENERIC@", generic).replace("@TABLE@", table)


def _first(lines: Lines) -> str:
    return " ".join((*lines, *GENERIC, "--help", "--version"))


def _bash_table(lines: Lines) -> Iterator[str]:
    yield f"'') words='{_first(lines)}' ;;"
    for name, line in lines.items():
        if not line.sub_commands:
            yield f"{name}) {_bash_place(line.place)} ;;"
            continue
        yield f'{name}) case "$sub" in'
        yield f"    '') {_bash_place(line.place)} ;;"
        for sub, place in line.sub_commands.items():
            yield f"    {sub}) {_bash_place(place)} ;;"
        yield "esac ;;"


def _bash_place(place: Place) -> str:
    parts = [f"words='{' '.join(place.words)}'"]
    parts += ["remote=1"] if place.remote else []
    parts += ["files=1"] if place.local else []
    return "; ".join(parts)


def _fish_table(lines: Lines) -> Iterator[str]:
    yield "case ''"
    yield f"    set words {_first(lines)}"
    for name, line in lines.items():
        yield f"case {name}"
        if not line.sub_commands:
            yield f"    {_fish_place(line.place)}"
            continue
        yield '    switch "$sub"'
        for sub, place in {"''": line.place, **line.sub_commands}.items():
            yield f"        case {sub}"
            yield f"            {_fish_place(place)}"
        yield "    end"


def _fish_place(place: Place) -> str:
    parts = [f"set words {' '.join(place.words)}".rstrip()]
    parts += ["set remote 1"] if place.remote else []
    parts += ["set files 1"] if place.local else []
    return "; ".join(parts)
