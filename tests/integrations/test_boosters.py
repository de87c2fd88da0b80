"""LightGBM, XGBoost and CatBoost call our metrics on every round, and store what they return.

The expectation is the library's own number: `lightgbm:ndcg@5` here is LightGBM's `ndcg@5` there, of the same round and
the same groups. MRR, which they do not have or have otherwise, is held to a plain loop.
"""

from __future__ import annotations

import numpy as np
import pytest

from bridgeval import parse
from bridgeval.integrations.metric_names import encode_name
from tests.integrations.ranked_groups import draw_groups, reciprocal_rank_by_loop

pytestmark = pytest.mark.integration
ROUNDS = 6
TRAIN, VALID = draw_groups(seed=1), draw_groups(seed=2, groups=25)


def test_lightgbm_train_stores_our_values_beside_its_own():
    import lightgbm

    from bridgeval.integrations.lightgbm import make_feval

    train = lightgbm.Dataset(TRAIN.features, TRAIN.labels, group=TRAIN.sizes)
    valid = lightgbm.Dataset(VALID.features, VALID.labels, group=VALID.sizes, reference=train)
    stored: dict = {}
    booster = lightgbm.train(
        {"objective": "lambdarank", "metric": ["ndcg", "map"], "eval_at": [5], "verbose": -1, "min_data_in_leaf": 3},
        train,
        ROUNDS,
        valid_sets=[train, valid],
        valid_names=["train", "valid"],
        feval=make_feval(["lightgbm:ndcg@5", "lightgbm:map@5", "MRR"]),
        callbacks=[lightgbm.record_evaluation(stored)],
    )
    for name in ("train", "valid"):
        for metric in ("ndcg@5", "map@5"):
            ours = stored[name][encode_name(f"lightgbm:{metric}")]
            assert len(ours) == ROUNDS
            assert ours == pytest.approx(stored[name][metric], abs=1e-7)
        assert len(set(stored[name]["lightgbm__ndcg_at_5"])) > 1
    by_loop = reciprocal_rank_by_loop(VALID.labels, booster.predict(VALID.features), VALID.groups)
    assert stored["valid"]["MRR"][-1] == pytest.approx(by_loop, abs=1e-12)


def test_lgbmranker_stops_early_by_our_metric():
    import lightgbm

    from bridgeval.integrations.lightgbm import make_eval_metric

    ranker = lightgbm.LGBMRanker(n_estimators=200, min_child_samples=3, verbose=-1, metric="None")
    ranker.fit(
        TRAIN.features,
        TRAIN.labels,
        group=TRAIN.sizes,
        eval_set=[(VALID.features, VALID.labels)],
        eval_group=[VALID.sizes],
        eval_metric=make_eval_metric("nDCG@5"),
        callbacks=[lightgbm.early_stopping(5, verbose=False)],
    )
    values = ranker.evals_result_["valid_0"]["nDCG_at_5"]
    assert ranker.best_iteration_ == np.argmax(values) + 1
    assert len(values) < 200


def test_lightgbm_without_groups_is_an_error():
    import lightgbm

    from bridgeval.errors import MisalignedError
    from bridgeval.integrations.lightgbm import make_feval

    train = lightgbm.Dataset(TRAIN.features, TRAIN.labels)
    with pytest.raises(MisalignedError, match="groups do not cover the rows"):
        lightgbm.train({"verbose": -1}, train, 1, valid_sets=[train], feval=make_feval("MRR"))


def test_xgboost_train_stores_our_values_beside_its_own():
    import xgboost

    from bridgeval.integrations.xgboost import make_custom_metric

    train = xgboost.DMatrix(TRAIN.features, TRAIN.labels, qid=TRAIN.groups)
    valid = xgboost.DMatrix(VALID.features, VALID.labels, qid=VALID.groups)
    stored: dict = {}
    booster = xgboost.train(
        {"objective": "rank:ndcg", "eval_metric": ["ndcg@5", "ndcg@2-"]},
        train,
        ROUNDS,
        evals=[(train, "train"), (valid, "valid")],
        custom_metric=make_custom_metric(["xgboost:ndcg@5", "xgboost:ndcg@2-", "MRR"]),
        evals_result=stored,
        verbose_eval=False,
    )
    for name in ("train", "valid"):
        for metric, own in (("ndcg@5", "xgboost:ndcg@5"), ("ndcg@2-", str(parse("xgboost:ndcg@2-")[0]))):
            ours = stored[name][encode_name(own)]
            assert len(ours) == ROUNDS
            # XGBoost logs six digits.
            assert ours == pytest.approx(stored[name][metric], abs=2e-6)
    by_loop = reciprocal_rank_by_loop(VALID.labels, booster.predict(valid), VALID.groups)
    assert stored["valid"]["MRR"][-1] == pytest.approx(by_loop, abs=1e-6)


@pytest.mark.parametrize("loss", ["YetiRank", "QueryRMSE"])
def test_catboost_stores_our_value_beside_its_own_and_keeps_the_best_round(loss):
    import catboost

    from bridgeval.integrations.catboost import make_eval_metric

    train = catboost.Pool(TRAIN.features, TRAIN.labels, group_id=TRAIN.groups)
    valid = catboost.Pool(VALID.features, VALID.labels, group_id=VALID.groups)
    settings = {"loss_function": loss, "custom_metric": ["NDCG:top=5"], "iterations": 20, "random_seed": 0}
    model = catboost.CatBoost(
        {
            **settings,
            "eval_metric": make_eval_metric("catboost:NDCG@5", train, valid),
            "allow_writing_files": False,
            "verbose": False,
            "thread_count": 1,
        }
    )
    model.fit(train, eval_set=valid)
    stored = model.get_evals_result()["validation"]
    (theirs,) = [values for name, values in stored.items() if name.startswith("NDCG:top=5")]
    ours = stored["catboost__NDCG_at_5"]
    assert ours == pytest.approx(theirs, abs=1e-9)
    assert model.get_best_iteration() == np.argmax(ours)
    assert len(model.get_evals_result()["learn"]["catboost__NDCG_at_5"]) == 20


def test_catboost_with_a_pool_that_was_not_named_is_an_error():
    import catboost

    from bridgeval.integrations.catboost import make_eval_metric

    train = catboost.Pool(TRAIN.features, TRAIN.labels, group_id=TRAIN.groups)
    valid = catboost.Pool(VALID.features, VALID.labels, group_id=VALID.groups)
    settings = {"loss_function": "YetiRank", "iterations": 2, "allow_writing_files": False, "verbose": False}
    model = catboost.CatBoost({**settings, "eval_metric": make_eval_metric("MRR", train)})
    with pytest.raises(catboost.CatBoostError, match="give every data set that is trained or evaluated on"):
        model.fit(train, eval_set=valid)
