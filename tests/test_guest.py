"""A good guest: no setting of the process changes during a call or after it, as seen from other threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
@pytest.mark.parametrize("act", ["evaluate", "compare"])
def test_a_call_leaves_the_process_as_it_is(act):
    # More than one thread, whatever the suite itself runs with.
    host = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "MKL_"))}
    # glibc raises this limit itself when large blocks are freed, and then keeps memory. If it is set, only a call can.
    host["MALLOC_MMAP_THRESHOLD_"] = str(128 * 1024)
    command = [sys.executable, "-W", "ignore", "-m", "tests.guest", act]
    ran = subprocess.run(command, cwd=ROOT, env=host, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    changes = [line for line in ran.stdout.splitlines() if line]
    assert not changes, "\n".join(["", *changes])
