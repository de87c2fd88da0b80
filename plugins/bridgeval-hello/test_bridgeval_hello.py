from bridgeval_hello import FirstHitPlace

import bridgeval
from bridgeval.testing import check_metric


def test_the_first_hit_is_counted_from_1():
    shown, relevant = {"ann": ["tea", "rum"], "bob": ["tea", "gin"]}, {"ann": ["rum"], "bob": ["ale"]}
    result = bridgeval.evaluate(shown, relevant, FirstHitPlace(2)).results["FirstHitPlace@2"]
    assert (result.value, result.users, result.undefined) == (2.0, 1, 1)


def test_it_keeps_the_laws():
    check_metric(FirstHitPlace(5))
