"""The command `bridgeval`.

COMMANDS lists the commands; each is imported when it is run, so that `--help` is fast. A command's module imports click
and nothing heavy at its top. To add a command, write a module beside these and a line in COMMANDS. Plugins offer
commands too (`bridgeval_commands`); they are looked up when a name is not in COMMANDS.

Exit codes: 0 success; 1 a check failed; 2 the command, its config or a metric's name is wrong; 3 the data is wrong or
cannot be read; 4 a package or a plugin is missing or failed; 70 a bug of bridgeval; 130 interrupted by Ctrl-C; 141 the
reader of the output closed it; 143 ended by SIGTERM.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import click

from bridgeval import __version__
from bridgeval.cli.stopping import unwind_on_signals
from bridgeval.errors import (
    BridgevalError,
    BridgevalWarning,
    ConfigError,
    DataWarning,
    InputError,
    LoaderError,
    MissingDependencyError,
    NeedError,
    SpecError,
)

COMMANDS = {
    "evaluate": "bridgeval.cli.evaluate:evaluate",
    "merge": "bridgeval.cli.merge:merge",
    "compare": "bridgeval.cli.compare:compare",
    "check": "bridgeval.cli.check:check",
    "runs": "bridgeval.cli.runs:runs",
    "explain": "bridgeval.cli.explain:explain",
    "identify": "bridgeval.cli.identify:identify",
    "inspect": "bridgeval.cli.inspect:inspect",
    "metrics": "bridgeval.cli.listing:metrics",
    "plugins": "bridgeval.cli.listing:plugins",
    "new-plugin": "bridgeval.cli.new_plugin:new_plugin",
    "librec": "bridgeval.cli.librec:librec",
    "spark": "bridgeval.cli.spark:spark",
    "verify": "bridgeval.cli.verify:verify",
    "demo": "bridgeval.cli.demo:demo",
    "completion": "bridgeval.cli.completion:completion",
}

# Argument of Python functions -> how it is typed, where that is not its own name.
FLAGS = {
    "recommendations": "RECS",
    "relevance": "TRUTH",
    "history": "--train",
    "metrics": "--metric",
    "tags": "--tag",
    "folder": "FOLDER",
}

# In the context of a command that prints an inspection: it says what a DataWarning says, and the effect.
INSPECTED = "bridgeval.inspected"
# In the context of a command that a plugin offers: the plugin.
PLUGIN = "bridgeval.plugin"
SAID_NO, WRONG_COMMAND, WRONG_DATA, UNAVAILABLE, BUG, INTERRUPTED, NO_READER = 1, 2, 3, 4, 70, 130, 141


class Program(click.Group):
    """A group that imports a command when it is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        # Commands of this package are not looked up among plugins, which takes the time of importing all of them.
        command = load_command(COMMANDS[cmd_name]) if cmd_name in COMMANDS else _find_plugin_command(ctx, cmd_name)
        if command is None:
            return None
        if not any(option.name == "debug" for option in command.params):
            command.params.append(_debug_option())
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            answer = super().invoke(ctx)
            sys.stdout.flush()
            return answer
        except BrokenPipeError:
            # Python flushes stdout once more at exit, which must not fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise click.exceptions.Exit(NO_READER) from None
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception:
            if PLUGIN in ctx.meta:
                from bridgeval.plugin_info import blame

                with blame(ctx.meta[PLUGIN], f"the command {ctx.invoked_subcommand!r}"):
                    raise
            raise


def load_command(target: str) -> click.Command:
    """The command at "module:attribute"."""
    module, _, attribute = target.partition(":")
    command: click.Command = getattr(importlib.import_module(module), attribute)
    return command


def _find_plugin_command(ctx: click.Context, name: str) -> click.Command | None:
    """The command of that name that a plugin offers."""
    from bridgeval import plugins
    from bridgeval.plugin_info import blame

    known = plugins.installed()
    offered = known.commands.get(name)
    if offered is None:
        return None
    ctx.meta[PLUGIN] = known.find_owner("commands", name)
    if isinstance(offered, click.Command):
        return offered
    with blame(ctx.meta[PLUGIN], f"the command {name!r}"):
        return load_command(offered.target)


def _debug_option() -> click.Option:
    return click.Option(["--debug"], is_flag=True, expose_value=False, help="Show the traceback of an error.")


@click.group(
    cls=Program,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "auto_envvar_prefix": "BRIDGEVAL",
        "max_content_width": 110,
        # https://no-color.org; None leaves it to click: colors on a terminal only.
        "color": False if os.environ.get("NO_COLOR") else None,
    },
    params=[_debug_option()],
    invoke_without_command=True,
    epilog="Start with `bridgeval demo`, or `bridgeval evaluate recs.parquet truth.parquet -m nDCG@5,10`.\n\n"
    "Plugins may add commands: `bridgeval plugins` lists them.",
)
@click.version_option(__version__, "-V", "--version", prog_name="bridgeval", message="%(prog)s %(version)s")
@click.pass_context
def program(context: click.Context) -> None:
    """Any recommender toolkit's output in, any toolkit's numbers out, from one engine."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs the command and exits with its code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    warnings.showwarning = _show_warning
    with unwind_on_signals() as received:
        try:
            code = program.main(given, prog_name="bridgeval", standalone_mode=False)
        except (Exception, KeyboardInterrupt) as error:
            if "--debug" in given:
                traceback.print_exc()
            code = received.code if received else _explain(error)
            if received:
                say(received.word, "")
    sys.exit(code if isinstance(code, int) else 0)


def _explain(error: BaseException) -> int:
    """Prints one line and a hint about an error; gives the exit code."""
    # click turns KeyboardInterrupt into Abort.
    if isinstance(error, click.Abort | KeyboardInterrupt):
        say("interrupted", "")
        return INTERRUPTED
    if isinstance(error, click.ClickException):
        say(*_explain_usage(error))
        return WRONG_COMMAND
    if isinstance(error, BridgevalError):
        say_error(error)
        return _choose_code(error)
    if type(error).__module__.startswith(("pyspark", "py4j")):
        say(f"Spark failed: {str(error).strip().splitlines()[0]}", "run again with --debug for the whole message")
        return UNAVAILABLE
    say(
        f"bridgeval failed: {type(error).__name__}: {error}",
        "this is a bug of bridgeval; run again with --debug and report the output",
    )
    return BUG


def _explain_usage(error: click.ClickException) -> tuple[str, str]:
    message = " ".join(error.format_message().split())
    context = getattr(error, "ctx", None)
    return message, f"`{context.command_path if context else 'bridgeval'} --help` shows the usage"


def _choose_code(error: BridgevalError) -> int:
    if isinstance(error, MissingDependencyError):
        return UNAVAILABLE
    if isinstance(error, SpecError | NeedError | ConfigError):
        return WRONG_COMMAND
    return WRONG_DATA if isinstance(error, InputError | LoaderError) else UNAVAILABLE


def say_error(error: BridgevalError) -> None:
    """Prints an error of ours; where the hint names an argument of Python, it names the flag."""
    say(error.wrong + (f" (found: {error.found})" if error.found else ""), error.spell_hint(spell_flag))


def spell_flag(argument: str, value: Any = None) -> str:
    """An argument of Python functions as it is typed.

    >>> spell_flag("history"), spell_flag("columns", {"user": ...}), spell_flag("columns", {"score": None})
    ('--train', '--columns user=...', '--columns score=')
    """
    flag = FLAGS.get(argument, f"--{argument.replace('_', '-')}")
    if isinstance(value, Mapping):
        value = ",".join(f"{key}={'...' if one is ... else one or ''}" for key, one in value.items())
    return flag if value is None or value is True else f"{flag} {value}"


def say(message: str, hint: str) -> None:
    """Prints an error in one line, and what to do about it in another."""
    click.echo(f"{click.style('error:', fg='red', bold=True)} {' '.join(message.split())}", err=True)
    if hint:
        click.echo(f"{click.style('hint:', fg='cyan')}  {' '.join(hint.split())}", err=True)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Prints our own warnings in one line; those of libraries are for developers and are left out."""
    context = click.get_current_context(silent=True)
    inspected = context is not None and context.meta.get(INSPECTED)
    if issubclass(category, BridgevalWarning) and not (inspected and issubclass(category, DataWarning)):
        click.echo(f"{click.style('warning:', fg='yellow')} {message}", err=True)
