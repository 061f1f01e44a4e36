"""What Apache Hudi said about codecs, as `tests/golden/make_bloom_and_hfile.py` recorded it."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

__all__ = ["RELEASES", "codec_vectors", "unpacked"]

RELEASES = ("1.2.0", "0.15.0")
_GOLDEN = Path(__file__).parents[1] / "golden"


def codec_vectors(release: str) -> dict[str, Any]:
    """Return the vectors of one release."""
    vectors: dict[str, Any] = json.loads((_GOLDEN / f"codecs-{release}.json").read_text())
    return vectors


def unpacked(text: str) -> bytes:
    """Return a file that the vectors keep as base64 of gzip."""
    return gzip.decompress(base64.b64decode(text))
