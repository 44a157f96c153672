"""read_spark.py CLASSES LAKE...: what Spark reads at the head of main of every table of every lake, as one JSON document.

CLASSES is the folder of the Java referee's classes, whose file access maps s3://lake/ to a lake's folder. The document is
{lake: {table: {live_rows, rows_sha256}}}, with {error} for a table that Spark refuses to read. One session reads them all."""
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

from pyspark.sql import SparkSession

M2 = os.path.expanduser("~/.m2/repository")
ARTIFACTS = ["org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0", "org.xerial:sqlite-jdbc:3.47.1.0"]


def jar(artifact):
    group, name, version = artifact.split(":")
    path = f"{M2}/{group.replace('.', '/')}/{name}/{version}/{name}-{version}.jar"
    if not os.path.exists(path):
        subprocess.check_call(["mvn", "-q", "-B", "dependency:get", "-Dtransitive=false", f"-Dartifact={artifact}"], stdout=sys.stderr)
    return path


def session(classes, work):
    mapped = os.path.join(work, "mapped.jar")
    subprocess.check_call(["jar", "cf", mapped, "-C", classes, "interop"])
    jars = [jar(a) for a in ARTIFACTS] + [mapped]
    builder = SparkSession.builder.master("local[2]")
    for key, value in {
        "spark.driver.memory": "2g",
        "spark.ui.enabled": "false",
        "spark.jars": ",".join(jars),
        "spark.driver.extraClassPath": ":".join(jars),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        # the cache of delete files goes by table and location, which lakes in one session have in common
        "spark.sql.iceberg.executor-cache.enabled": "false",
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def connect(spark, root):
    """A session in which the catalog "lake", as the lakes' catalogs know themselves, is that of one lake."""
    one = spark.newSession()
    for key, value in {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
        ".uri": f"jdbc:sqlite:{root}/catalog.db",
        ".jdbc.schema-version": "V1",
        ".warehouse": "s3://lake",
        ".io-impl": "interop.MappedFileIO",
        ".mapped.root": root,
        ".cache-enabled": "false",
    }.items():
        one.conf.set(f"spark.sql.catalog.lake{key}", value)
    return one


def tables(root):
    db = sqlite3.connect(f"file:{root}/catalog.db?mode=ro", uri=True)
    return [n for (n,) in db.execute("select table_name from iceberg_tables where catalog_name = 'lake' and coalesce(iceberg_type, 'TABLE') = 'TABLE' order by 1")]


def read(spark, name):
    try:
        rows = sorted(repr(row) for row in spark.table(name).collect())
    except Exception as e:
        return {"error": " ".join(str(e).split()).rpartition("Caused by: ")[2][:300]}
    return {"live_rows": len(rows), "rows_sha256": hashlib.sha256("\n".join(rows).encode()).hexdigest()}


def main(classes, *roots):
    with tempfile.TemporaryDirectory() as work:
        spark = session(classes, work)
        out = {}
        for root in roots:
            one = connect(spark, os.path.abspath(root))
            out[root] = {t: read(one, f"lake.db.`{t}`") for t in tables(root)}
        spark.stop()
    print(json.dumps(out))


if __name__ == "__main__":
    main(*sys.argv[1:])
