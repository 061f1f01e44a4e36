"""A Hive Metastore 2.3.9, from the jars of PySpark 3.5, that only this machine can reach.

Its server listens on all interfaces, so it runs in a network namespace of its own. This process
listened on 127.0.0.1 before it entered that namespace, and a socket stays in the one that it was
made in: what arrives there is passed on. Started as
`python -m tests.interop.metastore_process PORT FOLDER JARS`; prints `ready`. Linux and root only.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

__all__ = ["main"]

INNER_PORT = 9083
CLONE_NEWNET = 0x40000000
CHUNK = 1 << 16
OPTIONS = (
    *("-Xmx300m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
    *("--add-opens", "java.base/java.lang=ALL-UNNAMED"),
    *("--add-opens", "java.base/java.net=ALL-UNNAMED"),
)


def main(port: str, folder: str, jars: str) -> None:
    """Serve until this process is ended."""
    listening = socket.create_server(("127.0.0.1", int(port)))
    enter_own_network()
    java = start(Path(folder), jars)
    signal.signal(signal.SIGTERM, lambda *_: stop(java))
    connected(java).close()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        near, _ = listening.accept()
        far = connected(java)
        for one, other in ((near, far), (far, near)):
            threading.Thread(target=pump, args=(one, other), daemon=True).start()


def enter_own_network() -> None:
    """Move this process into a new network namespace, with a loopback of its own."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.unshare(CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def start(folder: Path, jars: str) -> subprocess.Popen[bytes]:
    """Start the server over an empty Derby database in the folder."""
    conf = folder / "conf"
    conf.mkdir(parents=True)
    settings = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/db;create=true",
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "hive.async.log.enabled": "false",
        "hive.metastore.warehouse.dir": f"{folder}/warehouse",
    }
    entries = (
        f"<property><name>{k}</name><value>{v}</value></property>" for k, v in settings.items()
    )
    (conf / "hive-site.xml").write_text(f"<configuration>{''.join(entries)}</configuration>")
    with (folder / "metastore.log").open("wb") as log:
        return subprocess.Popen(
            [
                *("java", *OPTIONS, f"-Dderby.stream.error.file={folder}/derby.log"),
                *("-cp", f"{conf}:{jars}/*", "org.apache.hadoop.hive.metastore.HiveMetaStore"),
                *("-p", str(INNER_PORT)),
            ],
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def connected(java: subprocess.Popen[bytes]) -> socket.socket:
    """Return a connection to the server, once it takes one."""
    while java.poll() is None:
        with suppress(OSError):
            return socket.create_connection(("127.0.0.1", INNER_PORT))
        time.sleep(0.2)
    sys.exit("the metastore ended")


def pump(source: socket.socket, target: socket.socket) -> None:
    """Pass on what arrives until either side ends, then end both."""
    with suppress(OSError):
        while data := source.recv(CHUNK):
            target.sendall(data)
    for each in (source, target):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


def stop(java: subprocess.Popen[bytes]) -> None:
    """End the server and this process."""
    java.kill()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
