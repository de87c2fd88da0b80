"""Ranking policies, each against a list sorted by hand."""

from __future__ import annotations

import math

import pytest

import bridgeval

# item: score, in the order given; d is masked, b stands twice.
ROWS = [("b", 0.5), ("a", 0.9), ("d", -math.inf), ("c", 0.5), ("b", 0.7), ("e", 0.9)]


def places(parameters: str, rows=ROWS) -> str:
    """The ranked list, read off by asking for the reciprocal rank of each item."""
    found = {}
    for item in "abcde":
        name = f"MRR({parameters})@10" if parameters else "MRR@10"
        (metric,) = bridgeval.parse(name)
        value = bridgeval.evaluate({"u": rows}, {"u": [item]}, metric)[str(metric)]
        if value:
            found[round(1 / value)] = item
    return "".join(found[place] for place in sorted(found))


@pytest.mark.filterwarnings("ignore::bridgeval.errors.DuplicateRowsWarning")
@pytest.mark.parametrize(
    ("parameters", "ranked"),
    [
        ("", "eabc"),
        ("ties='item_ascending'", "aebc"),
        ("ties='given'", "aebc"),
        ("order='given'", "bace"),
        ("order='given', masked='keep'", "badce"),
        ("masked='keep'", "eabcd"),
        # the three best rows are e, a and the better b
        ("cut=3", "eab"),
    ],
)
def test_policy(parameters, ranked):
    assert places(parameters) == ranked


@pytest.mark.filterwarnings("ignore::bridgeval.errors.DuplicateRowsWarning")
def test_repeated_items_use_up_places_where_all_count():
    # e a b c b: the second b is a hit again for precision sums, but precision counts items
    rows = [row for row in ROWS if row[0] != "d"]
    values = bridgeval.evaluate(
        {"u": rows},
        {"u": ["b"]},
        ["Precision(duplicates='all')@5", "MAP(duplicates='all')@5", "Recall(duplicates='all')@5"],
    ).values
    assert list(values.values()) == pytest.approx([1 / 5, 1 / 3 + 2 / 5, 1])


def test_a_cut_comes_before_repeated_items_are_removed():
    rows = [("a", 0.9), ("a", 0.8), ("b", 0.7)]
    with pytest.warns(bridgeval.errors.DuplicateRowsWarning):
        report = bridgeval.evaluate({"u": rows}, {"u": ["b"]}, ["Recall@2", "Recall(cut=2)@2"])
    assert list(report.values.values()) == [1.0, 0.0]


def test_string_ids_are_ordered_by_code_point():
    rows = [("Z", 1.0), ("a", 1.0), ("ä", 1.0), ("10", 1.0), ("9", 1.0)]
    report = bridgeval.evaluate({"u": rows}, {"u": ["10"]}, "MRR@5")
    # descending: ä, a, Z, 9, 10
    assert report["MRR@5"] == pytest.approx(1 / 5)
