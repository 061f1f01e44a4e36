"""The steps of a run, without Spark: observe, plan, run, report."""
