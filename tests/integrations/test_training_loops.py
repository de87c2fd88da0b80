"""Keras, Lightning, Hugging Face Trainer and Optuna run small loops and store our values."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.integration
USERS, ITEMS = 40, 12


def draw_truth() -> tuple[np.ndarray, np.ndarray]:
    """One-hot users, and the one item of each."""
    return np.eye(USERS, dtype=np.float32), np.random.default_rng(0).integers(0, ITEMS, USERS)


def reciprocal_ranks(scores: np.ndarray, targets: np.ndarray) -> float:
    """The mean of 1 / place of each user's item; scores differ."""
    return float(np.mean([1 / (1 + (row > row[target]).sum()) for row, target in zip(scores, targets)]))


def test_keras_history_has_our_values_of_every_epoch_and_early_stopping_reads_them():
    import keras

    from bridgeval.integrations.keras import RankingCallback

    assert keras.backend.backend() == "torch"
    features, targets = draw_truth()
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.layers.Input((USERS,)), keras.layers.Dense(ITEMS)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.Adam(0.1), loss=loss)
    ranking = RankingCallback(features, {user: [int(item)] for user, item in enumerate(targets)}, ["MRR", "Recall@1"])
    stop = keras.callbacks.EarlyStopping(monitor="val_Recall_at_1", mode="max", patience=2)
    history = model.fit(features, targets, epochs=60, verbose=0, callbacks=[ranking, stop]).history
    assert len(history["val_MRR"]) == len(history["loss"]) < 60
    expected = reciprocal_ranks(model.predict(features, verbose=0), targets)
    assert history["val_MRR"][-1] == pytest.approx(expected, abs=1e-12)
    assert history["val_MRR"][-1] > history["val_MRR"][0]


def make_lightning_module(targets, answer):
    """A linear model of one-hot users, with a step that returns what `answer` makes of scores and batch."""
    import lightning
    import torch

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.layer = torch.nn.Linear(USERS, ITEMS)

        def training_step(self, batch, index):
            return torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])

        def validation_step(self, batch, index, dataloader_idx=0):
            return answer(self.layer(batch[0]), batch)

        test_step = validation_step

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=0.1)

    return Module()


def make_loader(features, targets):
    import torch

    rows = torch.utils.data.TensorDataset(torch.tensor(features), torch.tensor(targets))
    return torch.utils.data.DataLoader(rows, batch_size=16)


def make_lightning_trainer(folder, *callbacks, **options):
    import lightning
    from lightning.pytorch.loggers import CSVLogger

    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False}
    return lightning.Trainer(
        accelerator="cpu", logger=CSVLogger(folder, version=0), callbacks=list(callbacks), **{**quiet, **options}
    )


def test_lightning_logs_our_values_of_every_epoch_and_early_stopping_reads_them(tmp_path):
    import pandas as pd
    from lightning.pytorch.callbacks import EarlyStopping

    from bridgeval.integrations.lightning import RankingCallback

    features, targets = draw_truth()
    module = make_lightning_module(
        targets, lambda scores, batch: {"scores": scores, "truth": batch[1][:, None], "seen": None}
    )
    stop = EarlyStopping("val_Recall_at_1", mode="max", patience=2)
    trainer = make_lightning_trainer(tmp_path, RankingCallback(["MRR", "Recall@1"]), stop, max_epochs=60)
    trainer.fit(module, make_loader(features, targets), make_loader(features, targets))
    assert trainer.current_epoch < 60
    stored = pd.read_csv(tmp_path / "lightning_logs" / "version_0" / "metrics.csv")["val_MRR"].dropna()
    # One row for each epoch; the two batches of the check before the training are not among them.
    assert len(stored) == trainer.current_epoch
    scores = module.layer.cpu()(make_loader(features, targets).dataset.tensors[0]).detach().numpy()
    assert stored.iloc[-1] == pytest.approx(reciprocal_ranks(scores, targets), abs=1e-6)
    assert stored.iloc[-1] > stored.iloc[0]
    assert stop.best_score == trainer.callback_metrics["val_Recall_at_1"] == 1


def test_lightning_tests_two_data_loaders_and_reads_what_a_function_reads(tmp_path):
    from bridgeval.integrations.lightning import RankingCallback

    features, targets = draw_truth()
    module = make_lightning_module(targets, lambda scores, batch: scores)
    ranking = RankingCallback("MRR", read=lambda scores, batch: (scores, batch[1][:, None]))
    trainer = make_lightning_trainer(tmp_path, ranking)
    first, other = (features[:20], targets[:20]), (features[20:], targets[20:])
    (found, *_) = trainer.test(module, [make_loader(*first), make_loader(*other)], verbose=False)
    for index, (rows, items) in enumerate((first, other)):
        scores = module.layer(make_loader(rows, items).dataset.tensors[0]).detach().numpy()
        assert found[f"test_MRR/dataloader_idx_{index}"] == pytest.approx(reciprocal_ranks(scores, items), abs=1e-6)


def test_a_lightning_step_that_returns_no_scores_is_an_error(tmp_path):
    from bridgeval.errors import InputError, UnknownMetricError
    from bridgeval.integrations.lightning import RankingCallback

    with pytest.raises(UnknownMetricError):
        RankingCallback("nDGC@10")
    module = make_lightning_module(None, lambda scores, batch: scores.sum())
    with pytest.raises(InputError, match=r'found: Tensor; hint: return {"scores": ..., "truth": ...}, or give read='):
        make_lightning_trainer(tmp_path, RankingCallback("MRR")).test(module, make_loader(*draw_truth()), verbose=False)


def test_trainer_logs_our_values_under_its_own_prefix(tmp_path):
    import torch
    from transformers import Trainer, TrainingArguments

    from bridgeval.integrations.transformers import make_compute_metrics

    features, targets = draw_truth()

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.layer = torch.nn.Linear(USERS, ITEMS)

        def forward(self, features, labels=None):
            logits = self.layer(features)
            return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}

    rows = [{"features": torch.tensor(row), "labels": int(item)} for row, item in zip(features, targets)]
    arguments = TrainingArguments(
        tmp_path, num_train_epochs=3, eval_strategy="epoch", save_strategy="no", report_to="none", use_cpu=True,
        learning_rate=0.1, label_names=["labels"], disable_tqdm=True, logging_strategy="no",
    )  # fmt: skip
    model = Model()
    trainer = Trainer(
        model, arguments, train_dataset=rows, eval_dataset=rows, compute_metrics=make_compute_metrics(["MRR"])
    )
    trainer.train()
    stored = [one["eval_MRR"] for one in trainer.state.log_history if "eval_MRR" in one]
    scores = model.layer(torch.tensor(features)).detach().numpy()
    assert len(stored) == 3
    assert stored[-1] == pytest.approx(reciprocal_ranks(scores, targets), abs=1e-12)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([1, 0]),
        np.array([[1, -100], [0, -100]]),
        np.array([[False, True, False], [True, False, False]]),
        np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]]),
    ],
)
def test_labels_may_be_numbers_padded_numbers_flags_or_gains(labels):
    from transformers import EvalPrediction

    from bridgeval.integrations.transformers import make_compute_metrics

    scores = np.array([[0.3, 0.2, 0.1], [0.3, 0.2, 0.1]])
    # Item 1 of the first row is second, item 0 of the second row is first.
    assert make_compute_metrics("MRR")(EvalPrediction(scores, labels)) == {"MRR": 0.75}


def test_predictions_of_another_shape_are_an_error():
    from transformers import EvalPrediction

    from bridgeval.errors import MisalignedError
    from bridgeval.integrations.transformers import make_compute_metrics

    with pytest.raises(MisalignedError, match=r"logits \[B, N\]"):
        make_compute_metrics("MRR")(EvalPrediction(np.zeros((2, 3, 4)), np.zeros(2, dtype=int)))
