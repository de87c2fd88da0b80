"""A pretended GPU: the device "cuda" on a machine that has none.

Its tensors say that they are on `cuda:0`, do not mix with tensors of the CPU, have no `.numpy()`, and every launch,
copy and wait is counted in a ledger. So tests can run the device path anywhere, and hold what it costs.

    with PretendedGPU() as gpu:
        report = bridgeval.evaluate(scores, truth, device="cuda")
    assert gpu.ledger.count("wait") <= 3

Not pretended: several devices or streams, real times, device-side asserts, kernels that CUDA lacks, compiled graphs.
One thread: tensors of the device are made and used in the thread that entered it.
"""

from tests.pretend_gpu.device import PretendedGPU
from tests.pretend_gpu.ledger import Ledger

__all__ = ["Ledger", "PretendedGPU"]
