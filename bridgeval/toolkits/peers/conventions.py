"""Conventions of evaluators that need nothing but a table: their names for native metrics, and their numbers.

Each line is a native metric with the parameters on which that library differs. Input that a library does not accept,
such as a list without scores, is treated as the native metrics do.
"""

from __future__ import annotations

from bridgeval.toolkits.peers.information_retrieval import RETRIEVAL
from bridgeval.toolkits.peers.learning_to_rank import LEARNING_TO_RANK
from bridgeval.toolkits.peers.papers import PAPERS
from bridgeval.toolkits.peers.recommenders import RECOMMENDERS

PEERS = (*RETRIEVAL, *RECOMMENDERS, *LEARNING_TO_RANK, *PAPERS)
