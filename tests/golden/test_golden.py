"""The numbers that the toolkits themselves produced, from the copies kept beside this file."""

from __future__ import annotations

import pytest

from tests.golden import compare


@pytest.mark.parametrize("toolkit", list(compare.readers()))
def test_every_golden_value_of_a_toolkit_is_reproduced(toolkit, capsys, monkeypatch):
    monkeypatch.setattr(compare, "READERS", {toolkit: compare.READERS[toolkit]})
    assert compare.main([]) == 0, capsys.readouterr().err
    name, compared, differ, _ = capsys.readouterr().out.split()
    assert (name, differ) == (toolkit, "differ=0")
    assert int(compared.removeprefix("compared=")) > 0
