"""Size and coverage by simulation, for skewed per-user values: reciprocal ranks with many zeros.

At 400 users BCa intervals cover 93.9 percent of 20,000 such differences (t: 95.0) and 94.9 percent of means. That is
the method: `scipy.stats.bootstrap` covers 93.5 percent of 4,000 of them, where it is 93.8 here. At 2,000 users they are
where they should be. The draws are shared by all simulated data sets, which are the columns, each a set of its own.
"""

from __future__ import annotations

import numpy as np
import pytest

from bridgeval.stats import bootstrap as rs, tests as st
from bridgeval.stats.differences import Settings, permutation_p

pytestmark = pytest.mark.slow

USERS, WORLDS, RESAMPLES = 2_000, 4_000, 2_000
# Two thirds of the users have no hit; the others have it at rank 1 to 10.
RANKS = np.array([0.0] * 20 + [1 / rank for rank in range(1, 11)])
TRUE_MEAN = RANKS.mean()


def two_systems(users: int = USERS, worlds: int = WORLDS) -> tuple[np.ndarray, np.ndarray]:
    """`[users, worlds]` each: values of equal distribution, the same for four users in ten."""
    rng = np.random.default_rng(0)
    first, second = rng.choice(RANKS, (users, worlds)), rng.choice(RANKS, (users, worlds))
    return first, np.where(rng.random((users, worlds)) < 0.4, first, second)


def test_false_positives_stay_between_4_and_6_percent():
    first, second = two_systems()
    change = second - first
    found = {
        "t": st.t_test(change)[1],
        "wilcoxon": st.wilcoxon_test(change)[1],
        "permutation": permutation_p(change, Settings(resamples=RESAMPLES)),
    }
    shares = {test: float((p < 0.05).mean()) for test, p in found.items()}
    print(shares)
    assert all(0.04 <= share <= 0.06 for share in shares.values()), shares


def test_intervals_cover_the_truth_in_94_to_96_percent():
    first, second = two_systems()
    shares = {}
    for what, values, truth in (("mean", first, TRUE_MEAN), ("difference", second - first, 0.0)):
        means = rs.resample_means(values, rs.user_draws(USERS, RESAMPLES, seed=1))
        low, high = rs.bca_intervals(values, means, 0.95)
        shares[what] = float(((low <= truth) & (truth <= high)).mean())
    print(shares)
    assert all(0.94 <= share <= 0.96 for share in shares.values()), shares


def test_holm_keeps_the_chance_of_any_false_alarm_below_5_percent():
    first, second = two_systems()
    families = st.t_test(second - first)[1].reshape(-1, 8)
    alarms = float(np.mean([(st.holm(p) < 0.05).any() for p in families]))
    print(alarms)
    assert alarms <= 0.07  # 500 families: two standard errors above 5 percent
