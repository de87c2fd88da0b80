"""Names and metrics are two forms of one thing."""

from __future__ import annotations

import pickle

import pytest

from bridgeval import Ranking, Relevance, parse, plugins
from bridgeval.errors import BadParameterError, SpecError, UnknownMetricError
from bridgeval.metrics import ARP, F1, MAP, Precision, nDCG
from bridgeval.spec import SYNONYMS, names, parse_all

RECTOOLS = nDCG(
    10,
    gain="binary",
    ideal="k",
    ranking=Ranking(ties="given", gaps="keep"),
    relevance=Relevance(above=None, duplicates="each"),
)


@pytest.mark.parametrize(
    ("text", "metrics"),
    [
        ("nDCG@10", [nDCG(10)]),
        ("ndcg@5,10,20", [nDCG(5), nDCG(10), nDCG(20)]),
        ('nDCG(gain="linear")@3', [nDCG(3, gain="linear")]),
        (" Precision @ 7 ", [Precision(7)]),
        (
            'F1(metric_1="nDCG", metric_2="MAP", beta=0.5)@10',
            [F1(10, metric_1=nDCG(10), metric_2=MAP(10), beta=0.5)],
        ),
        ("F1(metric_1=\"nDCG(gain='linear')@3\")@10", [F1(10, metric_1=nDCG(3, gain="linear"))]),
        ("rectools:NDCG@10", [RECTOOLS]),
        ("RECTOOLS:ndcg@10".replace("RECTOOLS", "rectools"), parse("rectools:NDCG@10")),
    ],
)
def test_text_becomes_metrics(text, metrics):
    assert parse(text) == metrics


@pytest.mark.parametrize(
    "text",
    [
        "nDCG@10",
        'nDCG(gain="linear", ideal="k")@10',
        'F1(metric_1="nDCG", metric_2="MAP", beta=0.5)@10',
        'F1(metric_1="nDCG@3")@10',
        "rectools:NDCG@5",
        'rectools:NDCG(ideal="reachable")@5',
        'GAUC(weight="relevant")',
        'RMSE(average="users")',
        'Recall(users="any", over="median")@3',
        "Recall(above=None)@3",
    ],
)
def test_printing_gives_what_was_typed_and_parses_back(text):
    (metric,) = parse(text)
    assert str(metric) == text
    assert parse(str(metric)) == [metric]
    assert pickle.loads(pickle.dumps(metric)) == metric


def test_a_toolkits_name_is_a_label_and_not_a_difference():
    assert parse("mllib:precisionAt@5") == parse('Precision(users="any", ties="given", above=None)@5')
    assert hash(parse("mllib:precisionAt@5")[0]) == hash(parse('Precision(users="any", ties="given", above=None)@5')[0])


def test_a_hyphen_in_a_name_is_an_underscore():
    # ranx spells it r-precision
    assert parse("ranx:r-precision") == parse("ranx:r_precision")


def test_a_convention_is_tried_first_for_names_without_prefix():
    assert [str(m) for m in parse_all(["NDCG@5", "MAR@5"], convention="rectools")] == ["rectools:NDCG@5", "MAR@5"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "@10",
        "nDCG@",
        "nDCG@a",
        "nDCG(10)@5",
        "nDCG(gain=linear)@5",
        "nDCG(**x)@5",
        "nDCG@5@6",
        "__import__('os').system('true')@1",
        "nDCG(gain=__import__('os'))@1",
        "lambda: 1",
    ],
)
def test_what_cannot_be_read_is_an_error_and_never_run(text):
    with pytest.raises(SpecError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ARP", "needs a cutoff"),
        ("AUC@5", "takes none"),
        ("nDCG(gian='linear')@5", "no parameter 'gian'.*gain"),
        ("nDCG(gain='cubic')@5", "choose one of 'binary', 'linear', 'exponential', 'shifted'"),
        ("Precision(confidence=2)@5", "between 0 and 1"),
        ("F1(beta=0)@5", "beta above 0"),
    ],
)
def test_bad_parameters_say_what_is_allowed(text, message):
    with pytest.raises(BadParameterError, match=message):
        parse(text)


@pytest.mark.parametrize("name", ["xgboost:map", "xgboost:MAP", "xgboost: map", "xgboost:map-"])
def test_a_toolkits_own_cutoff_does_not_depend_on_the_spelling(name):
    (metric,) = parse(name)
    assert metric.k == 32
    assert parse(str(metric)) == [metric]


@pytest.mark.parametrize("name", [f"xgboost:map@{2**63 - 1}", f"nDCG(k={2**63 - 1})", f"Gini@{2**63 - 1}"])
def test_the_number_that_stands_for_whole_lists_cannot_be_typed(name):
    with pytest.raises(BadParameterError, match="too large"):
        parse(name)


def test_a_metric_without_whole_lists_takes_no_number_that_stands_for_them():
    with pytest.raises(BadParameterError, match="from 1 to 9,223,372,036,854,775,806"):
        ARP(k=2**63 - 1)
    assert parse(str(ARP(k=2**63 - 2))) == [ARP(k=2**63 - 2)]


def test_unknown_names_bring_the_nearest():
    with pytest.raises(UnknownMetricError, match=r"did you mean .*Precision"):
        parse("Precison@10")
    with pytest.raises(UnknownMetricError, match="rectools"):
        parse("nosuch:NDCG@10")
    with pytest.raises(UnknownMetricError, match="rectools:NDCG"):
        parse("rectools:NDGC@10")


def test_every_name_is_listed_once():
    listed = [name.lower() for name in names()]
    assert len(listed) == len(set(listed))
    assert {"ndcg", "rectools:ndcg"} <= set(listed)


@pytest.mark.parametrize(
    ("typed", "suggested"),
    [
        ("hr@10", "HitRate@10"),
        ("Hit@5,10", "HitRate@5,10"),
        ("P@10", "Precision@10"),
        ("prec@5", "Precision@5"),
        ("R@20", "Recall@20"),
        ("rec@20", "Recall@20"),
        ("AP@10", "MAP@10"),
        ("mean_average_precision@10", "MAP@10"),
        ("rr@10", "MRR@10"),
        ("P(divide_by='shown')@5", "Precision(divide_by='shown')@5"),
        ("replay:hr@5", "replay:HitRate@5"),
        ("ranx:hr@5", "ranx:hit_rate@5, ranx:hits@5"),
        ("F1(metric_1='hr')@5", "HitRate"),
    ],
)
def test_names_that_people_type_are_suggested_and_not_guessed(typed, suggested):
    with pytest.raises(UnknownMetricError) as caught:
        parse(typed)
    assert caught.value.hint == f"did you mean {suggested}?"


@pytest.mark.parametrize("typed", ["map@10", "ndcg@10", "hitrate@10", "mrr@10", "recall@10", "precision@10", "f1@10"])
def test_natives_are_found_in_any_case(typed):
    assert str(parse(typed)[0]).lower() == typed


def test_every_synonym_stands_for_a_metric_and_is_none_itself():
    native = {name.lower(): name for name in plugins.installed().metrics}
    assert not SYNONYMS.keys() & native.keys()
    assert set(SYNONYMS.values()) <= set(native.values())
