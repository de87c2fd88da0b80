"""WarpRec's conventions: its names and parameters, its worked example, and where its numbers are not the native."""

from __future__ import annotations

from math import inf, isnan, log2, nan, sqrt

import pytest

import bridgeval
from bridgeval.errors import BadParameterError, NeedError, NoUserInCommonWarning
from tests.metrics.test_families_by_hand import FIRST_TWO, RELEVANT, SECOND, SHOWN, WORLD
from tests.metrics.test_taxonomy import TAXONOMY

# The 5 x 10 example of WarpRec's guide: scores with -inf for what the user has in training, and the relevant items.
FULL = [
    [0.95, 0.12, 0.44, 0.77, 0.05, 0.81, 0.50, -inf, 0.69, 0.21],
    [0.10, 0.88, -inf, 0.29, 0.73, -inf, 0.91, 0.03, 0.47, 0.62],
    [0.58, 0.25, 0.99, 0.14, 0.83, 0.37, 0.60, 0.07, -inf, 0.40],
    [0.71, 0.01, 0.35, 0.90, -inf, 0.52, 0.20, 0.85, 0.49, 0.66],
    [0.18, 0.65, 0.30, 0.87, 0.54, 0.09, 0.78, -inf, 0.23, 0.93],
]
WANTED = {0: [0], 1: [1, 6], 2: [2, 4], 3: [3], 4: [3]}
# The same with two sampled negatives each; 10 is the padding that makes the rows of one length.
SAMPLED = {
    0: {0: 0.95, 10: -inf, 1: 0.12, 2: 0.44},
    1: {1: 0.88, 6: 0.91, 3: 0.29, 8: 0.47},
    2: {2: 0.99, 4: 0.83, 3: 0.14, 1: 0.25},
    3: {3: 0.90, 10: -inf, 6: 0.20, 8: 0.49},
    4: {3: 0.87, 10: -inf, 8: 0.23, 0: 0.18},
}
MATRIX = {user: dict(enumerate(row)) for user, row in enumerate(FULL)}
GUIDE = {
    "history": {0: [7], 1: [2, 5], 2: [8], 3: [4], 4: [7]},
    "catalogue": range(10),
    "item_groups": dict(enumerate([1, 1, 1, 1, 2, 2, 2, 3, 3, 3])),
    "user_groups": dict(enumerate([1, 1, 2, 2, 2])),
}
FOUR = FIRST_TWO + 1 / 2 + 1 / log2(5)
# Of five lists item 7 is missing in two and 2, 4, 5, 8 in one each: 44 places.
UNMASKED_GINI = sum((2 * j - 11) * c for j, c in enumerate([3, 4, 4, 4, 4, 5, 5, 5, 5, 5], 1)) / 44 / 9


@pytest.mark.parametrize(
    ("name", "native", "warprec"),
    [
        # The relevant items stand at places 1; 1 2; 1 2; 1; 2 of the five lists.
        ("HitRate@1", 4 / 5, 4 / 5),
        ("HitRate@3", 1, 1),
        ("Precision@1", 4 / 5, 4 / 5),
        ("Precision@3", (1 + 2 + 2 + 1 + 1) / 3 / 5, (1 + 2 + 2 + 1 + 1) / 3 / 5),
        ("Recall@1", (1 + 1 / 2 + 1 / 2 + 1 + 0) / 5, (1 + 1 / 2 + 1 / 2 + 1 + 0) / 5),
        ("MRR@3", (4 + 1 / 2) / 5, (4 + 1 / 2) / 5),
        ("MAP@3", (4 + 1 / 2) / 5, (4 + 1 / 2) / 5),
        # A perfect list of two gives (1/2 + 2/2) / 2.
        ("MAR@3", (1 + 3 / 4 + 3 / 4 + 1 + 1) / 5, (1 + 3 / 4 + 3 / 4 + 1 + 1) / 5),
        ("nDCG@3", (4 + SECOND) / 5, (4 + SECOND) / 5),
        ("nDCGRendle2020@3", (4 + SECOND) / 5, (4 + SECOND) / 5),
        # One of user 4's 8 irrelevant candidates is above; WarpRec counts 9 of them.
        ("AUC", (6 + 7 / 8) / 7, (6 + 8 / 9) / 7),
        ("GAUC", (4 + 7 / 8) / 5, (4 + 8 / 9) / 5),
        ("LAUC@1", 4 / 5, 4 / 5),
        ("LAUC@2", (4 + 7 / 8) / 5, (4 + 8 / 9) / 5),
        # User 1 has 8 candidates, the others 9; WarpRec fills up with what is masked, but not in NumRetrieved.
        ("NumRetrieved@10", (9 + 8 + 9 + 9 + 9) / 5, (9 + 8 + 9 + 9 + 9) / 5),
        ("UserCoverageAtN@9", 4, 4),
        # With the masked items every list holds every item.
        ("Gini@10", UNMASKED_GINI, 0),
    ],
)
def test_the_full_example_of_the_guide(name, native, warprec):
    report = bridgeval.evaluate(MATRIX, WANTED, [name, f"warprec:{name}"], **GUIDE)
    assert report[name] == pytest.approx(native)
    assert report[f"warprec:{name}"] == pytest.approx(warprec)


@pytest.mark.parametrize(
    ("name", "native", "warprec"),
    [
        ("Precision@2", (1 + 2 + 2 + 1 + 1) / 2 / 5, (1 + 2 + 2 + 1 + 1) / 2 / 5),
        ("Recall@1", (1 + 1 / 2 + 1 / 2 + 1 + 1) / 5, (1 + 1 / 2 + 1 / 2 + 1 + 1) / 5),
        ("nDCG@4", 1, 1),
        ("NumRetrieved@4", (3 + 4 + 4 + 3 + 3) / 5, (3 + 4 + 4 + 3 + 3) / 5),
        # All seven pairs, or only users 1 and 2, who have no padding.
        (
            "MAE",
            (0.05 + 0.12 + 0.09 + 0.01 + 0.17 + 0.10 + 0.13) / 7,
            ((0.12 + 0.09) / 2 + (0.01 + 0.17) / 2) / 2,
        ),
        # Every relevant item counts as 1 of the 6 training pairs; padding makes users 0, 3 and 4 undefined.
        ("EFD@4", log2(6) * (3 + 2 * FIRST_TWO) / FOUR / 5, log2(6) * FIRST_TWO / FOUR),
        # Counts of 1 2 2 2 3 3 4 at places 4 to 10 weigh 75 of 17 items, or of 20 cells.
        ("Gini@4", 75 / 17 / 9, 75 / 20 / 9),
        # What WarpRec raises for, because padding is in the lists: the value of the items that are there.
        ("ItemCoverage@4", 7, 7),
        ("ARP@4", ((0 + 0 + 1) / 3 + (0 + 0 + 0 + 1) / 4 + (1 + 1 + 0 + 0) / 4 + 1 / 3 + 1 / 3) / 5, 1),
    ],
)
def test_the_sampled_example_of_the_guide(name, native, warprec):
    report = bridgeval.evaluate(SAMPLED, WANTED, [name, f"warprec:{name}"], **GUIDE)
    assert report[name] == pytest.approx(native)
    assert report[f"warprec:{name}"] == pytest.approx(warprec)


def test_where_padding_makes_warprec_raise_the_items_that_are_there_are_counted():
    names = ["warprec:RSP@4", "warprec:ItemMADRanking@4", "warprec:PopREO(pop_ratio=0.3)@4"]
    volume = 'warprec:Hypervolume(metric_names=["nDCG", "ARP"], nadir_points=[0, 12], higher_is_better=[True, False])@4'
    report = bridgeval.evaluate(SAMPLED, WANTED, [*names, volume], **GUIDE)
    # 11, 3 and 3 places; 4, 3 and 3 items for 5 users, without the groups' 1, 2 and 3 training pairs.
    assert [report[f"warprec:RSP@4[{group}]"] for group in (1, 2, 3)] == pytest.approx([11 / 19, 3 / 13, 3 / 12])
    # Items 0 to 3: gain 3 in 1 of 2, 1 of 3, 1 of 2, 2 of 4 lists; 4 and 6: 1 of 1, 1 of 2; 8: never.
    first, second, third = (1.5 + 1 + 1.5 + 1.5) / 4, (3 + 1.5) / 2, 0
    gaps = (second - first) + (first - third) + (second - third)
    assert report["warprec:ItemMADRanking@4"] == pytest.approx(gaps / 3)
    assert report[volume] == pytest.approx((1 - 0) * (12 - 1))
    # The head is item 7, which is relevant to nobody: there is nothing to compare it with.
    assert isnan(report["warprec:PopREO(pop_ratio=0.3)@4"])


def shares_spread(*shares):
    average = sum(shares) / len(shares)
    return sqrt(sum((share - average) ** 2 for share in shares) / len(shares)) / average


ANN = SECOND * 3 / (7 + SECOND * 3)
BOB = SECOND / (1 + SECOND)


@pytest.mark.parametrize(
    ("name", "native", "warprec"),
    [
        # eve has a list and no row of truth: WarpRec does not evaluate her.
        ("ItemCoverage@2", 5, 4),
        # Gains 2^(r + 1) - 1: a with 2 is worth 7, d with 1 is worth 3.
        ("nDCG@2", (SECOND / (3 + SECOND) + BOB) / 4, (ANN + BOB) / 4),
        # ann and bob 1/2, cal and dan 0; WarpRec divides by the six users of the history.
        ("F1@2", (1 / 2 + 1 / 2) / 4, (1 / 2 + 1 / 2) / 6),
        # d, which nobody has, counts as if one user had it.
        ("EPC@2", (1 + 4 / 6) * SECOND / FIRST_TWO / 4, (5 / 6 + 4 / 6) * SECOND / FIRST_TWO / 4),
        ("ARP@2", (1.5 + 3 + 3.5) / 3, (2 + 3 + 3.5) / 3),
        # Lists of 3 and 3, each with an item of the tail.
        ("APLT@9", (1 / 3 + 1 / 3) / 4, (1 / 9 + 1 / 9) / 4),
        # The relevant item of cal has no topic.
        ("SRecall@2", (1 / 2 + 2 / 3 + 0) / 3, (1 / 2 + 2 / 3 + 0 + 0) / 4),
        # Head and tail have 3 relevant rows each: one hit each, or 5 and 1 places.
        ("PopREO@2", 0, (5 / 3 - 1 / 3) / (5 / 3 + 1 / 3)),
        # 3 items each, without regard to what users have.
        ("PopRSP@2", (5 / 10 - 2 / 11) / (5 / 10 + 2 / 11), (5 / 3 - 1 / 3) / (5 / 3 + 1 / 3)),
        # e has no group, is relevant once and never found.
        ("REO@3", (2 / 3 - 1 / 2) / (2 / 3 + 1 / 2), shares_spread(0, 1 / 2, 2 / 3)),
        # 4 places of 2 items for 4 users less 4/6 of 7 pairs: a share above 1.
        ("RSP@2[x]", 4 / 7, 4 / (2 * 4 - 7 * 4 / 6)),
        # From what is relevant to ann (d, a) and cal (f), not from what they have.
        ("BiasDisparityBS[p, x]", 0, (1 / 3) / (2 / 6)),
        ("BiasDisparityBR@2[q, x]", (1 / 3) / (2 / 6), (1 / 2) / (2 / 6)),
        # Nothing of x is relevant to bob.
        ("BiasDisparityBD@2[q, x]", (1 - 3) / 3, 3.4028234663852886e38),
        # Without discount; x: a 7/3, b 0; y: c 3, d 3; and e, 0, as a group.
        ("ItemMADRanking@3", SECOND - 0.25, ((3 - 7 / 6) + (7 / 6 - 0) + (3 - 0)) / 3),
        # Only hits: ann's d and a, bob's c.
        ("ItemMADRating@3", (0.6 + 0.7) / 2 - (0.4 + 0.8 + 0.3) / 3, (0.8 + 0.4) / 2 - 0.5),
        # dan, in no group, is compared as one.
        (
            "UserMADRanking@2",
            BOB - SECOND / (3 + SECOND) / 2,
            ((BOB - ANN / 2) + (ANN / 2 - 0) + (BOB - 0)) / 3,
        ),
    ],
)
def test_native_and_warprec_differ_by_what_the_docstring_says(name, native, warprec):
    asked = name.split("[")[0]
    report = bridgeval.evaluate(SHOWN, RELEVANT, [asked, f"warprec:{asked}"], **WORLD)
    assert native != pytest.approx(warprec)
    assert report[name] == pytest.approx(native)
    assert report[f"warprec:{name}"] == pytest.approx(warprec)


def test_user_coverage_is_a_property_of_the_truth_in_warprec():
    shown, wanted = {1: ["a"], 2: [], 3: []}, {2: ["a"], 3: ["a"]}
    with pytest.warns(NoUserInCommonWarning):
        report = bridgeval.evaluate(shown, wanted, ["UserCoverage@1", "warprec:UserCoverage@1"])
    assert dict(report) == {"UserCoverage@1": 1, "warprec:UserCoverage@1": 2}


def test_a_model_with_negative_scores_covers_nobody_in_warprec():
    shown = {1: {"a": -0.5, "b": -1.0}, 2: {"a": 0.5, "b": -1.0}}
    report = bridgeval.evaluate(shown, {1: ["a"], 2: ["a"]}, ["UserCoverageAtN@1", "warprec:UserCoverageAtN@1"])
    assert dict(report) == {"UserCoverageAtN@1": 2, "warprec:UserCoverageAtN@1": 1}


def test_a_masked_item_fills_the_list_and_can_be_a_hit_in_warprec():
    shown, wanted = {1: {"a": 0.5, "b": -inf}}, {1: ["b"]}
    known = {"history": {1: ["b"]}, "catalogue": ["a", "b"]}
    names = ["Recall@2", "ItemCoverage@2"]
    report = bridgeval.evaluate(shown, wanted, [*names, *(f"warprec:{name}" for name in names)], **known)
    assert [report[name] for name in names] == [0, 1]
    assert [report[f"warprec:{name}"] for name in names] == [1, 2]


def test_rating_errors_of_users_with_masked_items_are_undefined_or_infinite_in_warprec():
    shown = {1: {"a": 4.0, "b": -inf}, 2: {"a": 4.0, "b": -inf}, 3: {"a": 3.0, "b": 1.0}}
    wanted = {1: {"a": 5}, 2: {"a": 5, "b": 5}, 3: {"a": 5}}
    report = bridgeval.evaluate(shown, wanted, ["MAE", "warprec:MAE", "warprec:RMSE"], per_user=True, batch_size=1)
    assert report["MAE"] == pytest.approx((1 + 1 + 2) / 3)
    for name in ("warprec:MAE", "warprec:RMSE"):
        assert report[name] == inf
        assert report.per_user(name)["value"].tolist() == pytest.approx([nan, inf, 2.0], nan_ok=True)


def test_a_negative_rating_is_taken_from_the_gain_in_warprec():
    shown, wanted = {1: ["a", "b"]}, {1: {"a": -2, "b": 1}}
    report = bridgeval.evaluate(shown, wanted, ["nDCG@2", "warprec:nDCG@2"])
    assert report["nDCG@2"] == pytest.approx(SECOND)
    assert report["warprec:nDCG@2"] == pytest.approx((-2 + 3 * SECOND) / 3)


def test_relevant_items_that_are_masked_are_taken_off_twice_by_warprec():
    # Of five items c and d are masked and a, c relevant: n is 5 - 2 - 2 + 1, the candidates a, b, e have 2 negatives.
    shown = {1: {"b": 0.9, "a": 0.8, "e": 0.7, "d": -inf, "c": -inf}}
    report = bridgeval.evaluate(shown, {1: ["a", "c"]}, ["warprec:AUC"], catalogue=list("abcde"))
    # a has 1 above, c has 3: b, e and the masked d.
    assert report["warprec:AUC"] == pytest.approx(((2 - 1) / 2 + (2 - 3) / 2) / 2)


def test_sampled_candidates_count_as_a_whole_catalogue_in_warprec():
    shown, wanted = {1: {3: 0.9, 0: 0.8, 7: 0.1}}, {1: [0]}
    assert bridgeval.evaluate(shown, wanted, "AUC", catalogue=[0, 3, 7])["AUC"] == pytest.approx(1 / 2)
    assert bridgeval.evaluate(shown, wanted, "warprec:AUC", catalogue=range(10))["warprec:AUC"] == pytest.approx(9 / 10)


def test_auc_of_a_list_that_stops_before_a_relevant_item_is_an_error():
    with pytest.raises(NeedError, match="every relevant item"):
        bridgeval.evaluate({1: ["a", "b"]}, {1: ["c"]}, "warprec:AUC", catalogue=list("abc"))


def test_an_f1_of_zeros_for_users_without_rows_counts_those_of_users_argument():
    report = bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, "warprec:F1@1", users=[1, 2, 3, 4], per_user=True)
    assert report["warprec:F1@1"] == 1 / 4
    assert report.per_user("warprec:F1@1")["value"].tolist() == [1, 0, 0, 0]


def test_every_name_of_the_taxonomy_is_in_the_table():
    from bridgeval.toolkits.warprec import WARPREC

    assert sorted(WARPREC.metrics) == sorted(TAXONOMY)
    assert len(TAXONOMY) == 40


def test_parameters_have_warprecs_names():
    (f1,) = bridgeval.parse('warprec:F1(metric_1="nDCG", metric_2="MAP", beta=0.5)@10')
    assert (str(f1.metric_1), str(f1.metric_2), f1.beta) == ("warprec:nDCG@10", "warprec:MAP@10", 0.5)
    (volume,) = bridgeval.parse(
        'warprec:Hypervolume(metric_names=["nDCG", "GAUC"], nadir_points=[0.0, 0.5], higher_is_better=[True, True])@10'
    )
    assert [str(part) for part in volume.metrics] == ["warprec:nDCG@10", "warprec:GAUC"]
    assert (volume.nadir, volume.higher) == ((0.0, 0.5), (True, True))
    (distance,) = bridgeval.parse('warprec:EucDistance(metric_names=["ACLT"], utopia_points=[3])@10')
    assert distance.utopia == (3,)
    (efd,) = bridgeval.parse('warprec:EFD(relevance="discounted")@10')
    assert efd.gain == "shifted"
    (tail,) = bridgeval.parse("warprec:ACLT(pop_ratio=0.9)@10")
    assert tail.pop_ratio == 0.9


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ('warprec:EFD(relevance="graded")@10', "no relevance='graded'.*'binary', 'discounted'"),
        ("warprec:ACLT(ratio=0.9)@10", "no parameter 'ratio'"),
        ('warprec:EucDistance(metric_names=["Precision"], utopia_points=[1, 1])@10', "1 metric.* and 2 number"),
        ('warprec:F1(metric_1="Gini")@10', "must be a metric with a value for each user"),
        ("warprec:AUC@10", "takes none"),
    ],
)
def test_parameters_that_warprec_swallows_are_refused(name, says):
    with pytest.raises(BadParameterError, match=says):
        bridgeval.parse(name)
