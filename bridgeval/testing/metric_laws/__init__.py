"""The laws of metrics, one module for each thing that they are about."""

from __future__ import annotations

from bridgeval.engine.metric import Metric
from bridgeval.testing.law import Law, keep_laws
from bridgeval.testing.metric_laws.answers import ANSWERS
from bridgeval.testing.metric_laws.declarations import DECLARATIONS
from bridgeval.testing.metric_laws.policies import POLICIES
from bridgeval.testing.metric_laws.sharing import SHARING
from bridgeval.testing.metric_laws.states import STATES
from bridgeval.testing.trial import make_trial, name_metric
from bridgeval.testing.world import World

# The laws with the clearest messages come first: a fault that breaks one often breaks later ones too.
METRIC_LAWS: tuple[Law, ...] = (*DECLARATIONS, *ANSWERS, *SHARING, *STATES, *POLICIES)


def check_metric(metric: Metric, *, world: World | None = None) -> None:
    """Tests the laws of docs/laws.md on a metric.

    Args:
        metric: with its parameters; its class need not be installed.
        world: the data to test on. By default `world()`, or `world(whole=True)` for a metric that refuses lists which
            are no whole rankings.

    Raises:
        AssertionError: names the first law that is broken, what was found, the likely cause and what to do.
    """
    trial = make_trial(metric, world)
    keep_laws(name_metric(metric), METRIC_LAWS, trial)
