"""The states of every installed metric can be saved, and are read back as they were."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
import torch

import bridgeval
from bridgeval.data.ids import Ids
from bridgeval.engine.codec import Codec
from bridgeval.engine.state import Moments
from bridgeval.errors import BadValueError
from bridgeval.testing import world
from bridgeval.testing.metrics import Trial
from tests.laws.test_metrics import NATIVE, VARIANTS, fitting_world


def through_json(codec, value):
    arrays = []
    tree = json.loads(json.dumps(codec.encoded(value, arrays)))
    return codec.decoded(tree, arrays)


@pytest.mark.parametrize("name", [*NATIVE, *VARIANTS])
def test_states_are_read_back_as_they_were(name):
    (metric,) = bridgeval.parse(name)
    trial = Trial(metric, fitting_world(metric) or world())
    codec = Codec.of([metric.start()])
    state = through_json(codec, trial.state())
    trial.expect(metric.compute(state), "read back")
    trial.expect(metric.compute(through_json(codec, metric.start()).merge(state)), "merged with a start read back")


@dataclass(frozen=True)
class Inner:
    values: object


@dataclass(frozen=True)
class Outer:
    inner: tuple[Inner, ...] = ()
    moments: Moments | None = None


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -(2**80),
        0.1,
        -math.inf,
        "ü",
        (),
        [1, (2.5, "a")],
        {1: "a", ("b", 2): None},
        {"set", "of"},
        frozenset({1}),
        Outer((Inner(1.5), Inner({"a": (1,)})), Moments(1, 2.0)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_plain_values_and_dataclasses_come_back_equal(value):
    back = through_json(Codec.of([Outer()]), value)
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(0,), (6,), (2, 3), ()])
def test_arrays_come_back_with_type_and_shape(dtype, shape):
    array = np.arange(6)[: math.prod(shape)].reshape(shape).astype(dtype)
    back = through_json(Codec(), array)
    np.testing.assert_array_equal(back, array, strict=True)
    assert back.flags.writeable
    assert torch.equal(through_json(Codec(), torch.tensor([[1.5, math.inf]])), torch.tensor([[1.5, math.inf]]))


@pytest.mark.parametrize("ids", [[3, 1], ["b", "a"], []])
def test_ids_come_back(ids):
    assert through_json(Codec(), Ids.of(ids or np.zeros(0, dtype=np.int64))).tolist() == ids


def test_classes_that_were_not_declared_are_neither_written_nor_made():
    class Pair(NamedTuple):
        one: int

    for value in (Inner(1), Pair(1), object(), np.array(["a"], dtype=object)):
        with pytest.raises(BadValueError, match="cannot be saved"):
            Codec.of([Moments()]).encoded(value, [])
    tree = Codec.of([Outer((Inner(0),))]).encoded(Inner(1), [])
    with pytest.raises(BadValueError, match="Inner"):
        Codec.of([Moments()]).decoded(tree, [])
    for broken in ({"array": 3, "shape": [1]}, {"class": "os.system"}, {"tuple": 1}, {}, []):
        with pytest.raises(BadValueError, match="cannot be read"):
            Codec.of([Moments()]).decoded(broken, [])
