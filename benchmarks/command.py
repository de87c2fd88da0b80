"""The wait for one command: `bridgeval evaluate` on a CSV of three rows beside the imports it cannot do without.

    python benchmarks/command.py [--repeat 9]

prints JSON: seconds of the command (`wall`) and of `import torch, pandas, pyarrow` (`floor`), medians of processes that
are started in turn.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

IMPORTS = (sys.executable, "-c", "import torch, pandas, pyarrow")
EVALUATE = (sys.executable, "-m", "bridgeval", "evaluate", "recs.csv", "truth.csv", "-m", "nDCG@10")


def time_command(command: tuple[str, ...], folder: Path) -> float:
    """Seconds that a process takes from start to end."""
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=9)
    repeat = parser.parse_args().repeat
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "recs.csv").write_text("user_id,item_id,score\n1,10,0.9\n1,11,0.5\n2,10,0.8\n")
        (folder / "truth.csv").write_text("user_id,item_id\n1,11\n2,10\n")
        turns = [(time_command(EVALUATE, folder), time_command(IMPORTS, folder)) for _ in range(repeat + 1)][1:]
    wall, floor = (statistics.median(seconds) for seconds in zip(*turns, strict=True))
    print(json.dumps({"wall": wall, "floor": floor, "runs": repeat}))


if __name__ == "__main__":
    main()
