"""break_with_spark.py CLASSES LAKE [RUNTIME]: makes a lake that Spark breaks by a procedure of its own, with a damage.json.

rewrite_position_delete_files picks delete files by their size. In an upgraded table it writes a deletion vector of those that
it picked and leaves the others, which the vector hides. Asked again, Iceberg up to 1.10.1 splits the deletes of the data file
between two tasks, and each writes a vector (apache/iceberg#15006); RUNTIME is the artifact of such a version, for the Spark
that runs this. CLASSES is as for read_spark.py."""
import json
import os
import sys
import tempfile

import read_spark

ROWS = 3000


def deleted():
    """The positions of the three deletes below: with one writer a row's position is its id."""
    return sorted({*range(1, ROWS, 7), 5, 2501})


def run(sql):
    sql("create namespace lake.db")
    sql("""create table lake.db.t (id bigint, name string) using iceberg location 's3://lake/t' tblproperties (
        'format-version'='2', 'write.delete.mode'='merge-on-read', 'write.delete.granularity'='partition')""")
    sql(f"insert into lake.db.t select id, concat('name-', id) from range(0, {ROWS}, 1, 1)")
    for condition in ("id % 7 = 1", "id = 5", "id = 2501"):
        sql(f"delete from lake.db.t where {condition}")
    sql("alter table lake.db.t set tblproperties ('format-version'='3')")
    rewrite(sql, "max", 2)
    return [row[0] for row in sql("select file_path from lake.db.t.data_files").collect()]


def rewrite(sql, which, least):
    """Rewrites at least so many delete files that are not of the size of the largest or the smallest one."""
    size = sql(f"select {which}(file_size_in_bytes) from lake.db.t.delete_files").first()[0]
    sql(f"call lake.system.rewrite_position_delete_files(table => 'db.t', options => map('target-file-size-bytes', '{size}', 'min-input-files', '{least}'))")


def main(classes, root, runtime=None):
    os.makedirs(root)
    damage = {"issue": "dv-incomplete", "repair": "fix", "note": "the procedure picked two of three delete files of an upgraded table"}
    if runtime:
        read_spark.ARTIFACTS[0] = runtime
        damage = {"issue": "dv-duplicate", "repair": "safe", "note": "two tasks of the procedure had deletes of one data file"}
    with tempfile.TemporaryDirectory() as work:
        spark = read_spark.session(classes, work)
        sql = read_spark.connect(spark, os.path.abspath(root)).sql
        (file,) = run(sql)
        if runtime:
            rewrite(sql, "min", 1)
        spark.stop()
    damage |= {"data_file": file, "right": {file: deleted()}}
    with open(os.path.join(root, "damage.json"), "w") as out:
        json.dump(damage, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
