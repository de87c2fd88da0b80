"""Result, split and feature files."""

from __future__ import annotations

import warnings

import pytest

from bridgeval.errors import BadValueError, DuplicateRowsWarning, InputError
from bridgeval.toolkits.librec.features import read_features
from bridgeval.toolkits.librec.study_files import FileWarning, read_ratings, read_result, read_split
from tests.toolkits.librec.studies import write


def test_ids_stay_text_and_blanks_around_them_go(tmp_path):
    rows = read_result(write(tmp_path / "out-1.txt", "7, 000010 ,0.5", " 7,10,0.4", "7,10.0,0.3"))
    assert rows.users.to_pylist() == ["7", "7", "7"]
    assert rows.items.to_pylist() == ["000010", "10", "10.0"]


def test_line_ends_byte_order_marks_and_java_exponents_are_understood(tmp_path):
    path = tmp_path / "out-1.txt"
    path.write_bytes(b"\xef\xbb\xbf1,a,4.0099079031330476E-4\r\n1,b,1.0E-7\r\n\r\n\r\n")
    rows = read_result(path)
    assert rows.users.to_pylist() == ["1", "1"]
    assert rows.numbers.tolist() == [4.0099079031330476e-4, 1e-7]


def test_carriage_returns_alone_end_lines_too(tmp_path):
    path = tmp_path / "out-1.txt"
    path.write_bytes(b"1,a,0.5\r1,b,0.4\r")
    assert read_result(path).items.to_pylist() == ["a", "b"]


def test_quotes_and_hashes_are_ordinary_characters(tmp_path):
    rows = read_result(write(tmp_path / "out-1.txt", '"a#b",x"y,1.0', "'q,z,0.5"))
    assert rows.users.to_pylist() == ['"a#b"', "'q"]
    assert rows.items.to_pylist() == ['x"y', "z"]


def test_a_file_without_a_final_line_end_has_all_its_rows(tmp_path):
    path = tmp_path / "test.txt"
    path.write_text("1\ta\t4.0\n1\tb\t3.0")
    assert read_split(path).numbers.tolist() == [4.0, 3.0]


@pytest.mark.parametrize(
    ("lines", "line", "text"),
    [
        (["user,item,score", "1,a,0.5"], 1, "no header"),
        (["1,a,0.5", "1,b"], 2, "2 column(s)"),
        (["1,a,0.5", "1,b,high"], 2, "not a number"),
        (["1,a,0.5", "1,b,NaN"], 2, "not finite"),
        (["1,a,0.5", "1,b,Infinity"], 2, "not finite"),
        (["1,a,0.5", ",b,0.4"], 2, "an id is empty"),
        (["1;a;0.5"], 1, "a semicolon"),
        (["1\ta\t0.5"], 1, "a tab"),
        (["1,a,1_000"], 1, "not a number"),
        (["1,a,"], 1, "not a number"),
    ],
)
def test_a_bad_line_is_named_with_its_file_and_text(tmp_path, lines, line, text):
    path = write(tmp_path / "out-1.txt", *lines)
    with pytest.raises(BadValueError) as caught:
        read_result(path)
    message = str(caught.value)
    assert f"{path}, line {line}:" in message
    assert text in message
    assert repr(lines[line - 1]) in message


def test_text_that_is_not_utf8_is_named_with_its_line(tmp_path):
    path = tmp_path / "out-1.txt"
    path.write_bytes(b"1,a,0.5\n2,\xff,0.4\n")
    with pytest.raises(BadValueError, match=r"out-1.txt, line 2: not UTF-8"):
        read_result(path)


def test_a_missing_and_an_empty_file_are_errors_that_name_it(tmp_path):
    with pytest.raises(InputError, match=r"nothing.txt cannot be read"):
        read_result(tmp_path / "nothing.txt")
    with pytest.raises(InputError, match=r"empty.txt is empty"):
        read_result(write(tmp_path / "empty.txt", "", " "))


def test_a_header_can_be_left_out_when_asked(tmp_path):
    path = write(tmp_path / "out-1.txt", "user,item,score", "1,a,0.5")
    assert read_result(path, header=True).items.to_pylist() == ["a"]


def test_scores_that_are_not_finite_are_not_used_when_allowed(tmp_path):
    path = write(tmp_path / "out-1.txt", "1,a,NaN", "1,b,0.5")
    rows = read_result(path, finite=False).as_rows("score")
    assert rows.items.tolist() == ["a", "b"]
    assert "score" not in rows.columns


def test_blank_lines_in_the_middle_are_left_out_with_a_warning(tmp_path):
    path = write(tmp_path / "test.txt", "1\ta\t4.0", "  ", "1\tb\t3.0", "")
    with pytest.warns(FileWarning, match=r"test.txt, line 2: 1 blank line"):
        rows = read_split(path)
    assert rows.items.to_pylist() == ["a", "b"]


def test_of_a_repeated_pair_the_first_row_counts_with_a_warning(tmp_path):
    path = write(tmp_path / "out-1.txt", "1,a,0.5", "2,a,0.4", "1,a,0.9", "1,b,0.1")
    with pytest.warns(DuplicateRowsWarning, match=r"line 3: user '1' and item 'a' are repeated; 1 repeated"):
        rows = read_result(path)
    assert rows.numbers.tolist() == [0.5, 0.4, 0.1]
    assert rows.line(2) == 4
    assert rows.repeated == 1
    assert read_result(path, repeats="keep", ranking=False).numbers.tolist() == [0.5, 0.4, 0.9, 0.1]


def test_unsorted_lists_are_counted_by_user_and_the_order_of_the_file_is_kept(tmp_path):
    path = write(tmp_path / "out-1.txt", "2,a,0.1", "1,a,0.5", "2,b,0.9", "1,b,0.4", "3,a,0.2", "3,b,0.2")
    with pytest.warns(FileWarning, match=r"1 user\(s\) have unsorted lists"):
        rows = read_result(path)
    assert rows.items.to_pylist() == ["a", "a", "b", "b", "a", "b"]


def test_ordering_by_score_is_stable_and_warns_of_nothing(tmp_path):
    path = write(tmp_path / "out-1.txt", "1,a,0.5", "1,b,0.9", "1,c,0.5", "2,a,0.1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = read_result(path, order="score")
    assert rows.items.to_pylist() == ["b", "a", "c", "a"]


@pytest.mark.parametrize("separator", ["\t", ",", ";", " "])
def test_ratings_may_be_separated_as_librec_allows(tmp_path, separator):
    path = write(tmp_path / "ratings.csv", separator.join(["u", "i", "4.0", "978"]), separator.join("vj3"))
    assert read_ratings(path).items.dictionary.to_pylist() == ["i", "j"]


def test_names_keep_the_order_of_first_appearance(tmp_path):
    rows = read_split(write(tmp_path / "t.txt", "b\tz\t1", "a\ty\t1", "b\ty\t1", "c\ta\t1"))
    assert rows.users.dictionary.to_pylist() == ["b", "a", "c"]
    assert rows.items.dictionary.to_pylist() == ["z", "y", "a"]


def test_features_without_a_value_are_one_and_columns_keep_their_order(tmp_path):
    features = read_features(write(tmp_path / "f.csv", "b,new", "a old 1", "b\tgenre\t3", "", "c,new,0"))
    assert features.values.labels == ("new", "old", "genre")
    assert features.values.ids.tolist() == ["a", "b", "c"]
    assert features.values.values.tolist() == [[0, 1, 0], [1, 0, 3], [0, 0, 0]]
    assert features.rows.values.tolist() == [[0, 1, 0], [1, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize(("line", "text"), [("a", "an id and a feature"), ("a,new,yes", "not a number")])
def test_a_bad_feature_row_is_named(tmp_path, line, text):
    with pytest.raises(BadValueError, match=rf"f.csv, line 2: .*{text}"):
        read_features(write(tmp_path / "f.csv", "x,new,1", line))


def test_an_empty_feature_file_is_an_error(tmp_path):
    with pytest.raises(InputError, match="is empty"):
        read_features(write(tmp_path / "f.csv", ""))
