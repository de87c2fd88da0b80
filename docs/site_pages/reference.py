"""The generated pages of the reference: every metric, the public names, errors, commands, the config file."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import bridgeval
import bridgeval.plugin
from bridgeval import errors, hookspecs, plugins
from bridgeval.engine.needs import NEEDS
from bridgeval.plugin import Block
from site_pages import metric_pages
from site_pages.markdown import escape, first_paragraph, write_table

HERE = Path(__file__).parent
# Public modules, in the order of the reference.
MODULES = (
    "bridgeval",
    "bridgeval.plugin",
    "bridgeval.slices",
    "bridgeval.testing",
    "bridgeval.toolkits.librec",
    "bridgeval.toolkits.replay",
    "bridgeval.toolkits.warprec",
)


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
    yield from metric_pages.make_pages()
    for module in MODULES:
        yield f"{module}.md", describe_module(module)
    yield "errors.md", describe_errors()
    yield "config.md", describe_config()
    yield "needs.md", describe_needs()
    yield "building-blocks.md", describe_building_blocks()


def describe_module(module: str) -> str:
    """The page of a public module: every public name with its docstring."""
    public = importlib.import_module(module)
    lines = [f"# `{module}`", "", first_paragraph(inspect.getdoc(public) or ""), ""]
    names = [name for name in public.__all__ if not inspect.ismodule(getattr(public, name))]
    # Functions first: they are what most readers look for.
    for name in sorted(names, key=lambda name: inspect.isclass(getattr(public, name))):
        value = getattr(public, name)
        lines += [f"## `{name}`", ""]
        if not getattr(value, "__module__", "").startswith("bridgeval"):
            lines += [f"An alias: `{value}`", ""]
            continue
        kind = "autoclass" if inspect.isclass(value) else "autofunction" if inspect.isroutine(value) else "autodata"
        # A name that two modules offer is described in both, and found by search in the first.
        options = "   :no-index:\n" if module != MODULES[0] and name in bridgeval.__all__ else ""
        if inspect.isclass(value) and any(base.__module__.startswith("bridgeval") for base in value.__bases__):
            options += "   :show-inheritance:\n"
        lines += ["```{eval-rst}", f".. {kind}:: {module}.{name}", options + "```", ""]
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
        (f"`{name}`", first_paragraph(inspect.getdoc(one) or ""), REMEDIES[name])
        for name, one in vars(errors).items()
        if inspect.isclass(one) and issubclass(one, errors.BridgevalError | errors.BridgevalWarning)
    ]
    lines += [*write_table(["name", "means", "what to do"], rows), ""]
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
            escape(one.get("description", "")),
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
            *write_table(["setting", "type", "default", "meaning"], rows),
            "",
        ]
    )


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
            *write_table(["need", "argument", "a metric reads it as", "in messages"], rows),
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
    states.pop("Plan", None)
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
            *write_table(["block", "parameters", "is"], (_describe_fields(*one) for one in blocks.items())),
            "",
            "## States",
            "",
            "Values with one operation, `merge`: associative, with `start()` as the neutral one. `update(blocks)`",
            "answers for one batch alone.",
            "",
            *write_table(
                ["state", "fields", "is"], (_describe_fields(*one) for one in states.items() if one[0] != "Plan")
            ),
            "",
            "## Hooks",
            "",
            "Functions of the module that the entry point names, marked with `@bridgeval.plugin.hookimpl`; see",
            "[Plugins](../../plugins.md).",
            "",
            *write_table(
                ["hook", "returns", "purpose", "built-ins that use it"],
                (
                    (
                        f"`{name}`",
                        f"`{inspect.signature(hook).return_annotation}`",
                        first_paragraph(inspect.getdoc(hook) or ""),
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
    return f"[`{name}`](bridgeval.plugin.md)", parameters, first_paragraph(inspect.getdoc(one) or "")


def _schema_type(one: Mapping[str, Any]) -> str:
    kinds = [choice.get("type", "") for choice in one.get("anyOf", [one])]
    return " or ".join(kind for kind in kinds if kind and kind != "null")
