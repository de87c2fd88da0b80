"""Options that several commands share, and the settings made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from bridgeval.config import Request

Command = TypeVar("Command", bound=Callable[..., Any])

GIVEN = (click.core.ParameterSource.COMMANDLINE, click.core.ParameterSource.ENVIRONMENT)
FILE = click.Path()


class Pairs(click.ParamType):  # type: ignore[type-arg]
    """`user=customer,item=sku` as a dictionary; `score=` chooses no column for the part."""

    name = "part=column,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, str | None]:
        if isinstance(value, dict):
            return value
        pairs = [pair.partition("=") for pair in value.split(",")]
        if not all(equals and part for part, equals, _ in pairs):
            self.fail(f"{value!r} is not part=column,part=column, e.g. user=customer,item=sku", param, ctx)
        return {part.strip(): column.strip() or None for part, _, column in pairs}


class Names(click.ParamType):  # type: ignore[type-arg]
    """`user,item,score` as a list."""

    name = "name,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        return [name.strip() for name in value.split(",")] if isinstance(value, str) else list(value)


class NamedFile(click.ParamType):  # type: ignore[type-arg]
    """`price=prices.csv` as a pair."""

    name = "name=file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        name, equals, path = value.partition("=")
        if not (name and equals and path):
            self.fail(f"{value!r} is not NAME=FILE, e.g. price=prices.csv", param, ctx)
        return name, path


def collect_named(ctx: click.Context, param: click.Parameter, pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Name -> file; an error where one name comes twice."""
    named = dict(pairs)
    if len(named) < len(pairs):
        names = [name for name, _ in pairs]
        raise click.BadParameter(f"{max(names, key=names.count)!r} is given twice.", ctx, param)
    return named


class MetricName(click.ParamType):  # type: ignore[type-arg]
    """A metric's name, completed by the shell from what is installed."""

    name = "metric"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        from bridgeval.cli.metric_cache import list_names

        start = incomplete.lower()
        return [click.shell_completion.CompletionItem(name) for name in list_names() if name.lower().startswith(start)]


TRUTH = click.option("--truth", "relevance", type=FILE, help="The relevant items, if they are not the last file.")
CONTEXT = click.option(
    "--context", type=NamedFile(), multiple=True, callback=collect_named, metavar="NAME=FILE",
    help="A column of items or users for metrics that ask for it by name: price=prices.csv. Repeatable.",
)  # fmt: skip
FILES = (
    TRUTH,
    click.option("--history", "--train", type=FILE, help="Training interactions: for novelty, popularity, seen items."),
    click.option("--catalogue", type=FILE, help="All items that could have been shown."),
    click.option("--item-groups", type=FILE, help="Item and its group, for fairness between items."),
    click.option("--user-groups", type=FILE, help="User and their group."),
    click.option("--item-features", type=FILE, help="Item and one feature per row."),
    click.option("--prev-scores", type=FILE, help="The logging policy's scores, for counterfactual metrics."),
    click.option("--users", type=FILE, help='Users that count under users="given".'),
    CONTEXT,
    click.option("--columns", type=Pairs(), help="The column of each part: user=customer,item=sku; score= for none."),
    click.option("--recs-columns", type=Names(), help="Columns in order, if RECS has no header: user,item,score."),
    click.option("--truth-columns", type=Names(), help="The same for TRUTH: user,item,gain; _ skips one."),
    click.option("--history-columns", type=Names(), help="The same for the history."),
    click.option("--mask-seen", is_flag=True, help="Drop recommended items that the user has in the history."),
    click.option("--text-ids", is_flag=True, help="Read ids as text even if they look like numbers."),
    click.option("--loader", metavar="NAME", help="The loader, if several fit."),
)
LOG = click.option(
    "--log", multiple=True, metavar="SINK[:KEY=VALUE,...]",
    help="Write the results to a tracker or file, e.g. jsonl:path=runs.jsonl; `bridgeval plugins` lists sinks.",
)  # fmt: skip
STORE = (
    click.option("--store", type=click.Path(file_okay=False), help="Add the results to this folder of runs."),
    click.option("--tag", "tags", multiple=True, help="A name for the run in --store. Repeatable."),
)
BY = click.option(
    "--by",
    "--slice",
    "by",
    multiple=True,
    type=FILE,
    help="Slices: a file with user or item ids and columns of labels. Repeatable.",
)
READING = (
    *FILES,
    click.option("--baseline", type=FILE, help="Another system's recommendations, for unexpectedness."),
)
WRITING = (
    BY,
    click.option("--format", type=click.Choice(["table", "json", "csv", "md", "latex"]),
                 help="The output format. [default: table]"),
    click.option("--out", type=click.Path(dir_okay=False), help="Write the numbers here, not to the terminal."),
    click.option("--report", type=click.Path(dir_okay=False), help="Write a self-contained HTML page here."),
    LOG,
)  # fmt: skip
# The flag is no setting of a Request: these commands write no report.
ANSWER = (
    click.option("--format", "form", type=click.Choice(["text", "json", "md", "html"]),
                 help="The output format. [default: text]"),
)  # fmt: skip
ASKING = (
    click.option("-m", "--metric", "metrics", type=MetricName(), multiple=True,
                 help="e.g. nDCG@5,10; repeatable. [default: nDCG@10 and Recall@10]"),
    click.option("--convention", metavar="TOOLKIT", help="The toolkit that defines names without prefix, e.g. replay."),
    click.option("--config", type=FILE, help="A TOML or YAML file with any of these settings; flags override it."),
)  # fmt: skip


def options(*groups: Sequence[Callable[[Command], Command]]) -> Callable[[Command], Command]:
    """Adds groups of options to a command, in order."""

    def add(command: Command) -> Command:
        for option in reversed([option for group in groups for option in group]):
            command = option(command)
        return command

    return add


def request_from(context: click.Context, files: Sequence[str], config: str | None = None) -> Request:
    """The Request of a config file, of the flags that were given, which override it, and of the files."""
    from bridgeval.config import build_request

    return build_request(read_settings(context, files, config), f"the config {config!r}" if config else "")


def request_of_one(context: click.Context, files: Sequence[str]) -> tuple[Request, Any]:
    """The Request of one system, and its recommendations."""
    request = request_from(context, files)
    if len(request.recommendations) > 1:
        raise click.UsageError(f"One file of RECS is taken, but {len(request.recommendations)} were given.", context)
    (system,) = request.recommendations
    return request, request.tables[f"recommendations[{system}]"]


def read_settings(
    context: click.Context, files: Sequence[str], config: str | None, truth_last: bool = True
) -> dict[str, Any]:
    """The settings of a Request. TRUTH is the last of the files, unless --truth names it or there is none."""
    from bridgeval.config import read_config

    typed = settings_in(context)
    settings = (read_config(config) if config else {}) | typed
    if files and truth_last and "relevance" not in typed:
        if len(files) == 1:
            raise click.UsageError("RECS and TRUTH are two files, but only one was given.", context)
        *files, settings["relevance"] = files
    if files:
        settings["recommendations"] = list(files)
    elif not config:
        missing = "RECS is" if "relevance" in typed else "RECS and TRUTH are"
        raise click.UsageError(f"{missing} missing.", context)
    return settings


def settings_in(context: click.Context) -> dict[str, Any]:
    """The settings of a Request that were typed or stand in the environment."""
    from bridgeval.config import SETTINGS

    return {
        name: value
        for name, value in context.params.items()
        if name in SETTINGS and context.get_parameter_source(name) in GIVEN
    }
