"""The five users on which evaluators are compared: docs/eight-ndcgs.md, docs/conventions.md."""

SHOWN = {"U1": list("axbyz"), "U2": list("xa"), "U4": list("vwxyz"), "U5": list("xaybz")}
RELEVANT = {"U1": list("abc"), "U2": ["a"], "U3": list("ab"), "U5": list("abcdefg")}
K = 5
