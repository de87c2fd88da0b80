"""The generated pages of the reference: every metric, the public names, errors, commands, the config file."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import bridgeval
import bridgeval.plugin
from bridgeval import errors, hookspecs, plugins, spec
from bridgeval.cli.listing import FAMILIES
from bridgeval.engine.needs import NEEDS, in_words
from bridgeval.plugin import Block, Metric
from bridgeval.report.definitions import COMMON, describe_parameters, name_direction, read_summary

HERE = Path(__file__).parent
PACKAGE = "bridgeval."
# Public modules, in the order of the reference.
MODULES = ("bridgeval", "bridgeval.plugin", "bridgeval.testing")


@dataclass(frozen=True)
class Formula:
    """The formula of a metric.

    Attributes:
        formula: LaTeX.
        sources: keys of `references.bib`.
        where: what its letters mean, beside those of the page of all metrics.
    """

    formula: str
    sources: tuple[str, ...]
    where: str = ""


@cache
def read_formulas() -> Mapping[str, Formula]:
    """Metric -> its formula, from `formulas.toml`."""
    with open(HERE / "formulas.toml", "rb") as file:
        return {name: Formula(**one | {"sources": tuple(one["sources"])}) for name, one in tomllib.load(file).items()}


@cache
def list_metrics() -> Mapping[str, type[Metric]]:
    """The metrics that come with the package, by name."""
    return {
        name: metric for name, metric in plugins.installed().metrics.items() if metric.__module__.startswith(PACKAGE)
    }


@cache
def list_conventions() -> Mapping[str, tuple[tuple[str, Metric], ...]]:
    """Native metric -> the names that conventions give it, each with what it means at a cutoff of 10."""
    found: dict[str, list[tuple[str, Metric]]] = {}
    for toolkit, table in sorted(plugins.installed().conventions.items()):
        for own in table.metrics:
            metric = _parse_any(f"{toolkit}:{own}")
            if metric is not None:
                found.setdefault(metric.name, []).append((f"{toolkit}:{own}", metric))
    return {name: tuple(pairs) for name, pairs in found.items()}


def _parse_any(name: str) -> Metric | None:
    """The metric of that name, with a cutoff where it takes one; None if it has required parameters."""
    for spelling in (f"{name}@10", name):
        try:
            return spec.parse(spelling)[0]
        except (errors.BridgevalError, TypeError):
            continue
    return None


def write(folder: Path) -> None:
    """Writes all generated pages into a folder, and removes those of names that are no more."""
    pages = dict(make_pages())
    folder.mkdir(parents=True, exist_ok=True)
    for old in set(folder.rglob("*.md")) - {folder / name for name in pages}:
        old.unlink()
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        # An unchanged file keeps its time, so that a second build is quick.
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def make_pages() -> Iterator[tuple[str, str]]:
    """Pairs of a file's name and its text."""
    for name, metric in list_metrics().items():
        yield f"metrics/{name}.md", describe_metric(name, metric)
    yield "metrics.md", list_all_metrics()
    yield "parameters.md", describe_shared_parameters()
    for module in MODULES:
        yield f"{module}.md", describe_module(module)
    yield "errors.md", describe_errors()
    yield "config.md", describe_config()
    yield "needs.md", describe_needs()
    yield "building-blocks.md", describe_building_blocks()
    yield "conventions.md", list_all_conventions()
    for toolkit in plugins.installed().conventions:
        yield f"conventions/{toolkit}.md", describe_convention(toolkit)


def describe_metric(name: str, metric: type[Metric]) -> str:
    """The page of one metric."""
    formula = read_formulas()[name]
    lines = [f"# {name}", "", read_summary(metric), "", "```{math}", formula.formula, "```", ""]
    if formula.where:
        lines += [formula.where, ""]
    lines += [
        "Letters are explained on the [page of all metrics](../metrics.md).",
        "",
        *_table(["", ""], _facts(metric)),
        "",
    ]
    own = {one: text for one, text in describe_parameters(metric).items() if one not in COMMON}
    if own:
        defaults = metric.default_parameters()
        rows = [(f"`{one}`", _default(defaults[one]), _by_value(text)) for one, text in own.items()]
        lines += ["## Its own parameters", "", *_table(["parameter", "default", "meaning"], rows), ""]
    lines += ["It also takes the [parameters that most metrics share](../parameters.md).", ""]
    if example := _example(metric):
        lines += ["## Example", "", "```python", *example, "```", ""]
    lines += _agreement(name)
    if formula.sources:
        cited = ", ".join(f"{{cite:t}}`{key}`" for key in formula.sources)
        lines += ["## Sources", "", f"{cited}.", ""]
    return "\n".join(lines)


def _facts(metric: type[Metric]) -> Iterator[tuple[str, str]]:
    yield "family", metric.family
    yield "direction", name_direction(metric)
    yield "defined in", f"`{metric.__module__}`"
    one = _parse_any(metric.name)
    if one is None:
        return
    low, high = one.bounds
    if (low, high) != (float("-inf"), float("inf")):
        yield "values", f"{low:g} to {'no limit' if high == float('inf') else format(high, 'g')}"
    needed = [
        f"{in_words(need)} (`{NEEDS[need].argument}=`)" if need in NEEDS else in_words(need)
        for need in sorted(one.needs().required)
    ]
    yield "needs", "; ".join(needed) or "lists and relevance"


def _agreement(name: str) -> list[str]:
    """Names of other libraries, those that mean the native default first."""
    pairs = list_conventions().get(name, ())
    if not pairs:
        return []
    by_meaning: dict[str, list[str]] = {}
    for own, metric in pairs:
        by_meaning.setdefault(str(replace(metric, label=None)), []).append(f"`{own}`")
    default = _parse_any(name)
    rows = sorted(by_meaning.items(), key=lambda one: (one[0] != str(default), -len(one[1]), one[0]))
    said = [(f"`{meaning}`", ", ".join(owns)) for meaning, owns in rows]
    return [
        "## In other libraries",
        "",
        "Names in one row give the same number. [Conventions](../../../conventions.md) says how far each is verified.",
        "",
        *_table(["definition, at a cutoff of 10 where there is one", "names"], said),
        "",
    ]


def list_all_metrics() -> str:
    """The page of all metrics, by family."""
    lines = [
        "# Metrics",
        "",
        "`bridgeval metrics NAME` prints the same in a terminal. In the formulas, for one user unless users are named:",
        "",
        *_table(
            ["letter", "is"],
            [
                ("$k$", "the cutoff"),
                ("$n$", "the number of items shown, $n_u$ to user $u$"),
                ("$P$", "the number of relevant items"),
                ("$h_j$", "1 if the item at place $j$ is relevant, else 0"),
                ("$r_j$", "the gain in the truth of the item at place $j$, 0 if it has none"),
                ("$g_j$", "what that gain is worth, $2^{r_j} - 1$ by default"),
                ("$L^k$", "the first $k$ items of the list, $L_u^k$ of user $u$"),
                ("$w_j$", "the weight of place $j$, new policy over logging policy"),
            ],
        ),
        "",
        "The value is the mean over the users who count, unless the formula runs over users itself.",
        "",
    ]
    known = list_metrics()
    families = [*FAMILIES, *sorted({metric.family for metric in known.values()} - set(FAMILIES))]
    for family in families:
        rows = [
            (f"[{name}](metrics/{name}.md)", name_direction(metric), _first_paragraph(read_summary(metric)))
            for name, metric in known.items()
            if metric.family == family
        ]
        if rows:
            lines += [f"## {family.capitalize()}", "", *_table(["metric", "direction", "is"], rows), ""]
    lines += ["```{toctree}", ":hidden:", "", "parameters", *(f"metrics/{name}" for name in known), "```", ""]
    return "\n".join(lines)


def describe_shared_parameters() -> str:
    """The page of the parameters that most metrics share."""
    (metric,) = spec.parse("nDCG@10")
    said = {one: text for one, text in describe_parameters(type(metric)).items() if one in COMMON}
    rows = [(f"`{one}`", _default(metric.default_parameters()[one]), _by_value(text)) for one, text in said.items()]
    return "\n".join(
        [
            "# Parameters that most metrics share",
            "",
            'In a name they are written flat: `nDCG(users="shown", ties="given")@10`. Defaults are those of nDCG;',
            "`bridgeval metrics NAME` tells those of another metric.",
            "",
            *_table(["parameter", "default", "meaning"], rows),
            "",
        ]
    )


def describe_module(module: str) -> str:
    """The page of a public module: every public name with its docstring."""
    public = importlib.import_module(module)
    lines = [f"# `{module}`", "", _first_paragraph(inspect.getdoc(public) or ""), ""]
    for name in public.__all__:
        value = getattr(public, name)
        if inspect.ismodule(value):
            continue
        lines += [f"## `{name}`", ""]
        if not getattr(value, "__module__", "").startswith("bridgeval"):
            lines += [f"An alias: `{value}`", ""]
            continue
        kind = "autoclass" if inspect.isclass(value) else "autofunction"
        # A name that two modules offer is described in both, and found by search in the first.
        index = "   :no-index:\n" if module != MODULES[0] and name in bridgeval.__all__ else ""
        lines += ["```{eval-rst}", f".. {kind}:: {module}.{name}", index + "```", ""]
    return "\n".join(lines)


def describe_errors() -> str:
    """The page of errors and warnings, with the tree."""
    tree, _, rest = (inspect.getdoc(errors) or "").partition("A message has three parts")
    _, _, tree = tree.partition("\n\n")
    lines = [
        "# Errors and warnings",
        "",
        "A message has three parts" + " ".join(rest.split()),
        "",
        "```text",
        inspect.cleandoc(tree),
        "```",
        "",
    ]
    rows = [
        (f"`{name}`", _first_paragraph(inspect.getdoc(one) or ""), REMEDIES[name])
        for name, one in vars(errors).items()
        if inspect.isclass(one) and issubclass(one, errors.BridgevalError | errors.BridgevalWarning)
    ]
    lines += [*_table(["name", "means", "what to do"], rows), ""]
    return "\n".join([*lines, "[What is checked](../../checks.md) shows most of them with an example.", ""])


# Error -> what to do about it. The message itself says more: it knows what was found.
REMEDIES = {
    "BridgevalError": "catch it to catch every error of bridgeval",
    "InputError": "mend the data as the message says; `bridgeval inspect` finds more of the kind",
    "MissingColumnError": "name the columns: `columns={'user': ..., 'item': ...}`, `--columns user=...`",
    "BadValueError": "drop or fill the cells that the message shows",
    "MisalignedError": "make the ids of both sides one type, all integers or all strings",
    "StateFileError": "evaluate that shard again; a damaged file gives no number",
    "SpecError": "`bridgeval metrics NAME` shows what can be asked",
    "UnknownMetricError": "`bridgeval metrics` lists the names; the message has the nearest",
    "BadParameterError": "`bridgeval metrics NAME` lists parameters and their values",
    "NeedError": "give the argument that the message names",
    "LoaderError": "give a frame, a mapping, a path or `Scores`",
    "NoLoaderError": "the same; `bridgeval plugins` lists the loaders",
    "AmbiguousLoaderError": "choose one: `loader='name'`",
    "MissingDependencyError": "install the package that the message names",
    "ConfigError": "compare with the [config file](config.md)",
    "MetricFailedError": "mend the metric; `--debug` shows its traceback",
    "SparkFailedError": "the message has the cause and the setting to change; the executors' logs have the rest",
    "PluginError": "`bridgeval plugins` shows the package; `BRIDGEVAL_DISABLE_PLUGINS=name` leaves it out",
    "DuplicateNameError": "remove one of the two plugins",
    "PluginFailedError": "mend or remove the plugin that the message names",
    "BridgevalWarning": "filter it with `warnings` if you know the reason",
    "DataWarning": "run `bridgeval.inspect` on the same arguments",
    "NoUserInCommonWarning": "check that both sides number users alike",
    "NoItemInCommonWarning": "check that both sides number items alike",
    "RisingScoresWarning": "if the column holds ranks, say `columns={'rank': ...}`",
    "ConstantScoresWarning": "if lists are ranked as they came, say `columns={'score': None}`",
    "ExchangedArgumentsWarning": "recommendations come first, the truth second",
    "SeenItemsWarning": "`mask_seen=True` drops them, `mask_seen=False` keeps them in silence",
    "LeakageWarning": "look at the split: the truth must come after the training data",
    "MissingContextWarning": "give the table for all items or users; check that its ids are those of the lists",
    "DuplicateRowsWarning": "drop repeated pairs, or choose with `duplicates=`",
    "SmallerBatchesWarning": "give `batch_size=` the size that the message names",
    "PluginWarning": "`bridgeval plugins` says why",
    "UnorderedListsWarning": "give lists, best item first",
    "IdsOutOfRangeWarning": "give `Scores` the ids of its rows and columns",
}


def describe_config() -> str:
    """The page of the config file, from its schema."""
    schema = json.loads((HERE.parent / "config.schema.json").read_text(encoding="utf-8"))
    rows = [
        (
            f"`{name}`",
            _schema_type(one),
            f"`{json.dumps(one['default'])}`" if "default" in one else "",
            _escape(one.get("description", "")),
        )
        for name, one in schema["properties"].items()
    ]
    return "\n".join(
        [
            "# The config file",
            "",
            "TOML, YAML or JSON, for `--config`. A flag on the command line wins over the file.",
            f"{schema['description']} [The command line](../../command-line.md) has an example. The schema is",
            "`docs/config.schema.json`, which editors can check a file against.",
            "",
            *_table(["setting", "type", "default", "meaning"], rows),
            "",
        ]
    )


def list_all_conventions() -> str:
    """The page of all conventions, with a link to the names of each."""
    tables = sorted(plugins.installed().conventions.values(), key=lambda table: table.toolkit)
    rows = [
        (
            f"[{table.toolkit}](conventions/{table.toolkit}.md)",
            table.version or "",
            table.verified,
            str(len(table.metrics)),
        )
        for table in tables
    ]
    return "\n".join(
        [
            "# Names of other libraries",
            "",
            "Put the library before the name (`ranx:ndcg@10`), or name it once with `convention=`. Verified by",
            "goldens: numbers that the library itself gave; source: its source; arithmetic: its formulas.",
            "",
            *_table(["convention", "version", "verified by", "names"], rows),
            "",
            "```{toctree}",
            ":hidden:",
            "",
            *(f"conventions/{table.toolkit}" for table in tables),
            "```",
            "",
        ]
    )


def describe_convention(toolkit: str) -> str:
    """The page of one convention: its names and what they mean natively."""
    table = plugins.installed().conventions[toolkit]
    rows = []
    for own in table.metrics:
        metric = _parse_any(f"{toolkit}:{own}")
        link = f"[{metric.name}](../metrics/{metric.name}.md)" if metric and metric.name in list_metrics() else ""
        rows.append((f"`{toolkit}:{own}`", link, f"`{replace(metric, label=None)}`" if metric else "needs parameters"))
    lines = [f"# {toolkit}", "", _escape(table.description), ""]
    if table.caveat:
        lines += [f"**Mind:** {_escape(table.caveat)}", ""]
    return "\n".join([*lines, *_table(["name", "metric", "natively, at a cutoff of 10 where there is one"], rows), ""])


def describe_needs() -> str:
    """The page of what metrics may need beside lists and relevance."""
    rows = [(need, f"`{one.argument}=`", f"`{one.read_as}`", one.words) for need, one in NEEDS.items()]
    return "\n".join(
        [
            "# Needs",
            "",
            "A metric declares what it reads beside lists and relevance. Needs are checked before any data is read,",
            "and the error names the argument to give.",
            "",
            *_table(["need", "argument", "a metric reads it as", "in messages"], rows),
            "",
            "Besides, a metric may ask for any table by a name of its own: `Needs(items={'price'}, by_user={'age'})`.",
            "Users give it as `context={'price': ...}`; a metric reads `ItemColumn('price')`, `UserColumn('age')`.",
            "",
        ]
    )


def describe_building_blocks() -> str:
    """The page of what authors build on: the shared blocks with their shapes, the states, the hooks."""
    public = {name: getattr(bridgeval.plugin, name) for name in bridgeval.plugin.__all__}
    classes = {name: one for name, one in public.items() if isinstance(one, type)}
    blocks = {name: one for name, one in classes.items() if issubclass(one, Block) and one is not Block}
    states = {name: one for name, one in classes.items() if hasattr(one, "merge") and is_dataclass(one)}
    hooks = {name: one for name, one in vars(hookspecs).items() if name in plugins.BUILTIN}
    return "\n".join(
        [
            "# Blocks, states and hooks",
            "",
            "## Blocks",
            "",
            "Tensors that are derived from a batch once and shared by all metrics, and not to be written to:",
            "`blocks[Hits(self.ranking, self.relevance)]`. B users, D places of ranked lists (`Needs.depth`), R",
            "relevant items; padded, with a mask `valid` where a block has one.",
            "",
            *_table(["block", "parameters", "is"], (_describe_fields(*one) for one in blocks.items())),
            "",
            "## States",
            "",
            "Values with one operation, `merge`: associative, with `start()` as the neutral one. `update(blocks)`",
            "answers for one batch alone.",
            "",
            *_table(["state", "fields", "is"], (_describe_fields(*one) for one in states.items() if one[0] != "Plan")),
            "",
            "## Hooks",
            "",
            "Functions of the module that the entry point names, marked with `@bridgeval.plugin.hookimpl`; see",
            "[Plugins](../../plugins.md).",
            "",
            *_table(
                ["hook", "returns", "purpose", "built-ins that use it"],
                (
                    (
                        f"`{name}`",
                        f"`{inspect.signature(hook).return_annotation}`",
                        _first_paragraph(inspect.getdoc(hook) or ""),
                        ", ".join(f"`{module}`" for module in plugins.BUILTIN[name]),
                    )
                    for name, hook in hooks.items()
                ),
            ),
            "",
        ]
    )


def _describe_fields(name: str, one: Any) -> tuple[str, str, str]:
    parameters = ", ".join(f"`{field.name}`" for field in fields(one) if not field.name.startswith("_"))
    return f"[`{name}`](bridgeval.plugin.md)", parameters, _first_paragraph(inspect.getdoc(one) or "")


def _schema_type(one: Mapping[str, Any]) -> str:
    kinds = [choice.get("type", "") for choice in one.get("anyOf", [one])]
    return " or ".join(kind for kind in kinds if kind and kind != "null")


def _example(metric: type[Metric]) -> list[str]:
    """The doctest of a docstring."""
    lines = (inspect.getdoc(metric) or "").splitlines()
    start = next((at for at, line in enumerate(lines) if line.startswith(">>>")), len(lines))
    return lines[start:]


def _by_value(text: str) -> str:
    """The meaning of a parameter, a line for each of its values."""
    return _escape("<br>".join(re.split(r'; (?=")', text)))


def _default(value: object) -> str:
    return "required" if value is MISSING else f"`{value!r}`"


def _first_paragraph(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split())


def _escape(text: str) -> str:
    return text.replace("|", "\\|")


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """A Markdown table; `|` in cells is escaped where it is not yet."""
    head = list(head)
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    lines += [" | ".join(re.sub(r"(?<!\\)\|", r"\\|", cell) for cell in row) for row in rows]
    return [f"| {line} |" for line in lines]
