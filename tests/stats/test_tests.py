"""Paired statistics against statsmodels and scipy, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW

from bridgeval.stats import tests as st

RNG = np.random.default_rng(20)
# Reciprocal ranks with many zeros: skewed, tied, and correlated between the systems.
RANKS = np.array([0.0, 0.0, 0.0, 0.2, 0.25, 1 / 3, 0.5, 1.0])
FIRST = RNG.choice(RANKS, (300, 5))
SECOND = np.where(RNG.random((300, 5)) < 0.6, FIRST, RNG.choice(RANKS, (300, 5)))


def close(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_t_is_statsmodels_and_scipys():
    statistic, p = st.t_test(SECOND - FIRST)
    theirs = [DescrStatsW(column).ttest_mean(0) for column in (SECOND - FIRST).T]
    close(statistic, [t for t, _, _ in theirs])
    close(p, [p for _, p, _ in theirs])
    close(p, stats.ttest_rel(SECOND, FIRST).pvalue)


@pytest.mark.parametrize("users", [2, 3, 10, 40, 300])
def test_wilcoxon_is_scipys_for_few_and_many_users(users):
    change = st.subtract(SECOND[:users], FIRST[:users]) + 0.01
    statistic, p = st.wilcoxon_test(change)
    for column in range(change.shape[1]):
        theirs = stats.wilcoxon(change[:, column])
        close(statistic[column], theirs.statistic)
        close(p[column], theirs.pvalue)


def test_wilcoxon_with_ties_is_scipys():
    statistic, p = st.wilcoxon_test(SECOND - FIRST)
    theirs = stats.wilcoxon(SECOND, FIRST, axis=0)
    close(statistic, theirs.statistic)
    close(p, theirs.pvalue)


@pytest.mark.parametrize("size", [1, 2, 7, 60])
def test_corrections_are_statsmodels(size):
    p = np.random.default_rng(size).random(size) ** 3
    p[: size // 3] = p[0]
    close(st.holm(p), multipletests(p, method="holm")[1])
    close(st.benjamini_hochberg(p), multipletests(p, method="fdr_bh")[1])
    close(st.benjamini_hochberg(p), stats.false_discovery_control(p))


def test_undefined_p_are_no_tests_of_the_family():
    p = np.array([0.01, math.nan, 0.03])
    assert st.holm(p).tolist()[::2] == [0.02, 0.03]
    assert math.isnan(st.holm(p)[1])
    assert st.benjamini_hochberg(p).tolist()[::2] == [0.02, 0.03]


def test_friedman_is_scipys_with_ties():
    values = np.round(RNG.random((80, 4)), 1)
    ours = st.friedman(values)
    theirs = stats.friedmanchisquare(*values.T)
    close([ours.statistic, ours.p], [theirs.statistic, theirs.pvalue])
    close(ours.ranks, stats.rankdata(-values, axis=1).mean(axis=0))


def test_nemenyi_has_the_critical_values_of_the_literature():
    # Demsar (2006), table 5: q at 0.05 for 2 to 5 classifiers; CD = q sqrt(k (k + 1) / (6 N)).
    for systems, q in ((2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728)):
        values = RNG.random((30, systems)) if systems > 2 else None
        if values is not None:
            expected = q * math.sqrt(systems * (systems + 1) / (6 * 30))
            assert st.friedman(values).critical_difference == pytest.approx(expected, abs=1e-3)


def test_nemenyi_p_is_alpha_where_ranks_are_a_critical_difference_apart():
    test = st.friedman(RNG.random((50, 3)))
    scale = math.sqrt(3 * 4 / (6 * 50)) / math.sqrt(2)
    assert stats.studentized_range.sf(test.critical_difference / scale, 3, np.inf) == pytest.approx(0.05, abs=1e-6)
    assert test.pairwise.shape == (3, 3)
    assert np.allclose(test.pairwise, test.pairwise.T)


def test_friedman_of_systems_that_all_tie_is_undefined():
    test = st.friedman(np.ones((10, 3)))
    assert math.isnan(test.p)
    assert test.ranks.tolist() == [2.0, 2.0, 2.0]
    assert test.pairwise.tolist() == np.ones((3, 3)).tolist()


@pytest.mark.parametrize("users", [2, 5, 100, 100_000])
def test_detectable_difference_is_found_with_the_power_asked_for(users):
    spread = 0.3
    shift = st.detectable_difference(spread, users, alpha=0.05, power=0.8) / (spread / math.sqrt(users))
    critical = stats.t.ppf(0.975, users - 1)
    assert stats.nct.sf(critical, users - 1, shift) == pytest.approx(0.8, abs=1e-6)


def test_detectable_difference_is_statsmodels():
    from statsmodels.stats.power import TTestPower

    theirs = TTestPower().solve_power(nobs=200, alpha=0.025, power=0.8, alternative="larger")
    assert st.detectable_difference(1.0, 200) == pytest.approx(theirs, rel=1e-4)


def test_differences_below_the_engines_precision_are_ties():
    assert st.subtract(np.array([0.1 + 0.2]), np.array([0.3])).tolist() == [0.0]
    assert st.subtract(np.array([1e-9]), np.array([0.0])).tolist() == [1e-9]


def test_t_without_spread_is_undefined_and_wilcoxon_without_differences_too():
    same = np.full((10, 2), 0.25)
    same[:, 1] = 0
    assert np.isnan(st.t_test(same)[1]).all()
    statistic, p = st.wilcoxon_test(same)
    assert p[0] < 0.01
    assert statistic[1] == 0
    assert math.isnan(p[1])
    assert np.isnan(st.effect_sizes(same)).all()


def test_effect_size_by_hand():
    # Differences 0, 1, 2: mean 1, sample deviation 1.
    assert st.effect_sizes(np.array([[0.0], [1.0], [2.0]])).tolist() == [1.0]
