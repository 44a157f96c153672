"""read.py CATALOG_URI S3_ENDPOINT TABLE: the ids of the rows that PyIceberg reads, as one JSON array in order."""
import json
import sys

from pyiceberg.catalog import load_catalog

uri, endpoint, table = sys.argv[1:]
catalog = load_catalog("weed", **{
    "type": "rest", "uri": uri, "credential": "test:testtest", "warehouse": "s3://warehouse",
    "s3.endpoint": endpoint, "s3.region": "us-east-1", "s3.access-key-id": "test", "s3.secret-access-key": "testtest",
})
rows = catalog.load_table(table).scan(selected_fields=("id",)).to_arrow()
print(json.dumps(sorted(rows["id"].to_pylist())))
