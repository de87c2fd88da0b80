"""Draws by a hash of the user's id: the same for a user in every process, chunk of users and order.

A user's key is a hash of the id and the seed. The numbers that splitmix64 (Steele, Lea and Flood 2014) gives from this
key on are cut into fields of bits, one for each resample. So sums over users merge: the resamples of all users are
those of their parts, added up.
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

GOLDEN = 0x9E3779B97F4A7C15
# The size of one product: its operands stay in the caches, and it is too small for OpenBLAS to start threads of its
# own, which compete with ours (20,000 users: 0.4 s so, 4 s with larger products).
COLUMNS_AT_ONCE, USERS_AT_ONCE, RESAMPLES_AT_ONCE = 8, 32, 1024


def _tabulate_poisson() -> npt.NDArray[np.uint8]:
    """`[65536]`: the Poisson(1) number of each field of 16 bits; each probability is right to 1 / 65,536."""
    probabilities = [math.exp(-1) / math.factorial(count) for count in range(16)]
    steps = np.rint(65536 * np.cumsum(probabilities)).astype(np.int64)
    return np.searchsorted(steps, np.arange(65536), side="right").astype(np.uint8)


POISSON = _tabulate_poisson()


def poisson_sums(values: Floats, users: Ids, resamples: int, seed: int) -> Floats:
    """`[B, c]`: sums of values `[n, c]` in resamples where each user comes Poisson(1) times (Hanley, MacGibbon 2006).

    Unlike draws of n users out of n, the draws of a user do not depend on the others.
    """
    return _sum_draws(values, _hash_users(users, 2 * seed), resamples, 4, _draw_poisson)


def sign_sums(values: Floats, users: Ids, resamples: int, seed: int) -> Floats:
    """`[B, c]`: sums of values `[n, c]` in resamples where each user has a random sign."""
    moving = values.any(axis=1)
    keys = _hash_users(users, 2 * seed + 1)[moving]
    # Of a sign s in {-1, 1}, (s + 1) / 2 is a bit.
    return 2 * _sum_draws(values[moving], keys, resamples, 64, _draw_bits) - values.sum(axis=0)


def _hash_users(users: Ids, seed: int) -> Keys:
    return users.hash(seed).view(np.uint64)


def _draw_poisson(numbers: Keys) -> npt.NDArray[np.uint8]:
    return POISSON[numbers.astype("<u8", copy=False).view("<u2")]


def _draw_bits(numbers: Keys) -> npt.NDArray[np.uint8]:
    return np.unpackbits(numbers.astype("<u8", copy=False).view(np.uint8), axis=1)


def _sum_draws(
    values: Floats,
    keys: Keys,
    resamples: int,
    fields: int,
    draw: Callable[[Keys], npt.NDArray[np.uint8]],
) -> Floats:
    """`[B, c]`: the sums of values times draws.

    Args:
        values: `[n, c]`.
        keys: `[n]`.
        resamples: B.
        fields: draws that one number of 64 bits gives.
        draw: numbers `[n, j]` -> draws `[n, j * fields]`.
    """
    columns = np.ascontiguousarray(values.T)
    at_once = RESAMPLES_AT_ONCE // fields

    def add_up(first: int) -> Floats:
        steps = np.arange(first + 1, first + at_once + 1, dtype=np.uint64) * np.uint64(GOLDEN)
        total = np.zeros((len(columns), RESAMPLES_AT_ONCE))
        for start in range(0, len(keys), USERS_AT_ONCE):
            some = slice(start, start + USERS_AT_ONCE)
            draws = draw(_mix(keys[some, None] + steps)).astype(np.float64)
            for column in range(0, len(columns), COLUMNS_AT_ONCE):
                few = slice(column, column + COLUMNS_AT_ONCE)
                total[few] += columns[few, some] @ draws
        return total

    # numpy works outside the interpreter lock; a thread has some of the resamples of all users.
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
