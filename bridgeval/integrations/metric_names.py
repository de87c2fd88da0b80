"""Names of metrics that every tracker and training library accepts, and the way back.

MLflow refuses `@` and brackets, W&B wants letters, digits and underscores, XGBoost splits its log at colons and spaces.
One spelling is accepted by all of them: `nDCG@10` becomes `nDCG_at_10`, `sklearn:ndcg_score@5` becomes
`sklearn__ndcg_score_at_5`, and any other character is written as its code point, `_x28_` for a bracket.
"""

from __future__ import annotations

import re

WORDS = {"@": "_at_", ":": "__"}
CODES = re.compile(r"_at_|__|_x([0-9a-f]+)_")
UNDERSCORE = "_"


def encode_name(name: str) -> str:
    """The name in letters, digits and underscores alone; `decode_name` gives it back.

    >>> encode_name("nDCG@10"), encode_name("sklearn:ndcg_score@5"), encode_name("F1(beta=2)@5")
    ('nDCG_at_10', 'sklearn__ndcg_score_at_5', 'F1_x28_beta_x3d_2_x29__at_5')
    """
    readable = "".join(one if one == UNDERSCORE else _encode(one) for one in name)
    # An underscore stays as it is unless it would be read as part of a code.
    return readable if decode_name(readable) == name else "".join(map(_encode, name))


def decode_name(encoded: str) -> str:
    """The name that `encode_name` was given.

    >>> decode_name("nDCG_at_10"), decode_name("sklearn__ndcg_score_at_5")
    ('nDCG@10', 'sklearn:ndcg_score@5')
    """
    letters = {code: letter for letter, code in WORDS.items()}
    return CODES.sub(lambda code: letters[code[0]] if code[1] is None else _from_code_point(code), encoded)


def _encode(letter: str) -> str:
    if letter.isascii() and letter.isalnum():
        return letter
    return WORDS.get(letter, f"_x{ord(letter):x}_")


def _from_code_point(code: re.Match[str]) -> str:
    """The letter of a code; text that only looks like one is left as it is."""
    number = int(code[1], 16)
    return chr(number) if number <= 0x10FFFF else code[0]
