"""Real servers for tests: a PostgreSQL and a local Spark, each in a folder of its own, ended when the tests end."""

import os
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest


def skip(what, how):
    pytest.skip(f"{what} is not installed: {how}")


def postgres_binaries():
    """The folder of the newest PostgreSQL, as Debian lays it out, or the one in the path."""
    paths = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    paths += [Path(path) for path in [shutil.which("initdb")] if path]
    return paths[-1].parent if paths else None


def as_somebody():
    """PostgreSQL refuses to run for root: then it runs for nobody."""
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextmanager
def running_postgres():
    """The folder of the socket and the port of a server that asks everybody but ``adyton`` for a password."""
    binaries = postgres_binaries()
    if binaries is None:
        skip("PostgreSQL", "apt-get install postgresql")
    with TemporaryDirectory(ignore_cleanup_errors=True) as place:
        yield from served(Path(place), binaries)


def served(folder, binaries):
    folder.chmod(0o777)  # the server runs for somebody else
    data, port = folder / "data", free_port()
    settings = ["-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions"]
    made = [*as_somebody(), str(binaries / "initdb"), "-D", str(data), "-U", "adyton", *settings]
    subprocess.run(made, check=True, capture_output=True, cwd="/")
    (data / "pg_hba.conf").write_text("local all adyton trust\nlocal all all scram-sha-256\n")
    options = {"unix_socket_directories": folder, "port": port, "listen_addresses": "", "fsync": "off"}
    options |= {"shared_buffers": "16MB", "autovacuum": "off", "jit": "off"}
    started = [*as_somebody(), str(binaries / "postgres"), "-D", str(data)]
    started += [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(started, stdout=log, stderr=log, cwd="/")
        try:
            wait_for(folder / "log", server)
            yield folder, port
        finally:
            control(folder, "stop", "-m", "fast")
            server.wait(120)


def control(folder, *command):
    """Let the server in a folder stop or start again, with the settings that it had."""
    given = [*as_somebody(), str(postgres_binaries() / "pg_ctl"), "-D", str(folder / "data"), *command]
    subprocess.run(given, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")


def restart_postgres(folder):
    """End a server at once, as a crash does, and start it again: connections are lost, and what was not committed."""
    control(folder, "restart", "-m", "immediate", "-l", str(folder / "later.log"))


def host_and_port(address):
    """Of the address of a server from here."""
    return (address.partition(f"{key}=")[2].partition("&")[0] for key in ("host", "port"))


def wait_for(log, server):
    end = time.monotonic() + 180
    while "ready to accept connections" not in log.read_text():
        assert server.poll() is None, "the server ended"
        assert time.monotonic() < end, "the server does not start"
        time.sleep(0.05)


@contextmanager
def running_spark(folder):
    """A local session, and the port of its Connect server."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        skip("Spark", "pip install 'adyton[spark]'")
    if shutil.which("java") is None:
        skip("Java", "apt-get install openjdk-17-jre-headless")
    port = free_port()
    java = "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"  # a tenth of its time
    java += f" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dderby.system.home={folder}"
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.memory": "600m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": java,
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",  # few rows: compiling takes longer than counting
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.session.timeZone": "America/New_York",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(port),
    }
    builder = SparkSession.builder.master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    try:
        yield session, port
    finally:
        session.stop()
