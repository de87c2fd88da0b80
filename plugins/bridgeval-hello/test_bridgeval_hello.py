import pytest
from bridgeval_hello import FirstHitPlace, ShownPrice

import bridgeval
from bridgeval.testing import check_metric


def test_the_first_hit_is_counted_from_1():
    shown, relevant = {"ann": ["tea", "rum"], "bob": ["tea", "gin"]}, {"ann": ["rum"], "bob": ["ale"]}
    result = bridgeval.evaluate(shown, relevant, FirstHitPlace(2)).results["FirstHitPlace@2"]
    assert (result.value, result.users, result.undefined) == (2.0, 1, 1)


def test_the_price_is_that_of_the_items_shown():
    shown, relevant = {"ann": ["tea", "rum", "gin"]}, {"ann": ["rum"]}
    report = bridgeval.evaluate(shown, relevant, ShownPrice(2), context={"price": {"tea": 2, "rum": 7, "gin": 99}})
    assert report["ShownPrice@2"] == 4.5


@pytest.mark.parametrize("metric", [FirstHitPlace(5), ShownPrice(5)], ids=str)
def test_it_keeps_the_laws(metric):
    check_metric(metric)
