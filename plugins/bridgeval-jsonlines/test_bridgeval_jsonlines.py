import json

import pytest
from bridgeval_jsonlines import JsonLines, JsonLinesLoader

import bridgeval
from bridgeval.errors import InputError
from bridgeval.testing import check_loader, world


@pytest.mark.parametrize("ids", ["integer", "string"])
def test_it_keeps_the_laws(ids, tmp_path):
    data = world(ids, fractions=True)
    shown, relevant = tmp_path / "shown.jsonl", tmp_path / "relevant.jsonl"
    with shown.open("w") as file:
        for user, pairs in data.recommendations.items():
            items, scores = [item for item, _ in pairs], [score for _, score in pairs]
            print(json.dumps({"user": user, "items": items, "scores": scores}), file=file)
    with relevant.open("w") as file:
        for user, gains in data.relevance.items():
            print(json.dumps({"user": user, "items": list(gains), "gains": list(gains.values())}), file=file)
    check_loader(JsonLinesLoader(), JsonLines(shown), JsonLines(relevant), world=data, **data.extras)


def test_a_line_that_cannot_be_read_is_named(tmp_path):
    path = tmp_path / "shown.jsonl"
    path.write_text('{"user": "ann", "items": ["tea"]}\n{"user": "bob"}\n')
    with pytest.raises(InputError, match=r"line 2 of .*shown\.jsonl"):
        bridgeval.evaluate(JsonLines(path), JsonLines(path), "Recall@1", loader=JsonLinesLoader())
