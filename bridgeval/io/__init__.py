"""Reads paths, frames and streams as Arrow tables."""
