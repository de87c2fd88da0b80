"""Rows in groups against a plain loop, and the errors."""

from __future__ import annotations

import numpy as np
import pytest

from bridgeval.errors import BadParameterError, InputError, MisalignedError, UnknownMetricError
from bridgeval.integrations.grouped_rows import GroupMetrics, KnownGroups, evaluate_groups, number_groups
from tests.integrations.ranked_groups import draw_groups, reciprocal_rank_by_loop


def test_shuffled_rows_give_what_a_loop_over_groups_gives():
    rows = draw_groups(seed=3)
    order = np.random.default_rng(0).permutation(len(rows.labels))
    expected = reciprocal_rank_by_loop(rows.labels, rows.scores, rows.groups)
    report = evaluate_groups(rows.labels[order], rows.scores[order], rows.groups[order], "MRR")
    assert report["MRR"] == pytest.approx(expected, abs=1e-12)


def test_groups_may_be_text():
    report = evaluate_groups([1, 0, 0, 1], [0.1, 0.2, 0.3, 0.4], np.array(["b", "b", "a", "a"]), "MRR")
    # b: the relevant row is second, a: first.
    assert report["MRR"] == (0.5 + 1) / 2


def test_sizes_that_do_not_cover_the_rows_are_an_error():
    with pytest.raises(MisalignedError, match="2 groups of 5 rows together, 6 rows"):
        number_groups([2, 3], 6)
    with pytest.raises(MisalignedError, match="0 groups of 0 rows together, 6 rows"):
        number_groups(None, 6)


def test_arrays_of_several_lengths_are_an_error():
    with pytest.raises(MisalignedError, match=r"scores of shape \(3,\)"):
        evaluate_groups([1, 0], [1.0, 2.0, 3.0], [0, 0], "MRR")


def test_bad_numbers_are_an_error_and_no_number():
    with pytest.raises(InputError, match="NaN"):
        evaluate_groups([1, 0], [np.nan, 2.0], [0, 0], "MRR")


def test_names_and_directions_are_checked_before_training():
    with pytest.raises(UnknownMetricError):
        GroupMetrics.of("nDGC@10")
    with pytest.raises(BadParameterError, match="higher_is_better=True"):
        GroupMetrics.of(["MRR", "Judged@10"])
    assert (
        GroupMetrics.of("Judged@10", higher_is_better=False).direction(GroupMetrics.of("Judged@10", True).only) is False
    )
    with pytest.raises(BadParameterError, match=r"MRR, Recall@5, Recall@10"):
        _ = GroupMetrics.of(["MRR", "Recall@5,10"]).only


def test_a_data_set_is_found_by_its_labels():
    known = KnownGroups.of([([1, 0, 2], [0, 0, 1]), ([0, 0, 1], [5, 6, 6])])
    assert known.find(np.array([0.0, 0.0, 1.0])).tolist() == [5, 6, 6]
    with pytest.raises(MisalignedError, match="3 labels; the data sets given have 3, 3"):
        known.find([2, 0, 1])


def test_data_sets_that_cannot_be_told_apart_are_an_error():
    with pytest.raises(MisalignedError, match="same labels and other groups"):
        KnownGroups.of([([1, 0], [0, 0]), ([1, 0], [0, 1])])
    assert KnownGroups.of([([1, 0], [0, 0]), ([1, 0], [0, 0])]).find([1, 0]).tolist() == [0, 0]
