"""What an author of plugins met, one test for each: a plugin's mistake is told, and breaks nothing else."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pandas
import pytest
import torch

import bridgeval
from bridgeval import plugins
from bridgeval.cli import _choose_code
from bridgeval.errors import (
    BadParameterError,
    MetricFailedError,
    PluginFailedError,
    PluginWarning,
    UnknownMetricError,
)
from bridgeval.plugin import Needs, TopKMetric
from bridgeval.toolkits import replay, warprec
from bridgeval.toolkits.warprec import UserAverageTopKMetric
from tests.test_hooks import install  # noqa: F401  (a fixture)
from tests.test_plugins import METRIC, info, plugin  # noqa: F401  (a fixture)

SHOWN, RELEVANT = {"ann": ["tea", "rum"], "bob": ["gin", "tea"]}, {"ann": ["rum"], "bob": ["ale"]}
UNAVAILABLE = 4


def warn_of(found: plugins.Plugins, pattern: str, what: str = "metrics") -> None:
    """Looks offers up and expects a warning; what is built in is there all the same."""
    with pytest.warns(PluginWarning, match=pattern):
        assert getattr(found, what)
    assert "nDCG" in found.metrics


def test_1_no_option_of_pluggy_replaces_a_built_in(install):  # noqa: F811
    for option in ("trylast=True", "tryfirst=True"):
        found = install(
            METRIC.format(name="Precision").replace("@bridgeval.hookimpl", f"@bridgeval.hookimpl({option})")
        )
        warn_of(found, r"metric 'Precision' of plugin 'own' of own-package 1\.0 is left out.*'bridgeval\.metrics'")
        assert found.metrics["Precision"] is bridgeval.metrics.Precision


def test_2_a_loader_that_raises_or_is_a_class_does_not_break_evaluate(install):  # noqa: F811
    source = (
        "class Bad:\n    name = 'bad'\n    def recognizes(self, a, b): raise SystemExit(7)\n"
        "    def load(self, a, b, **extras): pass\n@hookimpl\ndef bridgeval_loaders(): return [Bad{}]"
    )
    install(source.format("()"))
    with pytest.warns(PluginWarning, match=r"own-package 1\.0 failed in recognizes of its loader 'bad'.*SystemExit: 7"):
        assert bridgeval.evaluate(SHOWN, RELEVANT, "Recall@2")["Recall@2"] == 0.5
    warn_of(install(source.format("")), r"Bad is a class: offer an instance, Bad\(\)", "loaders")


@pytest.mark.parametrize(("body", "said"), [("sys.exit(3)", "SystemExit: 3"), ("return None", "loads no source")])
def test_2_a_loader_that_fails_to_load_is_named_with_its_package(install, body, said):  # noqa: F811
    install(
        "import sys\nclass Own(TypedLoader):\n    name, reads = 'own', ((tuple, tuple),)\n"
        f"    def load(self, a, b, /, **extras): {body}\n@hookimpl\ndef bridgeval_loaders(): return [Own()]"
    )
    with pytest.raises(PluginFailedError, match=rf"own-package 1\.0.*{said}") as raised:
        bridgeval.evaluate((), (), "Recall@2")
    assert _choose_code(raised.value) == UNAVAILABLE


def test_3_a_loader_that_is_chosen_gets_the_paths(install, tmp_path, monkeypatch, capsys):  # noqa: F811
    from bridgeval.cli import program

    install(
        "from pathlib import Path\n"
        "class Own(TypedLoader):\n    name, reads = 'own', ((tuple, tuple),)\n"
        "    def load(self, a, b, /, **extras):\n"
        "        lists = [line.split() for line in Path(a).read_text().splitlines()]\n"
        "        return make_source({one[0]: one[1:] for one in lists}, {'ann': [Path(b).read_text()]}, **extras)\n"
        "@hookimpl\ndef bridgeval_loaders(): return [Own()]"
    )
    (tmp_path / "shown").write_text("ann tea rum\n")
    (tmp_path / "relevant").write_text("rum")
    monkeypatch.chdir(tmp_path)
    program.main(["evaluate", "shown", "relevant", "-m", "MRR@2", "--loader", "own"], standalone_mode=False)
    assert "0.5000" in capsys.readouterr().out


@dataclass(frozen=True)
class Shaped(TopKMetric):
    """A metric that returns whatever it is told to."""

    name = "Shaped"
    shape: str = "short"

    def values(self, blocks):
        made = {"short": torch.zeros(len(blocks) - 1), "wide": torch.zeros(len(blocks), 2), "list": [0.0] * len(blocks)}
        return made[self.shape]


@pytest.mark.parametrize(("shape", "found"), [("short", r"shape \[1\]"), ("wide", r"shape \[2, 2\]"), ("list", "list")])
def test_4_values_of_a_wrong_shape_or_type_are_told_with_the_name_of_the_metric(shape, found):
    with pytest.raises(
        MetricFailedError, match=rf"Shaped.*@2 must give one number for each of 2 users.*found: .*{found}"
    ):
        bridgeval.evaluate(SHOWN, RELEVANT, Shaped(2, shape))


def test_5_a_need_that_nothing_answers_says_so():
    @dataclass(frozen=True)
    class Moody(TopKMetric):
        name = "Moody"

        def needs(self):
            return super().needs() | Needs(pairs=frozenset({"mood"}))

    with pytest.raises(bridgeval.errors.NeedError, match=r"Moody@2 needs 'mood'.*no argument gives it"):
        bridgeval.evaluate(SHOWN, RELEVANT, Moody(2))


def test_6_a_forgotten_hookimpl_is_told(install):  # noqa: F811
    with pytest.warns(PluginWarning, match=r"own-package 1\.0 has bridgeval_metrics, but it is not marked.*@hookimpl"):
        install("def bridgeval_metrics(): return []")
    with pytest.warns(PluginWarning, match=r"own-package 1\.0 implements no hook"):
        install("")


def test_7_an_exit_at_import_or_in_a_hook_does_not_end_the_process(install):  # noqa: F811
    with pytest.warns(PluginWarning, match=r"own-package 1\.0 failed in its import.*SystemExit: 1"):
        found = install("import sys\nsys.exit(1)")
    assert "nDCG" in found.metrics
    warn_of(install("@hookimpl\ndef bridgeval_metrics(): raise SystemExit(2)"), "bridgeval_metrics.*SystemExit: 2")


@pytest.mark.parametrize(
    ("offer", "said"),
    [
        ("[dict]", "is no metric class"),
        ("[nDCG(5)]", "is a metric object: offer its class"),
        ("[type('Nameless', (nDCG,), {'name': ''})]", "cannot be typed"),
        ("[type('A', (nDCG,), {'name': 'One'}), type('B', (nDCG,), {'name': 'one'})]", "'one' of plugin.*is taken"),
        ("7", "TypeError"),
    ],
    ids=["no metric", "an instance", "no name", "two of one name", "no list"],
)
def test_8_what_is_no_metric_class_is_left_out(install, offer, said):  # noqa: F811
    found = install(f"from bridgeval.metrics import nDCG\n@hookimpl\ndef bridgeval_metrics(): return {offer}")
    warn_of(found, said)


CONVENTION = (
    "from bridgeval.metrics import Precision\n"
    "def typed(k, deep=False): return Precision(k)\n"
    "def failing(k): raise RuntimeError('no')\n"
    "@hookimpl\ndef bridgeval_conventions(): return [Convention('house', {%s})]"
)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("'P': entry(Precision, divide='k')", "house:P sets 'divide', which Precision does not have"),
        ("'P': entry(Precision, divide_by='nothing')", "house:P cannot be made: Precision has no divide_by='nothing'"),
        ("'P': 7", "house:P is 7"),
        ("'P at': entry(Precision)", "'P at' in 'house' cannot be typed"),
    ],
)
def test_9_a_convention_with_a_wrong_line_is_reported_when_it_is_loaded(install, line, said):  # noqa: F811
    warn_of(install(CONVENTION % line), said, "conventions")


def test_9_a_typo_to_a_function_maker_is_the_users_and_a_failing_maker_the_plugins(install):  # noqa: F811
    install(CONVENTION % "'P': typed, 'F': failing")
    assert str(bridgeval.parse("house:P(deep=True)@5")[0]) == "house:P(deep=True)@5"
    with pytest.raises(BadParameterError, match=r"no parameter 'dep'.*its parameters are deep"):
        bridgeval.parse("house:P(dep=True)@5")
    with pytest.raises(PluginFailedError, match=r"own-package 1\.0 failed in making 'house:F@5'.*RuntimeError: no"):
        bridgeval.parse("house:F@5")


def test_10_every_problem_of_a_plugin_is_kept_and_listed(install, capsys):  # noqa: F811
    from bridgeval.cli import program

    found = install("@hookimpl\ndef bridgeval_metrics(): return [dict, list]\n@hookimpl\ndef bridgeval_sinks(): 1 / 0")
    program.main(["plugins", "--json"], standalone_mode=False)
    (own,) = [one for one in json.loads(capsys.readouterr().out) if one["name"] == "own"]
    assert (own["package"], own["version"], own["state"]) == ("own-package", "1.0", "loaded")
    assert len(own["problems"]) == len(info(found, "own").problems) == 3
    program.main(["plugins"], standalone_mode=False)
    assert "ZeroDivisionError" in capsys.readouterr().out


def test_11_nested_tuples_round_trip():
    @dataclass(frozen=True)
    class Nested(TopKMetric):
        name = "Nested"
        pairs: tuple[tuple[str, int], ...] = ()

    found = plugins.load_plugins(entry_points=())
    found.metrics["Nested"] = Nested
    metric = Nested(5, (("a", 1), ("b", 2)))
    assert bridgeval.parse(str(metric), plugins=found) == [metric]


def test_12_a_forgotten_dataclass_is_told(install):  # noqa: F811
    source = "class Own(TopKMetric):\n    name = 'Own'\n    alpha: float = 0.5\n"
    found = install(source + "@hookimpl\ndef bridgeval_metrics(): return [Own]")
    warn_of(found, "Own declares 'alpha' without @dataclass")
    names: dict = {}
    exec("from bridgeval.plugin import TopKMetric\n" + source, names)
    with pytest.raises(BadParameterError, match="Own declares 'alpha', which is no parameter of it"):
        names["Own"](5)


def test_13_a_metric_of_a_plugin_that_is_absent_is_explained(plugin, monkeypatch):  # noqa: F811
    found = plugins.load_plugins(["own"], entry_points=[plugin(METRIC.format(name="OwnMetric"))])
    with pytest.raises(
        UnknownMetricError, match=r"plugin 'own' of own-package 1\.0 is switched off: see `bridgeval pl"
    ):
        bridgeval.parse("OwnMetric@5", plugins=found)


def test_13_versions_of_plugins_stand_in_the_manifest(install):  # noqa: F811
    install(METRIC.format(name="OwnMetric"))
    report = bridgeval.evaluate(SHOWN, RELEVANT, "Recall@2")
    assert report.to_dict()["manifest"]["versions"]["own-package"] == "1.0"


def test_15_a_name_that_cannot_be_typed_is_left_out(install):  # noqa: F811
    found = install(METRIC.format(name="alpha-nDCG"))
    warn_of(found, r"the name 'alpha-nDCG' of Own cannot be typed: call it e\.g\. 'alpha_nDCG'")


def test_13_the_plugin_of_a_metric_is_told(install, capsys):  # noqa: F811
    from bridgeval.cli import program

    install(METRIC.format(name="OwnMetric"))
    program.main(["metrics", "OwnMetric"], standalone_mode=False)
    assert "comes with: plugin 'own' of own-package 1.0\n" in capsys.readouterr().out
    program.main(["metrics", "nDCG"], standalone_mode=False)
    assert "comes with" not in capsys.readouterr().out


def test_14_a_name_that_marks_a_class_is_explained_if_it_is_typed():
    class Halves(UserAverageTopKMetric):
        def compute_scores(self, preds, target, top_k_rel, **kwargs):
            return torch.full((len(preds),), 0.5)

    name = str(warprec.metric(Halves, 5))
    assert name == "custom:Halves@5"
    with pytest.raises(UnknownMetricError, match=r"'custom' marks a class that was given as an object.*in a plugin"):
        bridgeval.parse(name)


def test_16_a_rec_only_metric_of_replay_says_what_it_lacks():
    class Bare(replay.RecOnlyMetric):
        @staticmethod
        def _get_metric_value_by_user(k, pred):
            return 1.0

    class Newer(replay.RecOnlyMetric):
        def _get_enriched_recommendations(self, recommendations, *_):
            return recommendations

        @staticmethod
        def _get_metric_value_by_user(ks, pred):
            return [1.0 for _ in ks]

    frame = pandas.DataFrame({"user_idx": [1], "item_idx": [7], "relevance": [0.9]})
    with pytest.raises(BadParameterError, match="Bare must define _get_enriched_recommendations"):
        Bare()(frame, k=1)
    with pytest.raises(
        BadParameterError, match=r"Newer.*found: _get_metric_value_by_user\(ks, pred\).*call the first.* k"
    ):
        Newer()(frame, k=1)


def test_17_a_collision_of_two_plugins_names_both_packages(plugin):  # noqa: F811
    points = [plugin(METRIC.format(name="Same"), name, f"{name}-package 2.0") for name in ("one", "two")]
    found = plugins.load_plugins(entry_points=points)
    warn_of(
        found, r"'Same' of plugin 'two' of two-package 2\.0 is left out.*plugin 'one' of one-package 2\.0 offers it"
    )
