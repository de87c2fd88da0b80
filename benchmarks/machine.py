"""The machine that results were measured on, as it describes itself."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import re
from functools import cache
from pathlib import Path
from typing import Any

PACKAGES = ("bridgeval", "torch", "numpy", "pyarrow", "pandas", "polars")


@cache
def machine() -> dict[str, Any]:
    """Processor, cores, memory, system and versions; no name by which the machine could be found."""
    found = re.search(r"^model name\s*:\s*(.*)$", _text("/proc/cpuinfo"), re.MULTILINE)
    memory = re.search(r"^MemTotal:\s*(\d+)", _text("/proc/meminfo"), re.MULTILINE)
    return {
        "processor": found[1] if found else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "memory_gb": round(int(memory[1]) / 1e6, 1) if memory else 0.0,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in PACKAGES},
        "date": datetime.date.today().isoformat(),
    }


def _text(path: str) -> str:
    return Path(path).read_text() if os.path.exists(path) else ""
