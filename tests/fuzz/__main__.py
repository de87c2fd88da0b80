"""`python -m tests.fuzz`: runs the targets for a time, or one case by its seed."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
import warnings
from random import Random

from tests.fuzz import calls, faults, harness, laws, names, own_files, readers, streams  # noqa: F401


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--first", type=int, default=None, help="the first number; by default it follows the clock")
    parser.add_argument("--seed", help="TARGET:NUMBER of one case")
    parser.add_argument("--child", nargs=2, type=int, metavar=("START", "STOP"), help=argparse.SUPPRESS)
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(harness.TARGETS)}")
    given = parser.parse_args()
    chosen = given.targets or list(harness.TARGETS)
    if given.child:
        harness.run_child(chosen, *given.child)
        return 0
    if given.seed:
        return show_case(given.seed)
    first = int(time.time()) * 1000 if given.first is None else given.first
    print(f"{len(chosen)} targets for {given.seconds:g} s from number {first}", flush=True)
    tally = harness.run_for(given.seconds, given.workers, chosen, first)
    for name, count in sorted(tally.cases.items()):
        print(f"{name:12} {count:8,} cases")
    print(f"{sum(tally.cases.values()):,} cases, {len(tally.failures):,} failures")
    for seed, _ in tally.failures[:50]:
        print(f"again: python -m tests.fuzz --seed {seed}")
    return 1 if tally.failures else 0


def show_case(seed: str) -> int:
    """Makes one case with its traceback."""
    name, _, number = seed.partition(":")
    failure = harness.run_case(name, int(number))
    if failure is None:
        print("passed")
        return 0
    print(failure)
    with harness.scratch() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            harness.TARGETS[name](Random(seed), folder)
        except Exception:
            traceback.print_exc()
    return 1


if __name__ == "__main__":
    sys.exit(main())
