"""Apache Hudi's own timeline service, in a dedicated JVM.

The service's `main` returns at once and leaves only daemon threads, so its JVM would exit after
some seconds; the py4j gateway keeps it alive. Spark's jars are on its class path, but Spark does
not run.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

__all__ = ["start"]

STORES: Mapping[str, str] = {
    "memory": "MEMORY",
    "spillable": "SPILLABLE_DISK",
    "embedded_kv": "EMBEDDED_KV_STORE",
}
"""Apache Hudi's names of the stores by ours."""
OPENED = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/sun.nio.ch",
)
"""Without these, the RocksDB store answers 500 on Java 17."""


def start(settings: Mapping[str, str]) -> Mapping[str, Callable[..., object]]:
    """Return the actions `serve`, `heap` and `stop`; one server at a time."""
    held: list[tuple[JavaGateway, subprocess.Popen[bytes], Any]] = []
    folder = Path(settings["work_dir"]) / "view"

    def serve(store: str, bound_mb: int) -> dict[str, int]:
        """Start a server with an empty view on a free port; return its port and process."""
        stop()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        gateway, process = _gateway(settings)
        service = _service(gateway.jvm, STORES[store], bound_mb, folder)
        held.append((gateway, process, service))
        return {"port": service.startService(), "pid": process.pid}

    def heap() -> float:
        """Run the garbage collector, and return the used megabytes of the JVM's heap."""
        runtime = held[0][0].jvm.java.lang.Runtime.getRuntime()
        runtime.gc()
        used: int = runtime.totalMemory() - runtime.freeMemory()
        return used / (1 << 20)

    def stop() -> None:
        """Close the service and stop its JVM."""
        while held:
            gateway, process, service = held.pop()
            service.close()
            gateway.shutdown()
            _end(process)

    return {"serve": serve, "heap": heap, "stop": stop}


def _gateway(settings: Mapping[str, str]) -> tuple[JavaGateway, subprocess.Popen[bytes]]:
    """Start a JVM that exits with this process."""
    jars = Path(pyspark.__file__).parent / "jars"
    opened = [f"--add-opens={each}=ALL-UNNAMED" for each in OPENED]
    with (Path(settings["work_dir"]) / "server.log").open("ab") as log:
        port, process = launch_gateway(
            classpath=f"{settings['jar']}:{jars}/*",
            javaopts=[f"-Xmx{settings['memory']}", "-Duser.timezone=UTC", *opened],
            die_on_exit=True,
            redirect_stderr=log,
            return_proc=True,
        )
    parameters = GatewayParameters(port=port, auto_convert=True)
    return JavaGateway(gateway_parameters=parameters), process


def _service(jvm: Any, store: str, bound_mb: int, folder: Path) -> Any:
    """Return the service as its `main` creates it; `bound_mb` applies if views spill to disk."""
    service = jvm.org.apache.hudi.timeline.service.TimelineService
    types = jvm.org.apache.hudi.common.table.view.FileSystemViewStorageType
    asked = service.Config.builder().serverPort(0).viewStorageType(types.valueOf(store))
    asked = asked.enableMarkerRequests(True)
    asked = asked.maxViewMemPerTableInMB(bound_mb)
    asked = asked.baseStorePathForFileGroups(str(folder)).rocksDBPath(str(folder))
    config = asked.build()
    hadoop = jvm.org.apache.hudi.hadoop.fs.HadoopFSUtils.getStorageConf()
    views = service.buildFileSystemViewManager(config, hadoop.newInstance())
    return service(hadoop.newInstance(), config, views)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Wait for a JVM to exit; kill it on timeout."""
    if process.stdin:
        process.stdin.close()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
