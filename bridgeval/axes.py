"""Axes: what each parameter of a metric decides, in words; for `explain`, `identify` and the tables of the docs."""

from __future__ import annotations

# The step from one native metric to another, where two have formulas of the same parts.
METRIC = "metric"
# Parameter -> what it decides. It follows "because of" or "is due to".
AXES = {
    METRIC: "the formula",
    # Who counts, and how users become one number.
    "k": "the cutoff",
    "users": "the users averaged over",
    "empty": "what a user without relevant items is worth",
    "over": "how the users' values are summarized",
    "average": "whether the mean is over pairs or users",
    "weight": "how users are weighted",
    "confidence": "the confidence of the interval",
    "lone": "the interval if only one user has a value",
    "undefined": "what a user or a group without a value gets",
    "unassigned": "whether items and users without a group count",
    # Ranking.
    "order": "whether lists are ranked by score or as given",
    "ties": "the order of equal scores",
    "seed": "the seed of random ties",
    "duplicates": "whether a repeated item counts again",
    "masked": "whether items scored -inf are part of the list",
    "cut": "how many rows are kept before repeated items are removed",
    "gaps": "whether places that ranks leave out stay empty",
    "unjudged": "whether items without a judgment are places",
    "score_above": "the score that a hit must exceed",
    # Relevance.
    "above": "the gain above which an item is relevant",
    "at_least": "the gain from which on an item is relevant",
    "truth_duplicates": "whether a repeated relevant row counts again",
    "repeated": "whether a repeated item is a hit again",
    # Formulas of accuracy.
    "gain": "what a relevant item is worth",
    "ideal": "the ideal list",
    "discount": "how fast the weight of ranks falls",
    "divide_by": "the denominator",
    "count": "what is counted",
    "of": "what is measured",
    "mean_of": "which reciprocal ranks are averaged",
    "missed": "what a user without a hit gets",
    "targets": "whether users may have several relevant items",
    "multiple": "the cutoff as a multiple of the relevant items",
    "cut_at": "the place beyond which hits do not count",
    "metric_1": "the first of the two metrics combined",
    "metric_2": "the second of the two metrics combined",
    "beta": "the weight of the second metric",
    "metrics": "the metrics combined",
    "utopia": "the best point",
    "nadir": "the worst point",
    "weigh_empty": "whether a user without relevant items counts with their weight",
    "higher": "which of the metrics are better when higher",
    # Pairs and places.
    "tied": "what a pair of equal scores counts",
    "one_sided": "what a list of hits or misses alone is worth",
    "negatives": "which irrelevant items a relevant one is compared with",
    "between": "which pairs are compared",
    "unpaired": "what a list without a pair is worth",
    "faultless": "what a user without irrelevant items gets",
    "out_of": "what the share is of",
    "hits": "how many relevant items are looked at",
    "short": "whether short lists count",
    "percent": "whether values are counted in percent",
    "signal": "what says how sure the system is",
    "precision": "the least precision",
    "value": "which of two numbers is given",
    "level": "the gain that a user must have",
    # Models of users.
    "stop": "what stops a user",
    "max_grade": "the highest grade",
    "decay": "how fast the attention of users falls",
    "patience": "how users go on from place to place",
    "p": "the chance that a user goes on to the next place",
    "normalize": "whether the best possible list scores 1",
    "target": "how much gain a user looks for",
    "depth": "how deep lists are read",
    "recall": "the level of recall",
    # Sets and counts.
    "unshown": "how users who were shown nothing count",
    "fill": "when a list is full",
    "deep": "whether a share or a yes or no is given",
    "hit": "the worth of a relevant item that was shown",
    "miss": "the worth of an irrelevant item that was shown",
    "lost": "the worth of a relevant item that was not shown",
    "left": "the worth of an irrelevant item that was not shown",
    # Items: coverage, diversity, novelty, popularity.
    "known": "which items could be shown",
    "shown": "which of the items shown count",
    "among": "which items count",
    "retrieved": "which candidates count as shown",
    "total": "what the counts are shares of",
    "share_of": "what the probabilities are shares of",
    "base": "the base of the logarithm",
    "distance": "the distance of two items",
    "single": "what a list of one item gets",
    "scaled": "whether values are scaled to 0..1",
    "baseline": "the expected lists",
    "floor": "the least popularity of an item",
    "unknown": "how items without a popularity count",
    "popularity": "what the popularity of an item is",
    "against": "what the shares of items are compared with",
    "own": "what a list shares with itself",
    "head": "what the popular head is a share of",
    "pop_ratio": "where the popular head ends",
    "candidates": "which items could have been shown",
    "source": "whose tastes are compared with the lists",
    # Ratings.
    "unscored": "how masked items count",
    "bias": "whether the mean error counts",
    "constant": "what equal ratings give",
    # Policies.
    "activation": "how scores become probabilities",
    "missing": "what an item without a probability is worth",
    "arithmetic": "how weights are computed",
    "cap": "the highest weight",
    "threshold": "the bounds of the weights",
}


def describe_axis(parameter: str) -> str:
    """What a parameter decides; one of a plugin's own is named.

    >>> describe_axis("ideal"), describe_axis("halo")
    ('the ideal list', 'the parameter halo')
    """
    return AXES.get(parameter, f"the parameter {parameter}")
