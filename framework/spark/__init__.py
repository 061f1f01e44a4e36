"""The Spark half of the public surface: runs and reads on a Spark session."""

from __future__ import annotations

from framework.spark.backend import run
from framework.spark.reading.incremental import read_incremental
from framework.spark.reading.snapshot import read, read_optimized

__all__ = ["read", "read_incremental", "read_optimized", "run"]
