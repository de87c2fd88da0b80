"""Tables of the context by name: read in every form, looked up by item or by user, wherever a plan runs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import bridgeval
from bridgeval import Scores
from bridgeval.errors import (
    BadParameterError,
    BadValueError,
    BridgevalError,
    InputError,
    MisalignedError,
    MissingColumnError,
    MissingContextWarning,
    NeedError,
    StateFileError,
)
from bridgeval.plugin import Blocks, ItemColumn, ListMetric, Needs, Slate, TopKMetric, UserColumn
from bridgeval.testing import check_metric


@dataclass(frozen=True)
class Basket(TopKMetric):
    """The sum of the prices shown; an item without a price is free."""

    name = "Basket"

    def needs(self) -> Needs:
        return super().needs() | Needs(items={"price"})

    def values(self, blocks: Blocks) -> Any:
        return blocks[ItemColumn("price", self.ranking)][:, : self.k].nan_to_num(0).sum(1)


@dataclass(frozen=True)
class WithinBudget(TopKMetric):
    """The share of the k places with an item that the user can pay; undefined for a user without a budget."""

    name = "WithinBudget"

    def needs(self) -> Needs:
        return super().needs() | Needs(items={"price"}, by_user={"budget"})

    def values(self, blocks: Blocks) -> Any:
        budget = blocks[UserColumn("budget")]
        paid = blocks[ItemColumn("price", self.ranking)][:, : self.k] <= budget[:, None]
        return (paid.double().sum(1) / self.k).masked_fill(budget.isnan(), float("nan"))


@dataclass(frozen=True)
class Brands(ListMetric):
    """The number of different brands shown, if the user lives in the city."""

    name = "Brands"

    def needs(self) -> Needs:
        return super().needs() | Needs(items={"brand"}, by_user={"home"})

    def value(self, slate: Slate) -> float | None:
        if slate.user_values["home"] != "city":
            return None
        return len({brand for brand in slate.item_values["brand"] if brand is not None})


SHOWN = {"ann": ["tea", "rum"], "bob": ["gin", "tea"], "cid": ["rum", "gin"]}
TRUTH = {"ann": ["rum"], "bob": ["gin"], "cid": ["tea"]}
PRICES = {"tea": 2, "rum": 10.5, "gin": 8}
# ann 2 + 10.5, bob 8 + 2, cid 10.5 + 8; their mean is 41 / 3.
BASKET = {"ann": 12.5, "bob": 10.0, "cid": 18.5}
BUDGETS = {"ann": 5, "bob": 9}
FRAME = pd.DataFrame({"item_id": ["rum", "gin", "ale", "tea"], "price": [10.5, 8, 3, 2], "brand": ["x", "y", "x", "y"]})
LISTS = pd.DataFrame([(user, item) for user, items in SHOWN.items() for item in items], columns=["user_id", "item_id"])
TRUE = pd.DataFrame([(user, item) for user, items in TRUTH.items() for item in items], columns=["user_id", "item_id"])


def per_user(report: Any) -> dict[Any, float]:
    return dict(report.per_user()[["user", "value"]].to_numpy().tolist())


@pytest.mark.parametrize(
    "prices", [PRICES, FRAME, FRAME[["item_id", "price"]], pl.from_pandas(FRAME), FRAME.set_index("item_id"), "path"]
)
def test_a_table_is_read_in_every_form(prices: Any, tmp_path: Path) -> None:
    if isinstance(prices, str):
        prices = tmp_path / "prices.csv"
        FRAME.to_csv(prices, index=False)
    report = bridgeval.evaluate(SHOWN, TRUTH, Basket(2), context={"price": prices}, per_user=True)
    assert per_user(report) == BASKET
    assert report["Basket@2"] == pytest.approx(41 / 3)
    assert report.population.without == {}


def test_values_of_users_and_of_items_meet_in_one_metric() -> None:
    with pytest.warns(MissingContextWarning, match="1 of 3 users have no 'budget'"):
        report = bridgeval.evaluate(
            SHOWN, TRUTH, WithinBudget(2), context={"price": FRAME, "budget": BUDGETS}, per_user=True
        )
    # ann can pay tea of (tea, rum), bob gin and tea; cid has no budget.
    assert per_user(report)["ann"] == 0.5
    assert per_user(report)["bob"] == 1
    assert np.isnan(per_user(report)["cid"])
    assert report.results["WithinBudget@2"].undefined == 1
    assert report.population.without == {"user budget": (1, 3)}
    assert "1 of 3 users have no 'budget'" in str(report)


def test_labels_are_read_by_functions_of_one_user() -> None:
    home = pd.DataFrame({"user_id": ["ann", "bob", "cid"], "home": ["city", "city", "land"]})
    brands = {"tea": "y", "rum": "x", "gin": "y"}
    report = bridgeval.evaluate(SHOWN, TRUTH, Brands(), context={"brand": brands, "home": home})
    # ann sees y and x, bob y twice, cid is not asked.
    assert (report["Brands"], report.results["Brands"].users) == (1.5, 2)


def test_shown_items_without_a_value_are_counted() -> None:
    with pytest.warns(MissingContextWarning, match="4 of 6 shown items have no 'price'.*check that the ids match"):
        report = bridgeval.evaluate(SHOWN, TRUTH, Basket(2), context={"price": {"tea": 2, "rum": None}})
    assert report["Basket@2"] == pytest.approx(4 / 3)
    assert report.population.without == {"item price": (4, 6)}
    assert json.loads(report.to_json())["population"][""]["without"] == {"item price": [4, 6]}


def test_files_that_are_streamed_give_the_same(tmp_path: Path) -> None:
    users = [f"u{number % 400:03d}" for number in range(4_000)]
    items = [f"i{(number % 400 + number // 400 * 7) % 50}" for number in range(4_000)]
    lists = pd.DataFrame({"user_id": users, "item_id": items, "score": np.arange(4_000) % 97 / 97})
    truth = lists.iloc[::5, :2]
    prices = pd.DataFrame({"item_id": [f"i{number}" for number in range(50)], "price": np.arange(50) ** 2 / 7})
    for name, frame in (("lists", lists), ("truth", truth), ("prices", prices)):
        frame.to_parquet(tmp_path / f"{name}.parquet")
    shown, true, table = (tmp_path / f"{name}.parquet" for name in ("lists", "truth", "prices"))
    whole = bridgeval.evaluate(lists, truth, Basket(5), context={"price": prices})
    streamed = bridgeval.evaluate(shown, true, Basket(5), context={"price": table}, memory=200_000)
    assert streamed["Basket@5"] == pytest.approx(whole["Basket@5"], rel=1e-12)


def test_a_score_matrix_gives_the_same() -> None:
    names = ["tea", "rum", "gin"]
    order = [[SHOWN[user].index(item) if item in SHOWN[user] else 9 for item in names] for user in SHOWN]
    scores = Scores(-np.array(order, dtype=float), users=list(SHOWN), items=names)
    assert bridgeval.evaluate(scores, TRUTH, Basket(2), context={"price": PRICES})["Basket@2"] == pytest.approx(41 / 3)


def test_states_with_other_tables_are_not_merged(tmp_path: Path) -> None:
    ann, others = {"ann": SHOWN["ann"]}, {user: SHOWN[user] for user in ("bob", "cid")}
    for part, lists, prices in (("a", ann, PRICES), ("b", others, PRICES), ("c", others, {**PRICES, "tea": 3})):
        truth = {user: TRUTH[user] for user in lists}
        bridgeval.evaluate(lists, truth, Basket(2), context={"price": prices}, state=tmp_path / part)
    merged = bridgeval.merge([tmp_path / "a", tmp_path / "b"], metrics=[Basket(2)])
    assert merged["Basket@2"] == pytest.approx(41 / 3)
    with pytest.raises(StateFileError, match="different data: item price"):
        bridgeval.merge([tmp_path / "a", tmp_path / "c"], metrics=[Basket(2)])


@pytest.mark.parametrize(
    ("context", "error", "words"),
    [
        (None, NeedError, r"Basket@2 needs 'price' of each item; .*give context=\{'price': \.\.\.\}"),
        ({"cost": PRICES}, NeedError, r"context \(item cost, user cost\)"),
        ({"price": pd.DataFrame({"user": ["ann"], "price": [1]})}, NeedError, r"context \(user price\)"),
        ({"groups": PRICES}, BadParameterError, "cannot be called 'groups'; hint: give item_groups="),
        ({"": PRICES}, BadParameterError, "choose a name"),
        (["price"], InputError, "a mapping of names to tables"),
        ({"price": 3}, InputError, "'price' cannot be read; found: an object of type int"),
        ({"price": {}}, InputError, "no values in the context 'price'"),
        ({"price": {1: 2.0}}, MisalignedError, "ids of the context 'price' and the lists are integers on one side"),
        ({"price": {"tea": [1]}}, BadValueError, "must hold numbers or labels"),
        ({"price": {"tea": 1, "rum": "dear"}}, BadValueError, "of one type"),
        ({"price": {"tea": float("inf")}}, BadValueError, "infinite"),
        ({"price": pd.concat([FRAME, FRAME])}, BadValueError, "4 id.s. come more than once"),
        ({"price": FRAME.rename(columns={"price": "cost"})}, MissingColumnError, "none is called 'price'"),
        ({"price": FRAME.rename(columns={"item_id": "what"})}, MissingColumnError, "one column with the item id"),
        ({"price": FRAME.assign(user_id=1)}, MissingColumnError, "or one with the user id"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(context: Any, error: type[BridgevalError], words: str) -> None:
    with pytest.raises(error, match=words):
        bridgeval.evaluate(SHOWN, TRUTH, Basket(2), context=context)


def test_needs_are_sets_of_names() -> None:
    assert Needs(items={"price"}).required == {"item price"}
    assert (Needs(items={"price"}) | Needs(items=["cost"], by_user={"age"})).named_tables == {
        "item price",
        "item cost",
        "user age",
    }
    with pytest.raises(BadParameterError, match=r"a set of names; found: 'price'; hint: write \{'price'\}"):
        Needs(items="price")


def test_an_undeclared_table_is_told() -> None:
    class Hidden(Basket):
        def needs(self) -> Needs:
            return TopKMetric.needs(self)

    with pytest.raises(NeedError, match=r"reads 'price' of each item, .*Needs\(items=\{'price'\}\)"):
        bridgeval.evaluate(SHOWN, TRUTH, Hidden(2))
    with pytest.raises(AssertionError, match="declare"):
        check_metric(Hidden(2))


@pytest.mark.parametrize("metric", [Basket(3), WithinBudget(3)], ids=str)
def test_metrics_of_tables_keep_the_laws(metric: Any) -> None:
    check_metric(metric)


@pytest.mark.spark
def test_spark_frames_and_mappings_give_the_same(spark: Any) -> None:
    context = {"price": spark.createDataFrame(FRAME), "budget": BUDGETS}
    lists, truth = spark.createDataFrame(LISTS.assign(score=range(6, 0, -1))), spark.createDataFrame(TRUE)
    with pytest.warns(MissingContextWarning, match="1 of 3 users have no 'budget'"):
        report = bridgeval.evaluate(lists, truth, [Basket(2), WithinBudget(2)], context=context)
    assert report["Basket@2"] == pytest.approx(41 / 3)
    assert report["WithinBudget@2"] == 0.75
    with pytest.raises(NeedError, match="needs 'price' of each item"):
        bridgeval.evaluate(lists, truth, Basket(2), context={"budget": BUDGETS})
