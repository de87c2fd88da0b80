"""Memory that is taken again belongs to one array at a time."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from bridgeval.batch import memory
from bridgeval.batch.memory import LARGEST_BLOCK, LARGEST_KEPT, empty

LARGE = LARGEST_BLOCK + 8


@pytest.fixture(autouse=True)
def nothing_kept():
    memory._kept.clear()
    yield
    memory._kept.clear()


def test_memory_is_taken_again_when_the_last_view_of_it_is_gone():
    first = empty(LARGE, np.uint8)
    where, part = first.ctypes.data, first[:10].view(np.int8)
    part[:] = 7
    del first
    second = empty(LARGE, np.uint8)
    second[:] = 1
    assert part.tolist() == [7] * 10
    assert second.ctypes.data != where
    del part
    assert empty(LARGE, np.uint8).ctypes.data == where


def test_what_is_too_small_or_too_large_is_not_kept():
    for size in (10, LARGEST_BLOCK, LARGEST_KEPT + 1):
        empty(size, np.uint8)
    empty(0, np.float64)
    assert not memory._kept


def test_few_blocks_are_kept_and_a_small_one_serves_no_large_array():
    blocks = [empty(LARGE + 1000 * n, np.uint8) for n in range(4)]
    del blocks[:]
    assert len(memory._kept) == 2
    large = empty(LARGEST_KEPT // 8, np.float64)
    assert large.nbytes == LARGEST_KEPT
    assert len(memory._kept) == 2


def test_threads_never_share_memory():
    def work(number: int) -> bool:
        mine = empty(LARGE, np.uint8)
        mine[::4096] = number
        return bool((mine[::4096] == number).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(64)))
