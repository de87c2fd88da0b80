"""The commands of the README print what it shows, one after another in one folder."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def read_commands(text: str) -> list[tuple[str, str]]:
    """The commands of all consoles, each with the output that is shown."""
    consoles = re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [pair for console in consoles for pair in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", console, re.MULTILINE)]


def test_every_command_prints_what_the_readme_shows(run):
    commands = read_commands(README)
    assert [command.split()[1] for command, _ in commands] == ["demo", "compare", "explain"]
    for command, shown in commands:
        program, *arguments = shlex.split(command)
        done = run(*arguments)
        assert program == "bridgeval"
        assert done.returncode == 0, done.stderr
        assert doctest.OutputChecker().check_output(shown, done.stdout, FLAGS), f"{command}\n{done.stdout}"


def test_the_readme_fits_on_a_screen_and_a_half():
    assert len(README.splitlines()) <= 90
