"""`bridgeval new-plugin`: writes the package of a plugin, with tests that pass at once.

The files are those of `plugin_template`, in which `$name` and the like are replaced.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from string import Template

import click

from bridgeval.errors import ConfigError

# File of the package -> its template.
FILES = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    ".github/workflows/tests.yml": "workflow.yml",
    "$module/__init__.py": "init.py",
    "$module/metric.py": "metric.py",
    "$module/loader.py": "loader.py",
    "$module/convention.py": "convention.py",
    "$module/command.py": "command.py",
    "$module/sink.py": "sink.py",
    "tests/test_$module.py": "test_plugin.py",
}


@click.command(
    "new-plugin",
    short_help="Write the package of a new plugin.",
    epilog="""
\b
Example:
  bridgeval new-plugin acme && pip install -e "./bridgeval-acme[test]" && pytest bridgeval-acme
""",
)
@click.argument("name")
@click.option("--into", default=".", metavar="FOLDER", help="The folder that the package is put into. [default: here]")
def new_plugin(name: str, into: str) -> None:
    """Write the package bridgeval-NAME: a metric, a loader, a convention, a command and a sink, with their tests."""
    folder = write_plugin(name, Path(into))
    click.echo(f"{folder} has a plugin with a metric, a loader, a convention, a command and a sink. Next:")
    click.echo(f'  pip install -e "{folder}[test]"\n  bridgeval plugins\n  pytest {folder}')


def write_plugin(name: str, into: Path) -> Path:
    """Writes a package, all of its files or none; returns its folder.

    Args:
        name: of the plugin, with or without "bridgeval-" before it.
        into: the folder that the package's own is put into.
    """
    words = name_parts(name)
    folder = into / words["package"]
    _check_free(words["name"], folder)
    template = resources.files("bridgeval.cli") / "plugin_template"
    texts = {
        Template(path).substitute(words): Template((template / f"{source}.tmpl").read_text("utf-8")).substitute(words)
        for path, source in FILES.items()
    }
    try:
        # Written beside its place and moved there at the end, so that nobody finds half of it.
        with tempfile.TemporaryDirectory(dir=into) as beside:
            made = Path(beside) / words["package"]
            for path, text in texts.items():
                (made / path).parent.mkdir(parents=True, exist_ok=True)
                (made / path).write_text(text, encoding="utf-8")
            os.rename(made, folder)
    except OSError as error:
        raise ConfigError(f"{folder} cannot be written", f"{error.strerror}", "choose another folder") from error
    return folder


def name_parts(name: str) -> Mapping[str, str]:
    """The names that the template has.

    >>> dict(name_parts("two-towers"))["package"], name_parts("two-towers")["module"], name_parts("two-towers")["title"]
    ('bridgeval-two-towers', 'bridgeval_two_towers', 'TwoTowers')
    """
    from bridgeval import __version__

    bare = name.removeprefix("bridgeval-")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", bare):
        wish = re.sub(r"[^a-z0-9]+", "-", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", bare).lower()).strip("-0123456789")
        raise ConfigError(
            f"a plugin cannot be called {name!r}",
            hint=f"take small letters, digits and hyphens, e.g. {wish or 'acme'}",
        )
    return {
        "name": bare,
        "package": f"bridgeval-{bare}",
        "module": f"bridgeval_{bare.replace('-', '_')}",
        "title": "".join(part.capitalize() for part in bare.split("-")),
        "version": __version__,
    }


def _check_free(name: str, folder: Path) -> None:
    from bridgeval import plugins

    if not folder.parent.is_dir():
        raise ConfigError("there is no folder to put the package into", f"{str(folder.parent)!r}", "make it first")
    if folder.exists():
        raise ConfigError(f"{folder} is there already", hint="choose another name, or move it away")
    known = plugins.installed()
    for kind in ("commands", "loaders", "conventions", "sinks"):
        if name in getattr(known, kind):
            raise ConfigError(
                f"the name {name!r} is taken",
                f"one of the {kind} of {known.find_owner(kind, name)}",
                "choose another name",
            )
