"""A baseline is ranked by the same policy as the lists."""

import pytest

import bridgeval

LISTS = {1: {1: 50.0, 2: 60.0, 3: 70.0}, 2: {1: 3.0, 2: 4.0}}


@pytest.mark.parametrize("order", ["score", "sigmoid", "softmax", "given"])
def test_a_system_is_never_unexpected_beside_itself(order):
    report = bridgeval.evaluate(LISTS, {1: [3], 2: [1]}, f'Unexpectedness(order="{order}")@1', baseline=LISTS)
    assert list(report.values()) == [0.0]
