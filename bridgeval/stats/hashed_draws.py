"""Draws by a hash of the user's id: the same for a user in every process, chunk of users and order.

A hash of the id and the seed deals every user to one of 8,192 groups. Sums over the users of each group merge; the
groups are drawn when all users are in. A group's key is a hash of its number and the seed. The numbers that splitmix64
(Steele, Lea and Flood 2014) gives from this key on are cut into fields of bits, one for each resample.

Groups of users picked at random have the spread of users: the standard error is that of a draw of single users to one
part in sqrt(2 * 8,192), or 0.8 percent, which is the noise of 10,000 resamples.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from bridgeval.parallel import count_threads, map_ordered
from bridgeval.tables.ids import Ids

Floats = npt.NDArray[np.float64]
Keys = npt.NDArray[np.uint64]

GROUPS = 8192
GOLDEN = 0x9E3779B97F4A7C15
# The size of one product: its operands stay in the caches, and it is too small for OpenBLAS to start threads of its
# own, which compete with ours (20,000 keys: 0.4 s so, 4 s with larger products).
COLUMNS_AT_ONCE, GROUPS_AT_ONCE, RESAMPLES_AT_ONCE = 8, 32, 1024


def _tabulate_poisson() -> npt.NDArray[np.uint8]:
    """`[65536]`: the Poisson(1) number of each field of 16 bits; each probability is right to 1 / 65,536."""
    probabilities = [math.exp(-1) / math.factorial(count) for count in range(16)]
    steps = np.rint(65536 * np.cumsum(probabilities)).astype(np.int64)
    return np.searchsorted(steps, np.arange(65536), side="right").astype(np.uint8)


POISSON = _tabulate_poisson()


def group_sums(values: Floats, users: Ids, seed: int) -> Floats:
    """`[8192, c]`: sums of values `[n, c]` over the users of each group."""
    groups = (_hash(users, 2 * seed) % np.uint64(GROUPS)).astype(np.int64)
    columns = [np.bincount(groups, column, GROUPS) for column in values.T]
    return np.stack(columns, axis=1) if columns else np.zeros((GROUPS, 0))


def poisson_sums(groups: Floats, resamples: int, seed: int) -> Floats:
    """`[B, c]`: sums of groups `[g, c]` in resamples where each comes Poisson(1) times (Hanley, MacGibbon 2006).

    Unlike draws of n out of n, the draws of a group do not depend on the others.
    """
    return _sum_draws(groups, 2 * seed, resamples, 4, _draw_poisson)


def sign_sums(groups: Floats, resamples: int, seed: int) -> Floats:
    """`[B, c]`: sums of groups `[g, c]` in resamples where each has a random sign."""
    # Of a sign s in {-1, 1}, (s + 1) / 2 is a bit.
    return 2 * _sum_draws(groups, 2 * seed + 1, resamples, 64, _draw_bits) - groups.sum(axis=0)


def _hash(ids: Ids, seed: int) -> Keys:
    return ids.hash(seed).view(np.uint64)


def _draw_poisson(numbers: Keys) -> npt.NDArray[np.uint8]:
    return POISSON[numbers.astype("<u8", copy=False).view("<u2")]


def _draw_bits(numbers: Keys) -> npt.NDArray[np.uint8]:
    return np.unpackbits(numbers.astype("<u8", copy=False).view(np.uint8), axis=1)


def _sum_draws(
    groups: Floats,
    seed: int,
    resamples: int,
    fields: int,
    draw: Callable[[Keys], npt.NDArray[np.uint8]],
) -> Floats:
    """`[B, c]`: the sums of groups times draws.

    Args:
        groups: `[g, c]`.
        seed: of the keys.
        resamples: B.
        fields: draws that one number of 64 bits gives.
        draw: numbers `[g, j]` -> draws `[g, j * fields]`.
    """
    some_users = np.flatnonzero(groups.any(axis=1))
    keys = _hash(Ids(some_users), seed)
    columns = np.ascontiguousarray(groups[some_users].T)
    at_once = RESAMPLES_AT_ONCE // fields

    def add_up(first: int) -> Floats:
        steps = np.arange(first + 1, first + at_once + 1, dtype=np.uint64) * np.uint64(GOLDEN)
        total = np.zeros((len(columns), RESAMPLES_AT_ONCE))
        for start in range(0, len(keys), GROUPS_AT_ONCE):
            some = slice(start, start + GROUPS_AT_ONCE)
            draws = draw(_mix(keys[some, None] + steps)).astype(np.float64)
            for column in range(0, len(columns), COLUMNS_AT_ONCE):
                few = slice(column, column + COLUMNS_AT_ONCE)
                total[few] += columns[few, some] @ draws
        return total

    # numpy works outside the interpreter lock; a thread has some of the resamples of all groups.
    parts = map_ordered(add_up, range(0, -(-resamples // fields), at_once), count_threads())
    return np.ascontiguousarray(np.concatenate(list(parts), axis=1)[:, :resamples].T)


def _mix(numbers: Keys) -> Keys:
    """The last steps of splitmix64, in place."""
    numbers ^= numbers >> np.uint64(30)
    numbers *= np.uint64(0xBF58476D1CE4E5B9)
    numbers ^= numbers >> np.uint64(27)
    numbers *= np.uint64(0x94D049BB133111EB)
    numbers ^= numbers >> np.uint64(31)
    return numbers
