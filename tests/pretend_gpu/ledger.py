"""Ledger: everything that a program asked of the device, entry by entry, and an estimate of the time it takes."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import torch

Kind = Literal["launch", "upload", "download", "wait"]
# Frames of these files are not the program's.
OWN_FILES = ("contrary.py", "device.py", "ledger.py", "rules.py")
MACHINERY = (*(str(Path(__file__).with_name(name)) for name in OWN_FILES), str(Path(torch.__file__).parent))

# A card of the A100 class, driven from Python over PCIe 4: seconds and bytes per second.
LAUNCH_SECONDS = 7e-6
WAIT_SECONDS = 20e-6
MEMORY_SPEED = 1.5e12
BUS_SPEED = 8e9


class Entry(NamedTuple):
    """One request.

    Attributes:
        kind: "launch" of a kernel, "upload", "download", or "wait": the host does nothing until the device is done. A
            copy that the host waits for has two entries.
        operation: as the dispatcher of torch calls it.
        size: bytes read and written, or moved.
        line: the file and line of the program.
    """

    kind: Kind
    operation: str
    size: int
    line: str


@dataclass
class Ledger:
    """The entries, in order."""

    entries: list[Entry] = field(default_factory=list)

    def note(self, kind: Kind, operation: str, size: int = 0) -> None:
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(MACHINERY):
            frame = frame.f_back
        self.entries.append(Entry(kind, operation, size, f"{frame.f_code.co_filename}:{frame.f_lineno}"))

    def count(self, kind: Kind) -> int:
        return sum(entry.kind == kind for entry in self.entries)

    def bytes(self, kind: Kind) -> int:
        return sum(entry.size for entry in self.entries if entry.kind == kind)

    def lines(self, kind: Kind) -> Counter[tuple[str, str]]:
        """(line of the program, operation) -> how often."""
        return Counter((entry.line, entry.operation) for entry in self.entries if entry.kind == kind)

    @property
    def seconds(self) -> float:
        """A roofline: each kernel takes its launch or its bytes, whichever is longer; copies and waits come on top."""
        kernels = sum(max(LAUNCH_SECONDS, one.size / MEMORY_SPEED) for one in self.entries if one.kind == "launch")
        copies = (self.bytes("upload") + self.bytes("download")) / BUS_SPEED
        return kernels + copies + self.count("wait") * WAIT_SECONDS

    @property
    def traffic_seconds(self) -> float:
        """The time of the bytes alone, as if launches and waits were free."""
        return self.bytes("launch") / MEMORY_SPEED
