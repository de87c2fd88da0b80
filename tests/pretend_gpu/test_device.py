"""The pretended device allows, refuses and counts what a real one does."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch

from tests.pretend_gpu import PretendedGPU


def counts(gpu):
    return {kind: gpu.ledger.count(kind) for kind in ("launch", "upload", "download", "wait")}


def test_tensors_say_that_they_are_on_the_device(gpu):
    cells = torch.zeros(2, 3, device="cuda")
    made = [cells, cells + 1, cells[0], cells.new_ones(4), torch.zeros_like(cells), cells.double().T, cells.sum()]
    made += [
        torch.tensor([1.0], device="cuda:0"),
        torch.ones(2).to("cuda"),
        torch.ones(2).cuda(),
        cells.new_tensor(3.0),
    ]
    for tensor in made:
        assert tensor.device == torch.device("cuda:0")
        assert tensor.is_cuda
        assert not tensor.is_cpu
    assert cells.cpu().is_cpu
    assert torch.cuda.is_available()


def test_nothing_is_left_behind():
    before = torch.cuda.is_available
    with PretendedGPU():
        cells = torch.zeros(2, device="cuda")
    assert torch.cuda.is_available is before
    with pytest.raises(RuntimeError):
        cells + 1
    with pytest.raises((RuntimeError, AssertionError)):
        torch.zeros(2, device="cuda")


@pytest.mark.parametrize(
    "mix",
    [
        lambda here, there: there + here,
        lambda here, there: here * there,
        lambda here, there: torch.cat([there, here]),
        lambda here, there: torch.stack([there, here]),
        lambda here, there: torch.where(there > 0, there, here),
        lambda here, there: there.index_select(0, here.long()),
        lambda here, there: there.index_put_((there.long(),), here),
        lambda here, there: torch.searchsorted(there, here),
    ],
)
def test_devices_do_not_mix(gpu, mix):
    with pytest.raises(RuntimeError, match="device"):
        mix(torch.ones(2), torch.ones(2, device="cuda"))


def test_one_number_of_the_cpu_mixes(gpu):
    assert (torch.ones(2, device="cuda") * torch.tensor(2.0)).tolist() == [2, 2]


@pytest.mark.parametrize("refused", [lambda t: t.numpy(), np.asarray, pickle.dumps])
def test_the_host_cannot_read_the_memory_of_the_device(gpu, refused):
    with pytest.raises((TypeError, RuntimeError)):
        refused(torch.ones(2, device="cuda"))


@pytest.mark.parametrize(
    ("read", "waits"),
    [
        (lambda t: bool(t.any()), 1),
        (lambda t: int(t.sum()), 1),
        (lambda t: t.tolist(), 1),
        (lambda t: t.cpu(), 1),
        (torch.nonzero, 1),
        (lambda t: t[t > 0], 1),
        (lambda t: t[t > 0].sum().item(), 2),
        (lambda t: torch.bincount(t.long()), 2),
        (lambda t: t.long().repeat_interleave(t.long()), 1),
        (lambda t: t.long().repeat_interleave(t.long(), output_size=2), 0),
        (lambda t: t.masked_fill(t > 0, 0).sort().values, 0),
        (lambda t: t.scatter_add(0, t.long(), t), 0),
    ],
)
def test_waits_are_counted(gpu, read, waits):
    cells = torch.tensor([1.0, 0.0, 1.0]).to("cuda")
    gpu.forget()
    read(cells)
    assert counts(gpu)["wait"] == waits


def test_uploads_of_pinned_memory_do_not_wait(gpu):
    torch.ones(2).pin_memory().to("cuda", non_blocking=True)
    assert counts(gpu) == {"launch": 0, "upload": 1, "download": 0, "wait": 0}
    torch.ones(2).to("cuda", non_blocking=True)
    assert counts(gpu)["wait"] == 1


def test_views_launch_nothing_and_share_memory(gpu):
    cells = torch.zeros(2, 3, device="cuda")
    gpu.forget()
    cells[:, 1:].t()[0].view(2)
    assert counts(gpu)["launch"] == 0
    cells[:, 1] = 7
    assert cells.tolist() == [[0, 7, 0], [0, 7, 0]]


def test_memory_runs_out_and_is_given_back():
    with PretendedGPU(memory=1000) as gpu:
        cells = torch.zeros(100, device="cuda")
        assert gpu.allocated == cells[1:].allocation.size == 400
        with pytest.raises(torch.OutOfMemoryError):
            torch.zeros(200, device="cuda")
        assert torch.cuda.mem_get_info() == (600, 1000)
        del cells
        assert gpu.allocated == 0


def test_what_cuda_refuses_under_deterministic_algorithms(gpu):
    cells = torch.ones(3, device="cuda")
    torch.use_deterministic_algorithms(True)
    try:
        for refused in (lambda: cells.cumsum(0), lambda: torch.bincount(cells.long(), cells)):
            with pytest.raises(RuntimeError, match="deterministic"):
                refused()
        assert cells.long().cumsum(0).tolist() == [1, 2, 3]
    finally:
        torch.use_deterministic_algorithms(False)


def test_a_contrary_device_is_right_and_differs(contrary_gpu):
    here = torch.tensor([[1.0, 5.0, 5.0, 5.0]])
    cells = here.to("cuda")
    assert torch.topk(cells, 2).values.tolist() == [[5, 5]]
    assert torch.topk(cells, 2).indices.tolist() != torch.topk(here, 2).indices.tolist()
    assert torch.sort(cells, dim=1, descending=True).indices.tolist() == [[3, 2, 1, 0]]
    assert torch.sort(cells, dim=1, descending=True, stable=True).indices.tolist() == [[1, 2, 3, 0]]
    assert torch.argsort(cells, dim=1, stable=True).tolist() == [[0, 1, 2, 3]]
    # 1e16 + 1 is 1e16, and 1 is lost; from the other end it is lost too, but 3 is not: 1e16 + 3 is 1e16 + 4.
    uneven = torch.tensor([[3.0, 1e16, -1e16]], dtype=torch.float64)
    assert uneven.to("cuda").sum(1).tolist() != uneven.sum(1).tolist()


def test_the_ledger_names_the_line_that_asked(gpu):
    int(torch.ones(1, device="cuda"))
    ((line, operation),) = gpu.ledger.lines("wait")
    assert "test_device.py" in line
    assert operation == "_local_scalar_dense"
