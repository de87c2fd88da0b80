"""Names of metrics for the completion of a shell, kept in a file of the user's cache.

To list the names of what is installed, everything is imported, which takes a second or two; a shell asks at every Tab.
"""

from __future__ import annotations

import json
import os
import time
from importlib.metadata import entry_points
from pathlib import Path

from bridgeval import __version__

# Switches plugins off, see `bridgeval.plugins`, which takes too long to import here.
DISABLE = "BRIDGEVAL_DISABLE_PLUGINS"
# A plugin that is installed from its sources may change without a new version.
DAY = 24 * 60 * 60


def list_names() -> list[str]:
    """The names of all metrics, from the cache if nothing was installed, updated or removed since."""
    file = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bridgeval" / "metric-names.json"
    installed = _list_installed()
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        if kept["installed"] == installed and time.time() - file.stat().st_mtime < DAY:
            return list(kept["names"])
    except (OSError, ValueError, KeyError, TypeError):
        # There is no cache yet, or something else is there: it is written again.
        pass
    from bridgeval import spec

    names = list(spec.names())
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        # Renamed, so that another shell reads all of it or the file before.
        unfinished = file.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps({"installed": installed, "names": names}), encoding="utf-8")
        os.replace(unfinished, file)
    except OSError:
        # Without a place to write to, every Tab takes as long as the first.
        pass
    return names


def _list_installed() -> list[list[str]]:
    """The key of the cache: versions of bridgeval and of every plugin, and the plugins that are switched off."""
    plugins = [
        [entry.name, entry.value, entry.dist.version if entry.dist else ""] for entry in entry_points(group="bridgeval")
    ]
    return [["bridgeval", __version__, os.environ.get(DISABLE, "")], *sorted(plugins)]
