"""What a run does, step by step, without Spark: observe, plan, run, report."""
