"""Numbers of other evaluators: what is compared, library by library, and what is outside on purpose."""

from __future__ import annotations

import json
import math
import re
from collections import Counter

import pytest

import bridgeval
from bridgeval import plugins
from tests.golden import peers
from tests.golden.compare import DATA, Comparison, checked
from tests.golden.peer_feeds import Person
from tests.golden.peer_names import LIBRARIES
from tests.golden.peer_ties import agree, find_bounds, may_decide, never_stable

FILES = sorted(path for path in (DATA / "peers").glob("*.json") if not path.name.startswith("fixture_"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_convention_gives_the_numbers_of_its_library(path):
    found = list(checked(peers, path, json.loads(path.read_text(encoding="utf-8"))))
    assert [one for one in found if one.differs] == []
    assert Counter(one.kind for one in found)["compared"] > 0


def test_every_library_has_a_reader():
    assert {path.stem for path in FILES} == set(LIBRARIES)


def test_a_library_that_is_not_known_is_outside_and_no_error(tmp_path):
    record = {"metric": "x", "params": {}, "cutoff": 5, "fixture": "A", "ids": "int", "feed": "lists", "value": 0.5}
    (found,) = peers.comparisons(tmp_path / "unheard.json", {"records": [{**record, "value_by": "library"}]})
    assert found.outside == "no convention of this library"


def test_of_equal_scores_without_an_order_only_those_that_decide_are_outside():
    tied = Person("u", [("a", 2.0), ("x", 1.0), ("b", 1.0), ("y", 0.5)], [("a", 1.0), ("b", 1.0)])
    decides = {
        name: may_decide(tied, bridgeval.parse(name)[0], never_stable) for name in ("MAP@1", "MAP@2", "MAP@3", "MAP")
    }
    assert decides == {"MAP@1": False, "MAP@2": True, "MAP@3": True, "MAP": True}
    worst, best = find_bounds(bridgeval.parse("Precision@3")[0])
    found = bridgeval.evaluate({"u": tied.shown}, {"u": dict(tied.truth)}, [worst, best])
    assert agree(*found.values())


def test_a_number_that_no_order_of_equal_scores_gives_differs():
    assert not Comparison("x", 0.5, 0.4, outside="no order", between=(0.25, 0.5)).differs
    assert Comparison("x", 0.6, 0.4, outside="no order", between=(0.25, 0.5)).differs
    assert Comparison("x", math.nan, 0.4, outside="no order", between=(0.25, 0.5)).differs


def test_each_table_that_rests_on_goldens_is_asked_by_some_record():
    asked = set()
    for path in FILES:
        for record in json.loads(path.read_text(encoding="utf-8"))["records"]:
            if "error" not in record:
                # A weighted mean names the library's metric inside.
                asked |= set(re.findall(r"([\w-]+):", peers.ask(path.stem, record).metric)[:1])
    by_goldens = {name for name, table in plugins.installed().conventions.items() if table.verified == "goldens"}
    assert by_goldens - {"replay", "replay-experimental", "warprec", "librec"} == asked
