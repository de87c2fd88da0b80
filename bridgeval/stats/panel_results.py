"""PanelResults: differences, tests, intervals and slices of a comparison, from the values of all users."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from bridgeval.engine.metric import Metric
from bridgeval.stats import tests as st
from bridgeval.stats.differences import Difference, Mean, Settings, compare_pairs, friedman_tests
from bridgeval.stats.paired_values import Pairs, Panel
from bridgeval.stats.slice_analysis import ItemSlices, slice_values
from bridgeval.stats.slice_results import Slices
from bridgeval.tables.slice_labels import Labels


@dataclass(frozen=True)
class PanelResults:
    """The results of a comparison from a panel; `PairedResults` has the same methods for sums over users.

    Attributes:
        panel: the values.
        items: the values in slices of items.
        pairs: (baseline, system).
        known: name -> metric, for its direction.
        labels: the kinds of slices.
        how: the settings.
    """

    panel: Panel
    items: ItemSlices
    pairs: Pairs
    known: Mapping[str, Metric]
    labels: tuple[Labels, ...]
    how: Settings

    def differences(self) -> list[Difference]:
        return self._compared[0]

    def means(self) -> list[Mean]:
        return self._compared[1]

    def notes(self) -> list[str]:
        return self.panel.notes()

    def friedman(self) -> dict[str, st.Friedman]:
        return friedman_tests(self.panel, self.known, self.how) if len(self.panel.systems) > 2 else {}

    def slices(self) -> Slices | None:
        if not self.labels:
            return None
        return slice_values(self.labels, self.panel, self.items, self.pairs, self.known, self.how)

    @cached_property
    def _compared(self) -> tuple[list[Difference], list[Mean]]:
        return compare_pairs(self.panel, self.pairs, self.known, self.how)
