"""Five users on which libraries disagree; each library's row is reproduced by its convention.

k = 5, 20 items, distinct scores. U1: 5 shown, 3 relevant, hits at places 1 and 3. U2: 2 shown, 1 relevant, hit at 2.
U3: relevant items but nothing shown. U4: 5 shown, nothing relevant. U5: 5 shown, 7 relevant, hits at 2 and 4.
The numbers were measured by running the libraries on this fixture.
"""

from __future__ import annotations

import pytest

import bridgeval

SHOWN = {
    "U1": [("i01", 0.9), ("i02", 0.8), ("i03", 0.7), ("i04", 0.6), ("i05", 0.5)],
    "U2": [("i06", 0.9), ("i07", 0.8)],
    "U4": [("i01", 0.9), ("i02", 0.8), ("i03", 0.7), ("i04", 0.6), ("i05", 0.5)],
    "U5": [("i08", 0.9), ("i09", 0.8), ("i10", 0.7), ("i11", 0.6), ("i12", 0.5)],
}
RELEVANT = {
    "U1": ["i01", "i03", "i20"],
    "U2": ["i07"],
    "U3": ["i13", "i14"],
    "U5": ["i09", "i11", "i15", "i16", "i17", "i18", "i19"],
}

ROWS = [
    ("ranx:precision@5", 0.2500),
    ("ranx:recall@5", 0.4881),
    ("ranx:ndcg@5", 0.4237),
    ("ranx:map@5", 0.2996),
    ("ranx:mrr@5", 0.5000),
    ("ranx:hit_rate@5", 0.7500),
    ("trec_eval:P@5", 0.3333),
    ("trec_eval:recall@5", 0.6508),
    ("trec_eval:ndcg_cut@5", 0.5650),
    ("trec_eval:map_cut@5", 0.3995),
    ("trec_eval:recip_rank@5", 0.6667),
    ("trec_eval:success@5", 1.0000),
    ("rectools:Precision@5", 0.2500),
    # r_precision: U1 2/3, U2 1/1, U3 0/2, U5 2/5
    ("rectools:Precision(divide_by='relevant')@5", 0.5167),
    ("rectools:Recall@5", 0.4881),
    ("rectools:NDCG@5", 0.2707),
    ("rectools:NDCG(ideal='reachable')@5", 0.4237),
    ("rectools:MAP@5", 0.2996),
    ("rectools:MAP(divide_by='k')@5", 0.1583),
    ("rectools:MRR@5", 0.5000),
    ("rectools:HitRate@5", 0.7500),
    ("MAP@5", 0.3139),
    ("nDCG@5", 0.4237),
    ("lenskit:Precision@5", 0.3250),
    ("lenskit:Recall@5", 0.5167),
    ("lenskit:NDCG@5", 0.5103),
    ("lenskit:RecipRank@5", 0.5000),
    ("lenskit:Hit@5", 0.7500),
    ("recommenders:precision_at_k@5", 0.3333),
    ("recommenders:recall_at_k@5", 0.6508),
    ("recommenders:ndcg_at_k@5", 0.4237),
    ("recommenders:map@5", 0.3995),
    ("recommenders:map_at_k@5", 0.4185),
    ("mllib:precisionAt@5", 0.2000),
    ("mllib:recallAt@5", 0.3905),
    ("mllib:ndcgAt@5", 0.3390),
    ("mllib:meanAveragePrecisionAt@5", 0.2511),
    ("mllib:meanAveragePrecision@5", 0.2397),
    ("irspack:precision@5", 0.3250),
    ("irspack:recall@5", 0.4881),
    ("irspack:ndcg@5", 0.4237),
    ("irspack:map@5", 0.2996),
    ("irspack:hit@5", 0.7500),
    ("recpack:PrecisionK@5", 0.2500),
    ("recpack:CalibratedRecallK@5", 0.5167),
    ("recpack:NDCGK@5", 0.4237),
    ("recpack:ReciprocalRankK@5", 0.5000),
    ("recpack:HitK@5", 1.2500),
]


@pytest.fixture(scope="module")
def report() -> bridgeval.Report:
    return bridgeval.evaluate(SHOWN, RELEVANT, [name for name, _ in ROWS])


@pytest.mark.parametrize(("name", "measured"), ROWS)
def test_convention_gives_the_number_the_library_gave(report, name, measured):
    (metric,) = bridgeval.parse(name)
    assert report[str(metric)] == pytest.approx(measured, abs=5.1e-5)


def test_one_call_gives_all_conventions_and_native_metrics(report):
    assert len(report) == len(ROWS)
    assert report.population.counted == 4
    assert dict(report.population.left_out) == {"no relevance given": 1}
