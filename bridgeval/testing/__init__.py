"""The laws that every metric, loader and convention keeps, for authors of plugins and for our own tests.

    from bridgeval.testing import check_metric

    def test_laws():
        check_metric(MyMetric(10))

A broken law raises AssertionError with the law and the difference. `world()` is the data that they are tested on.
"""

from __future__ import annotations

from bridgeval.testing.convention_laws import check_convention
from bridgeval.testing.loader_laws import check_loader
from bridgeval.testing.metric_laws import check_metric
from bridgeval.testing.plugin_laws import check_plugin
from bridgeval.testing.world import World, world

__all__ = ["World", "check_convention", "check_loader", "check_metric", "check_plugin", "world"]
