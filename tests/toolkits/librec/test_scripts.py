"""Metric scripts of a study: what they may import, what they compute, and that importing them leaves no trace."""

from __future__ import annotations

import re
import shutil
import sys
import threading
import warnings
from pathlib import Path
from types import ModuleType

import pytest

import bridgeval
from bridgeval.errors import BadParameterError, MetricFailedError, PluginFailedError, SpecError
from bridgeval.toolkits.librec import ListBasedMetric, Study, custom, read_config_file, single_xpath
from bridgeval.toolkits.librec.scripts import import_script
from bridgeval.toolkits.librec.study_report import StudyWarning
from tests.toolkits.librec.studies import GOLDENS, read_golden, write

MAIN = """
if __name__ == "__main__":
    raise SystemExit("scripts are imported, not run")
"""

# In the shape of the scripts that librec-auto ships: a configuration, a further argument, prints.
SHIPPED_SHAPE = """
import argparse, math
import numpy as np
from librec_auto.core.eval import ListBasedMetric
from librec_auto.core import read_config_file, ConfigCmd

class BinaryGain(ListBasedMetric):
    def __init__(self, params: dict, conf: ConfigCmd, test_data: np.array, result_data: np.array, output_file,
                 user_file=None) -> None:
        super().__init__(params, conf, test_data, result_data, output_file)
        self._user_file = user_file

    def evaluate_user(self, test_user_data, result_user_data):
        size, relevant = int(self._params["list_size"]), set(test_user_data[:, 1])
        found = [1 / math.log(place + 2) for place in range(size) if result_user_data[place][1] in relevant]
        return sum(found) / sum(1 / math.log(place + 2) for place in range(min(size, len(test_user_data))))

    def postprocessing(self):
        print("the mean is", np.average(self._values))
        return np.average(self._values)
"""

# In the shape of the guide's list metric: items are looked up as integers.
GUIDE_LIST = """
import math
import numpy as np
from librec_auto.core.eval.metrics.list_based_metric import ListBasedMetric

class FirstRowsFirst(ListBasedMetric):
    def __init__(self, params: dict, test_data: np.array, result_data: np.array, output_file: str) -> None:
        super().__init__(params, test_data, result_data, output_file)
        self._list_size = int(params["list_size"])

    def evaluate_user(self, test_user_data, result_user_data):
        items = list(test_user_data[:, 1])
        gains = [2.0 ** (len(items) - place) - 1 for place in range(len(items))]
        found = 0.0
        for place in range(self._list_size):
            item = int(result_user_data[place][1])
            if item in items:
                found += gains[items.index(item)] / math.log(place + 2)
        return found / sum(gain / math.log(place + 2) for place, gain in enumerate(gains[: self._list_size]))

    def postprocessing(self):
        return np.average(self._values)
"""

# In the shape of the guide's row metric.
GUIDE_ROWS = """
import numpy as np
from librec_auto.core.eval.metrics.row_based_metric import RowBasedMetric

class SquareRoot(RowBasedMetric):
    def __init__(self, params: dict, test_data: np.array, result_data: np.array, output_file) -> None:
        super().__init__(params, test_data, result_data, output_file)
        self._name = "RMSE"

    def evaluate_row(self, test: np.array, result: np.array):
        return (test[2] - result[2]) ** 2

    def post_row_processing(self):
        return (sum(self._scores) / len(self._scores)) ** 0.5
"""

# An `evaluate` of its own, over all rows; the value is saved, as librec-auto wants it.
OWN_EVALUATE = """
import numpy as np
from librec_auto.core.eval import ListBasedMetric
from librec_auto.core import ConfigCmd

class ScoresAsExposure(ListBasedMetric):
    def __init__(self, params, conf, test_data, result_data, output_file):
        super().__init__(params, conf, test_data, result_data, output_file)

    def evaluate(self):
        low, high = self._test_data[:, 2].min(), self._test_data[:, 2].max()

        def exposure(rows, item):
            scores = rows[rows[:, 1] == item, 2]
            return ((scores - low) / (high - low)).mean() if len(scores) else 0.0

        items = np.unique(self._result_data[:, 1])
        errors = [exposure(self._result_data, item) - exposure(self._test_data, item) for item in items]
        self._save_custom_results(np.square(errors).mean())
"""

# The value depends on the order of users: 2 before 10.
IN_ORDER = """
from collections import Counter
from librec_auto.core.eval import ListBasedMetric
from librec_auto.core import ConfigCmd

class Repeats(ListBasedMetric):
    def __init__(self, params, conf, test_data, result_data, output_file):
        super().__init__(params, conf, test_data, result_data, output_file)
        self._shown = Counter()

    def evaluate_user(self, test_user_data, result_user_data):
        items = set(result_user_data[:, 1])
        self._shown.update(items)
        return sum(self._shown[item] >= int(self._params["alpha"]) for item in items)

    def postprocessing(self):
        return self._values[-1] / len(self._values)
"""

# Metrics of re-ranking compare with the original lists.
RERANKED = """
from librec_auto.core.eval import ListBasedMetric
from librec_auto.core import ConfigCmd

class Overlap(ListBasedMetric):
    def __init__(self, params, conf: ConfigCmd, original_data, reranked_data, output_file, user_file=None):
        super().__init__(params, conf, original_data, reranked_data, output_file)

    def evaluate_user(self, original, reranked):
        size = int(self._params["list_size"])
        before, after = original[:, 1].tolist(), reranked[:, 1].tolist()
        return sum(len({*before[:depth]} & {*after[:depth]}) / depth for depth in range(1, size + 1)) / size
"""

# Features are read by way of the configuration.
FEATURES = """
from pathlib import Path
from librec_auto.core.cmd.rerank import Rerank_Helper, User_Helper, Reranker
from librec_auto.core.util.xml_utils import single_xpath
from librec_auto.core.util.protected_feature import ProtectedFeature
from librec_auto.core.eval import ListBasedMetric
from librec_auto.core import read_config_file, ConfigCmd

class Protected(ListBasedMetric):
    def preprocessing(self):
        folder = Path(self._conf.get_target()) / single_xpath(self._conf.get_xml(), "/librec-auto/data/data-dir").text
        name = single_xpath(self._conf.get_xml(), "/librec-auto/features/item-feature-file").text
        rows = [line.split(",") for line in (folder / name).read_text().splitlines()]
        self._new = {int(item) for item, feature, _ in rows if feature == self.get_params()["protected_feature"]}

    def __init__(self, params, conf, test_data, result_data, output_file):
        super().__init__(params, conf, test_data, result_data, output_file)

    def evaluate_user(self, test_user_data, result_user_data):
        shown = [int(item) in self._new for item in result_user_data[: int(self.get_params()["list_size"]), 1]]
        return (2 * sum(shown) - len(shown)) / len(shown)
"""


def study_with(script: str, case: str, folder: Path, **parameters: str) -> Study:
    """A copy of a golden study whose only metric is a script of its own."""
    copy = shutil.copytree(GOLDENS / case / "study", folder / "study")
    write(copy / "scripts" / "my-metric.py", script + MAIN)
    given = "".join(f'<param name="{name}">{value}</param>' for name, value in parameters.items())
    element = f'<script lang="python3" src="scripts"><script-name>my-metric.py</script-name>{given}</script>'
    config = copy / "conf" / "config.xml"
    ranking = "<ranking>false</ranking>" if "rating" in case else "<ranking>true</ranking>"
    text = re.sub("<metric>.*</metric>", f"<metric>{ranking}{element}</metric>", config.read_text(), flags=re.DOTALL)
    config.write_text(text)
    return Study(copy)


@pytest.mark.parametrize(
    ("script", "case", "section", "key", "parameters"),
    [
        pytest.param(SHIPPED_SHAPE, "real_ranking_kcv3", "head", "ndcg@10", {"list_size": "10"}, id="shipped"),
        pytest.param(GUIDE_LIST, "real_ranking_kcv3", "pypi", "ndcg@10", {"list_size": "10"}, id="guide, lists"),
        pytest.param(IN_ORDER, "lexicographic_users", "head", "alpha_ia[alpha=4]", {"alpha": "4"}, id="in order"),
        pytest.param(GUIDE_ROWS, "real_rating_kcv2", "head", "row_rmse", {}, id="guide, rows"),
        pytest.param(OWN_EVALUATE, "real_ranking_kcv3", "pypi", "expected_exposure", {}, id="own evaluate"),
        pytest.param(RERANKED, "real_rerank_far", "head", "rbo@10", {"list_size": "10"}, id="re-ranked"),
        pytest.param(
            FEATURES,
            "real_ranking_kcv3",
            "head",
            "psp@10",
            {"list_size": "10", "protected_feature": "new"},
            id="features",
        ),
    ],
)
def test_trusted_scripts_give_the_numbers_of_librec_auto(tmp_path, script, case, section, key, parameters):
    study = study_with(script, case, tmp_path, **parameters)
    with warnings.catch_warnings():
        # Java values of re-ranked lists, see test_study_report.
        warnings.simplefilter("ignore", StudyWarning)
        report = study.evaluate(trust_scripts=True)
    (metric,) = report.metrics
    expected = read_golden(case, section, key)
    assert len(expected) > 1
    found = {place: report[place[0]][place[1]][metric] for place in expected}
    assert found == pytest.approx(expected, rel=1e-9)


def test_the_guides_metric_finds_its_items_in_a_fold(tmp_path):
    """It looks for `int(item)` among the test items; while these were text, it gave 0.0 without a word."""
    metric = custom(import_script(write(tmp_path / "guide.py", GUIDE_LIST)), {"list_size": "10"})
    for (experiment, fold), value in read_golden("real_ranking_kcv3", "pypi", "ndcg@10").items():
        report = Study(GOLDENS / "real_ranking_kcv3" / "study")[experiment][fold].evaluate(metric)
        assert report[str(metric)] == pytest.approx(value, rel=1e-9)


def test_a_script_that_needs_more_than_a_study_has_is_refused(tmp_path):
    with pytest.raises(SpecError, match=r"my-metric.py\(list_size=10\) was left out: needs 'original lists'"):
        study_with(RERANKED, "real_ranking_kcv3", tmp_path / "a", list_size="10").evaluate(trust_scripts=True)
    wanting = SHIPPED_SHAPE.replace("user_file=None", "item_feature_df, itemids")
    with pytest.raises(BadParameterError, match="found: item_feature_df, itemids; hint: derive a class"):
        study_with(wanting, "real_ranking_kcv3", tmp_path / "b", list_size="10").evaluate(trust_scripts=True)
    globals_only = "from librec_auto.core.eval import ListBasedMetric\nclass All(ListBasedMetric):\n"
    globals_only += "    def evaluate(self):\n        return result_data.mean()\n"
    with pytest.raises(MetricFailedError, match=r"NameError: name 'result_data' .* main block of a script is not run"):
        study_with(globals_only, "real_ranking_kcv3", tmp_path / "c").evaluate(trust_scripts=True)


def test_what_a_script_prints_goes_to_stderr(tmp_path, capsys):
    study_with(SHIPPED_SHAPE, "two_experiments", tmp_path, list_size="3").evaluate(trust_scripts=True)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("the mean is") >= 4


SPY = """
import sys, warnings
warnings.filterwarnings("ignore")
import librec_auto.core.eval as eval_
from librec_auto.core.eval.metrics import list_based_metric
import helper_of_the_script
from tools_of_the_script import weights
from tools_of_the_script.deeper import DEEP

DURING = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "librec_auto"}

class Mine(eval_.ListBasedMetric):
    seen = DURING

    def evaluate_user(self, test_user_data, result_user_data):
        from librec_auto.core import ConfigCmd
        assert list_based_metric.ListBasedMetric is eval_.ListBasedMetric
        return helper_of_the_script.VALUE + weights.WEIGHT + DEEP
"""


def write_spy(folder: Path) -> Path:
    write(folder / "helper_of_the_script.py", "from librec_auto.core.eval import RowBasedMetric", "VALUE = 2.5")
    write(folder / "tools_of_the_script" / "__init__.py", "from . import weights")
    write(folder / "tools_of_the_script" / "weights.py", "WEIGHT = 10")
    write(folder / "tools_of_the_script" / "deeper.py", "from .weights import WEIGHT", "DEEP = 10 * WEIGHT")
    return write(folder / "mine-metric.py", SPY)


def test_importing_a_script_changes_nothing_of_the_process(tmp_path, monkeypatch):
    installed = ModuleType("librec_auto")
    monkeypatch.setitem(sys.modules, "librec_auto", installed)
    modules, paths, cached = dict(sys.modules), list(sys.path), set(sys.path_importer_cache)
    filters = list(warnings.filters)
    path = write_spy(tmp_path)
    files = sorted(tmp_path.rglob("*"))
    metric = import_script(path)
    # Neither after the import nor while the script was executed.
    assert metric.seen == {"librec_auto": installed}
    assert sys.modules == modules
    assert sys.path == paths
    assert set(sys.path_importer_cache) == cached
    assert list(warnings.filters) == filters
    assert sorted(tmp_path.rglob("*")) == files
    # Modules of the folder, and imports inside functions, are there when the metric is evaluated.
    assert issubclass(metric, ListBasedMetric)
    assert dict(bridgeval.evaluate({"u": ["a"]}, {"u": ["a"]}, custom(metric))) == {"Mine": 112.5}
    assert sys.modules == modules


def test_scripts_may_be_imported_in_parallel(tmp_path):
    paths = [write_spy(tmp_path / str(number)) for number in range(4)]
    found = []
    threads = [threading.Thread(target=lambda path=path: found.append(import_script(path))) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [metric.__name__ for metric in found] == ["Mine"] * 4
    assert len(set(found)) == 4
    assert not any(metric.seen for metric in found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import librec_auto.core.job", "ModuleNotFoundError.*of librec-auto there are librec_auto.core, "),
        ("from librec_auto.core import Job", "ImportError: cannot import name 'Job'"),
        ("import no_such_package", "No module named 'no_such_package'; hint: install what it imports"),
        ("from .beside import x", "ImportError"),
        ("x = 1", r"must define one metric class; found: \[\]"),
        ("1 / 0", "ZeroDivisionError"),
        ("def f(:", "SyntaxError"),
        ("raise SystemExit(2)", "SystemExit: 2"),
        (
            "from librec_auto.core.eval import ListBasedMetric as L\nclass A(L): pass\nclass B(L): pass",
            r"must define one metric class; found: \['A', 'B'\]",
        ),
        (
            "from librec_auto.core.cmd.rerank import Reranker\nReranker()",
            "Reranker of librec-auto is not available here",
        ),
    ],
)
def test_a_script_that_cannot_be_used_is_an_error(tmp_path, text, found):
    with pytest.raises(PluginFailedError, match=found):
        import_script(write(tmp_path / "bad.py", text))
    assert "librec_auto" not in sys.modules


def test_a_script_must_be_a_python_file(tmp_path):
    with pytest.raises(PluginFailedError, match="a metric script is a Python file"):
        import_script(write(tmp_path / "metric.txt", "x = 1"))


def test_a_configuration_is_read_as_librec_auto_reads_it():
    folder = GOLDENS / "real_ranking_kcv3" / "study"
    config = read_config_file("config.xml", folder)
    assert config.get_target() == folder
    assert single_xpath(config.get_xml(), "/librec-auto/splitter/model").get("count") == "3"
    assert single_xpath(config.get_xml(), "/librec-auto/no/such/element") is None
    assert repr(config) == f"ConfigCmd({str(folder)!r})"
