"""`bridgeval completion`."""

from __future__ import annotations

import click

START = {
    "bash": 'eval "$(bridgeval completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(bridgeval completion zsh)"   # in ~/.zshrc',
    "fish": "bridgeval completion fish | source   # in ~/.config/fish/config.fish",
}


@click.command(
    short_help="Print a script that completes commands and metrics.",
    epilog="\b\nPut one of these in your shell's start file:\n  " + "\n  ".join(START.values()),
)
@click.argument("shell", type=click.Choice(list(START)))
def completion(shell: str) -> None:
    """Print the script that makes SHELL complete commands, options and metric names."""
    from click.shell_completion import get_completion_class

    from bridgeval.cli import program

    found = get_completion_class(shell)
    assert found is not None
    source = found(program, {}, "bridgeval", "_BRIDGEVAL_COMPLETE")
    # click asks bash for its version, which fails where the script is only printed.
    click.echo(source.source_template % source.source_vars())
