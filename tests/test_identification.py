"""Whose number is this? Found among all definitions, grouped where they agree, and told with what matters."""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest

import bridgeval
from bridgeval import plugins, spec
from bridgeval.errors import BadParameterError, DuplicateRowsWarning, InputError, NeedError, UnknownMetricError
from tests.golden.compare import DATA
from tests.golden.peer_feeds import read_fixture
from tests.toolkits.peers.test_conventions import RELEVANT, ROWS, SHOWN

KINDS = ("nDCG", "MAP", "MRR", "Recall", "Precision", "HitRate")


def make_fixture(trait: str, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """40 users, 60 items, ragged lists; some users without a list, some without truth; then the trait."""
    draw = random.Random(f"{trait} {seed}")
    shown, truth = [], []
    for user in range(1, 41):
        if user not in (3, 17, 30):
            items = draw.sample(range(1, 61), draw.randint(1, 25))
            levels = 5 if trait == "ties" else 900
            scores = [draw.randint(1, levels) / 64 for _ in items] if trait == "ties" else draw.sample(range(900), 25)
            shown += [(user, item, score) for item, score in zip(items, scores, strict=False)]
        if user not in (5, 22):
            lowest, highest = (0, 4) if trait == "grades" else (1, 1)
            items = draw.sample(range(1, 61), draw.randint(1, 12))
            truth += [(user, item, float(draw.randint(lowest, highest))) for item in items]
    lists = pd.DataFrame(shown, columns=["user_id", "item_id", "score"])
    if trait == "gaps":
        lists["rank"] = lists.groupby("user_id")["score"].rank(ascending=False).astype(int) * 2
        lists = lists.drop(columns="score")
    return lists, pd.DataFrame(truth, columns=["user_id", "item_id", "gain"])


@dataclass(frozen=True)
class Case:
    name: str
    kind: str
    trait: str
    seed: int


def draw_cases(count: int) -> list[Case]:
    """Random lines of random conventions, at random cutoffs."""
    draw = random.Random(25)
    cases: list[Case] = []
    lines = [name for name in spec.names() if ":" in name]
    while len(cases) < count:
        name = f"{draw.choice(lines)}@{draw.choice([1, 3, 5, 10, 20])}"
        try:
            (metric,) = bridgeval.parse(name)
        except BadParameterError:
            continue
        kind = next((kind for kind in KINDS if isinstance(metric, plugins.installed().metrics[kind])), None)
        if kind and not metric.needs().required:
            cases.append(Case(name, kind, draw.choice(["plain", "grades", "ties", "gaps"]), draw.randint(1, 5)))
    return cases


@pytest.mark.parametrize("case", draw_cases(15), ids=lambda case: f"{case.name} {case.trait} {case.seed}")
def test_the_right_convention_is_first_or_among_equals(case):
    shown, truth = make_fixture(case.trait, case.seed)
    (value,) = bridgeval.evaluate(shown, truth, case.name).values()
    assert math.isfinite(value)
    asked = f"{case.kind.lower()}@{case.name.rpartition('@')[2]}"
    found = bridgeval.identify(shown, truth, value, asked, digits=12)
    assert case.name in found.matches[0].names
    # As it would be printed, other definitions may come as near.
    found = bridgeval.identify(shown, truth, f"{value:.4f}", asked)
    assert case.name in found.names


def draw_golden_cases() -> list[Any]:
    """200 random lines on the fixtures B, C and D that other libraries were run on; the last 185 are slow."""
    draw = random.Random(4)
    cases = [(case.name, case.kind, draw.choice("BCD"), draw.choice(["int", "str"])) for case in draw_cases(200)]
    return [pytest.param(*case, marks=[pytest.mark.slow] if at >= 15 else []) for at, case in enumerate(cases)]


@pytest.mark.parametrize(("name", "kind", "fixture", "ids"), draw_golden_cases())
def test_on_the_fixtures_of_the_goldens_the_right_convention_is_first_or_among_equals(name, kind, fixture, ids):
    world = read_fixture(DATA / "peers" / f"fixture_{fixture}_{ids}.json")
    (value,) = bridgeval.evaluate(world.shown, world.truth, name).values()
    found = bridgeval.identify(world.shown, world.truth, value, f"{kind.lower()}@{name.rpartition('@')[2]}", digits=12)
    assert name in found.matches[0].names


@pytest.mark.parametrize(("name", "measured"), ROWS)
def test_a_number_that_a_library_printed_is_its_own(name, measured):
    """The numbers were measured by running the libraries, see the fixture."""
    (metric,) = bridgeval.parse(name)
    found = bridgeval.identify(SHOWN, RELEVANT, f"{measured:.4f}", metric.name + "@5", tolerance=5.1e-5)
    # Parameters of a line are not tried, but there may be another name with these.
    if "(" not in name:
        assert str(metric) in found.names
        assert str(metric) in found.matches[0].names


def test_equal_definitions_are_one_match_and_the_plainest_is_first():
    # ranx, RecPack and others: 0.4237 (nDCG over the four users of the truth)
    (match,) = bridgeval.identify(SHOWN, RELEVANT, 0.4237, "ndcg@5").matches
    assert match.names[0] == "nDCG@5"
    assert {"recpack:NDCGK@5", "ranx:ndcg@5", "irspack:ndcg@5"} <= set(match.names)
    assert match.effective == ()


def test_only_differences_that_matter_are_told():
    found = bridgeval.identify(SHOWN, RELEVANT, 0.3995, "map@5")
    (match,) = found.matches
    # trec_eval: 0.3995, over U1, U2 and U5, each divided by all relevant items; there are no ties.
    assert "trec_eval:map_cut@5" in match.names
    assert {switch.parameter for switch in match.effective} == {"users", "divide_by"}
    assert "ties" in {switch.parameter for switch in match.definitions[0].switches}
    assert 'the denominator (divide_by: "reachable" -> "relevant")' in str(found)


def test_every_name_that_is_found_can_be_asked_for():
    found = bridgeval.identify(SHOWN, RELEVANT, 0.5, "ndcg@5", tolerance=1)
    assert len(found.names) > 30
    for match in found.matches:
        for one in match.definitions:
            assert [one.metric] == bridgeval.parse(one.name)
    report = bridgeval.evaluate(SHOWN, RELEVANT, found.names)
    for match in found.matches:
        assert [report[name] for name in match.names] == pytest.approx([match.value] * len(match.names), abs=1e-11)


def test_other_populations_are_tried():
    # U1, U2 and U5 of all five users, of whom U3 has no list and U4 no truth.
    found = bridgeval.identify(SHOWN, RELEVANT, "0.6", "hr@5", digits=4)
    assert 'HitRate(users="any")@5' in found.matches[0].names
    # RecTools' nDCG, 0.2707 over four users, over those of both sides: (.5087 + .2140 + .3601) / 3
    assert 'rectools:NDCG(users="both")@5' in bridgeval.identify(SHOWN, RELEVANT, 0.3609, "ndcg@5").names
    assert found.asked == "hr@5"


def test_ties_of_the_native_metric_are_tried():
    shown = {1: {"b": 0.5, "a": 0.5, "c": 0.1}, 2: {"a": 0.9, "b": 0.5}}
    # With the lower item first both users find a at place 1; natively user 1 finds it at place 2: (1/2 + 1) / 2.
    found = bridgeval.identify(shown, {1: ["a", "x"], 2: ["a"]}, 1.0, "mrr@2", digits=4)
    metrics = [one.metric for one in found.matches[0].definitions]
    assert bridgeval.parse('MRR(ties="item_ascending")@2')[0] in metrics
    assert [switch.parameter for switch in found.matches[0].effective] == ["ties"]


def test_nothing_found_names_the_nearest_three():
    found = bridgeval.identify(SHOWN, RELEVANT, 0.95, "ndcg@5")
    assert (found.matches, found.names) == ((), [])
    assert [abs(match.off) for match in found.nearest] == sorted(abs(match.off) for match in found.nearest)
    assert len(found.nearest) == 3
    assert "is given by none of" in str(found)
    assert "The nearest:" in str(found)


def test_cutoffs_next_to_the_one_named_are_tried():
    at_3 = bridgeval.evaluate(SHOWN, RELEVANT, "nDCG@3")["nDCG@3"]
    found = bridgeval.identify(SHOWN, RELEVANT, at_3, "ndcg@5")
    assert found.matches[0].names[0] == "nDCG@3"
    assert [switch.text for switch in found.matches[0].effective] == ["k: 5 -> 3"]
    # Lists end at place 5: 6 and 10 give the same number, and the cutoff that was named comes first.
    at_5 = bridgeval.evaluate(SHOWN, RELEVANT, "nDCG@5")["nDCG@5"]
    assert bridgeval.identify(SHOWN, RELEVANT, at_5, "ndcg@5").matches[0].names[0] == "nDCG@5"


def test_other_cutoffs_are_tried_if_asked_for_or_if_none_is_named():
    at_3 = bridgeval.evaluate(SHOWN, RELEVANT, "nDCG@3")["nDCG@3"]
    assert "nDCG@3" not in bridgeval.identify(SHOWN, RELEVANT, at_3, "ndcg@20").names
    found = bridgeval.identify(SHOWN, RELEVANT, at_3, "ndcg@20", cutoffs=[1, 3])
    assert found.matches[0].names[0] == "nDCG@3"
    assert [switch.text for switch in found.matches[0].effective] == ["k: 20 -> 3"]
    unnamed = bridgeval.identify(SHOWN, RELEVANT, at_3, "ndcg")
    assert unnamed.matches[0].names[0] == "nDCG@3"
    assert unnamed.matches[0].effective == ()


@pytest.mark.parametrize(
    ("written", "allowed"),
    [
        (0.3421, 5e-5),
        ("0.3421", 5e-5),
        (".3421", 5e-5),
        ("34.21%", 5e-5),
        ("0.3400", 5e-5),
        (0.34, 5e-3),
        (1e-05, 5e-6),
    ],
)
def test_a_number_is_taken_to_the_digits_it_is_written_with(written, allowed):
    found = bridgeval.identify(SHOWN, RELEVANT, written, "ndcg@5")
    assert found.tolerance == pytest.approx(allowed, rel=1e-5)
    assert found.value < 0.35


def test_digits_and_tolerance_can_be_given():
    assert bridgeval.identify(SHOWN, RELEVANT, 0.4, "ndcg@5", digits=3).tolerance == pytest.approx(5e-4)
    assert bridgeval.identify(SHOWN, RELEVANT, Decimal("0.4"), "ndcg@5", tolerance=0.2).tolerance == 0.2


@pytest.mark.parametrize("asked", ["hr@5", "HIT_RATE@5", "hit@5", "ranx:hit_rate@5", bridgeval.metrics.HitRate(5)])
def test_synonyms_and_other_spellings_are_understood(asked):
    assert "HitRate@5" in bridgeval.identify(SHOWN, RELEVANT, 0.75, asked).names


@pytest.mark.parametrize("asked", ["recip_rank@5", "ndcg_burges@5", "precision_at_k@5"])
def test_names_of_libraries_are_understood_without_the_library(asked):
    assert bridgeval.identify(SHOWN, RELEVANT, 0.5, asked).asked == asked


def test_unknown_names_and_values_are_refused():
    with pytest.raises(UnknownMetricError, match="nDGC"):
        bridgeval.identify(SHOWN, RELEVANT, 0.5, "nDGC@5")
    with pytest.raises(BadParameterError, match="is not a number"):
        bridgeval.identify(SHOWN, RELEVANT, "half", "ndcg@5")
    with pytest.raises(BadParameterError, match="is not a number"):
        bridgeval.identify(SHOWN, RELEVANT, math.nan, "ndcg@5")


def test_a_definition_that_fails_on_the_data_costs_only_its_own_number():
    # 2^2000 is beyond float64, so that exponential gains have no value here; linear ones do.
    plays: dict[int, Any] = {1: {"a": 2000, "b": 1000}}
    found = bridgeval.identify({1: ["b", "a"]}, plays, 1.0, "ndcg@2", digits=4)
    assert {"nDCG@2", "ranx:ndcg_burges@2"} <= set(found.failed)
    assert "recpack:NDCGK@2" in found.names


def test_data_without_any_number_is_refused():
    @dataclass(frozen=True)
    class Nothing(bridgeval.ListMetric):
        name = "Nothing"

        def value(self, slate):
            return math.nan

    with pytest.raises(InputError, match="no definition of Nothing gives a number"):
        bridgeval.identify(SHOWN, RELEVANT, 1.0, Nothing())


def test_a_metric_that_needs_more_says_so():
    with pytest.raises(NeedError, match="needs the catalogue"):
        bridgeval.identify(SHOWN, RELEVANT, 0.5, "LAUC")
    items = [f"i{at:02}" for at in range(1, 21)]
    shown, truth = {"U1": items}, {"U1": ["i02"]}
    # 18 of the 19 others stand below it.
    assert "AUC" in bridgeval.identify(shown, truth, f"{18 / 19:.4f}", "auc", catalogue=items).names


def test_repeated_rows_are_told():
    shown = pd.DataFrame({"user_id": [1, 1, 1], "item_id": ["a", "a", "b"], "score": [3.0, 2.0, 1.0]})
    with pytest.warns(DuplicateRowsWarning):
        found = bridgeval.identify(shown, {1: ["b"]}, 0.3333, "mrr@3")
    # The repeated item keeps its place: b stands third.
    assert "lenskit:RecipRank@3" in found.matches[0].names
    assert [switch.parameter for switch in found.matches[0].effective] == ["duplicates"]


def test_an_identification_shows_itself_in_four_ways():
    found = bridgeval.identify(SHOWN, RELEVANT, 0.2707, "ndcg@5")
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
    assert found.to_dict()["matches"][0]["definitions"][0]["name"] == "rectools:NDCG@5"
    assert '| `rectools:NDCG@5` |  | the ideal list (`ideal: "reachable" -> "k"`) |' in found.to_markdown()
    assert repr(found) == str(found)
    assert "<code>rectools:NDCG@5</code>" in found._repr_html_()
    assert found.to_html().startswith("<!doctype html>")


def test_names_are_escaped_in_html():
    shown = bridgeval.identify(SHOWN, RELEVANT, 0.6, "hr@5", digits=4)._repr_html_()
    assert "HitRate(users=&#34;any&#34;)@5" in shown
    assert 'users="any"' not in shown


@pytest.mark.spark
def test_spark_frames_are_identified_by_the_same_plan(spark):
    shown = [(user, item, float(score)) for user, rows in SHOWN.items() for item, score in rows]
    truth = [(user, item) for user, items in RELEVANT.items() for item in items]
    found = bridgeval.identify(
        spark.createDataFrame(shown, ["user_id", "item_id", "score"]),
        spark.createDataFrame(truth, ["user_id", "item_id"]),
        0.2707,
        "ndcg@5",
    )
    # RecTools: 0.2707
    assert found.matches[0].names[0] == "rectools:NDCG@5"
    assert [switch.parameter for switch in found.matches[0].effective] == ["ideal"]
