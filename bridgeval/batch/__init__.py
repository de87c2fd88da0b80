"""Slates as dense tensors on a device: batches, ranking, score matrices, kernels."""
