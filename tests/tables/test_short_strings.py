"""Short strings are encoded as Arrow encodes them, whatever they hold."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridgeval.tables import short_strings
from bridgeval.tables.short_strings import encode_text


def column_of(strings, start=0):
    return pa.array(["before"] * start + strings, pa.large_string())[start:]


def same(strings, start=0, cuts=()):
    """The strings, in pieces that end where it is cut."""
    ends = [0, *sorted(cuts), len(strings)]
    pieces = [column_of(strings[first:last], start) for first, last in pairwise(ends)]
    encoded = encode_text(pieces)
    assert encoded.strings.take(pa.array(encoded.codes)).to_pylist() == strings
    assert encoded.strings.type == pa.large_string()
    assert sorted(encoded.strings.to_pylist()) == sorted(set(strings))


short = st.text(st.sampled_from("ab7é京\0"), max_size=9)


@given(
    st.lists(short, min_size=1, max_size=30),
    st.sampled_from(["", "u", "user-", "a long way before it"]),
    st.integers(0, 3),
    st.lists(st.integers(0, 30), max_size=3),
)
def test_any_strings_behind_any_beginning_in_any_pieces(strings, prefix, start, cuts):
    same([prefix + string for string in strings], start, [min(cut, len(strings)) for cut in cuts])


@given(st.lists(st.text(st.sampled_from("0123456789"), min_size=8, max_size=8), min_size=1, max_size=30))
def test_strings_of_one_length(strings):
    same(strings)
    same(["i" + string for string in strings])


@pytest.mark.parametrize(
    "strings",
    [
        ["u1", "u10", "u1"],
        ["u00000001", "u00000002"],
        ["12345678", "1"],
        ["i12345678", "j12345678"],
        ["i12345678", ""],
        ["", ""],
        ["a", "a\0"],
        ["\0", ""],
    ],
)
def test_edges(strings):
    same(strings, start=2)


def test_a_long_string_behind_many_short_ones():
    same(["u1"] * short_strings.NEAR + ["a string of more than eight bytes"])


def test_short_strings_are_read_as_integers():
    text = short_strings._Text.of(column_of(["u00000001", "u23"]))
    words = short_strings._words([text], text.beginning)
    assert words.tobytes() == b"00000001" + b"23".ljust(8, b"\0")
