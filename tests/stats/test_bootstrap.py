"""Bootstrap and permutation against scipy.stats with the same resamples."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from bridgeval.stats import bootstrap as rs

RNG = np.random.default_rng(7)
SKEWED = RNG.exponential(0.2, (60, 3))
VALUES = RNG.choice([0.0, 0.0, 0.0, 0.25, 1 / 3, 0.5, 1.0], (60, 3))


def mean(sample, axis):
    return np.mean(sample, axis=axis)


def test_bca_intervals_are_scipys_with_the_same_resamples():
    users, resamples = len(SKEWED), 999
    for column in range(SKEWED.shape[1]):
        own = SKEWED[:, column : column + 1]
        theirs = stats.bootstrap((own[:, 0],), mean, n_resamples=resamples, method="BCa", rng=np.random.default_rng(5))
        drawn = np.random.default_rng(5).integers(0, users, (resamples, users))
        counts = np.stack([np.bincount(row, minlength=users) for row in drawn])
        means = rs.resample_means(own, [lambda counts=counts: counts])
        np.testing.assert_allclose(np.sort(means[:, 0]), np.sort(theirs.bootstrap_distribution), rtol=1e-9)
        low, high = rs.bca_intervals(own, means, 0.95)
        np.testing.assert_allclose([low[0], high[0]], theirs.confidence_interval, rtol=1e-9)


def test_intervals_of_moments_are_scipys_bca_to_a_twentieth_of_a_standard_error():
    # The skewness is about 7: without its terms the ends would be off by 0.3 standard errors. 20,000 resamples have an
    # error of 0.02.
    users = 1_500
    rng = np.random.default_rng(11)
    values = np.stack([rng.exponential(0.2, users) ** 2, 1 - rng.exponential(0.1, users), np.full(users, 0.3)], axis=1)
    low, high, sure = rs.expand_intervals(values, 0.9)
    assert sure.tolist() == [True, True, True]
    assert (low[2], high[2]) == (pytest.approx(0.3), pytest.approx(0.3))
    for column in (0, 1):
        own = values[:, column]
        theirs = stats.bootstrap((own,), mean, n_resamples=20_000, batch=500, confidence_level=0.9, method="BCa", rng=3)
        error = own.std() / users**0.5
        np.testing.assert_allclose([low[column], high[column]], theirs.confidence_interval, rtol=0, atol=error / 20)


def test_moments_are_not_trusted_for_one_user_in_a_thousand():
    # g = 31.6 and c = 995 of 1,000 users: the last term at z = 2.5 is about 0.3.
    values = np.zeros((1_000, 1))
    values[0] = 1
    assert rs.expand_intervals(values, 0.95)[2].tolist() == [False]


def test_means_that_tie_with_the_observed_one_count_half():
    # Four of eight resamples have the mean of the sample, two are below and two above: no bias, so that the interval
    # is the one of the plain quantiles shifted by the skew alone, and that is zero for symmetric values.
    values = np.array([[0.1], [0.2], [0.3]])
    means = np.array([[0.1], [0.15], [0.2], [0.1 + 0.1], [(0.1 + 0.2 + 0.3) / 3], [0.2], [0.25], [0.3]])
    low, high = rs.bca_intervals(values, means, 0.95)
    np.testing.assert_allclose([low[0], high[0]], np.quantile(means, [0.025, 0.975]), rtol=1e-9)


def test_sign_flips_are_scipys_permutation_test_with_the_same_resamples():
    change, seen = VALUES[:, 0] - VALUES[:, 1], []

    def recorded_mean(sample, axis):
        seen.append(np.moveaxis(sample, axis, -1).reshape(-1, len(change)))
        return np.mean(sample, axis=axis)

    theirs = stats.permutation_test(
        (change,), recorded_mean, permutation_type="samples", n_resamples=499, vectorized=True, rng=3
    )
    samples = max(seen, key=len)
    signs = np.where(samples == change, 1, -1)
    assert signs.shape == (499, len(change))
    np.testing.assert_array_equal(signs * change, samples)
    flipped = rs.resample_means(change[:, None], [lambda: signs])
    np.testing.assert_allclose(flipped[:, 0], theirs.null_distribution, rtol=1e-9, atol=1e-15)
    assert rs.sign_flip_p(change[:, None], flipped, exact=False)[0] == pytest.approx(theirs.pvalue, abs=1e-12)


@pytest.mark.parametrize("users", [2, 3, 6, 10])
def test_all_sign_patterns_give_the_exact_p(users):
    change = np.random.default_rng(users).normal(0.4, 1, users)
    theirs = stats.permutation_test((change,), mean, permutation_type="samples", n_resamples=np.inf)
    flipped = rs.resample_means(change[:, None], [lambda: rs.all_signs(users)])
    assert rs.sign_flip_p(change[:, None], flipped, exact=True)[0] == pytest.approx(theirs.pvalue, abs=1e-12)


def test_products_are_the_means_that_loops_give():
    draws = [block() for block in rs.user_draws(len(VALUES), 300, seed=1)]
    means = rs.resample_means(VALUES, rs.user_draws(len(VALUES), 300, seed=1))
    for row, counts in zip(means, itertools.chain.from_iterable(draws), strict=True):
        assert counts.sum() == len(VALUES)
        expected = np.repeat(VALUES, counts, axis=0).mean(axis=0)
        np.testing.assert_allclose(row, expected, rtol=1e-12)


def test_the_same_seed_gives_the_same_digits_and_another_does_not():
    once, again, other = (rs.resample_means(VALUES, rs.user_draws(len(VALUES), 200, seed)) for seed in (1, 1, 2))
    assert once.tolist() == again.tolist()
    assert once.tolist() != other.tolist()


def test_signs_are_plus_and_minus_one_equally_often():
    signs = np.concatenate([block() for block in rs.sign_draws(101, 400, seed=0)])
    assert signs.shape == (400, 101)
    assert set(np.unique(signs)) == {-1, 1}
    assert abs(signs.mean()) < 5 / np.sqrt(signs.size)


def test_blocks_change_nothing_but_the_memory(monkeypatch):
    whole = rs.resample_means(VALUES, [lambda: rs.all_signs(6).repeat(10, axis=1)])
    monkeypatch.setattr(rs, "USERS_PER_PRODUCT", 7)
    np.testing.assert_allclose(
        rs.resample_means(VALUES, [lambda: rs.all_signs(6).repeat(10, axis=1)]), whole, atol=1e-15
    )


def test_values_without_spread_have_the_interval_of_a_point():
    same = np.full((5, 1), 0.5)
    low, high = rs.bca_intervals(same, rs.resample_means(same, rs.user_draws(5, 100, 0)), 0.95)
    assert (low[0], high[0]) == (0.5, 0.5)


def test_the_number_of_threads_is_left_as_it_was():
    import torch

    before = torch.get_num_threads()
    rs.resample_means(VALUES, rs.user_draws(len(VALUES), 100, 0))
    assert torch.get_num_threads() == before
