"""What run and repair share: the referees, how they are called, and copies of lakes."""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
SHARED = pathlib.Path(os.environ.get("DVC_SHARED", HERE.parent.parent / "shared")).resolve()
ENGINES = {"iceberg-rust": "referee_rust.py", "pyiceberg": "referee_pyiceberg.py", "duckdb": "referee_duckdb.py"}


class Failed(Exception):
    """The verdict of a referee that does not agree, or of a command that did not do its work."""


def call(*command, answers=(0,), seconds=300):
    """The standard output of a command that exits with one of answers and says something if that is not 0."""
    env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", JDK_JAVA_OPTIONS="-XX:+UseSerialGC -XX:TieredStopAtLevel=1")
    try:
        p = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=seconds, env=env)
    except subprocess.TimeoutExpired:
        raise Failed(f"no answer in {seconds} s") from None
    if p.returncode not in answers or (p.returncode and not p.stdout.strip()):
        said = (p.stderr.strip() or p.stdout.strip() or "no output").splitlines()
        why = next((line for line in said if "Exception" in line), said[-1])
        raise Failed(f"exit {p.returncode}: {why[:200]}")
    return p.stdout


class Tools:
    """The referees, built or installed on first use."""

    def __init__(self):
        setup = HERE / "setup"
        self.java = pathlib.Path(call(setup, "java", seconds=1200).strip())
        venvs = {name: call(setup, "venv", HERE / "requirements" / f"{name}.txt", seconds=1200).strip() for name in ("engines", "iceberg-rust")}
        self.python = {e: venvs.get(e, venvs["engines"]) + "/bin/python" for e in ENGINES}
        self.spark = call(setup, "venv", HERE / "requirements" / "spark.txt", seconds=1200).strip() + "/bin/python"
        self.refusals = {}
        for line in (HERE / "refusals.txt").read_text().splitlines():
            if line and not line.startswith("#"):
                lake, referee, reason = line.split(None, 2)
                self.refusals.update({(lake, r): reason for r in ([*ENGINES, "spark"] if referee == "*" else [referee])})

    def run_java(self, name, *args):
        """What a class of ours says."""
        class_path = f"{self.java}/classes:{(self.java / 'cp.txt').read_text()}"
        return call("java", "-cp", class_path, name, *args)

    def snapshots(self, lake):
        return set(self.run_java("Snapshots", lake).splitlines())

    def compare(self, lake):
        """The differences from expected.json, and apart from them the position delete files that are left."""
        out = call(self.java / "referee", "--compare", lake / "expected.json", lake, "--no-position-deletes", answers=(0, 1))
        lines = [line for line in out.splitlines() if line != "equal"]
        left = [line for line in lines if line.endswith("live position delete files")]
        return [line for line in lines if line not in left], left

    def read_with_spark(self, lakes):
        """By lake and table what read answers; one session for all lakes, because starting it takes long."""
        return json.loads(call(self.spark, HERE / "read_spark.py", self.java / "classes", *lakes, seconds=900))

    def read(self, engine, lake):
        """Per table the live rows and their hash, or the reason why the engine refuses."""
        out = call(self.python[engine], SHARED / "interop" / "engines" / ENGINES[engine], lake, answers=(0, 1))
        return json.loads(out)

    def read_many(self, reader, lakes):
        """By lake and table what a reader, java, spark or an engine, reads at the head of main, in one process for all lakes."""
        if reader == "java":
            return json.loads(self.run_java("Positions", *lakes))
        if reader == "spark":
            return self.read_with_spark(lakes)
        return self.with_shared(self.python[reader], "read_engine.py", ENGINES[reader].removesuffix(".py"), *lakes)

    def with_shared(self, python, script, *args):
        """What a script of ours says that imports from the shared folder."""
        return json.loads(call("env", f"PYTHONPATH={SHARED / 'interop' / 'engines'}", python, HERE / script, *args, seconds=900))


def checksums(lake):
    return {p.relative_to(lake): hashlib.sha256(p.read_bytes()).digest() for p in lake.rglob("*") if p.is_file() and p.name != "catalog.db"}


def copy(source, folder):
    """A writable copy of a lake in a folder."""
    lake = folder / source.name
    shutil.copytree(source, lake)
    for path in (lake, *lake.rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)
    return lake


def print_table(rows):
    """Prints rows of words in columns; the first is the head."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
