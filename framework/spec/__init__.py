"""What the author asked for: YAML in, a checked `PipelineSpec` out, or every fault at its place."""
