"""The author's request: YAML in; a checked `PipelineSpec` out, or every fault with its position."""
