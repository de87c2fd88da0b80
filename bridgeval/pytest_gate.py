"""A plugin of pytest: the fixture `bridgeval_gate` fails a test if recommendations are worse than a baseline.

pytest imports it in every project where bridgeval is installed, so it imports nothing else before it is used.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

SAVE = "--bridgeval-save"
# The baselines that this process has written.
SAVED = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option that writes baselines."""
    parser.getgroup("bridgeval").addoption(
        SAVE, action="store_true", help="Write the baseline of every bridgeval_gate, which then holds."
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declares the marker."""
    config.stash[SAVED] = []
    config.addinivalue_line("markers", "bridgeval_gate(**settings): arguments of bridgeval.check for the fixture")


@pytest.fixture
def bridgeval_gate(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """A function with the arguments of `bridgeval.check`, which fails the test if the gate does not hold.

    Arguments may also stand in the marker `bridgeval_gate`. The values checked become properties of the test, which
    `--junit-xml` writes. With `--bridgeval-save` every gate of a test first writes its baseline, a JSON file, and so
    holds.
    """
    marked: dict[str, Any] = {}
    for mark in reversed(list(request.node.iter_markers("bridgeval_gate"))):
        marked |= mark.kwargs

    def check(recommendations: Any, relevance: Any, **given: Any) -> Any:
        import bridgeval

        settings = marked | given
        if request.config.getoption(SAVE):
            recommendations = _save(request.config.stash[SAVED], recommendations, relevance, **settings)
        gate = bridgeval.check(recommendations, relevance, **settings)
        for one in gate.to_dict()["checks"]:
            request.node.user_properties.append((one["metric"], one["value"]))
        if not gate.holds:
            pytest.fail(str(gate), pytrace=False)
        return gate

    return check


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Lists the baselines that were written."""
    for path in config.stash[SAVED]:
        terminalreporter.write_line(f"saved the baseline {path}")


def _save(
    saved: list[str],
    recommendations: Any,
    relevance: Any,
    *,
    baseline: str | os.PathLike[str],
    max_drop: Any,
    by: Any = None,
    alpha: float = 0.05,
    other_inputs: bool = False,
    **evaluation: Any,
) -> Any:
    """Writes the baseline of a gate; returns the report that it was made of."""
    import bridgeval
    from bridgeval.baselines import parse_limit, save_baseline

    path = os.path.abspath(baseline)
    if path in saved:
        pytest.fail(f"two gates save the baseline {os.fspath(baseline)!r}; give each a file of its own", pytrace=False)
    texts = [max_drop] if isinstance(max_drop, str) else max_drop
    limits = [parse_limit(one, evaluation.get("convention")) if isinstance(one, str) else one for one in texts]
    metrics = [limit.metric for limit in limits]
    report = bridgeval.evaluate(recommendations, relevance, metrics, **{**evaluation, "per_user": True, "by": by})
    inputs = {"relevance": relevance, "history": evaluation.get("history")}
    save_baseline(report, baseline, columns=evaluation.get("columns"), **inputs)
    saved.append(path)
    return report
