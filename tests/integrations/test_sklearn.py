"""scikit-learn's own tools call the scorer: cross-validation and a search over parameters."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bridgeval.errors import MissingColumnError
from tests.integrations.ranked_groups import draw_groups, reciprocal_rank_by_loop

pytestmark = pytest.mark.integration
ROWS = draw_groups(seed=5)
FRAME = pd.DataFrame(ROWS.features, columns=list("abcd")).assign(query=ROWS.groups)


def cross_validate_by_hand(model, features: np.ndarray) -> list[float]:
    """Each fold fitted, predicted and measured in plain loops."""
    from sklearn.model_selection import GroupKFold

    values = []
    for train, test in GroupKFold(4).split(features, ROWS.labels, ROWS.groups):
        scores = model.fit(features[train], ROWS.labels[train]).predict(features[test])
        values.append(reciprocal_rank_by_loop(ROWS.labels[test], scores, ROWS.groups[test]))
    return values


def test_cross_validation_with_groups_in_a_column_of_the_features():
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GroupKFold, cross_val_score

    from bridgeval.integrations.sklearn import make_scorer

    found = cross_val_score(
        Ridge(), FRAME, ROWS.labels, groups=ROWS.groups, cv=GroupKFold(4), scoring=make_scorer("MRR", groups="query")
    )
    assert found == pytest.approx(cross_validate_by_hand(Ridge(), FRAME.to_numpy()), abs=1e-12)


def test_cross_validation_with_groups_beside_the_features():
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GroupKFold, cross_val_score

    from bridgeval.integrations.sklearn import make_scorer

    features = FRAME.drop(columns="query").set_axis([f"row {n}" for n in range(len(FRAME))])
    groups = pd.Series(ROWS.groups, index=features.index)
    found = cross_val_score(
        Ridge(), features, ROWS.labels, groups=groups, cv=GroupKFold(4), scoring=make_scorer("MRR", groups=groups)
    )
    assert found == pytest.approx(cross_validate_by_hand(Ridge(), ROWS.features), abs=1e-12)


def test_cross_validation_with_groups_by_metadata_routing():
    import sklearn
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GroupKFold, cross_val_score

    from bridgeval.integrations.sklearn import make_scorer

    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_val_score(
            Ridge(),
            ROWS.features,
            ROWS.labels,
            params={"groups": ROWS.groups},
            cv=GroupKFold(4),
            scoring=make_scorer("MRR"),
        )
    assert found == pytest.approx(cross_validate_by_hand(Ridge(), ROWS.features), abs=1e-12)


def test_a_search_picks_the_parameter_with_the_best_metric_and_lower_is_better_is_negated():
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, GroupKFold

    from bridgeval.integrations.sklearn import make_scorer

    scoring = {
        "up": make_scorer("nDCG@5", groups="query", response_method="predict_proba"),
        "down": make_scorer("RMSE", groups="query", response_method="predict_proba"),
    }
    search = GridSearchCV(
        LogisticRegression(max_iter=2_000), {"C": [1e-6, 1.0]}, scoring=scoring, refit="up", cv=GroupKFold(4)
    )
    search.fit(FRAME, (ROWS.labels > 0).astype(int), groups=ROWS.groups)
    up, down = search.cv_results_["mean_test_up"], search.cv_results_["mean_test_down"]
    assert search.best_params_["C"] == [1e-6, 1.0][int(np.argmax(up))]
    assert up[1] > up[0] > 0
    assert (down < 0).all()


@pytest.mark.parametrize(("features", "message"), [(FRAME, "has no column 'qid'"), (ROWS.features, "pandas frame")])
def test_features_without_the_column_are_an_error(features, message):
    from sklearn.linear_model import Ridge

    from bridgeval.integrations.sklearn import make_scorer

    with pytest.raises(MissingColumnError, match=message):
        make_scorer("MRR", groups="qid")(Ridge().fit(features, ROWS.labels), features, ROWS.labels)
