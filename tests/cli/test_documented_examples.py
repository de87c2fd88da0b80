"""The commands in the documents print what the documents show."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

from bridgeval.cli import COMMANDS
from tests.cli.conftest import Run

DOCS = Path(__file__).parents[2] / "docs"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def test_the_commands_of_command_line_md(run: Run, folder: Path) -> None:
    text = (DOCS / "command-line.md").read_text()
    (config,) = re.findall(r"```toml\n(.*?)```", text, flags=re.DOTALL)
    (folder / "study.toml").write_text(config)
    checker = doctest.OutputChecker()
    for block in re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL):
        for line, expected in re.findall(r"^\$ bridgeval (.*)\n((?:(?!\$ ).*\n)*)", block, flags=re.MULTILINE):
            done = run(*shlex.split(line))
            # How long a rule is depends on the widest cell, which examples may leave out.
            shown, wanted = (re.sub("─+", "─", text) for text in (done.stdout + done.stderr, expected))
            assert checker.check_output(wanted, shown, FLAGS), f"$ bridgeval {line}\n{shown}"


def test_every_command_is_documented() -> None:
    text = (DOCS / "command-line.md").read_text()
    assert [name for name in COMMANDS if f"bridgeval {name}" not in text] == []
