"""State files: what they hold, and that no damaged one gives a number."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch

import bridgeval
from bridgeval.engine.state_codec import BUILT_IN, Decoder, Encoder, find_classes
from bridgeval.engine.state_files import MAGIC, StateFile
from bridgeval.errors import BridgevalError, BridgevalWarning, StateFileError
from bridgeval.merging import merge_files
from bridgeval.slices import of_items
from bridgeval.tables.ids import Ids
from bridgeval.testing import world


def there_and_back(value: Any) -> Any:
    encoder = Encoder()
    node = json.loads(json.dumps(encoder.encode(value), allow_nan=False))
    return Decoder(encoder.arrays).decode(node)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -7,
        2**70,
        0.1,
        float("inf"),
        -0.0,
        "a\n\u2028\U0001f600",
        (1, (2.0, "x")),
        [1, [None]],
        {1: "a", "1": "b"},
    ],
)
def test_plain_values_come_back_as_they_were(value):
    assert there_and_back(value) == value
    assert repr(there_and_back(value)) == repr(value)


@pytest.mark.parametrize(
    "array",
    [
        np.array([[1.5, np.nan], [-np.inf, 2.0]]),
        np.zeros((0, 3)),
        np.array(7.0),
        np.array([True, False]),
        np.array([[1, 2]], dtype=np.int32)[:, ::-1],
        np.array([1, 2], dtype=">i4"),
    ],
)
def test_arrays_come_back_as_they_were_and_can_be_written_to(array):
    found = there_and_back(array)
    np.testing.assert_array_equal(found, array)
    assert found.dtype == array.dtype.newbyteorder("=")
    found[...] = 0


def test_arrays_of_objects_and_tensors_come_back():
    rows = np.array([["u", 7, 0.5], ["v", 8, float("nan")]], dtype=object)
    found = there_and_back(rows)
    assert found.shape == (2, 3)
    assert repr(found.tolist()) == repr(rows.tolist())
    assert torch.equal(there_and_back(torch.tensor([[1, 2]])), torch.tensor([[1, 2]]))


@pytest.mark.parametrize("ids", [[], [5, -(2**63), 2**63 - 1, 5], ["b", "", "\u00e9\U0001f600", "b"], ["x"] * 3])
def test_ids_keep_their_type_and_their_order(ids):
    column = Ids.of(ids)
    for one in (column, Ids.of([*ids, *ids]).slice(len(ids), 2 * len(ids))):
        found = there_and_back(one)
        assert found.tolist() == ids
        assert found.is_integer == one.is_integer


def test_equal_arrays_are_kept_once():
    encoder = Encoder()
    encoder.encode(tuple(np.arange(1000.0) for _ in range(5)))
    assert len(encoder.arrays) == 1


def test_a_class_that_the_metric_does_not_use_is_not_made():
    with pytest.raises(KeyError):
        Decoder([]).decode({"state": ["Popen", {}]}, BUILT_IN)


def test_sorted_user_ids_take_little_room(tmp_path):
    lists = {user: ["a"] for user in range(20_000)}
    bridgeval.evaluate(lists, lists, "Recall@1", state=tmp_path / "1.state")
    assert os.path.getsize(tmp_path / "1.state") < 20_000


@dataclass(frozen=True)
class Extremes:
    """A state of an author's own: plain fields, and one of another class."""

    low: float = float("inf")
    counts: tuple[Extremes, ...] = ()
    kind: str | None = None

    def merge(self, other: Extremes) -> Extremes:
        return Extremes(min(self.low, other.low), self.counts + other.counts, self.kind or other.kind)


@dataclass(frozen=True)
class LowestPlace(bridgeval.Metric):
    name = "LowestPlace"

    def start(self) -> Extremes:
        return Extremes()

    def update(self, blocks: bridgeval.Blocks) -> Extremes:
        return Extremes(float(blocks.batch.shown.lengths.min()), (Extremes(1.0),), "lists")

    def compute(self, state: Any) -> bridgeval.Result:
        return bridgeval.Result(state.low, notes={"batches": len(state.counts)})


def test_a_dataclass_of_an_author_travels_without_being_registered(tmp_path):
    files = [tmp_path / "1.state", tmp_path / "2.state"]
    bridgeval.evaluate({1: ["a", "b"]}, {1: ["a"]}, LowestPlace(), state=files[0])
    bridgeval.evaluate({2: ["a"]}, {2: ["a"]}, LowestPlace(), state=files[1])
    report = bridgeval.merge(files, metrics=LowestPlace())
    assert report["LowestPlace"] == 1.0
    assert report.results["LowestPlace"].notes == {"batches": 2}


class Opaque:
    def __init__(self, lengths: frozenset[int] = frozenset()) -> None:
        self.lengths = lengths

    def merge(self, other: Any) -> Any:
        return type(self)(self.lengths | other.lengths)


class Told(Opaque):
    def to_plain(self) -> list[int]:
        return sorted(self.lengths)

    @classmethod
    def from_plain(cls, plain: list[int]) -> Told:
        return cls(frozenset(plain))


@dataclass(frozen=True)
class DistinctLengths(bridgeval.Metric):
    name = "DistinctLengths"
    state: type = field(default=Opaque)

    def start(self) -> Any:
        return self.state()

    def update(self, blocks: bridgeval.Blocks) -> Any:
        return self.state(frozenset(blocks.batch.shown.lengths.tolist()))

    def compute(self, state: Any) -> bridgeval.Result:
        return bridgeval.Result(float(len(state.lengths)))


def test_a_state_that_is_not_plain_is_an_error_that_names_the_metric_and_says_how(tmp_path):
    with pytest.raises(StateFileError, match=r"DistinctLengths.* cannot be written.*Opaque.*to_plain.*from_plain"):
        bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, DistinctLengths(), state=tmp_path / "1.state")
    assert list(tmp_path.iterdir()) == []


def test_a_state_may_tell_itself_what_it_is_made_of(tmp_path):
    metric, files = DistinctLengths(Told), [tmp_path / "1.state", tmp_path / "2.state"]
    bridgeval.evaluate({1: ["a", "b"]}, {1: ["a"]}, metric, state=files[0])
    bridgeval.evaluate({2: ["a"]}, {2: ["a"]}, metric, state=files[1])
    assert bridgeval.merge(files, metrics=metric)[str(metric)] == 2.0


def test_classes_are_found_through_the_types_of_fields():
    assert {"Extremes"} <= find_classes(LowestPlace()).keys()


def test_no_class_outside_is_imported_for_a_file(tmp_path):
    """The names in a file are compared with classes that the metric has already; none is imported or looked up."""
    path = tmp_path / "1.state"
    bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, "Recall@1", state=path)
    data = path.read_bytes().replace(b'"Moments"', b'"colorsys:Moments"')
    code = (
        "import sys, bridgeval.engine.state_files as s, bridgeval.merging as m\n"
        f"try: m.merge_files([s.StateFile.of({reseal(data)!r}, 'x')], 'distinct')\n"
        "except s.StateFileError: print('colorsys' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_newer_file_is_an_error_that_says_so():
    with pytest.raises(StateFileError, match=r"newer.*format 2; this one reads up to 1; hint: upgrade"):
        StateFile.of(MAGIC + b"2 " + b"0" * 64 + b"\n{}\n", "x.state")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"\x80\x04\x95", b"bridgeval-state", b"{}"])
def test_a_foreign_file_is_an_error_that_says_so(content):
    with pytest.raises(StateFileError, match=r"'x' is not a state file; found: it .*; hint: give files that"):
        StateFile.of(content, "x")


def reseal(data: bytes) -> bytes:
    """The file with a checksum that fits its content: one that was edited on purpose."""
    content = data.partition(b"\n")[2]
    return MAGIC + b"1 " + hashlib.sha256(content).hexdigest().encode() + b"\n" + content


@pytest.fixture(scope="module")
def healthy(tmp_path_factory) -> list[bytes]:
    """Two files of many kinds of states."""
    data, folder = world("string"), tmp_path_factory.mktemp("healthy")
    users = sorted({*data.recommendations, *data.relevance})
    names = [
        "nDCG@3",
        'Recall(over="median")@3',
        "Gini@3",
        "ARP@3",
        "RMSE",
        "PopREO@3",
        "NCISPrecision@3",
        "BiasDisparityBD@3",
    ]
    files = []
    for part in range(2):
        shown, relevant = (
            {user: rows for user, rows in side.items() if users.index(user) % 2 == part}
            for side in (data.recommendations, data.relevance)
        )
        path = folder / f"{part}.state"
        genres = of_items({item: f"genre {at % 2}" for at, item in enumerate(data.extras["catalogue"])})
        extras = {name: value for name, value in data.extras.items() if name != "users"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BridgevalWarning)
            bridgeval.evaluate(shown, relevant, names, **extras, per_user=True, by=genres, state=path)
        files.append(path.read_bytes())
    return files


def damage(data: bytes, draw: random.Random) -> bytes:
    """One of several kinds of damage; never the same bytes."""
    kind, at = draw.randrange(6), draw.randrange(len(data))
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data + draw.randbytes(1 + draw.randrange(9))
    if kind == 2:
        return data[:at] + data[at + 1 + draw.randrange(64) :]
    if kind == 3:
        end = at + draw.randrange(1, 200)
        blank = bytes(len(data[at:end]))
        return data[:at] + (blank if data[at:end] != blank else b"") + data[end:]
    if kind == 4:
        return edit_header(data, draw)
    return data[:at] + bytes([data[at] ^ (1 << draw.randrange(8))]) + data[at + 1 :]


JUNK: list[Any] = [
    *(None, True, -1, 0, 3, 1e300, "x", "", [], {}, [[]]),
    {"tuple": []},
    {"dict": [[[], 1]]},
    {"ids": [["<i8", [1], 0]]},
    {"array": ["<f8", [10**12], 0]},
    {"float": "nan"},
    {"objects": [[2], [1, 2]]},
    {"state": ["Moments", {}]},
]


def edit_header(data: bytes, draw: random.Random) -> bytes:
    """Another value somewhere in the header."""
    first, header, body = data.split(b"\n", 2)
    document = json.loads(header)
    before = json.dumps(document)
    while json.dumps(document) == before:
        document = json.loads(before)
        place: Any = document
        while True:
            key = draw.choice(list(place)) if isinstance(place, dict) else draw.randrange(len(place))
            if isinstance(place[key], dict | list) and place[key] and draw.random() < 0.85:
                place = place[key]
                continue
            if draw.random() < 0.2:
                del place[key]
            else:
                place[key] = draw.choice(JUNK)
            break
    return b"\n".join([first, json.dumps(document).encode(), body])


def check_damaged(healthy: list[bytes], count: int) -> None:
    whole = merge_files([StateFile.of(data, "healthy") for data in healthy], "distinct")
    assert len(whole) >= 8
    for seed in range(count):
        draw = random.Random(seed)
        files = list(healthy)
        files[seed % 2] = damage(files[seed % 2], draw)
        assert files != healthy
        with pytest.raises(StateFileError) as caught:
            merge_files([StateFile.of(data, "damaged") for data in files], "distinct")
        assert all([caught.value.wrong, caught.value.found, caught.value.hint])


def check_edited(healthy: list[bytes], count: int) -> None:
    """An edit whose checksum was made to fit may be a number like any other, but breaks nothing."""
    refused = 0
    for seed in range(count):
        files = list(healthy)
        files[seed % 2] = reseal(edit_header(files[seed % 2], random.Random(seed)))
        try:
            str(merge_files([StateFile.of(data, "edited") for data in files], "distinct"))
        except (BridgevalError, BridgevalWarning):
            refused += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
    assert refused > 0.7 * count


@pytest.mark.filterwarnings("ignore::bridgeval.errors.BridgevalWarning")
def test_no_damaged_file_gives_a_number_or_another_error(healthy):
    check_damaged(healthy, 300)


@pytest.mark.filterwarnings("ignore::bridgeval.errors.BridgevalWarning")
def test_an_edited_file_with_a_checksum_that_fits_breaks_nothing(healthy):
    check_edited(healthy, 150)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bridgeval.errors.BridgevalWarning")
def test_of_ten_thousand_damaged_files_none_gives_a_number_or_another_error(healthy):
    check_damaged(healthy, 10_000)
    check_edited(healthy, 10_000)
