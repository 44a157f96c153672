"""read_engine.py MODULE LAKE...: what one engine reads at the head of main of every table of many lakes, as one JSON document.

MODULE is a referee of the shared folder, which has to be on the Python path: referee_pyiceberg, referee_duckdb or referee_rust.
One process and one S3 server serve all lakes, because starting them takes most of the time. The document is {lake: {table:
{live_rows, rows_sha256}}}, with {error} for a table that the engine refuses to read."""
import contextlib
import importlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request

import lake as shared


@contextlib.contextmanager
def server():
    """The address of an S3 server in a process of its own: iceberg-rust keeps Python's lock while it reads."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    code = "import sys; from moto.server import main; main(['-H', '127.0.0.1', '-p', sys.argv[1]])"
    process = subprocess.Popen([sys.executable, "-c", code, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        await_port(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def await_port(port):
    for _ in range(150):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        time.sleep(0.2)
    raise SystemExit("the S3 server does not start")


def read(engine, root, endpoint):
    """The tables of one lake, which takes the place of the lake before it in the server."""
    urllib.request.urlopen(urllib.request.Request(endpoint + "/moto-api/reset", method="POST")).close()
    lake, out = shared.Lake(root, endpoint), {}
    for name, metadata in sorted(lake.tables().items()):
        try:
            out[name] = shared.summary(engine.read(lake, name, metadata))
        except Exception as e:
            out[name] = {"error": f"{type(e).__name__}: {' '.join(str(e).split())[:300]}"}
    return out


def main(module, *roots):
    os.environ["UPLOAD"] = "1"
    engine = importlib.import_module(module)
    with server() as endpoint:
        print(json.dumps({root: read(engine, root, endpoint) for root in roots}))


if __name__ == "__main__":
    main(*sys.argv[1:])
