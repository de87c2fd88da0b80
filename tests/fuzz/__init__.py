"""Hostile cases: damaged files, wrong types, odd names, laws on random data, signals, full disks.

A target is a function of a random generator and an empty folder that makes one case. It may end with an error of
bridgeval; everything else is a failure: another exception, a number out of its bounds, a hang, a crash. `make fuzz`
runs all targets for `FUZZ_SECONDS`; a failure prints its seed, and `python -m tests.fuzz --seed TARGET:NUMBER` makes
the same case again.
"""
