"""One file per family: a newcomer who knows a metric's family knows its file."""

from __future__ import annotations

import pytest

from bridgeval import metrics


@pytest.mark.parametrize("name", metrics.__all__)
def test_a_metric_is_defined_in_the_file_of_its_family(name):
    metric = getattr(metrics, name)
    assert metric.__module__ == f"bridgeval.metrics.{metric.family}"
