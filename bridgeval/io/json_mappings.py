"""Mappings in JSON: `{user: {item: number}}`, which ranx, BEIR and pytrec_eval's users save, and MTEB's predictions."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from bridgeval.errors import InputError
from bridgeval.io.documents import parse_json
from bridgeval.io.listings import NAMES

# The key under which MTEB names the model; beside it a key for each subset, with a key for each split.
MTEB = "mteb_model_meta"


def tabulate_mapping(text: bytes, path: str) -> pa.Table:
    """A table with a row for each user and lists in its cells; error messages call the file `path`.

    >>> tabulate_mapping(b'{"q1": {"d1": 0.9, "d2": 0.4}, "q2": {}}', "run.json").to_pydict()
    {'user_id': ['q1', 'q2'], 'item_id': [['d1', 'd2'], []], 'relevance': [[0.9, 0.4], []]}
    """
    value = parse_json(text, path, "is it complete? A file with several values has one in each line")
    lists = _pick_predictions(value, path) if MTEB in value else value
    for user, numbers in lists.items():
        if not isinstance(numbers, Mapping) or not all(map(_is_number, numbers.values())):
            raise InputError(
                f"{path!r} is no mapping of user to item to number",
                f"{user!r}: {json.dumps(numbers)[:60]}",
                'write {"user": {"item": number, ...}, ...}, or one object in each line',
            )
    columns = (
        pa.array(lists, pa.string()),
        pa.array([list(numbers) for numbers in lists.values()], pa.list_(pa.string())),
        pa.array([list(map(float, numbers.values())) for numbers in lists.values()], pa.list_(pa.float64())),
    )
    return pa.table(dict(zip(NAMES, columns, strict=True)))


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (type(value) is int and abs(value) <= sys.float_info.max)


def _pick_predictions(value: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """The predictions of MTEB's only subset and split."""
    found = {
        (subset, split): lists for subset, splits in value.items() if subset != MTEB for split, lists in splits.items()
    }
    if len(found) != 1:
        names = ", ".join(f"{subset}/{split}" for subset, split in found) or "none"
        raise InputError(
            f"{path!r} has predictions of {len(found)} subsets and splits, not of one",
            names,
            'choose one, e.g. json.load(open(path))["default"]["test"]',
        )
    return next(iter(found.values()))
