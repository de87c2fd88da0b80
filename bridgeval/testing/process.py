"""The state of the process: settings and random generators that what is under test must leave alone."""

from __future__ import annotations

import builtins
import os
import random
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch


def look_at_settings() -> dict[str, Any]:
    """Name -> value of settings, which no import changes."""
    return {
        "the default dtype of torch": torch.get_default_dtype(),
        "the threads of torch": torch.get_num_threads(),
        "whether torch computes gradients": torch.is_grad_enabled(),
        "the error settings of numpy": np.geterr(),
    }


def look_at_process() -> dict[str, Any]:
    """Name -> value of everything that is looked at."""
    numpys: Any = np.random.get_state(legacy=False)
    return {
        **look_at_settings(),
        "the random generator of torch": torch.get_rng_state().numpy().tobytes(),
        "the random generator of numpy": [numpys["state"]["key"].tobytes(), numpys["state"]["pos"], numpys["gauss"]],
        "the random generator of Python": random.getstate(),
        "the filters of warnings": list(warnings.filters),
        "the environment": dict(os.environ),
        "the working directory": os.getcwd(),
    }


def find_changes(before: Mapping[str, Any]) -> list[str]:
    """The names of what is no longer as it was."""
    after = look_at_process()
    return [name for name, value in before.items() if value != after[name]]


@contextmanager
def other_hashes() -> Iterator[None]:
    """Lets `hash` give other numbers of texts, as it does in each process."""
    ours = builtins.hash

    def hash_otherwise(value: Any, /) -> int:
        number = ours(value)
        return ~number if isinstance(value, str | bytes) else number

    builtins.hash = hash_otherwise
    try:
        yield
    finally:
        builtins.hash = ours


class _Unused(Warning):
    """A warning that nobody gives."""


@contextmanager
def other_process() -> Iterator[None]:
    """Moves the random generators on and filters a warning, so that setting a seed or a filter again is a change."""
    torchs, numpys, pythons = torch.get_rng_state(), np.random.get_state(), random.getstate()
    try:
        torch.rand(1)
        np.random.rand(1)
        random.random()
        with warnings.catch_warnings(action="ignore", category=_Unused):
            yield
    finally:
        torch.set_rng_state(torchs)
        np.random.set_state(numpys)
        random.setstate(pythons)
