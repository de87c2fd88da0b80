"""The demo: a small made-up shop, and two recommenders that are really run on it."""

from bridgeval.demo.sample import Sample, sample

__all__ = ["Sample", "sample"]
