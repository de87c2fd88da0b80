"""Three dialects of config.xml."""

from __future__ import annotations

import pytest

from bridgeval.errors import InputError
from bridgeval.toolkits.librec.study_config import Feature, Script, read_config
from tests.toolkits.librec.studies import GOLDENS, write


def test_the_current_dialect():
    config = read_config(GOLDENS / "real_rerank_far" / "study" / "conf" / "config.xml")
    assert config.data == "data"
    assert config.ratings == ("ratings.csv",)
    assert config.item_features == "item-features.csv"
    assert config.protected == Feature("new", "item")
    assert config.java == ("ndcg", "precision", "psp")
    assert config.list_size == 25
    assert config.scripts[1] == Script("psp.py", None, {"list_size": "10", "protected_feature": "new"})
    assert config.reranked
    assert config.ranking


def test_an_experiment_says_what_was_varied():
    config = read_config(GOLDENS / "real_rerank_far" / "study" / "exp00001" / "conf" / "config.xml")
    assert config.varied == {"lambda": "0.7"}
    assert config.protected == Feature("new", "item")


def test_the_dialect_of_early_2021_has_a_section_for_each_python_metric(tmp_path):
    path = write(
        tmp_path / "config.xml",
        "<librec-auto><metric><ranking>true</ranking><class>ndcg</class><class>recall , ap</class></metric>",
        '<metric python="true"><name>ndcg</name><params><list_size>5</list_size></params></metric>',
        '<metric python="true"><script-name>psp.py</script-name></metric></librec-auto>',
    )
    config = read_config(path)
    assert config.java == ("ndcg", "recall", "ap")
    assert config.scripts == (Script("ndcg", None, {"list_size": "5"}), Script("psp.py", None, {}))
    assert config.list_size == 10


def test_samples_of_2018_give_the_data_folder_under_path(tmp_path):
    path = write(
        tmp_path / "config.xml",
        "<librec-auto><path><data>../data</data><result>result</result><log>log</log></path>",
        '<rerank action="no-parse"><script><script-name>far-rerank.py</script-name></script></rerank>',
        "<metric><ranking>false</ranking><class>sp</class><protected-feature>new</protected-feature></metric>",
        "</librec-auto>",
    )
    config = read_config(path)
    assert config.data == "../data"
    assert config.java == ("sp",)
    assert config.protected == Feature("new", "item")
    assert config.reranked
    assert not config.ranking


def test_a_reference_to_a_feature_is_its_id(tmp_path):
    path = write(
        tmp_path / "config.xml",
        '<librec-auto><features><protected-feature name="fea:x" type="user">F</protected-feature></features>',
        '<metric><protected-feature ref="fea:x"/><script lang="python3" src="mine"><script-name>m.py</script-name>',
        '<param ref="fea:x"/><param name="k">3</param></script></metric></librec-auto>',
    )
    config = read_config(path)
    assert config.protected == Feature("F", "user")
    assert config.scripts == (Script("m.py", "mine", {"protected_feature": "F", "k": "3"}),)


def test_entities_are_refused(tmp_path):
    path = write(
        tmp_path / "config.xml",
        '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><librec-auto><data>&b;</data></librec-auto>',
    )
    with pytest.raises(InputError, match="cannot be read as XML"):
        read_config(path)


@pytest.mark.parametrize("text", ["<librec-auto>", "not xml", ""])
def test_broken_xml_is_an_error_that_names_the_file(tmp_path, text):
    with pytest.raises(InputError, match=r"config.xml cannot be read"):
        read_config(write(tmp_path / "config.xml", text))


def test_a_list_size_that_is_no_number_is_an_error(tmp_path):
    path = write(tmp_path / "config.xml", "<x><metric><list-size>ten</list-size></metric></x>")
    with pytest.raises(InputError, match="must be an integer; found: 'ten'"):
        read_config(path)
