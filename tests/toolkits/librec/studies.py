"""Small studies on disk, for the tests of this folder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from bridgeval.toolkits.librec import Fold

GOLDENS = Path(__file__).parent.parent.parent / "golden" / "data" / "librec"


def write(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def random_fold(folder: Path, seed: int = 3, users: int = 17, items: int = 30) -> Fold:
    """A fold with every kind of file: lists of 3 to 8 items, users without test rows, users without lists."""
    random = np.random.default_rng(seed)
    names = [f"u{user}" for user in range(users)]
    things = [f"i{item}" for item in range(items)]
    rows: dict[str, list[str]] = {"result": [], "original": [], "train": [], "test": []}
    for number, user in enumerate(names):
        order = random.permutation(items)
        known, held = order[:6], order[6:10]
        rows["train"] += [f"{user}\t{things[item]}\t{random.integers(1, 6)}.0" for item in known]
        if number % 7 != 3:
            rows["test"] += [f"{user}\t{things[item]}\t{random.integers(1, 6)}.0" for item in held]
        candidates = random.permutation(order[6:])[:12]
        if number % 6 != 5:
            length = int(random.integers(3, 9))
            rows["original"] += [f"{user},{things[item]},{9.0 - at}" for at, item in enumerate(candidates)]
            reranked = random.permutation(candidates)[:length]
            rows["result"] += [f"{user},{things[item]},{5.0 - at / 3}" for at, item in enumerate(reranked)]
    features = [f"{thing},new,1" for thing in things[::3]] + [f"{thing},old,1" for thing in things[1::2]]
    groups = [f"{name},{'F' if at % 3 else 'M'},1" for at, name in enumerate(names)]
    return Fold(
        write(folder / "out-1.txt", *rows["result"]),
        write(folder / "test.txt", *rows["test"]),
        write(folder / "train.txt", *rows["train"]),
        write(folder / "original.txt", *rows["original"]),
        item_features=write(folder / "item-features.csv", *features),
        user_features=write(folder / "user-features.csv", *groups),
    )


def pairs(path: Path, separator: str) -> dict[str, dict[str, float]]:
    """User -> item -> number, in the order of the file, by plain reading."""
    found: dict[str, dict[str, float]] = {}
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        user, item, number = line.split(separator)[:3]
        found.setdefault(user, {})[item] = float(number)
    return found


def read_golden(case: str, section: str, key: str) -> dict[tuple[str, int], float]:
    """(experiment, fold) -> the value that a version of librec-auto gave."""
    experiments = json.loads((GOLDENS / case / "expected.json").read_text(encoding="utf-8"))["experiments"]
    return {
        (name, int(fold)): entry[section][key]["value"]
        for name, folds in experiments.items()
        for fold, entry in folds.items()
        if fold.isdecimal()
    }
