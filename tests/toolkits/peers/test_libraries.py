"""Small cases on which conventions went wrong; each expected number was printed by the library itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import bridgeval
from bridgeval import Scores


def frame(rows: list[tuple[Any, ...]], number: str = "relevance") -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["user_id", "item_id", number])


def values(shown: Any, truth: Any, *names: str, **options: Any) -> list[float]:
    return list(bridgeval.evaluate(shown, truth, names, **options).values())


def test_queries_judged_zero_throughout_count_for_trec_eval_and_ranx():
    shown, truth = {"q1": {"d1": 2.0}, "q2": {"d1": 2.0}}, {"q1": {"d1": 1}, "q2": {"d1": 0}}
    # pytrec_eval: P_1 1.0 and 0.0; ranx: precision@1 0.5
    assert values(shown, truth, "trec_eval:P@1", "ranx:precision@1") == [0.5, 0.5]
    nothing = {"q1": {"d1": 0}, "q2": {"d1": 0}}
    # pytrec_eval and ranx: 0.0 everywhere
    names = ["trec_eval:P@1", "trec_eval:Rprec", "ranx:precision@1", "ranx:ndcg@1", "ranx:r_precision"]
    assert values(shown, nothing, *names) == [0.0] * 5


def test_ranx_takes_gains_from_one_up_for_relevant():
    shown, truth = {"q1": {"d1": 2.0, "d2": 1.0}}, {"q1": {"d1": 0.5, "d2": 1}}
    # ranx: ndcg@2 0.6309297535714575, precision@2 0.5, recall@2 1.0
    names = ["ranx:ndcg@2", "ranx:precision@2", "ranx:recall@2"]
    assert values(shown, truth, *names) == pytest.approx([0.6309297535714575, 0.5, 1.0])


def test_users_with_an_empty_list_count_for_trec_eval_ranx_and_lenskit():
    shown, truth = {"q1": {"d1": 2.0}, "q2": {}}, {"q1": {"d1": 1}, "q2": {"d1": 1}}
    # pytrec_eval: P_1 1.0 and 0.0; LensKit: Recall@1 0.5; ranx: 0.5
    assert values(shown, truth, "trec_eval:P@1", "lenskit:Recall@1", "ranx:precision@1") == [0.5, 0.5, 0.5]


def test_an_empty_list_without_truth_counts_for_nobody():
    # LensKit: Precision@2 0.25, Recall@2 0.5, NDCG@2 0.5 over users 1 and 2; trec_eval too leaves user 3 out
    shown, truth = {1: [(5, 3.0), (1, 2.0)], 2: [], 3: []}, {1: {1: 1}, 2: {2: 1}}
    names = ["lenskit:Precision@2", "lenskit:Recall@2", "lenskit:NDCG@2", "trec_eval:P@2"]
    assert values(shown, truth, *names) == [0.25, 0.5, 0.5, 0.25]


def test_a_user_with_an_empty_truth_counts_for_ranx_and_lenskit_and_not_for_trec_eval():
    shown, truth = {"q1": {"d1": 2.0}, "q2": {"d1": 1.0}}, {"q1": {"d1": 1}, "q2": {}}
    # ranx: precision@1 0.5; LensKit: Precision@1 0.5; pytrec_eval returns q1 alone
    assert values(shown, truth, "ranx:precision@1", "lenskit:Precision@1", "trec_eval:P@1") == [0.5, 0.5, 1.0]


def test_users_that_a_side_misses_altogether():
    shown, truth = {"q1": {"d1": 2.0}, "q2": {"d1": 1.0}}, {"q1": {"d1": 1}, "q3": {"d1": 1}}
    # ranx: q1 and q3, 0.5; pytrec_eval: q1 alone, 1.0; LensKit: q1 and q2, 0.5
    assert values(shown, truth, "ranx:precision@1", "trec_eval:P@1", "lenskit:Precision@1") == [0.5, 1.0, 0.5]


def test_lenskit_takes_every_row_of_the_truth():
    # LensKit: Recall@2 0.5
    assert values({1: [1, 2]}, {1: {1: 0.0, 3: 5.0}}, "lenskit:Recall@2") == [0.5]


def test_lenskit_finds_a_repeated_item_each_time():
    shown, truth = frame([(1, 5, 3.0), (1, 1, 2.0), (1, 1, 1.0)], "score"), frame([(1, 1, 1), (1, 1, 1), (1, 2, 1)])
    # LensKit: Precision@3 2/3, Recall@2 1/2, Recall@3 2/3, NDCG@3 0.6199062332840657
    names = ["lenskit:Precision@3", "lenskit:Recall@2", "lenskit:Recall@3", "lenskit:NDCG@3"]
    with pytest.warns(bridgeval.errors.DuplicateRowsWarning):
        assert values(shown, truth, *names) == pytest.approx([2 / 3, 1 / 2, 2 / 3, 0.6199062332840657])


def test_r_precision_looks_at_as_many_places_as_there_are_relevant_items():
    shown = {"q1": {"a": 5.0, "b": 4.0, "c": 3.0, "d": 2.0}, "q2": {"a": 1.0}}
    truth = {"q1": {"a": 1, "d": 1}, "q2": {"a": 1, "b": 1, "c": 1}}
    # ranx: r-precision 0.41666666666666663, of 1/2 and 1/3; pytrec_eval: Rprec the same
    names = ["ranx:r-precision", "trec_eval:Rprec", "RPrecision"]
    assert values(shown, truth, *names) == pytest.approx([5 / 12] * 3)
    # ranx accepts a cutoff, r-precision@1, and ignores it: 0.41666666666666663 again
    assert values(shown, truth, "ranx:r-precision@1") == pytest.approx([5 / 12])
    with pytest.raises(bridgeval.errors.BadParameterError, match="takes none"):
        bridgeval.parse("trec_eval:Rprec@10")


@pytest.mark.parametrize("ids", [[9, 10], ["9", "10"]], ids=["integers", "strings"])
@pytest.mark.filterwarnings("ignore::bridgeval.errors.ConstantScoresWarning")
def test_trec_eval_breaks_ties_by_the_id_as_text(ids):
    truth = {"q1": {ids[0]: 1}}
    # pytrec_eval on ids "9" and "10": P_1 1.0, in whatever order they come
    for shown in ({"q1": {ids[0]: 1.0, ids[1]: 1.0}}, {"q1": {ids[1]: 1.0, ids[0]: 1.0}}):
        assert values(shown, truth, "trec_eval:P@1", "trec_eval:recip_rank@10") == [1.0, 1.0]
    matrix = Scores(np.ones((1, 2)), users=["q1"], items=ids)
    assert values(matrix, truth, "trec_eval:P@1", "trec_eval:Rprec", "trec_eval:ndcg_cut@1") == [1.0, 1.0, 1.0]


def test_irspacks_ideal_list_is_no_longer_than_the_list():
    # irspack: ndcg@2 1.0, recall@2 0.5, map@2 0.5, precision@2 1.0
    names = ["irspack:ndcg@2", "irspack:recall@2", "irspack:map@2", "irspack:precision@2"]
    assert values({1: [1]}, {1: [1, 2]}, *names) == [1.0, 0.5, 0.5, 1.0]


@pytest.mark.filterwarnings("ignore::bridgeval.errors.ConstantScoresWarning")
def test_irspack_breaks_ties_by_the_lowest_item():
    # irspack, columns 1, 2, 5: ndcg@2 1.0
    assert values({1: {5: 1.0, 2: 1.0, 1: 1.0}}, {1: [1]}, "irspack:ndcg@2") == [1.0]


def test_ranks_are_places_for_rectools():
    shown, truth = frame([(1, 5, 1), (1, 1, 3)], "rank"), frame([(1, 1, 1)])
    # RecTools: MRR@2 0.0, MRR@3 1/3, NDCG@3 0.23463936301137822, MAP@3 1/3, Precision@2 0.0, Recall@3 1.0
    names = ["rectools:MRR@2,3", "rectools:NDCG@3", "rectools:MAP@3", "rectools:Precision@2", "rectools:Recall@3"]
    expected = [0.0, 1 / 3, 0.23463936301137822, 1 / 3, 0.0, 1.0]
    assert values(shown, truth, *names) == pytest.approx(expected)
    # natively gaps are closed
    assert values(shown, truth, "MRR@2,3") == [0.5, 0.5]


def test_ranks_beyond_every_cutoff_take_no_room():
    shown, truth = frame([(1, 5, 1), (1, 1, 10**15)], "rank"), frame([(1, 1, 1)])
    assert values(shown, truth, "rectools:MRR@2", "RPrecision", "MRR@2") == [0.0, 0.0, 0.5]


def test_repeated_interactions_count_each_time_for_rectools():
    shown = frame([(1, 5, 1), (1, 1, 2), (1, 2, 3)], "rank")
    truth = frame([(1, 1, 1), (1, 1, 1), (1, 2, 1)])
    expected = {
        "Precision@2": 1.0,
        "Precision@3": 1.0,
        'Precision(divide_by="relevant")@2': 1.0,
        "Recall@2": 2 / 3,
        "Recall@3": 1.0,
        "HitRate@2": 1.0,
        "MRR@3": 0.5,
        "NDCG@2": 0.7737056144690833,
        "NDCG@3": 0.8268031849431087,
        "MAP@2": 1 / 3,
        "MAP@3": 2 / 3,
    }
    names = [f"rectools:{name}" for name in expected]
    assert values(shown, truth, *names) == pytest.approx(list(expected.values()))


def test_repeated_interactions_count_each_time_for_recommenders():
    shown = frame([(1, 5, 3.0), (1, 1, 2.0), (1, 2, 1.0)], "score")
    truth = frame([(1, 1, 1), (1, 1, 1), (1, 2, 1)])
    expected = {
        "precision_at_k@2": 1.0,
        "recall_at_k@2": 2 / 3,
        "map@2": 0.5,
        "map@3": 0.8333333333333334,
        "map_at_k@2": 0.75,
    }
    names = [f"recommenders:{name}" for name in expected]
    assert values(shown, truth, *names) == pytest.approx(list(expected.values()))
