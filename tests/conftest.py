"""Settings for all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# Nothing is asserted by a clock: a busy machine must not fail a test. The same cases on every run.
settings.register_profile("bridgeval", deadline=None, derandomize=True)
settings.load_profile("bridgeval")

# Side by side with other test processes, one thread each is quicker than several.
os.environ.setdefault("OMP_NUM_THREADS", "1")
