"""A sample: purchases in a made-up shop, skewed as real ones are, and what two recommenders make of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

USERS, ITEMS, TASTES = 1000, 600, 12
NEW_USERS = 40
BOUGHT_LATER = 5
SHOWN = 20
SEED = 20260707

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Sample:
    """Tables (user_id, item_id[, score]).

    Attributes:
        train: what users bought first; the recommenders know this.
        truth: what they bought later.
        systems: name -> recommendations.
    """

    train: pa.Table
    truth: pa.Table
    systems: dict[str, pa.Table]


def sample(seed: int = SEED) -> Sample:
    """The same sample for the same seed.

    Users have a mixture of tastes, items belong to a taste and have a popularity that falls as a power of their rank.
    Who buys what is drawn from both; a few purchases of each user are kept back as the truth. Some users are new:
    nothing is known of them.
    """
    rng = np.random.default_rng(seed)
    popularity = rng.permutation(1.0 / np.arange(1, ITEMS + 1) ** 0.75)
    taste_of_item = rng.integers(TASTES, size=ITEMS)
    tastes = rng.dirichlet(np.full(TASTES, 0.15), size=USERS)
    appeal = np.log(popularity * (0.03 + tastes[:, taste_of_item]))
    # Adding Gumbel noise and taking the highest draws without putting back.
    order = np.argsort(-(appeal + rng.gumbel(size=appeal.shape)), axis=1)
    lengths = np.clip(rng.lognormal(2.7, 0.6, size=USERS).astype(int), 4, 120)
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(ITEMS)[None, :], axis=1)
    # The truth is drawn at random, so that it is as popular as the rest.
    bought = place < (lengths + BOUGHT_LATER)[:, None]
    later = np.zeros_like(bought)
    shuffled = np.argsort(np.where(bought, rng.random(bought.shape), 2.0), axis=1)[:, :BOUGHT_LATER]
    np.put_along_axis(later, shuffled, True, axis=1)
    known = (bought & ~later).astype(np.float64)
    known[-NEW_USERS:] = 0
    systems = {"popular": most_popular(known), "neighbors": nearest_items(known)}
    return Sample(_pairs(known), _pairs(later), {name: _best(scores, known) for name, scores in systems.items()})


def most_popular(bought: Matrix) -> Matrix:
    """`[users, items]`: the same score for everyone, how many bought the item."""
    return np.broadcast_to(bought.sum(0), bought.shape)


def nearest_items(bought: Matrix, shrink: float = 5.0) -> Matrix:
    """`[users, items]`: how near an item is to those the user bought, by the cosine of their buyers."""
    together = bought.T @ bought
    counts = np.diag(together).copy()
    np.fill_diagonal(together, 0.0)
    return np.asarray(bought @ (together / (np.sqrt(np.outer(counts, counts)) + shrink)))


def _best(scores: Matrix, known: Matrix) -> pa.Table:
    """The items with the highest scores that the user did not buy yet; what scores 0 is not shown."""
    open_scores = np.where(known > 0, 0.0, scores)
    best = np.argsort(-open_scores, axis=1, kind="stable")[:, :SHOWN]
    values = np.take_along_axis(open_scores, best, axis=1)
    users, places = np.nonzero(values)
    return pa.table(
        {
            "user_id": _names("u", users),
            "item_id": _names("i", best[users, places]),
            "score": values[users, places],
        }
    )


def _pairs(marked: npt.NDArray[np.generic]) -> pa.Table:
    users, items = np.nonzero(marked)
    return pa.table({"user_id": _names("u", users), "item_id": _names("i", items)})


def _names(letter: str, codes: npt.NDArray[np.int64]) -> list[str]:
    return [f"{letter}{code:04d}" for code in codes.tolist()]
