"""The Spark half of the public surface: what the engine plans, carried by a Spark session."""

from __future__ import annotations

from framework.spark.reading.snapshot import read
from framework.spark.running import run

__all__ = ["read", "run"]
