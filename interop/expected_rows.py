"""expected_rows.py LAKE...: the rows that readers have to find in lakes with a damage.json, as one JSON document.

They are the rows of the data files that damage.json names under "right" without the positions that it names there, read with
pyarrow alone. The document is {lake: {live_rows, rows_sha256, spark_sha256}}, with the hashes of read_engine.py and
read_spark.py."""
import hashlib
import json
import pathlib
import sys

import lake as shared
import pyarrow
import pyarrow.parquet


def live(path, deleted):
    rows = pyarrow.parquet.read_table(path, partitioning=None)
    gone = set(deleted)
    return rows.take([i for i in range(rows.num_rows) if i not in gone])


def expected(root):
    right = json.loads((root / "damage.json").read_text())["right"]
    rows = pyarrow.concat_tables(live(root / path.removeprefix("s3://lake/"), deleted) for path, deleted in right.items())
    spark = sorted("Row(" + ", ".join(f"{k}={v!r}" for k, v in row.items()) + ")" for row in rows.to_pylist())
    return {**shared.summary(rows), "spark_sha256": hashlib.sha256("\n".join(spark).encode()).hexdigest()}


if __name__ == "__main__":
    print(json.dumps({root: expected(pathlib.Path(root)) for root in sys.argv[1:]}))
