"""One line of the log for machines."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["log_line"]


def log_line(event: str, fields: Mapping[str, Any]) -> None:
    """Write one JSON object to stderr: `time` (UTC, ISO 8601), `event`, then the fields."""
    now = datetime.now(tz=UTC).isoformat(timespec="milliseconds")
    sys.stderr.write(json.dumps({"time": now, "event": event, **fields}) + "\n")
    sys.stderr.flush()
