"""Ranking policies, each against a list sorted by hand."""

from __future__ import annotations

import math
from random import Random

import pyarrow as pa
import pytest
import torch

import bridgeval
from bridgeval.batch import ranking as ranking_module
from bridgeval.batch.batch import batches
from bridgeval.batch.ranking import Ranking, Relevance, leave_gaps, match, rank, rank_lists, select_relevant
from bridgeval.tables.rows import read_rows
from bridgeval.tables.slates import build_slates

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
        ("ties='text_descending'", "eabc"),
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
    values = dict(
        bridgeval.evaluate(
            {"u": rows},
            {"u": ["b"]},
            ["Precision(duplicates='all')@5", "MAP(duplicates='all')@5", "Recall(duplicates='all')@5"],
        )
    )
    assert list(values.values()) == pytest.approx([1 / 5, 1 / 3 + 2 / 5, 1])


def test_a_cut_comes_before_repeated_items_are_removed():
    rows = [("a", 0.9), ("a", 0.8), ("b", 0.7)]
    with pytest.warns(bridgeval.errors.DuplicateRowsWarning):
        report = bridgeval.evaluate({"u": rows}, {"u": ["b"]}, ["Recall@2", "Recall(cut=2)@2"])
    assert list(report.values()) == [1.0, 0.0]


@pytest.mark.filterwarnings("ignore::bridgeval.errors.ConstantScoresWarning")
def test_string_ids_are_ordered_by_code_point():
    rows = [("Z", 1.0), ("a", 1.0), ("ä", 1.0), ("10", 1.0), ("9", 1.0)]
    report = bridgeval.evaluate({"u": rows}, {"u": ["10"]}, "MRR@5")
    # descending: ä, a, Z, 9, 10
    assert report["MRR@5"] == pytest.approx(1 / 5)


@pytest.mark.parametrize("items", [[8, 10, 9, 100, -1], ["8", "10", "9", "100", "-1"]])
@pytest.mark.filterwarnings("ignore::bridgeval.errors.ConstantScoresWarning")
def test_ids_of_either_type_are_ordered_by_their_text(items):
    # descending: 9, 8, 100, 10, -1
    rows = [(item, 1.0) for item in items]
    report = bridgeval.evaluate({"u": rows}, {"u": [items[3]]}, "MRR(ties='text_descending')@5")
    assert report['MRR(ties="text_descending")@5'] == pytest.approx(1 / 3)


POLICIES = [
    Ranking(),
    Ranking(ties="item_ascending"),
    Ranking(ties="text_descending"),
    Ranking(order="given"),
    Ranking(masked="keep"),
    Ranking(cut=2),
    Ranking(duplicates="all"),
]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("sorted_before", [True, False])
@pytest.mark.parametrize("unique", [True, False])
def test_matches_are_the_relevant_items_of_the_ranked_lists(seed, sorted_before, unique):
    random = Random(seed)
    pool = list(range(12))
    lists = {}
    for user in range(9):
        items = random.sample(pool, random.randint(0, 7)) if unique else random.choices(pool, k=random.randint(0, 7))
        scores = [random.choice([-math.inf, 0.25, 0.5, 0.75, 1.0]) if seed % 2 else random.random() for _ in items]
        rows = list(zip(items, scores, strict=True))
        lists[user] = sorted(rows, key=lambda row: (-row[1], -row[0])) if sorted_before else rows
    truth = {user: random.sample(pool, random.randint(1, 5)) for user in range(9)}
    (batch,) = batches(
        build_slates(read_rows(lists, "recommendations"), read_rows(truth, "relevance")), torch.device("cpu")
    )
    relevant = select_relevant(batch.relevant, Relevance(above=None))
    for policy in random.sample(POLICIES, len(POLICIES)):
        for depth in (None, 3, 20):
            ranked = rank(batch.shown, policy, depth)
            shown = ranked.items.tolist()
            wanted = relevant.items.tolist()
            expected = [
                (row, place, wanted[row].index(item))
                for row, items in enumerate(shown)
                for place, item in enumerate(items)
                if item != batch.shown.pad and item in wanted[row]
            ]
            found = match(ranked, relevant)
            assert list(zip(*(part.tolist() for part in found), strict=True)) == expected


@pytest.mark.parametrize("order", ["score", "given", "sigmoid", "softmax"])
@pytest.mark.parametrize("ties", ["item_descending", "item_ascending", "text_descending", "given"])
@pytest.mark.parametrize("duplicates", ["best", "all"])
def test_a_system_is_never_unexpected_against_itself(order, ties, duplicates):
    # Scores beyond 40 are equal after a sigmoid in float64, so that the ties decide.
    random = Random(3)
    lists = {user: [(item, random.choice([-1.0, 0.5, 50.0, 60.0, 70.0])) for item in range(8)] for user in range(20)}
    metrics = bridgeval.parse(f"Unexpectedness(order='{order}', ties='{ties}', duplicates='{duplicates}')@1,3")
    report = bridgeval.evaluate(lists, {0: [1]}, metrics, baseline=lists)
    assert list(report.values()) == [0.0, 0.0]


@pytest.mark.parametrize("ranking", [*POLICIES, Ranking(order="sigmoid"), Ranking(order="softmax", ties="given")])
def test_lists_ranked_outside_of_a_batch_are_those_of_a_batch(ranking, monkeypatch):
    monkeypatch.setattr(ranking_module, "CELLS_AT_ONCE", 20)
    random = Random(1)
    lists = {
        user: [(random.randrange(9), random.choice([-math.inf, 1.0, 50.0])) for _ in range(user)] for user in range(9)
    }
    slates = build_slates(read_rows(lists, "recommendations"), read_rows({0: [1]}, "relevance"))
    (batch,) = batches(slates, torch.device("cpu"))
    ranked = rank(batch.shown, ranking)
    found = rank_lists(slates.shown, ranking, len(slates.items), slates.items)
    assert found.lengths.tolist() == ranked.counts.tolist()
    assert found.items.tolist() == ranked.items[ranked.valid].tolist()
    assert found.columns["score"].tolist() == ranked.gather(batch.shown.column("score"))[ranked.valid].tolist()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("limit", [0, 3, 10, 99])
def test_rows_stand_at_their_ranks_up_to_the_limit_and_follow_after_it(seed, limit):
    random = Random(seed)
    ranks = {user: random.sample(range(1, 30), random.randint(0, 6)) for user in range(7)} | {7: [2, 5]}
    rows = [(user, item, rank) for user, given in ranks.items() for item, rank in enumerate(given)]
    frame = pa.table(dict(zip(("user", "item", "rank"), zip(*rows, strict=True), strict=True)))
    slates = build_slates(read_rows(frame, "recommendations"), read_rows({7: [1]}, "relevance"))
    (batch,) = batches(slates, torch.device("cpu"))
    found = leave_gaps(rank(batch.shown, Ranking()), batch.shown.column("rank"), limit)
    for row, user in enumerate(slates.users.tolist()):
        in_order = sorted((rank, item) for item, rank in enumerate(ranks[user]))
        expected = [dict(in_order).get(place) for place in range(1, limit + 1)]
        expected += [item for rank, item in in_order if rank > limit]
        items = [item if item < found.pad else None for item in found.items[row].tolist()]
        width = max(len(items), len(expected))
        assert items + [None] * (width - len(items)) == expected + [None] * (width - len(expected))
        kept = found.gather(batch.shown.column("rank"))[row][found.valid[row]]
        assert kept.tolist() == [rank for rank, _ in in_order]


@pytest.mark.parametrize("seed", range(4))
def test_every_row_of_a_repeated_relevant_item_is_a_hit(seed):
    random = Random(seed)
    lists = {user: random.sample(range(9), random.randint(1, 6)) for user in range(9)}
    truth = {user: random.choices(range(9), k=random.randint(1, 6)) for user in range(9)}
    (batch,) = batches(
        build_slates(read_rows(lists, "recommendations"), read_rows(truth, "relevance")), torch.device("cpu")
    )
    relevant = select_relevant(batch.relevant, Relevance(duplicates="each"))
    found = match(rank(batch.shown, Ranking()), relevant, each=True)
    expected = [
        (user, place, column)
        for user in range(9)
        for place, item in enumerate(lists[user])
        for column, other in enumerate(sorted(truth[user]))
        if other == item
    ]
    assert list(zip(*(part.tolist() for part in found), strict=True)) == expected
