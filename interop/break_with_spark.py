"""break_with_spark.py CLASSES LAKE: makes a lake that Spark breaks by a procedure of its own, with a damage.json.

rewrite_position_delete_files picks delete files by their size. In an upgraded table it writes a deletion vector of those that
it picked and leaves the others, which the vector hides. CLASSES is as for read_spark.py."""
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
    big = sql("select max(file_size_in_bytes) from lake.db.t.delete_files").first()[0]
    sql(f"call lake.system.rewrite_position_delete_files(table => 'db.t', options => map('target-file-size-bytes', '{big}', 'min-input-files', '2'))")
    return [row[0] for row in sql("select file_path from lake.db.t.data_files").collect()]


def main(classes, root):
    os.makedirs(root)
    with tempfile.TemporaryDirectory() as work:
        spark = read_spark.session(classes, work)
        (file,) = run(read_spark.connect(spark, os.path.abspath(root)).sql)
        spark.stop()
    damage = {"issue": "dv-incomplete", "repair": "fix", "note": "rewrite_position_delete_files picked two of three delete files of an upgraded table", "data_file": file, "right": {file: deleted()}}
    with open(os.path.join(root, "damage.json"), "w") as out:
        json.dump(damage, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
