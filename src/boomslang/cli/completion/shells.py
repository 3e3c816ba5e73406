"""The same words as a script of each shell."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator

from boomslang.cli.completion.words import FILES, Command

Commands = dict[str, Command]


def bash(commands: Commands) -> str:
    lines = [
        "# Completion of boomslang in bash. Try it: source <(boomslang completion bash)",
        "_boomslang() {",
        '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="" each',
        '    if [[ $word == "=" ]]; then word=""; fi',
        '    if [[ $before == "=" ]]; then before="${COMP_WORDS[COMP_CWORD-2]}"; fi',
        '    for each in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
        "        case $command$each in",
        *(f'            {name.replace(" ", "")}) command="{name}" ;;' for name, _ in walk(commands)),
        "        esac",
        "    done",
        "    COMPREPLY=()",
        '    local offered="" files=""',
        "    case $command in",
        f'        "") offered="{" ".join([*commands, "--help", "--version"])}" ;;',
    ]
    for name, command in walk(commands):
        lines += [f'        "{name}")', "            case $before in"]
        for option, takes in command.options.items():
            if takes is not None:
                lines.append(f"                {option}) {_bash_takes(takes)} ;;")
        lines += [
            f"                *) {_bash_takes((*command.actions, *command.words))}",
            f'                    if [[ $word == -* ]]; then offered="{" ".join(command.options)}"; files=""; fi ;;',
            "            esac ;;",
        ]
    lines += [
        "    esac",
        '    COMPREPLY=($(compgen -W "$offered" -- "$word"))',
        '    if [[ -n $files ]]; then COMPREPLY+=($(compgen -f -- "$word")); fi',
        "}",
        "complete -o filenames -F _boomslang boomslang",
        "",
    ]
    return "\n".join(lines)


def _bash_takes(words: tuple[str, ...]) -> str:
    named = " ".join(word for word in words if word not in FILES)
    return f'offered="{named}"; files="{"yes" if FILES[0] in words else ""}"'


def zsh(commands: Commands) -> str:
    lines = [
        "#compdef boomslang",
        "# Completion of boomslang in zsh. Try it: source <(boomslang completion zsh)",
    ]
    for name, command in walk(commands):
        lines += [f"{_function(name)}() {{", "    _arguments -s \\"]
        for option, takes in command.options.items():
            about = _zsh_text(command.about[option])
            value = "" if takes is None else f":value:{_zsh_takes(takes)}"
            lines.append(f"        '*{option}{'' if takes is None else '='}[{about}]{value}' \\")
        if command.actions:
            lines += [f"        '1:action:({' '.join(command.actions)})' \\", "        '*::rest:->rest'"]
            lines.append("    case $words[1] in")
            lines += [f"        {action}) {_function(f'{name} {action}')} ;;" for action in command.actions]
            lines.append("    esac")
        else:
            lines.append(f"        '*:what:{_zsh_takes(command.words)}'")
        lines.append("}")
    lines += ["_boomslang() {", "    local -a commands=("]
    lines += [f"        '{name}:{_zsh_text(each.summary)}'" for name, each in commands.items()]
    lines += [
        "    )",
        "    if (( CURRENT == 2 )); then",
        "        _describe command commands",
        "        return",
        "    fi",
        "    shift words; (( CURRENT-- ))",
        "    case $words[1] in",
        *(f"        {name}) {_function(name)} ;;" for name in commands),
        "    esac",
        "}",
        "compdef _boomslang boomslang",
        "",
    ]
    return "\n".join(lines)


def _function(name: str) -> str:
    return "_boomslang_" + name.replace(" ", "_").replace("-", "_")


def _zsh_text(text: str) -> str:
    for letter in "[]:\\'":
        text = text.replace(letter, " ")
    return text


def _zsh_takes(words: tuple[str, ...]) -> str:
    if FILES[0] in words:
        return "_files"
    return f"({' '.join(words)})" if words else " "


def fish(commands: Commands) -> str:
    lines = [
        "# Completion of boomslang in fish. Try it: boomslang completion fish | source",
        "complete -c boomslang -f",
        "complete -c boomslang -n __fish_use_subcommand -l version -d 'show the version'",
    ]
    for name, command in commands.items():
        summary = shlex.quote(command.summary)
        lines.append(f"complete -c boomslang -n __fish_use_subcommand -a {name} -d {summary}")
    for name, command in walk(commands):
        inside = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in name.split())
        start = f"complete -c boomslang -n '{inside}'"
        for action, child in command.actions.items():
            lines.append(f"{start} -a {action} -d {shlex.quote(child.summary)}")
        if command.words:
            lines.append(f"{start} {_fish_takes(command.words).removeprefix('-r ')}")
        for option, takes in command.options.items():
            flag = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            value = "" if takes is None else f" {_fish_takes(takes)}"
            lines.append(f"{start} {flag}{value} -d {shlex.quote(command.about[option])}")
    return "\n".join([*lines, ""])


def _fish_takes(words: tuple[str, ...]) -> str:
    named = " ".join(word for word in words if word not in FILES)
    files = " -F" if FILES[0] in words else ""
    return f"-r{files}" + (f" -a {shlex.quote(named)}" if named else "")


def walk(commands: Commands, before: str = "") -> Iterator[tuple[str, Command]]:
    """All commands and their actions, by all the words that name them."""
    for name, command in commands.items():
        yield before + name, command
        yield from walk(command.actions, f"{before}{name} ")


SHELLS: dict[str, Callable[[Commands], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
