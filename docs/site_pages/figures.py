"""Figures of the site that are made at each build."""

from __future__ import annotations

from pathlib import Path


def write(folder: Path) -> None:
    """Writes every figure into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
