"""The reader of score matrices in files."""

from __future__ import annotations

from tokenize import TokenError
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
            # Opens the header alone: one that claims more than the file holds would take that memory first.
            np.load(file, mmap_mode="r", allow_pickle=False)
            return Scores(np.load(file, allow_pickle=False))
        except (ValueError, TypeError, OverflowError, OSError, EOFError, SyntaxError, TokenError) as error:
            raise InputError(
                f"{path!r} cannot be read", str(error), "write it with numpy.save, without objects"
            ) from error
