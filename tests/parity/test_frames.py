"""The same numbers as the peers, on fresh random data, through their conventions. `make parity` runs these.

Each peer runs in an environment of its own, by a script that knows nothing of bridgeval.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bridgeval

PEERS = Path(__file__).parent.parent.parent / "benchmarks" / "peers"
METRICS = ("Precision", "Recall", "nDCG", "MAP", "MRR", "HitRate")
CUTOFFS = (1, 5, 20)

# peer -> our name for each of its metrics, at its defaults.
NAMES = {
    "ranx": dict(zip(METRICS, ("precision", "recall", "ndcg", "map", "mrr", "hit_rate"), strict=True)),
    "rectools": dict(zip(METRICS, ("Precision", "Recall", "NDCG", "MAP", "MRR", "HitRate"), strict=True)),
    "pytrec_eval": dict(zip(METRICS, ("P", "recall", "ndcg_cut", "map_cut", "recip_rank", "success"), strict=True)),
}
CONVENTION = {"pytrec_eval": "trec_eval"}


def environments():
    spec = importlib.util.spec_from_file_location("peer_environments", PEERS / "environments.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def world(folder: Path, strings: bool, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Ragged lists with distinct scores; users on one side only; graded relevance."""
    rng = np.random.default_rng(seed)
    shown, relevant = [], []
    for user in range(400):
        if user % 11:
            items = rng.permutation(120)[: rng.integers(1, 30)]
            shown += [(user, item, score) for item, score in zip(items, rng.permutation(len(items)) / 7, strict=True)]
        if user % 13:
            items = rng.permutation(120)[: rng.integers(1, 12)]
            relevant += [(user, item, grade) for item, grade in zip(items, rng.integers(1, 5, len(items)), strict=True)]
    recs = pd.DataFrame(shown, columns=["user_id", "item_id", "score"])
    truth = pd.DataFrame(relevant, columns=["user_id", "item_id", "relevance"])
    if strings:
        for frame in (recs, truth):
            frame["user_id"] = "u" + frame["user_id"].astype(str)
            frame["item_id"] = "i" + frame["item_id"].astype(str)
    recs.to_parquet(folder / "recs.parquet")
    truth.to_parquet(folder / "truth.parquet")
    return recs, truth


@pytest.mark.parity
@pytest.mark.parametrize("strings", [False, True], ids=["int ids", "string ids"])
@pytest.mark.parametrize("peer", NAMES)
def test_convention_agrees_with_the_peer(peer, strings, tmp_path):
    python = environments().python_of(peer)
    if python is None:
        pytest.fail(f"the environment of {peer} is not there: run `make parity`, which makes it")
    recs, truth = world(tmp_path, strings, seed=len(peer) + strings)
    command = [python, PEERS / f"{peer}.py", tmp_path / "recs.parquet", tmp_path / "truth.parquet", "--repeat", "1"]
    command += ["--metrics", ",".join(METRICS), "--ks", ",".join(map(str, CUTOFFS))]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    theirs = json.loads(done.stdout)["values"]
    names = NAMES[peer]
    asked = [f"{names[metric]}@{','.join(map(str, CUTOFFS))}" for metric in METRICS]
    report = bridgeval.evaluate(recs, truth, asked, convention=CONVENTION.get(peer, peer))
    compared = 0
    for name, value in theirs.items():
        metric, _, k = name.partition("@")
        if not k:
            continue
        assert report[f"{names[metric]}@{k}"] == pytest.approx(value, abs=1e-9), name
        compared += 1
    assert compared >= 5 * len(CUTOFFS)
