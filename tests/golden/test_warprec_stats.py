"""Corrections are right where WarpRec's are wrong; its statistics and raw p are compared by the golden runner."""

from __future__ import annotations

import numpy as np

from bridgeval.report.statistics import benjamini_hochberg, holm


def test_row_by_row_verdicts_are_not_holm_and_not_benjamini_hochberg():
    # WarpRec's rule on p = (.020, .021, .022) at alpha = .05:
    #   Holm: .020 < .05/3 = .0167 no; .021 < .05/2 = .025 yes; .022 < .05/1 yes. Holm stops at the first no: all kept.
    #   FDR:  .020 < .05*1/3 no; .021 < .05*2/3 = .0333 yes; .022 < .05 yes. Benjamini-Hochberg steps up: all rejected.
    p = np.array([0.020, 0.021, 0.022])
    row_by_row_holm = p < 0.05 / np.array([3, 2, 1])
    row_by_row_fdr = p < 0.05 * np.array([1, 2, 3]) / 3
    assert row_by_row_holm.tolist() == [False, True, True]
    assert row_by_row_fdr.tolist() == [False, True, True]
    assert (holm(p) < 0.05).tolist() == [False, False, False]
    assert (benjamini_hochberg(p) < 0.05).tolist() == [True, True, True]
