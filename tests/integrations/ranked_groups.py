"""Grouped rows for the tests of training libraries, and plain loops over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Grouped:
    """Rows of groups that follow one another.

    Attributes:
        features: `[n, 4]`, of which labels are a noisy function.
        labels: `[n]` grades 0 to 2; one group has none above 0.
        scores: `[n]`.
        groups: `[n]` the id of each row's group.
        sizes: of the groups.
    """

    features: np.ndarray
    labels: np.ndarray
    scores: np.ndarray
    groups: np.ndarray
    sizes: np.ndarray


def draw_groups(seed: int, groups: int = 40) -> Grouped:
    """Groups of 2 to 11 rows; all scores differ."""
    random = np.random.default_rng(seed)
    sizes = random.integers(2, 12, groups)
    ids = np.repeat(np.arange(groups) * 3 + 1, sizes)
    features = random.normal(size=(sizes.sum(), 4))
    labels = np.clip(np.round(features[:, 0] + random.normal(scale=0.7, size=len(ids))), 0, 2)
    labels[ids == ids[0]] = 0
    return Grouped(features, labels, random.permutation(len(ids)).astype(float), ids, sizes)


def reciprocal_rank_by_loop(labels: np.ndarray, scores: np.ndarray, groups: np.ndarray) -> float:
    """The mean over groups with a relevant row of 1 / the place of the first one."""
    values = []
    for group in np.unique(groups):
        mine = groups == group
        ranked = labels[mine][np.argsort(-scores[mine], kind="stable")]
        if (ranked > 0).any():
            values.append(1 / (np.argmax(ranked > 0) + 1))
    return float(np.mean(values))
