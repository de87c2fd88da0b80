"""The families beyond accuracy and rating, on one small world worked by hand.

| user | shown, best first  | relevant   | history | group |
|------|--------------------|------------|---------|-------|
| ann  | b .9, d .8, a .5   | d 1, a 2   | c, f    | p     |
| bob  | a .7, c .4         | c, e       | b       | q     |
| cal  | a .6, b .5, e .1   | f          |         | p     |
| dan  |                    | a          |         |       |
| eve  | f .3               |            |         | q     |

gus has a, b (group q), hal a, c, ivy a, jon a, b. So of 10 pairs of 6 users a has 4, b 3, c 2, f 1, and d and e none.
At the usual ratio of 0.8 the head exceeds 8 pairs: a, b, c (9); at 0.6 it exceeds 6: a, b (7).
"""

from __future__ import annotations

from math import isnan, log, log2, nan, sqrt

import pytest

import bridgeval
from bridgeval.errors import BadParameterError, NeedError

SHOWN = {
    "ann": {"b": 0.9, "d": 0.8, "a": 0.5},
    "bob": {"a": 0.7, "c": 0.4},
    "cal": {"a": 0.6, "b": 0.5, "e": 0.1},
    "eve": {"f": 0.3},
}
RELEVANT = {"ann": {"d": 1, "a": 2}, "bob": {"c": 1, "e": 1}, "cal": {"f": 1}, "dan": {"a": 1}}
WORLD = {
    "history": {
        "ann": ["c", "f"],
        "bob": ["b"],
        "gus": ["a", "b"],
        "hal": ["a", "c"],
        "ivy": ["a"],
        "jon": ["a", "b"],
    },
    "catalogue": list("abcdef"),
    "item_groups": {"a": "x", "b": "x", "c": "y", "d": "y", "f": "y"},
    "user_groups": {"ann": "p", "bob": "q", "cal": "p", "eve": "q", "gus": "q"},
    "item_features": {"a": ["jazz"], "c": ["jazz", "rock"], "d": ["rock"], "e": ["folk"]},
}

SECOND = 1 / log2(3)  # the discount of place 2; that of place 3 is 1/2
FIRST_TWO = 1 + SECOND

WORKED = {
    # b, d; a, c; a, b; f
    "ItemCoverage@2": 5,
    "ItemCoverage@1": 3,
    "UserCoverage@2": 4,
    "UserCoverageAtN@1": 4,
    "UserCoverageAtN@2": 3,
    "UserCoverageAtN@3": 2,
    # ann, bob and cal 2, dan 0; eve has no relevant item
    "NumRetrieved@2": 6 / 4,
    # hits at place 2: ann's d, which nobody has and counts as one of 10 pairs, bob's c with 2 of 10
    "EFD@2": (log2(10) + log2(10 / 2)) * SECOND / FIRST_TWO / 4,
    # d is new to all 6 users of the history, c to 4
    "EPC@2": (1 + 4 / 6) * SECOND / FIRST_TWO / 4,
    # the first places: b of 3 users, a of 4 twice
    'EPC(gain="none")@1': (3 / 6 + 2 / 6 + 2 / 6 + 0) / 4,
    # ann's a is worth 2^2 - 1 at place 3
    'EPC(gain="exponential")@3': (SECOND * 1 + 3 * (2 / 6) / 2 + SECOND * 4 / 6) / (FIRST_TWO + 0.5) / 4,
    # counts 0 1 1 1 2 2 by -5 -3 -1 1 3 5 is 13, of 7 places, N - 1 = 5
    "Gini@2": 13 / 7 / 5,
    'Gini(divide_by="items")@2': 13 / 7 / 6,
    # Exposure: e 0, c and d 0.5, f 1, b 1.5, a 2.
    "Gini(p=0.5)@2": (-1.5 - 0.5 + 1 + 4.5 + 10) / 5.5 / 5,
    "ShannonEntropy@2": -(2 * 2 / 7 * log(2 / 7) + 3 * 1 / 7 * log(1 / 7)),
    # ann: rock of jazz, rock. bob: jazz, rock of these and folk. cal's f has no topic. dan 0 of jazz.
    "SRecall@2": (1 / 2 + 2 / 3 + 0 / 1) / 3,
    'SRecall(undefined="zero")@2': (1 / 2 + 2 / 3 + 0 + 0 / 1) / 4,
    # ann's d; e of cal at place 3
    "ACLT@2": 1 / 4,
    "ACLT@3": 2 / 4,
    # with a, b as head: ann's d, bob's c
    "ACLT(pop_ratio=0.6)@2": 2 / 4,
    "APLT@2": (1 / 2) / 4,
    "APLT@9": (1 / 3 + 0 / 2 + 1 / 3 + 0) / 4,
    'APLT(divide_by="k")@9': (1 / 9 + 1 / 9) / 4,
    # ann (3 + 0) / 2, bob (4 + 2) / 2, cal (4 + 3) / 2; dan was shown nothing
    "ARP@2": (1.5 + 3 + 3.5) / 3,
    # hits at 3: d of the 3 relevant in the tail (d, e, f), a and c of the 3 in the head (a, c, a)
    "PopREO@3": (1 / 6) / (1 / 2),
    # places: 5 of the head, 2 of the tail. Candidates: 3 for each of 4 users, without ann's c and f and bob's b
    "PopRSP@2": (5 / 10 - 2 / 11) / (5 / 10 + 2 / 11),
    # without regard to what they have: 5 of 12 and 2 of 12
    'PopRSP(candidates="all")@2': (5 / 12 - 2 / 12) / (5 / 12 + 2 / 12),
    # x: ann's a of a, a. y: d and c of d, c, f. e is in no group
    "REO@3": (2 / 3 - 1 / 2) / (2 / 3 + 1 / 2),
    "REO@3[x]": 1 / 2,
    "REO@3[y]": 2 / 3,
    # x: 4 places, 2 candidates of 4 users without bob's b. y: 3 places, 3 candidates of 4 users without ann's c and f
    "RSP@2": (4 / 7 - 3 / 10) / (4 / 7 + 3 / 10),
    "RSP@2[x]": 4 / 7,
    "RSP@2[y]": 3 / 10,
    # p: b d a b; q: a c f. x is 2 of 6 items, y 3 of 6
    "BiasDisparityBR@2[p, x]": (3 / 4) / (2 / 6),
    "BiasDisparityBR@2[p, y]": (1 / 4) / (3 / 6),
    "BiasDisparityBR@2[q, x]": (1 / 3) / (2 / 6),
    "BiasDisparityBR@2[q, y]": (2 / 3) / (3 / 6),
    # p: ann's c f; q: bob's b, gus's a b
    "BiasDisparityBS[p, x]": 0,
    "BiasDisparityBS[p, y]": 1 / (3 / 6),
    "BiasDisparityBS[q, x]": 1 / (2 / 6),
    "BiasDisparityBS[q, y]": 0,
    "BiasDisparityBD@2[p, x]": nan,
    "BiasDisparityBD@2[p, y]": (1 / 2 - 2) / 2,
    "BiasDisparityBD@2[q, x]": (1 - 3) / 3,
    "BiasDisparityBD@2[q, y]": nan,
    # x: a is worth 3/2 once in 3 lists, b nothing. y: c and d are worth the second discount. e is in no group
    "ItemMADRanking@3": SECOND - (0.5 + 0) / 2,
    # x: a (.7 + .6) / 2, b (.9 + .5) / 2. y: c .4, d .8, f .3
    "ItemMADRating@2": (0.65 + 0.7) / 2 - (0.4 + 0.8 + 0.3) / 3,
    # p: ann d at place 2 where a, d would be best, and cal 0; q: bob c at place 2
    "UserMADRanking@2": SECOND / (1 + SECOND) - (SECOND / (3 + SECOND) + 0) / 2,
    'UserMADRanking(metric="Precision")@2': 1 / 2 - (1 / 2 + 0) / 2,
    # p: ann .85, cal .55; q: bob .55
    "UserMADRating@2": (0.85 + 0.55) / 2 - 0.55,
    # ann and bob: precision and recall 1/2; cal and dan: none
    'EucDistance(metrics=["Precision", "Recall"], utopia=[1.0, 1.0])@2': (2 * sqrt(1 / 2) + 2 * sqrt(2)) / 4,
    # of precision more, of popularity less is better: ann 1/2 (4 - 1.5), bob 1/2 (4 - 3), cal 0; dan has no popularity
    'Hypervolume(metrics=["Precision", "ARP"], nadir=[0.0, 4.0])@2': (1.25 + 0.5 + 0) / 3,
    'Hypervolume(metrics=["Precision", "ARP"], nadir=[0.0, 2.0], higher=[True, True])@2': (0 + 0.5 * 1 + 0) / 3,
}


@pytest.fixture(scope="module")
def report():
    names = dict.fromkeys(
        name.split("[p,")[0].split("[q,")[0].removesuffix("[x]").removesuffix("[y]") for name in WORKED
    )
    return bridgeval.evaluate(SHOWN, RELEVANT, list(names), **WORLD)


@pytest.mark.parametrize("name", WORKED)
def test_values_are_those_worked_by_hand(report, name):
    assert report[name] == pytest.approx(WORKED[name], abs=1e-12, nan_ok=True)


def value(name, shown=SHOWN, relevant=RELEVANT, **world):
    return bridgeval.evaluate(shown, relevant, name, **{**WORLD, **world})[name]


def test_equal_popularity_is_split_by_item_id_whatever_the_order_of_rows():
    # a and b have 2 of 5 pairs each, so at 0.6 the head is a, b and at 0.3 it is a alone.
    history = {1: ["b", "a"], 2: ["c"], 3: ["a", "b"]}
    for pairs in (history, dict(reversed(history.items()))):
        known = {"history": pairs, "catalogue": list("abc")}
        shown, relevant = {9: ["b"], 8: ["a"]}, {9: ["a"], 8: ["a"]}
        assert dict(bridgeval.evaluate(shown, relevant, "ACLT(pop_ratio=0.3)@1", **known)) == {
            "ACLT(pop_ratio=0.3)@1": 1 / 2
        }
        assert dict(bridgeval.evaluate(shown, relevant, "ACLT(pop_ratio=0.6)@1", **known)) == {
            "ACLT(pop_ratio=0.6)@1": 0
        }


def test_the_crossing_item_is_in_the_head_and_a_share_that_is_met_exactly_is_not_exceeded():
    # 57 of 100 pairs: 0.57 * 100 is 56.99... in binary, but 57 pairs do not exceed 57.
    history = {user: ["a"] if user < 57 else ["b"] for user in range(100)}
    report = bridgeval.evaluate(
        {0: ["b"]}, {0: ["b"]}, ["ACLT(pop_ratio=0.57)@1", "ACLT(pop_ratio=0.56)@1"], history=history
    )
    assert list(report.values()) == [0, 1]


def test_a_ratio_of_one_leaves_only_items_that_nobody_has_to_the_tail():
    assert value("ACLT(pop_ratio=1.0)@3") == 2 / 4  # d and e


@pytest.mark.filterwarnings("ignore::bridgeval.errors.NoItemInCommonWarning")
def test_new_items_are_in_the_tail_even_if_the_catalogue_lacks_them():
    lists = {"ann": ["new"]}
    assert value("ACLT@1", lists, {"ann": ["a"]}) == 1
    assert value('ACLT(unknown="neither")@1', lists, {"ann": ["a"]}) == 0


def test_masked_items_are_in_no_list_unless_they_are_kept():
    masked = {**SHOWN, "eve": {"f": 0.3, "e": -float("inf")}}
    assert value("ItemCoverage@2", masked) == 5
    assert value('ItemCoverage(masked="keep")@2', masked) == 6
    assert value('UserCoverageAtN(masked="keep")@2', masked) == 4


@pytest.mark.parametrize("name", ["REO@2", "RSP@2", "ItemMADRanking@2", "ItemMADRating@2"])
def test_one_group_alone_cannot_be_compared(name):
    assert isnan(value(name, item_groups=dict.fromkeys("abcdef", "all")))


@pytest.mark.parametrize(
    ("name", "without"),
    [
        ("EFD@2", "history"),
        ("ACLT@2", "history"),
        ("PopRSP@2", "history"),
        ("RSP@2", "history"),
        ("BiasDisparityBS", "history"),
        ("SRecall@2", "item_features"),
        ("REO@2", "item_groups"),
        ("BiasDisparityBR@2", "user_groups"),
        ("UserMADRanking@2", "user_groups"),
    ],
)
def test_what_is_missing_is_named_with_the_argument_that_gives_it(name, without):
    with pytest.raises(NeedError, match=f"{without}="):
        value(name, **{without: None})


def test_gini_of_many_lists_of_few_items():
    lists = {user: ["a"] for user in range(100)} | {100: ["b"], 101: ["c"]}
    report = bridgeval.evaluate(lists, {0: ["a"]}, "Gini@1", catalogue=["a", "b", "c", "d"])
    # counts 0 1 1 100 by -3 -1 1 3 is 300, of 102 places, N - 1 = 3
    assert report["Gini@1"] == pytest.approx(300 / 102 / 3, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("ACLT(pop_ratio=0.0)@2", "above 0"),
        ("PopREO(pop_ratio=1.5)@2", "at most 1"),
        ("EFD(floor=0.0)@2", "floor above 0"),
        ('EucDistance(metrics=["Precision"], utopia=[1.0, 1.0])@2', "1 metric.* and 2 number"),
        ("EucDistance@2", "needs metrics"),
        ('Hypervolume(metrics=["Gini"], nadir=[0.0])@2', "Gini@2, which does not"),
        ('UserMADRanking(metric="ItemCoverage")@2', "must be a metric with a value for each user"),
        ('Hypervolume(metrics=["Precision"], nadir=[0.0], higher=[True, True])@2', "2 number"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(name, says):
    with pytest.raises(BadParameterError, match=says):
        value(name)
