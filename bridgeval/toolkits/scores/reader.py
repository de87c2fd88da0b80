"""The reader of score matrices in files."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridgeval.errors import InputError
from bridgeval.plugin import Scores, find_files


class MatrixReader:
    """Reads a matrix of scores that `numpy.save` wrote: a row for each user, a column for each item."""

    name = "matrix"
    suffixes = (".npy",)

    def read(self, path: str, role: str, /, **options: Any) -> Scores:
        (file,) = find_files(path)
        try:
            return Scores(np.load(file, allow_pickle=False))
        except (ValueError, OSError, EOFError) as error:
            raise InputError(
                f"{path!r} cannot be read", str(error), "write it with numpy.save, without objects"
            ) from error
