"""Kernels: the operations on whole rectangles that decide how fast an evaluation is.

The only place that chooses between numpy and torch. A kernel has a contract (its docstring), a portable implementation
in torch, which a GPU runs, and a numpy one for tensors on the CPU if that is at least 1.5 times as fast. Times in the
comments: 50,000 rows of 50 cells, one thread.

`BRIDGEVAL_KERNELS=portable` in the environment, or `with use("portable")`, runs the portable ones everywhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import update_wrapper
from itertools import accumulate, pairwise
from typing import Any, Concatenate, Generic, Literal, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

P = ParamSpec("P")
R = TypeVar("R")
Choice = Literal["cpu", "portable"]
Counts = tuple[Tensor, Tensor]

FEW_ROWS = 256
# Bars that all cells of their rows are compared with at once on a GPU.
BARS_AT_ONCE = 16
# With more bars than these a GPU sorts the rows instead: that moves about 120 bytes for each cell, and a comparison 4.
MOST_COMPARED = 32
# Rows are sorted a few at a time, so that their keys stay in the cache: twice as fast as all at once.
CELLS_PER_PIECE = 1 << 17

# A variable of the process, not of a context: worker threads must see it.
_choice: Choice = "portable" if os.environ.get("BRIDGEVAL_KERNELS") == "portable" else "cpu"


@contextmanager
def use(choice: Choice) -> Iterator[None]:
    """Chooses the kernels for tensors on the CPU, in all threads, while the block runs.

    >>> with use("portable"):
    ...     sort_rows(torch.tensor([[2, 1]]))
    tensor([[1, 2]])
    """
    global _choice
    before, _choice = _choice, choice
    try:
        yield
    finally:
        _choice = before


class Kernel(Generic[P, R]):
    """A function of a tensor that runs on the device of that tensor, by the implementation made for it."""

    def __init__(self, portable: Callable[Concatenate[Tensor, P], R]) -> None:
        self._portable = self._on_cpu = portable
        update_wrapper(self, portable)

    def on_cpu(self, implementation: Callable[Concatenate[Tensor, P], R]) -> Callable[Concatenate[Tensor, P], R]:
        """Registers the implementation for tensors on the CPU."""
        self._on_cpu = implementation
        return implementation

    def __call__(self, cells: Tensor, /, *args: P.args, **kwargs: P.kwargs) -> R:
        portable = _choice == "portable" or not cells.is_cpu
        return (self._portable if portable else self._on_cpu)(cells, *args, **kwargs)


@Kernel
def sort_rows(cells: Tensor) -> Tensor:
    """`[B, K]`: each row ascending.

    >>> sort_rows(torch.tensor([[7, 3, 7]]))
    tensor([[3, 7, 7]])
    """
    return torch.sort(cells, dim=1).values


@sort_rows.on_cpu
def _(cells: Tensor) -> Tensor:
    # numpy sorts with vector instructions: 5 ms, torch 33 ms.
    return torch.from_numpy(np.sort(cells.numpy(), axis=1))


@Kernel
def sort_descending(cells: Tensor) -> Tensor:
    """`[B, K]`: each row descending.

    >>> sort_descending(torch.tensor([[3, 7, 5]]))
    tensor([[7, 5, 3]])
    """
    return torch.sort(cells, dim=1, descending=True).values


@sort_descending.on_cpu
def _(cells: Tensor) -> Tensor:
    # Gains without grades are all equal, and looking costs a fifth of sorting.
    return cells if bool((cells[:, 1:] <= cells[:, :-1]).all()) else sort_rows(cells).flip(1)


@Kernel
def sort_with_index(codes: Tensor, largest: int) -> tuple[Tensor, Tensor]:
    """Sorts each row and says where each cell came from.

    Args:
        codes: `[B, K]` integers from 0 to `largest`.

    Returns:
        `[B, K]` codes ascending, and `[B, K]` int64 the column of each. Equal cells keep their order.

    >>> sort_with_index(torch.tensor([[7, 3, 7]], dtype=torch.int32), 9)
    (tensor([[3, 7, 7]], dtype=torch.int32), tensor([[1, 0, 2]]))
    """
    in_order = torch.sort(codes, dim=1, stable=True)
    return in_order.values, in_order.indices


@sort_with_index.on_cpu
def _(codes: Tensor, largest: int) -> tuple[Tensor, Tensor]:
    # numpy's vector sort knows no index, so code and column are packed into one integer: 9 ms, torch 33 ms.
    bits = codes.shape[1].bit_length()
    cells = _pack([codes], bits, largest)
    cells.sort(axis=1)
    values = torch.from_numpy(cells >> bits).to(codes.dtype)
    return values, torch.from_numpy((cells & ((1 << bits) - 1)).astype(np.int64))


@Kernel
def order_by_score(scores: Tensor, precedence: Tensor, valid: Tensor | None = None) -> Tensor:
    """`[B, K]` int64: the index that sorts each row by score, then by precedence, both descending, then by column.

    Args:
        scores: `[B, K]` floating, no NaN; 0.0 and -0.0 are equal.
        precedence: `[B, K]` integers: of equal scores the one with the higher number comes first.
        valid: `[B, K]`: the other cells go last; None if all are valid.

    >>> order_by_score(torch.tensor([[0.5, 0.9, 0.5]]), torch.tensor([[1, 2, 3]]))
    tensor([[1, 2, 0]])
    """
    index = torch.argsort(precedence, dim=1, descending=True, stable=True)
    index = index.gather(1, torch.argsort(scores.gather(1, index), dim=1, descending=True, stable=True))
    return index if valid is None else index.gather(1, torch.argsort(~valid.gather(1, index), dim=1, stable=True))


@order_by_score.on_cpu
def _(scores: Tensor, precedence: Tensor, valid: Tensor | None = None) -> Tensor:
    # One vector sort of packed keys: 15 ms, torch 140 ms. Rows with equal scores, usually few, are sorted again.
    index = np.empty(scores.shape, dtype=np.int64)
    step = max(CELLS_PER_PIECE // max(scores.shape[1], 1), 1)
    tied = [np.zeros(0, dtype=np.int64)]
    for start in range(0, len(scores), step):
        rows = slice(start, start + step)
        filled = None if valid is None else valid[rows].numpy()
        tied.append(_fill_index(index[rows], scores[rows].numpy(), filled) + start)
    found, again = torch.from_numpy(index), torch.from_numpy(np.concatenate(tied))
    if len(again):
        among = None if valid is None else valid[again]
        found[again] = order_by_score._portable(scores[again], precedence[again], among)
    return found


def _fill_index(
    index: npt.NDArray[np.int64], scores: npt.NDArray[Any], valid: npt.NDArray[np.bool_] | None
) -> npt.NDArray[np.int64]:
    """Fills the index of some rows by score alone; returns the rows in which scores may be equal.

    The bits of a float64, read as an integer, are ordered as the numbers are (negative ones after all their other bits
    are flipped). The lowest bits are given up for the column, so that scores which differ only there count as equal.
    """
    width = index.shape[1]
    mask = (1 << width.bit_length()) - 1
    columns = np.arange(width)
    last = np.iinfo(np.int64).max - mask
    # Adding 0 turns -0.0 into 0.0.
    keys = np.add(scores, 0.0, dtype=np.float64).view(np.int64)
    keys ^= (keys >> 63) & np.iinfo(np.int64).max
    keys |= mask
    # ~key + column: the highest score comes first, and the lowest bits hold the column.
    np.subtract(columns - 1, keys, out=keys)
    if valid is not None:
        np.copyto(keys, last + columns, where=~valid)
    keys.sort(axis=1)
    flat = keys.reshape(-1)
    equal = np.flatnonzero((flat[1:] ^ flat[:-1]) <= mask)
    equal = equal[((equal + 1) % max(width, 1) != 0) & (flat[equal + 1] < last)]
    np.bitwise_and(keys, mask, out=index)
    return np.unique(equal // max(width, 1))


@Kernel
def order_unsorted(scores: Tensor, precedence: Tensor, valid: Tensor | None = None) -> Tensor | None:
    """`order_by_score`; on the CPU None if every row is in that order already.

    >>> order_unsorted(torch.tensor([[0.9, 0.5]]), torch.tensor([[1, 2]]))
    """
    return order_by_score(scores, precedence, valid)


@order_unsorted.on_cpu
def _(scores: Tensor, precedence: Tensor, valid: Tensor | None = None) -> Tensor | None:
    # Sorting costs five times as much as looking, and many toolkits write their lists in order. Most lists that are
    # not in order show it in the first rows.
    for rows in (slice(FEW_ROWS), slice(None)):
        if not _in_order(scores[rows], precedence[rows], None if valid is None else valid[rows]):
            return order_by_score(scores, precedence, valid)
    return None


def _in_order(scores: Tensor, precedence: Tensor, valid: Tensor | None) -> bool:
    falls = scores[:, 1:] < scores[:, :-1]
    if bool(falls.all()):
        return True
    falls |= (scores[:, 1:] == scores[:, :-1]) & (precedence[:, 1:] <= precedence[:, :-1])
    return bool((falls if valid is None else falls | ~valid[:, 1:]).all())


@Kernel
def match_rows(left: Tensor, right: Tensor, pad: int) -> tuple[Tensor, Tensor, Tensor]:
    """Finds the codes of `left` that the same row of `right` has.

    Args:
        left: `[B, K]` codes from 0 to `pad`; cells that hold `pad` match nothing.
        right: `[B, R]` codes of the same dtype, each row ascending. Of a repeated code the first column matches.

    Returns:
        Row, column of `left` and column of `right`, `[n]` int64 each, by row, then by column of `left`.

    >>> match_rows(torch.tensor([[5, 2, 8], [1, 9, 9]]), torch.tensor([[2, 5], [1, 9]]), 9)
    (tensor([0, 0, 1]), tensor([0, 1, 0]), tensor([1, 0, 0]))
    """
    if not right.shape[1]:
        return (torch.zeros(0, dtype=torch.int64, device=left.device),) * 3
    at = torch.searchsorted(right.contiguous(), left.contiguous()).clamp_(max=right.shape[1] - 1)
    rows, columns = torch.nonzero((right.gather(1, at) == left) & (left != pad), as_tuple=True)
    return rows, columns, at[rows, columns]


@match_rows.on_cpu
def _(left: Tensor, right: Tensor, pad: int) -> tuple[Tensor, Tensor, Tensor]:
    # One vector sort of both sides together brings equal codes next to each other: 11 ms, torch.searchsorted 113 ms.
    width, size = left.shape[1], left.shape[1] + right.shape[1]
    bits = size.bit_length()
    mask = (1 << bits) - 1
    cells = _pack([left, right], bits, pad)
    cells.sort(axis=1)
    flat = cells.reshape(-1)
    at = np.flatnonzero((flat[1:] ^ flat[:-1]) <= mask)
    at = at[(flat[at] >> bits < pad) & ((at + 1) % max(size, 1) != 0)]
    first, second = flat[at] & mask, flat[at + 1] & mask
    if bool((second < width).any()):
        # A code that `left` repeats has several matches, which are not all next to it. That is rare.
        return match_rows._portable(left, right, pad)
    hit = first < width
    rows, columns, others = at[hit] // max(size, 1), first[hit].astype(np.int64), second[hit].astype(np.int64) - width
    order = np.argsort(rows * max(width, 1) + columns, kind="stable")
    return torch.from_numpy(rows[order]), torch.from_numpy(columns[order]), torch.from_numpy(others[order])


def _pack(lists: Sequence[Tensor], bits: int, largest: int) -> npt.NDArray[Any]:
    """The lists in one rectangle, code and column in one integer: of 32 bits, which sort twice as fast, if they fit."""
    kind = np.int32 if (largest + 1) << bits <= 1 << 31 else np.int64
    packed: Any = np.concatenate([codes.numpy() for codes in lists], axis=1, dtype=kind, casting="same_kind")
    packed <<= bits
    packed |= np.arange(packed.shape[1], dtype=kind)
    return packed


@Kernel
def count_above(cells: Tensor, bars: Tensor, first: Tensor | None = None, own: Tensor | None = None) -> Counts:
    """`[B, R]` int64 each: how many cells of each row of `[B, N]` are above, and how many equal to, each of its bars,
    `[B, R]`; none for a bar of NaN.

    Args:
        first: `[N]` or `[B, N]` precedence of the cells: of equal ones those with a higher number than the bar's are
            above it, and none is equal.
        own: `[B, R]` precedence of the bars.

    >>> count_above(torch.tensor([[3.0, 1.0, 2.0, 2.0]]), torch.tensor([[2.0, torch.nan]]))
    (tensor([[1, 0]]), tensor([[2, 0]]))
    """
    if first is None and bars.shape[1] > MOST_COMPARED:
        return _search_sorted(cells, bars)
    above, equal = [], []
    for start in range(0, max(bars.shape[1], 1), BARS_AT_ONCE):
        some = slice(start, start + BARS_AT_ONCE)
        same = cells[:, None] == bars[:, some, None]
        higher = cells[:, None] > bars[:, some, None]
        if first is not None and own is not None:
            higher |= same & (first.expand(cells.shape)[:, None] > own[:, some, None])
        above.append(count_true(higher))
        equal.append(count_true(same) if first is None else torch.zeros_like(above[-1]))
    return (above[0], equal[0]) if len(above) == 1 else (torch.cat(above, 1), torch.cat(equal, 1))


def _search_sorted(cells: Tensor, bars: Tensor) -> Counts:
    """`count_above` without precedence, by a sort of each row."""
    missing, bars = cells != cells, bars.contiguous()
    in_order = torch.sort(cells.masked_fill(missing, torch.inf), dim=1).values
    below, up_to = torch.searchsorted(in_order, bars), torch.searchsorted(in_order, bars, right=True)
    # A bar of NaN is searched behind all cells.
    numbers = cells.shape[1] - count_true(missing)[:, None]
    return (numbers - up_to).clamp_(min=0), up_to - below


@count_above.on_cpu
def _(cells: Tensor, bars: Tensor, first: Tensor | None = None, own: Tensor | None = None) -> Counts:
    # One bar of each row at a time. numpy compares, and adds up flags as bytes, in half of torch's time.
    scores, limits = cells.numpy(), bars.numpy()
    above, at_least = np.zeros((2, *limits.shape), dtype=np.int64)
    for column in range(limits.shape[1]):
        rows = np.flatnonzero(~np.isnan(limits[:, column]))
        whole = len(rows) == len(scores)
        some, limit = scores if whole else scores[rows], limits[rows, column, None]
        above[rows, column] = _count_flags(some > limit)
        if first is None or own is None:
            at_least[rows, column] = _count_flags(some >= limit)
        else:
            ahead = first.expand(cells.shape).numpy() if whole else first.expand(cells.shape).numpy()[rows]
            above[rows, column] += _count_flags((some == limit) & (ahead > own.numpy()[rows, column, None]))
    return torch.from_numpy(above), torch.from_numpy(at_least - above if first is None else at_least)


def _count_flags(flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint32]:
    counts: npt.NDArray[np.uint32] = np.add.reduce(flags.view(np.uint8), axis=1, dtype=np.uint32)
    return counts


@Kernel
def count_true(flags: Tensor) -> Tensor:
    """int64: how many flags are true along the last dimension.

    >>> count_true(torch.tensor([[True, False, True]]))
    tensor([2])
    """
    return flags.sum(-1)


@count_true.on_cpu
def _(flags: Tensor) -> Tensor:
    # In 32 bits: for rows of thousands of cells torch's sum in 64 takes 35 times as long.
    return flags.sum(-1, dtype=torch.int32).long()


@Kernel
def drop_columns(codes: Tensor, dropped: Tensor, pad: int) -> Tensor:
    """`[N, B]` codes, with `pad` in the columns that `dropped`, `[B]`, marks.

    >>> drop_columns(torch.tensor([[1, 2]]), torch.tensor([False, True]), 9)
    tensor([[1, 9]])
    """
    return codes.masked_fill(dropped, pad)


@drop_columns.on_cpu
def _(codes: Tensor, dropped: Tensor, pad: int) -> Tensor:
    # Usually everyone counts: no copy for each population.
    return codes.masked_fill(dropped, pad) if bool(dropped.any()) else codes


@Kernel
def count_masked(scores: Tensor, hidden: npt.NDArray[np.int64], given: Tensor) -> Tensor:
    """`[B]` int64: how many cells of each row are -inf.

    Args:
        scores: `[B, N]`.
        hidden: `[B]`: how many of these cells were not -inf in `given`, if that has none.
        given: `[B, N]` the scores before cells were masked.

    >>> cells = torch.tensor([[1.0, -torch.inf]])
    >>> count_masked(cells, np.array([1]), torch.tensor([[1.0, 2.0]]))
    tensor([1])
    """
    return count_true(scores == -torch.inf)


@count_masked.on_cpu
def _(scores: Tensor, hidden: npt.NDArray[np.int64], given: Tensor) -> Tensor:
    # Few models mask anything themselves, and the minimum of all cells costs less than counting.
    any_masked = bool(given.numel()) and float(given.amin()) == -torch.inf
    return count_true(scores == -torch.inf) if any_masked else torch.from_numpy(hidden)


@Kernel
def find_constant(cells: Tensor, valid: Tensor | None) -> Tensor:
    """`[B]` bool: rows whose valid cells (None: all), at least two, all equal the first.

    >>> find_constant(torch.tensor([[2, 2, 5], [2, 3, 3]]), torch.tensor([[True, True, False], [True, True, True]]))
    tensor([ True, False])
    """
    same = cells == cells[:, :1]
    return (same if valid is None else same | ~valid).all(1)


@find_constant.on_cpu
def _(cells: Tensor, valid: Tensor | None) -> Tensor:
    # The first two cells differ in nearly every row: no other cell of these is read.
    found = cells[:, 0] == cells[:, 1]
    rows = torch.nonzero(found).flatten()
    found[rows] = find_constant._portable(cells[rows], None if valid is None else valid[rows])
    return found


def count_repeats(codes: Tensor, pad: int) -> int:
    """Counts the cells whose code, other than `pad`, is further left in their row too.

    >>> count_repeats(torch.tensor([[5, 2, 5, 9, 9]]), pad=9)
    1
    """
    in_order = sort_rows(codes)
    again = in_order[:, 1:] == in_order[:, :-1]
    return int((again & (in_order[:, 1:] != pad)).sum()) if bool(again.any()) else 0


def find_repeats(codes: Tensor, pad: int) -> Tensor:
    """`[B, K]` bool: cells whose code, other than `pad`, is further left in their row too. No code is above `pad`.

    >>> find_repeats(torch.tensor([[5, 2, 5, 9, 9]]), pad=9)
    tensor([[False, False,  True, False, False]])
    """
    in_order, index = sort_with_index(codes, pad)
    again = torch.zeros_like(in_order, dtype=torch.bool)
    again[:, 1:] = (in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] != pad)
    return torch.zeros_like(again).scatter_(1, index, again)


@Kernel
def cumulate(cells: Tensor, dim: int = 1) -> Tensor:
    """Cells of the same shape: the sums of floats up to each one, along a dimension of a rectangle.

    >>> cumulate(torch.tensor([[1.0, 2.0, 3.0, 4.0]]))
    tensor([[ 1.,  3.,  6., 10.]])
    """
    # A GPU has no deterministic `cumsum` of floats.
    if not torch.are_deterministic_algorithms_enabled():
        return cells.cumsum(dim)
    # Each step doubles the number of cells that are added up (Hillis and Steele 1986).
    step, cells = 1, cells.transpose(dim, 1)
    while step < cells.shape[1]:
        cells = cells + torch.nn.functional.pad(cells[:, :-step], (step, 0))
        step *= 2
    return cells.transpose(dim, 1)


@cumulate.on_cpu
def _(cells: Tensor, dim: int = 1) -> Tensor:
    return cells.cumsum(dim)


@Kernel
def sum_first(cells: Tensor, counts: Sequence[int], dim: int) -> Tensor:
    """`[counts, B]`: for each of the counts, the sum of so many first cells along a dimension of `[B, K]` or `[K, B]`.

    Args:
        counts: ascending, from 1 up; they may be beyond the last cell.

    >>> sum_first(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), (2, 3, 9), dim=1)
    tensor([[ 3.,  9.],
            [ 6., 15.],
            [ 6., 15.]])
    """
    size = cells.shape[dim]
    if len(counts) == 1 or not size:
        return cells.narrow(dim, 0, min(size, counts[0])).sum(dim).expand(len(counts), -1)
    sums = cumulate(cells, dim)
    return torch.stack([sums.select(dim, min(count, size) - 1) for count in counts])


@sum_first.on_cpu
def _(cells: Tensor, counts: Sequence[int], dim: int) -> Tensor:
    # Each cell is read once, and nothing but the sums is written.
    ends = [min(count, cells.shape[dim]) for count in (0, *counts)]
    steps = [cells.narrow(dim, start, stop - start).sum(dim) for start, stop in pairwise(ends)]
    return torch.stack(list(accumulate(steps)))


@Kernel
def sum_by_code(codes: Tensor, count: int, weights: Tensor | None = None) -> Tensor:
    """`[count]` float64: how often each code occurs, or the sum of its weights. Codes run from 0 to `count`; `count`
    itself, "none", is left out.

    >>> sum_by_code(torch.tensor([1, 0, 1, 2]), 2), sum_by_code(torch.tensor([1, 0]), 2, torch.tensor([0.5, 2.0]))
    (tensor([1., 2.], dtype=torch.float64), tensor([2.0000, 0.5000], dtype=torch.float64))
    """
    # A GPU has no deterministic bincount with weights, and waits in every bincount.
    sums = torch.zeros(count + 1, dtype=torch.float64, device=codes.device)
    values = sums.new_ones(codes.numel()) if weights is None else weights.double().reshape(-1)
    return sums.index_add_(0, codes.reshape(-1), values)[:count]


@sum_by_code.on_cpu
def _(codes: Tensor, count: int, weights: Tensor | None = None) -> Tensor:
    weights = None if weights is None else weights.reshape(-1).double()
    return torch.bincount(codes.reshape(-1), weights, minlength=count + 1)[:count].double()


@Kernel
def unite_bits(words: Tensor, counts: Sequence[int]) -> Tensor:
    """`[W, counts, B]`: for each of the counts, the bits that any of so many first words of `[W, K, B]` has.

    Args:
        words: integers.
        counts: ascending, from 1 up; they may be beyond the last word.

    >>> unite_bits(torch.tensor([[[1], [2], [5]]]), (1, 2, 9))
    tensor([[[1],
             [3],
             [7]]])
    """
    if not words.shape[1]:
        return words.new_zeros((len(words), len(counts), words.shape[2]))
    # Unions of 1, 2, 4, 8, ... words from each place on. Two of these that overlap are the union of any number.
    unions, ends = [words], [min(count, words.shape[1]) for count in counts]
    while 1 << len(unions) <= ends[-1]:
        half = 1 << len(unions) - 1
        unions.append(unions[-1][:, :-half] | unions[-1][:, half:])
    of_ends = [(unions[end.bit_length() - 1], end - (1 << end.bit_length() - 1)) for end in ends]
    return torch.stack([one[:, 0] | one[:, last] for one, last in of_ends], 1)


@unite_bits.on_cpu
def _(words: Tensor, counts: Sequence[int]) -> Tensor:
    # In place: nothing but the unions is written.
    united = words.new_zeros((len(words), len(counts), words.shape[2]))
    for step, (start, stop) in enumerate(pairwise((0, *counts))):
        if step:
            united[:, step] = united[:, step - 1]
        for of_place in words[:, start:stop].unbind(1):
            united[:, step] |= of_place
    return united


@Kernel
def number_entries(rows: Tensor, count: int) -> Tensor:
    """`[n]` int64: 1 for the first entry of a row, 2 for the second, ...

    Args:
        rows: `[n]` int64, ascending, below `count`.

    >>> number_entries(torch.tensor([0, 0, 2, 2, 2]), 3)
    tensor([1, 2, 1, 2, 3])
    """
    return torch.arange(1, len(rows) + 1, device=rows.device) - torch.searchsorted(rows, rows)


@number_entries.on_cpu
def _(rows: Tensor, count: int) -> Tensor:
    # A search for every entry costs five times as much as to count the entries of each row.
    counts = torch.bincount(rows, minlength=count)
    return torch.arange(1, len(rows) + 1, device="cpu") - (counts.cumsum(0) - counts)[rows]


def measure_rows(values: Tensor, counted: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`[M]` each: how many values of `[M, n]` that count are no NaN, their mean, their squared deviation from it, and
    how many that count are NaN. The mean of no values is NaN.

    >>> measure_rows(torch.tensor([[1.0, 2.0, 9.0]]), torch.tensor([[True, True, False]]))
    (tensor([2]), tensor([1.5000]), tensor([0.5000]), tensor([0]))
    """
    values = values.masked_fill(~counted, torch.nan)
    count = count_true(values == values)
    mean = values.nansum(1) / count
    return count, mean, (values - mean[:, None]).square().nansum(1), count_true(counted) - count


def sum_at_cutoffs(
    rows: Tensor, places: Tensor, cutoffs: Sequence[int], size: int, values: Tensor | None = None
) -> Tensor:
    """`[cutoffs, B]` float64: for each row, how many entries are within the first k places, or the sum of their values.

    Args:
        rows: `[n]` int64, below `size` = B.
        places: `[n]` int64, counted from 0.
        cutoffs: ascending.
        values: `[n]`.

    >>> sum_at_cutoffs(torch.tensor([0, 0, 1]), torch.tensor([0, 4, 2]), (1, 5), 2)
    tensor([[1., 0.],
            [2., 1.]], dtype=torch.float64)
    """
    ends = torch.tensor(cutoffs, dtype=torch.int64, device=places.device)
    # Each entry is added to the first cutoff that it is within; those beyond the last are left out.
    steps = torch.searchsorted(ends, places.contiguous(), right=True)
    return sum_by_step(torch.add(rows, steps, alpha=size), len(cutoffs), size, values)


def sum_by_step(codes: Tensor, count: int, size: int, values: Tensor | None = None) -> Tensor:
    """`[count, size]` float64: for each code, how many entries are of each step or an earlier one, or the sum of their
    values.

    Args:
        codes: `[n]` int64: a code below `size`, plus `size` times a step from 0 up; the step `count` is left out.
        values: `[n]`.

    >>> sum_by_step(torch.tensor([0, 2, 5]), 2, 2)
    tensor([[1., 0.],
            [2., 0.]], dtype=torch.float64)
    """
    sums = sum_by_code(codes, (count + 1) * size, values)[: count * size].view(count, size)
    return cumulate(sums, 0) if count > 1 else sums
