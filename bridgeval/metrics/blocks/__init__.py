"""Blocks that several families of metrics share."""
