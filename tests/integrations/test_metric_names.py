"""Names for trackers: accepted everywhere, and readable back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from bridgeval import plugins, spec
from bridgeval.integrations.metric_names import decode_name, encode_name

# The strictest of the backends is W&B, whose charts ask for names that are identifiers.
ACCEPTED = re.compile(r"[A-Za-z0-9_]+")


def installed_names() -> list[str]:
    """Every name that can be asked for, bare, with a cutoff, and with every parameter of its metric written out."""
    bare = spec.names()
    natives = [
        f"{name}({', '.join(f'{key}={value!r}' for key, value in metric.default_parameters().items())})@10"
        for name, metric in plugins.installed().metrics.items()
    ]
    return [*bare, *(f"{name}@10" for name in bare), *natives, *(f"{name}[some group (a/b) = é]" for name in bare)]


def test_every_installed_name_is_accepted_and_comes_back():
    names = installed_names()
    assert len(names) > 400
    encoded = {name: encode_name(name) for name in names}
    assert {name: code for name, code in encoded.items() if not ACCEPTED.fullmatch(code)} == {}
    assert {name: code for name, code in encoded.items() if decode_name(code) != name} == {}
    assert len(set(encoded.values())) == len(set(names))


@given(st.text(alphabet=st.sampled_from("_at x@:19fé(")))
def test_text_that_looks_like_a_code_comes_back_too(name):
    assert decode_name(encode_name(name)) == name


@given(st.text())
def test_any_text_comes_back(name):
    assert decode_name(encode_name(name)) == name
    assert not name or ACCEPTED.fullmatch(encode_name(name))


@pytest.mark.parametrize(
    ("name", "encoded"),
    [
        ("nDCG@10", "nDCG_at_10"),
        ("replay:NDCG@5", "replay__NDCG_at_5"),
        ("trec_eval:P@5", "trec_eval__P_at_5"),
        ("look_at_me", "look_x5f_at_x5f_me"),
    ],
)
def test_names_stay_readable(name, encoded):
    assert encode_name(name) == encoded


@pytest.mark.parametrize("text", ["loss", "val_loss", "_xfffffff_"])
def test_other_names_of_a_tracker_are_left_alone(text):
    assert decode_name(text) == text
