"""Inspection: look at the data before you trust a number made of it."""

from bridgeval.inspection.findings import Finding, Inspection
from bridgeval.inspection.inspection import inspect

__all__ = ["Finding", "Inspection", "inspect"]
