"""The families beyond accuracy against a second opinion in plain Python loops, on ragged random data."""

from __future__ import annotations

import math
import random
from collections import Counter
from itertools import combinations

import pytest

import bridgeval
from tests.metrics.test_accuracy import random_world, ranked

CUTOFFS = (1, 3, 10, 40)
OBJECTIVES = ["Precision", "NumRetrieved"]
EUCLIDEAN = 'EucDistance(metrics=["Precision", "NumRetrieved"], utopia=[1.0, 8.0])'
VOLUME = 'Hypervolume(metrics=["Precision", "NumRetrieved"], nadir=[-0.5, 2.0])'


def whole_world(seed: int):
    """Lists with repeats, masked rows and users without any; a history with repeats, some of it of other users."""
    shown, relevant = random_world(seed, strings=seed % 2 == 0)
    rng = random.Random(seed + 100)
    items = sorted({i for rows in [*shown.values(), *relevant.values()] for i, _ in rows})
    known = rng.sample(items, 45)
    users = sorted({*shown, *relevant})
    history = {user: rng.choices(known[:30], k=rng.choice([1, 3, 8])) for user in users[10:]}
    item_groups = {item: rng.choice(["x", "y", "z"]) for item in items[5:]}
    user_groups = {user: rng.choice(["p", "q"]) for user in users[3:]}
    features = {item: rng.sample(["jazz", "rock", "folk", "pop"], rng.choice([1, 2])) for item in items[::2]}
    return (
        shown,
        relevant,
        {
            "history": history,
            "catalogue": known,
            "item_groups": item_groups,
            "user_groups": user_groups,
            "item_features": features,
        },
    )


def mean(values):
    values = [value for value in values if not math.isnan(value)]
    return sum(values) / len(values) if values else math.nan


def gap(groups):
    means = [mean(values) for values in groups.values() if values]
    return mean([abs(a - b) for a, b in combinations(means, 2)])


def spread(shares):
    shares = [share for share in shares if share is not None]
    average = sum(shares) / len(shares) if shares else 0
    if len(shares) < 2 or not average:
        return math.nan
    return math.sqrt(sum((share - average) ** 2 for share in shares) / len(shares)) / average


def expected(shown, relevant, world):
    history = {user: set(items) for user, items in world["history"].items()}
    catalogue, group_of, user_group = set(world["catalogue"]), world["item_groups"], world["user_groups"]
    popularity = Counter(item for items in history.values() for item in items)
    pairs, head, so_far = sum(popularity.values()), set(), 0
    for item in sorted(popularity, key=lambda item: (-popularity[item], item)):
        if so_far > 0.8 * pairs:
            break
        head.add(item)
        so_far += popularity[item]
    sizes = Counter(group_of.get(item) for item in catalogue)
    lists = {user: ranked(rows) for user, rows in shown.items() if ranked(rows)}
    gains = {user: {i: g for i, g in rows if g > 0} for user, rows in relevant.items()}
    gains = {user: rows for user, rows in gains.items() if rows}
    disc = [1 / math.log2(j + 2) for j in range(60)]
    found: dict[str, float] = {}
    for k in CUTOFFS:
        cut = {user: items[:k] for user, items in lists.items()}
        cells = [(user, place, item) for user, items in cut.items() for place, item in enumerate(items)]
        counts = Counter(item for _, _, item in cells)
        in_catalogue = sorted(counts.get(item, 0) for item in catalogue)
        norm, n = sum(disc[:k]), len(catalogue)
        per_user = {
            name: [] for name in ["NumRetrieved", "EFD", "EPC", "SRecall", "ACLT", "APLT", "ARP", "Euc", "Hyper"]
        }
        for user, wanted in gains.items():
            items = cut.get(user, [])
            hits = [item for item in items if item in wanted]
            tail = [item for item in items if item not in head]
            novelty = [(disc[j], popularity[i]) for j, i in enumerate(items) if i in wanted]
            topics = {t for i in wanted for t in world["item_features"].get(i, [])}
            touched = {t for i in hits for t in world["item_features"].get(i, [])}
            per_user["NumRetrieved"].append(len(items))
            per_user["EFD"].append(sum(-d * math.log2(max(p, 1) / pairs) for d, p in novelty) / norm)
            per_user["EPC"].append(sum(d * (1 - p / len(history)) for d, p in novelty) / norm)
            per_user["SRecall"].append(len(touched) / len(topics) if topics else math.nan)
            per_user["ACLT"].append(len(tail))
            per_user["APLT"].append(len(tail) / max(len(items), 1))
            per_user["ARP"].append(mean([popularity[i] for i in items]))
            precision = len(hits) / k
            per_user["Euc"].append(math.hypot(precision - 1, len(items) - 8))
            per_user["Hyper"].append(max(0, precision + 0.5) * max(0, len(items) - 2))
        found |= {f"{name}@{k}": mean(values) for name, values in per_user.items() if name not in ("Euc", "Hyper")}
        found[f"{EUCLIDEAN}@{k}"], found[f"{VOLUME}@{k}"] = mean(per_user["Euc"]), mean(per_user["Hyper"])
        found[f"ItemCoverage@{k}"] = len(counts)
        found[f"UserCoverage@{k}"] = len(cut)
        found[f"UserCoverageAtN@{k}"] = sum(len(items) >= k for items in lists.values())
        places = sum(in_catalogue)
        found[f"Gini@{k}"] = sum((2 * j - n - 1) * c for j, c in enumerate(in_catalogue, 1)) / places / (n - 1)
        found[f"ShannonEntropy@{k}"] = -sum(c / len(cells) * math.log(c / len(cells)) for c in counts.values())

        def share(part, whole):
            return part / whole if whole else None

        def by_group(items, of):
            return Counter(of(item) for item in items)

        hits = [item for user, _, item in cells if item in gains.get(user, {})]
        wanted = [item for rows in gains.values() for item in rows]
        popular = lambda item: (item in head) if item in catalogue else None  # noqa: E731
        hit, want = by_group(hits, popular), by_group(wanted, popular)
        found[f"PopREO@{k}"] = spread([share(hit[g], want[g]) for g in (True, False)])
        seen = [item for user in cut for item in history.get(user, ()) if item in catalogue]
        had, show = by_group(seen, popular), by_group([i for _, _, i in cells], popular)
        there = {True: len(cut) * len(head & catalogue), False: len(cut) * len(catalogue - head)}
        found[f"PopRSP@{k}"] = spread([share(show[g], there[g] - had[g]) for g in (True, False)])
        hit, want = by_group(hits, group_of.get), by_group(wanted, group_of.get)
        had, show = by_group(seen, group_of.get), by_group([i for _, _, i in cells if i in catalogue], group_of.get)
        found[f"REO@{k}"] = spread([share(hit[g], want[g]) for g in "xyz"])
        found[f"RSP@{k}"] = spread([share(show[g], len(cut) * sizes[g] - had[g]) for g in "xyz"])
        for user_label in "pq":
            mine = [i for user, _, i in cells if user_group.get(user) == user_label]
            mine_had = [
                i for u, items in history.items() for i in items if user_group.get(u) == user_label and i in catalogue
            ]
            for label in "xyz":
                br = sum(group_of.get(i) == label for i in mine) / len(mine) / (sizes[label] / n)
                bs = sum(group_of.get(i) == label for i in mine_had) / len(mine_had) / (sizes[label] / n)
                found[f"BiasDisparityBR@{k}[{user_label}, {label}]"] = br
                found[f"BiasDisparityBS[{user_label}, {label}]"] = bs
                found[f"BiasDisparityBD@{k}[{user_label}, {label}]"] = (br - bs) / bs
        scores = {(user, i): max(s for j, s in rows if j == i) for user, rows in shown.items() for i, _ in rows}
        worth, scored = {}, {}
        for user, place, item in cells:
            scored.setdefault(item, []).append(scores[user, item])
            if user in gains:
                gain = 2 ** gains[user].get(item, 0) - 1
                worth.setdefault(item, []).append(gain * disc[place])
        for name, appearances in (("ItemMADRanking", worth), ("ItemMADRating", scored)):
            groups = {g: [mean(v) for i, v in appearances.items() if group_of.get(i) == g] for g in "xyz"}
            found[f"{name}@{k}"] = gap(groups)
        ndcg, score = {"p": [], "q": []}, {"p": [], "q": []}
        for user, wanted_by in gains.items():
            if user not in user_group:
                continue
            items = cut.get(user, [])
            ideal = sum((2**g - 1) * d for g, d in zip(sorted(wanted_by.values(), reverse=True)[:k], disc))
            got = sum((2 ** wanted_by.get(i, 0) - 1) * disc[j] for j, i in enumerate(items))
            ndcg[user_group[user]].append(got / ideal)
            score[user_group[user]].append(mean([scores[user, i] for i in items]))
        found[f"UserMADRanking@{k}"], found[f"UserMADRating@{k}"] = gap(ndcg), gap(score)
    return found


@pytest.mark.filterwarnings("ignore::bridgeval.errors.DuplicateRowsWarning")
@pytest.mark.parametrize("seed", range(4))
def test_all_families_agree_with_loops(seed):
    shown, relevant, world = whole_world(seed)
    wanted = expected(shown, relevant, world)
    names = list(dict.fromkeys(name if name.startswith(("Euc", "Hyp")) else name.split("[")[0] for name in wanted))
    report = bridgeval.evaluate(shown, relevant, names, **world, batch_size=[None, 1, 7, 30][seed])
    for name, value in wanted.items():
        assert report[name] == pytest.approx(value, abs=1e-12, nan_ok=True), name
