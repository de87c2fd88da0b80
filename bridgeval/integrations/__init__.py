"""Trackers and training loops that bridgeval reports to: one module for each library, imported only when it is used.

No module here imports its library before it is asked for something that needs it, except where a class of ours has to
inherit from one of the library's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bridgeval.integrations.mlflow import MlflowSink
from bridgeval.integrations.tensorboard import TensorboardSink
from bridgeval.integrations.wandb import WandbSink
from bridgeval.plugin import hookimpl


@hookimpl
def bridgeval_sinks() -> Iterable[Any]:
    return [MlflowSink(), TensorboardSink(), WandbSink()]
