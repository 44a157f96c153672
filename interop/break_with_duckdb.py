"""break_with_duckdb.py LAKE: makes a lake with a deletion vector as DuckDB 1.5.3 wrote it, and a damage.json.

That version wrote the bare blob, without a Puffin file around it (duckdb/duckdb-iceberg#1248). DuckDB writes to REST catalogs
only, so there is one here that knows one table, and an S3 server. What is in them in the end is the lake."""
import importlib
import json
import os
import pathlib
import sqlite3
import sys
import threading

import boto3
import duckdb
import flask
from moto.server import ThreadedMotoServer
from werkzeug.serving import make_server

TABLE = "s3://lake/t"
ROWS = 200
DELETED = [0, 17, 18, 199]


def first_metadata():
    schema = {"type": "struct", "schema-id": 0, "fields": [
        {"id": 1, "name": "id", "type": "long", "required": False}, {"id": 2, "name": "name", "type": "string", "required": False}]}
    return {"format-version": 3, "table-uuid": "5f1c3a52-6a6e-4b1c-9d34-5a3c1f9f0001", "location": TABLE, "last-sequence-number": 0, "next-row-id": 0,
            "last-updated-ms": 0, "last-column-id": 2, "current-schema-id": 0, "schemas": [schema], "default-spec-id": 0,
            "partition-specs": [{"spec-id": 0, "fields": []}], "last-partition-id": 999, "default-sort-order-id": 0,
            "sort-orders": [{"order-id": 0, "fields": []}], "properties": {"write.delete.mode": "merge-on-read", "write.update.mode": "merge-on-read"},
            "current-snapshot-id": None, "refs": {}, "snapshots": [], "snapshot-log": []}


class Catalog:
    """A table's metadata, and the updates that inserts and deletes need."""

    def __init__(self, s3):
        self.s3, self.version, self.metadata = s3, 0, first_metadata()
        self.write()

    def write(self):
        self.location = f"{TABLE}/metadata/{self.version:05}-table.metadata.json"
        self.s3.put_object(Bucket="lake", Key=self.location.removeprefix("s3://lake/"), Body=json.dumps(self.metadata))
        self.version += 1

    def commit(self, updates):
        for update in updates:
            if update["action"] == "add-snapshot":
                self.add(update["snapshot"])
            elif update["action"] == "set-snapshot-ref":
                self.metadata["refs"][update["ref-name"]] = {"snapshot-id": update["snapshot-id"], "type": update["type"]}
                self.metadata["current-snapshot-id"] = update["snapshot-id"]
            else:
                raise ValueError(f"unexpected update {update}")
        self.write()

    def add(self, snapshot):
        self.metadata["snapshots"].append(snapshot)
        self.metadata["last-sequence-number"] = snapshot["sequence-number"]
        self.metadata["next-row-id"] += snapshot.get("added-rows", 0)
        self.metadata["last-updated-ms"] = snapshot["timestamp-ms"]

    def loaded(self):
        return {"metadata-location": self.location, "metadata": self.metadata, "config": {}}


def serve(catalog):
    """The port of a REST server; what it answers to a GET, by path, and to the two ways to commit."""
    app = flask.Flask("catalog")
    answers = {
        "config": lambda: {"defaults": {}, "overrides": {}},
        "namespaces": lambda: {"namespaces": [["db"]]},
        "namespaces/db": lambda: {"namespace": ["db"], "properties": {}},
        "namespaces/db/tables": lambda: {"identifiers": [{"namespace": ["db"], "name": "t"}]},
        "namespaces/db/tables/t": catalog.loaded,
    }

    @app.get("/v1/<path:path>")
    def get(path):
        return answers[path]()

    @app.post("/v1/namespaces/db/tables/t")
    def commit_one():
        catalog.commit(flask.request.get_json()["updates"])
        return catalog.loaded()

    @app.post("/v1/transactions/commit")
    def commit_several():
        for change in flask.request.get_json()["table-changes"]:
            catalog.commit(change["updates"])
        return "", 204

    server = make_server("127.0.0.1", 0, app, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.port


def connect(port, s3):
    c = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for name in ("avro", "httpfs", "iceberg"):
        folder = pathlib.Path(importlib.import_module("duckdb_extension_" + name).__file__).parent
        c.execute(f"load '{next(folder.rglob(name + '.duckdb_extension'))}'")
    c.execute(f"create secret (type s3, key_id 'x', secret 'x', region 'us-east-1', endpoint '{s3}', use_ssl false, url_style 'path')")
    c.execute(f"attach 'lake' as lake (type iceberg, endpoint 'http://127.0.0.1:{port}', authorization_type 'none', access_delegation_mode 'none')")
    return c


def save(s3, catalog, root):
    """Everything that is in the bucket, and a SQLite catalog."""
    for o in s3.list_objects_v2(Bucket="lake")["Contents"]:
        path = root / o["Key"]
        path.parent.mkdir(parents=True, exist_ok=True)
        s3.download_file("lake", o["Key"], str(path))
    with sqlite3.connect(root / "catalog.db") as db:
        db.execute("create table iceberg_tables (catalog_name text, table_namespace text, table_name text, metadata_location text, previous_metadata_location text, iceberg_type text, primary key (catalog_name, table_namespace, table_name))")
        db.execute("create table iceberg_namespace_properties (catalog_name text, namespace text, property_key text, property_value text, primary key (catalog_name, namespace, property_key))")
        db.execute("insert into iceberg_namespace_properties values ('lake', 'db', 'exists', 'true')")
        db.execute("insert into iceberg_tables values ('lake', 'db', 't', ?, null, 'TABLE')", (catalog.location,))


def main(root):
    root = pathlib.Path(root)
    os.environ.update(AWS_ACCESS_KEY_ID="x", AWS_SECRET_ACCESS_KEY="x", AWS_DEFAULT_REGION="us-east-1")
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    s3 = boto3.client("s3", endpoint_url=f"http://{host}:{port}")
    s3.create_bucket(Bucket="lake")
    catalog = Catalog(s3)
    c = connect(serve(catalog), f"{host}:{port}")
    c.execute(f"insert into lake.db.t select i, 'name-' || i from range({ROWS}) r(i) order by i")
    c.execute(f"delete from lake.db.t where id in ({', '.join(map(str, DELETED))})")
    save(s3, catalog, root)
    (file,) = (p for p in root.rglob("*.parquet"))
    location = f"s3://lake/{file.relative_to(root)}"
    damage = {"issue": "dv-bare-blob", "repair": "safe", "note": "written by DuckDB 1.5.3", "data_file": location, "right": {location: DELETED}}
    (root / "damage.json").write_text(json.dumps(damage))
    moto.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
