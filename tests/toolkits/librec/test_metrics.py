"""The convention `librec`: metrics that no golden covers against plain loops; laws over every name."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import bridgeval
from bridgeval.errors import BadParameterError, DuplicateRowsWarning, NeedError, UnknownMetricError
from bridgeval.toolkits.librec.conventions import JAVA, LIBREC, METRICS, name_java_metric, name_script_metric
from bridgeval.toolkits.librec.features import read_features
from bridgeval.toolkits.librec.study_config import Config, Feature, Script
from tests.toolkits.librec.studies import GOLDENS, Fold, pairs, random_fold, write

K = 5


@pytest.fixture(scope="module")
def fold(tmp_path_factory) -> Fold:
    return random_fold(tmp_path_factory.mktemp("fold"))


@pytest.fixture(scope="module")
def lists(fold):
    return {user: list(rows) for user, rows in pairs(fold.result, ",").items()}


@pytest.fixture(scope="module")
def original(fold):
    return {user: list(rows) for user, rows in pairs(fold.original, ",").items()}


@pytest.fixture(scope="module")
def wanted(fold):
    return pairs(fold.test, "\t")


@pytest.fixture(scope="module")
def catalogue(fold):
    return {item for path in (fold.train, fold.test) for rows in pairs(path, "\t").values() for item in rows}


@pytest.fixture(scope="module")
def female(fold):
    features = read_features(fold.user_features).values
    flags = features.values[:, features.labels.index("F")] == 1
    return dict(zip(features.ids.tolist(), flags.tolist(), strict=True))


@pytest.fixture(scope="module")
def new(fold):
    features = read_features(fold.item_features).values
    flags = features.values[:, features.labels.index("new")] == 1
    return {item for item, flag in zip(features.ids.tolist(), flags.tolist(), strict=True) if flag}


def value(fold: Fold, name: str) -> float:
    return fold.evaluate(name)[name]


def discounted(shown: list[str], relevant) -> float:
    return sum(1 / math.log2(place + 1) for place, item in enumerate(shown[:K], start=1) if item in relevant)


def test_csp_is_the_difference_of_mean_precisions(fold, lists, wanted, female):
    groups: dict[bool, list[float]] = {True: [], False: []}
    for user, relevant in wanted.items():
        shown = lists.get(user, [])
        groups[female[user]].append(sum(item in relevant for item in shown[:K]) / K)
    expected = np.mean(groups[True]) - np.mean(groups[False])
    assert value(fold, f'librec:csp(protected="F")@{K}') == pytest.approx(expected, rel=1e-12)


def test_csp_of_one_group_alone_is_plus_or_minus_its_mean(tmp_path):
    files = {
        "result": write(tmp_path / "out-1.txt", "1,a,0.5", "2,b,0.4"),
        "test": write(tmp_path / "test.txt", "1\ta\t1", "2\ta\t1"),
    }
    alone = write(tmp_path / "f.csv", "1,F,1", "2,F,1")
    none = write(tmp_path / "g.csv", "1,F,0", "2,F,0")
    name = 'librec:csp(protected="F")@1'
    assert value(Fold(**files, user_features=alone), name) == 0.5
    assert value(Fold(**files, user_features=none), name) == -0.5


def test_dpcf_shares_the_gain_of_hits_between_two_groups_of_users(fold, lists, wanted, female):
    earned = {True: 0.0, False: 0.0}
    for user, relevant in wanted.items():
        earned[female[user]] += discounted(lists.get(user, []), relevant)
    expected = sum(math.log2(gain / sum(earned.values())) for gain in earned.values())
    assert value(fold, f'librec:dpcf(protected="F")@{K}') == pytest.approx(expected, rel=1e-12)


def test_a_group_without_hits_is_given_a_floor(tmp_path):
    fold = Fold(
        write(tmp_path / "out-1.txt", "1,a,0.5", "2,b,0.4"),
        write(tmp_path / "test.txt", "1\ta\t1", "2\ta\t1"),
        user_features=write(tmp_path / "f.csv", "1,F,1", "2,M,1"),
    )
    # F earns 1, M nothing and is given 1 / log2(4 + 1).
    floor = 1 / math.log2(5)
    expected = math.log2(1 / (1 + floor)) + math.log2(floor / (1 + floor))
    assert value(fold, 'librec:dpcf(protected="F")@4') == pytest.approx(expected, rel=1e-12)


def test_nonpar_is_the_gap_between_mean_scores_of_groups(fold, female):
    means: dict[bool, list[float]] = {True: [], False: []}
    for user, rows in pairs(fold.result, ",").items():
        means[female[user]].append(float(np.mean(list(rows.values())[:K])))
    expected = abs(np.mean(means[True]) - np.mean(means[False]))
    assert value(fold, f'librec:nonpar(protected="F")@{K}') == pytest.approx(expected, rel=1e-12)


def test_alpha_coverage_is_the_share_of_items_shown_often(fold, lists, catalogue):
    counts: dict[str, int] = {}
    for shown in lists.values():
        for item in shown[:K]:
            counts[item] = counts.get(item, 0) + 1
    expected = sum(count >= 3 for count in counts.values()) / len(catalogue)
    assert value(fold, f"librec:alpha_coverage(alpha=3)@{K}") == pytest.approx(expected, rel=1e-12)


def test_kendall_tau_is_that_of_scipy_over_common_items(fold, lists, original):
    taus = []
    for user, shown in lists.items():
        common = [item for item in shown[:K] if item in original[user][:K]]
        if len(common) > 1:
            places = [(shown.index(item), original[user].index(item)) for item in common]
            taus.append(stats.kendalltau(*zip(*places, strict=True)).statistic)
    assert value(fold, f"librec:kendall_tau@{K}") == pytest.approx(np.mean(taus), rel=1e-12)


def test_rbo_weighs_the_overlap_at_each_depth(fold, lists, original):
    p, values = 0.8, []
    for user, shown in lists.items():
        depth = min(K, len(shown), len(original[user]))
        agreement = [len(set(shown[:d]) & set(original[user][:d])) / d for d in range(1, depth + 1)]
        total = sum(share * p**d for d, share in enumerate(agreement, start=1)) * (1 - p) / p
        values.append(total + agreement[-1] * p**depth)
    assert value(fold, f"librec:rbo(p=0.8)@{K}") == pytest.approx(np.mean(values), rel=1e-12)


def test_equal_lists_have_overlap_tau_and_rbo_of_one():
    same = {1: ["a", "b", "c"], 2: ["d", "e"]}
    report = bridgeval.evaluate(same, same, ["AverageOverlap@3", "RBO@3", "KendallTau@3"], baseline=same)
    assert list(report.values()) == pytest.approx([1.0, 1.0, 1.0])


def test_users_without_an_original_list_are_undefined(fold):
    report = bridgeval.evaluate({1: ["a"], 2: ["b"]}, {1: ["a"]}, "AverageOverlap@3", baseline={1: ["a"]})
    result = report.results["AverageOverlap@3"]
    assert (result.value, result.users, result.undefined) == (1.0, 1, 1)


def test_the_lowest_protected_item_and_its_extremes(fold, lists, original, new):
    places = {
        user: [original[user].index(item) + 1 for item in shown if item in new and item in original[user]]
        for user, shown in lists.items()
    }
    lowest = [max(found) for found in places.values() if found]
    highest = [min(found, default=-1) for found in places.values()]
    names = {
        'librec:lowest_protected_rank(protected="new")': np.mean(lowest),
        'librec:lowest_protected_rank(protected="new", over="max")': max(lowest),
        'librec:lowest_item_promoted(protected="new")': np.mean(highest),
    }
    report = fold.evaluate(list(names))
    assert dict(report) == pytest.approx(names, rel=1e-12)


def test_exposure_loss_is_the_squared_distance_from_the_target(fold, lists, wanted, catalogue):
    g, losses = 0.7, []
    items = sorted(catalogue)
    for user, relevant in wanted.items():
        shown, p, n = lists.get(user, []), len(relevant), len(items)
        total = 0.0
        for item in items:
            exposure = g ** shown.index(item) if item in shown else 0.0
            share = sum(g**j for j in range(p)) / p if item in relevant else sum(g**j for j in range(p, n)) / (n - p)
            total += (exposure - share) ** 2
        losses.append(total)
    assert value(fold, "librec:expected_exposure_loss(patience=0.7)") == pytest.approx(np.mean(losses), rel=1e-12)


def test_icov_counts_items_of_users_with_test_rows_only(fold, lists, wanted):
    train = pairs(fold.train, "\t")
    shown = {item for user in wanted for item in lists.get(user, [])[:K]}
    rated = {item for user in wanted for item in [*wanted[user], *train.get(user, [])]}
    assert value(fold, f"librec:icov@{K}") == pytest.approx(len(shown) / len(rated), rel=1e-12)


def test_novelty_and_entropy_divide_by_all_known_users(fold, lists):
    train, test = pairs(fold.train, "\t"), pairs(fold.test, "\t")
    users = len(train)
    rated: dict[str, int] = {}
    counts: dict[str, int] = {}
    for rows in [*train.values(), *test.values()]:
        for item in rows:
            rated[item] = rated.get(item, 0) + 1
    for shown in lists.values():
        for item in shown[:K]:
            counts[item] = counts.get(item, 0) + 1
    novelty = sum(-math.log2(rated[item] / users) * count for item, count in counts.items() if item in rated) / users
    entropy = sum(-count / users * math.log2(count / users) for count in counts.values())
    assert value(fold, f"librec:novelty@{K}") == pytest.approx(novelty, rel=1e-12)
    assert value(fold, f"librec:entropy@{K}") == pytest.approx(entropy, rel=1e-12)


def test_gini_is_the_textbook_index_over_the_catalogue(fold, lists, catalogue):
    counts = [sum(item in shown[:K] for shown in lists.values()) for item in catalogue]
    n, total = len(counts), sum(counts)
    gaps = sum(abs(x - y) for x in counts for y in counts)
    expected = gaps / (2 * total * (n - 1))
    assert value(fold, f"librec:giniindex@{K}") == pytest.approx(expected, rel=1e-12)


def test_which_of_several_features_is_protected_must_be_named(fold):
    for name in ("psp@5", "ppr@5", "dppf@5", "lowest_protected_rank"):
        with pytest.raises(
            BadParameterError, match=r"must be named; found: features new, old; hint: .*protected='new'"
        ):
            fold.evaluate(f"librec:{name}")
    for name in ("csp@5", "dpcf@5", "nonpar@5", "valunfairness@5"):
        with pytest.raises(BadParameterError, match=r"must be named; found: features M, F; hint: .*protected='M'"):
            fold.evaluate(f"librec:{name}")


def test_metrics_take_the_fold_s_protected_feature_if_it_is_of_their_side(fold):
    for name, other in (("psp", "csp"), ("csp", "psp")):
        side, feature = ("item", "new") if name == "psp" else ("user", "F")
        protecting = replace(fold, protected=Feature(feature, side))
        named = f'librec:{name}(protected="{feature}")@5'
        assert value(protecting, f"librec:{name}@5") == value(fold, named)
        with pytest.raises(BadParameterError, match="must be named"):
            value(protecting, f"librec:{other}@5")


def test_java_means_are_nan_when_a_user_has_no_value(fold):
    # Users without a list have no share of protected items; LibRec divides by zero there.
    assert math.isnan(value(fold, f'librec:PStatisticalParityEvaluator(protected="new")@{K}'))
    assert math.isnan(value(fold, f'librec:ppr(protected="new")@{K}'))
    assert -1 <= value(fold, f'librec:psp(protected="new")@{K}') <= 1


def name_of(own: str) -> str:
    made = LIBREC.metrics[own]
    taken = set(made.metric.__dataclass_fields__)
    side = "F" if {"ScoreParity", "PrecisionParity", "PredictionUnfairness"} & {made.metric.__name__} else "new"
    side = "F" if made.parameters.get("side") == "user" else side
    call = f'(protected="{side}")' if "protected" in taken else ""
    return f"librec:{own}{call}" + (f"@{K}" if "k" in taken else "")


@pytest.mark.parametrize("batch_size", [1, 4])
def test_no_value_depends_on_how_users_are_cut_into_batches(fold, batch_size):
    names = [name_of(own) for own in LIBREC.metrics]
    whole, cut = dict(fold.evaluate(names)), dict(fold.evaluate(names, batch_size=batch_size))
    assert set(whole) == set(names)
    assert cut == pytest.approx(whole, rel=1e-12, abs=1e-12, nan_ok=True)


def test_every_name_parses_back_to_an_equal_metric():
    for own in LIBREC.metrics:
        metric = bridgeval.parse(name_of(own))[0]
        assert bridgeval.parse(str(metric)) == [metric]
    for kind in METRICS:
        metric = kind(K) if "k" in kind.__dataclass_fields__ else kind()
        assert bridgeval.parse(str(metric)) == [metric]


def test_every_java_metric_goes_by_its_short_name_and_by_that_in_the_log():
    for short, (logged, _) in JAVA.items():
        assert name_java_metric(short, Config()) == name_java_metric(logged, Config())
        assert name_java_metric(f"net.librec.eval.{logged}", Config()) == name_java_metric(short, Config())


def test_names_of_a_configuration_carry_cutoff_and_feature():
    config = Config(list_size=7, protected=Feature("new"))
    assert name_java_metric("sp", config) == 'librec:PStatisticalParityEvaluator(protected="new")@7'
    assert name_java_metric("rmse", config) == "librec:RMSEEvaluator"
    assert name_script_metric(Script("alpha-IA.py", None, {"alpha": "3"})) == "librec:alpha_ia(alpha=3)"
    assert name_script_metric(Script("kendall_tau.py", None, {"list_size": "4"})) == "librec:kendall_tau@4"
    assert name_script_metric(Script("test_metric.py", None)) is None
    with pytest.raises(UnknownMetricError, match="no Java metric 'diversity'"):
        name_java_metric("diversity", config)


def test_test_order_gains_do_not_overflow():
    # With 2,000 test rows 2^n is beyond any float; the first row still is worth the most.
    truth = {1: {f"i{row}": 1 for row in range(2_000)}}
    report = bridgeval.evaluate({1: ["i0"]}, truth, "librec:ndcg_testorder@1")
    assert report["librec:ndcg_testorder@1"] == 1.0


def test_parameters_and_needs_are_checked(fold):
    with pytest.raises(BadParameterError, match=r"no feature 'old!'; found: features new, old"):
        fold.evaluate('librec:psp(protected="old!")@5')
    with pytest.raises(BadParameterError, match="p of RBO"):
        bridgeval.parse("librec:rbo(p=1)@5")
    with pytest.raises(BadParameterError, match="patience"):
        bridgeval.parse("ExposureLoss(patience=1)")
    with pytest.raises(BadParameterError, match="alpha"):
        bridgeval.parse("librec:alpha_ia(alpha=0)")
    with pytest.raises(BadParameterError, match="at_least"):
        bridgeval.parse("librec:alpha_coverage(alpha=0)@5")
    with pytest.raises(NeedError, match="librec:novelty@5 needs the users' history"):
        bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, "librec:novelty@5")


def test_librec_names_read_frames_in_the_order_they_come():
    report = bridgeval.evaluate({1: {"a": 0.1, "b": 0.9}}, {1: {"a": 0}}, ["librec:rr@2", "MRR(above=None)@2"])
    # By the order of the rows "a" is first, by score it is second; a rating of 0 is a test row.
    assert list(report.values()) == [1.0, 0.5]


def test_rows_that_come_twice_count_twice_for_the_scripts_of_librec_auto():
    files = GOLDENS / "malformed_open" / "files"
    fold = Fold(files / "duplicate_pair.txt", files / "good_test.txt", repeats="keep")
    expected = json.loads((files.parent / "expected.json").read_text(encoding="utf-8"))["files"]["duplicate_pair.txt"]
    with pytest.warns(DuplicateRowsWarning):
        report = fold.evaluate(["librec:ndcg_head@2", "librec:ndcg_testorder@2", "librec:alpha_ia(alpha=2)"])
    assert report["librec:ndcg_head@2"] == pytest.approx(expected["head"]["ndcg@2"]["value"], rel=1e-9)
    assert report["librec:ndcg_testorder@2"] == pytest.approx(expected["pypi"]["ndcg@2"]["value"], rel=1e-9)
    alpha = expected["head"]["alpha_ia[alpha=2]"]["value"]
    assert report["librec:alpha_ia(alpha=2)"] == pytest.approx(alpha, rel=1e-9)


def alpha_ia_by_loop(lists: list[list[str]], alpha: int) -> float:
    """Visits lists in order: adds their rows, then counts the distinct items that reached alpha."""
    shown: Counter[str] = Counter()
    for items in lists:
        shown.update(items)
        often = sum(shown[item] >= alpha for item in set(items))
    return often / len(lists)


@pytest.mark.parametrize("alpha", [1, 2, 3])
def test_alpha_ia_counts_a_repeated_item_of_the_last_list_once(tmp_path, alpha):
    # By hand for alpha=2: item 1 was shown three times and item 3 twice, both are in the last list: 2 items of 2 users.
    lists = {"9": ["2", "1"], "10": ["1", "1", "3", "3"]}
    rows = [f"{user},{item},0.5" for user, items in lists.items() for item in items]
    test = write(tmp_path / "test.txt", "9\t1\t1", "10\t1\t1")
    fold = Fold(write(tmp_path / "out-1.txt", *rows), test, repeats="keep")
    name = f"librec:alpha_ia(alpha={alpha})"
    with pytest.warns(DuplicateRowsWarning):
        report = fold.evaluate(name, per_user=True)
    assert report[name] == alpha_ia_by_loop([lists["9"], lists["10"]], alpha)
    assert report.per_user(name)["user"].tolist() == ["9", "10"]
    # With an item that is not a number, users are sorted as text: "9" is the last.
    named = [row.replace(",3,", ",x,") for row in rows]
    with pytest.warns(DuplicateRowsWarning):
        report = replace(fold, result=write(tmp_path / "out-2.txt", *named)).evaluate(name)
    assert report[name] == alpha_ia_by_loop([["1", "1", "x", "x"], ["2", "1"]], alpha)
