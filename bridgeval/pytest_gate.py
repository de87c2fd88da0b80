"""A plugin of pytest: the fixture `bridgeval_gate` fails a test if recommendations are worse than a baseline.

pytest imports it in every project where bridgeval is installed, so it imports nothing else before it is used.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

SAVE = "--bridgeval-save"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option that writes baselines."""
    parser.getgroup("bridgeval").addoption(
        SAVE, action="store_true", help="Write the baselines of bridgeval_gate, and check nothing."
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declares the marker."""
    config.addinivalue_line("markers", "bridgeval_gate(**settings): arguments of bridgeval.check for the fixture")


@pytest.fixture
def bridgeval_gate(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """A function with the arguments of `bridgeval.check`, which fails the test if the gate does not hold.

    Arguments may also stand in the marker `bridgeval_gate`. The values checked become properties of the test, which
    `--junit-xml` writes. With `--bridgeval-save` the baseline, a JSON file, is written and nothing is checked.
    """
    marked: dict[str, Any] = {}
    for mark in reversed(list(request.node.iter_markers("bridgeval_gate"))):
        marked |= mark.kwargs

    def check(recommendations: Any, relevance: Any, **given: Any) -> Any:
        import bridgeval

        settings = marked | given
        if request.config.getoption(SAVE):
            _save(recommendations, relevance, **settings)
            pytest.skip(f"saved the baseline {os.fspath(settings['baseline'])}")
        gate = bridgeval.check(recommendations, relevance, **settings)
        for one in gate.to_dict()["checks"]:
            request.node.user_properties.append((one["metric"], one["value"]))
        if not gate.holds:
            pytest.fail(str(gate), pytrace=False)
        return gate

    return check


def _save(
    recommendations: Any,
    relevance: Any,
    *,
    baseline: str | os.PathLike[str],
    max_drop: Any,
    by: Any = None,
    alpha: float = 0.05,
    other_inputs: bool = False,
    **evaluation: Any,
) -> None:
    import bridgeval
    from bridgeval.baselines import parse_limit, save_baseline

    texts = [max_drop] if isinstance(max_drop, str) else max_drop
    limits = [parse_limit(one, evaluation.get("convention")) if isinstance(one, str) else one for one in texts]
    metrics = [limit.metric for limit in limits]
    report = bridgeval.evaluate(recommendations, relevance, metrics, **{**evaluation, "per_user": True})
    inputs = {"relevance": relevance, "history": evaluation.get("history")}
    save_baseline(report, baseline, columns=evaluation.get("columns"), **inputs)
