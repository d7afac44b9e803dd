"""A cluster on this machine's loopback, started as deploy/dask/README.md says: its scripts, its certificates, its processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from autograder.cluster.client import Cluster
from autograder.cluster.fitness import Wanted, wanted
from autograder.cluster.tls import security
from tests.plugins.conftest import LAB

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy" / "dask"
PATIENCE_S = 120.0


def make_certificates(folder: Path) -> Path:
    """Make an authority and its pairs by the script."""
    words = [sys.executable, str(DEPLOY / "certificates.py"), str(folder)]
    subprocess.run(words, check=True, capture_output=True, timeout=60)
    return folder


@dataclass
class Loopback:
    """A scheduler, the workers that were started for it, and the course that they grade with."""

    course: Path
    tls: Path
    folder: Path
    address: str = ""
    scheduler: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start_scheduler(self) -> None:
        """Start it on a free port."""
        told = self.folder / "scheduler.json"
        self.scheduler = self._run("scheduler", "tls://127.0.0.1:0", "--scheduler-file", str(told))
        wait_until(told.exists, self.scheduler)
        self.address = json.loads(told.read_text())["address"]

    def start_worker(self, name: str, *before: str) -> subprocess.Popen[bytes]:
        """Start one worker, in words that stand `before` it; it is there when the scheduler has heard of it."""
        worker = self._run("worker", self.address, "--name", name, before=before)
        self.workers.append(worker)
        return worker

    def _run(self, script: str, *words: str, before: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
        address, *rest = words
        env = {**os.environ, "PYTHON": sys.executable, "WORKERS": "1", "NORMALIZATION_COURSE": str(self.course)}
        command = [*before, str(DEPLOY / f"{script}.sh"), address, str(self.tls), *rest]
        with open(self.folder / f"{script}.log", "ab") as log:
            return subprocess.Popen(command, env=env, cwd=self.folder, stdout=log, stderr=log, start_new_session=True)

    def wait_for(self, count: int) -> None:
        """Wait until so many workers have joined."""
        wait_until(lambda: self.cluster().size()[0] == count, *self.workers)

    def cluster(self, tls: Path | None = None) -> Cluster:
        """The cluster as a client sees it that has these certificates."""
        return Cluster(self.address, security(self.address, self.files(tls)), join_s=PATIENCE_S)

    def files(self, tls: Path | None = None) -> dict[str, Path | None]:
        """The client's files by option."""
        folder = tls or self.tls
        names = {"--tls-ca": "ca.pem", "--tls-cert": "client.pem", "--tls-key": "client-key.pem"}
        return {option: folder / name for option, name in names.items()}

    def words(self) -> list[str]:
        """What `autograder grade` is told of it."""
        files = [f"{option}={path}" for option, path in self.files().items()]
        return ["--executor=dask", f"--scheduler={self.address}", *files]

    def wanted(self, **other: object) -> Wanted:
        """What a run of the tiny lab needs."""
        return Wanted(**{**vars(wanted(self.course, LAB, sandboxed=True, local=False)), **other})  # type: ignore[arg-type]

    def processes(self) -> list[psutil.Process]:
        """The scheduler, the workers and all that they have started."""
        tops = [
            psutil.Process(top.pid) for top in (self.scheduler, *self.workers) if top is not None and top.poll() is None
        ]
        return [*tops, *(child for top in tops for child in top.children(recursive=True))]

    def worker_processes(self) -> list[psutil.Process]:
        """The processes that Dask's tasks run in: what a nanny watches, and starts again."""
        nannies = [psutil.Process(worker.pid) for worker in self.workers if worker.poll() is None]
        children = [child for nanny in nannies for child in nanny.children()]
        return [child for child in children if "spawn_main" in " ".join(child.cmdline())]

    def stop(self, *which: subprocess.Popen[bytes]) -> None:
        """End some of it, or all."""
        chosen = which or (*self.workers, *([self.scheduler] if self.scheduler else []))
        for process in chosen:
            process.send_signal(signal.SIGTERM)
        for process in chosen:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(30)
        self.workers = [worker for worker in self.workers if worker not in chosen]


def wait_until(happened: object, *alive: subprocess.Popen[bytes]) -> None:
    """Wait for something; AssertionError when a process that must live ends first, or it takes too long."""
    assert callable(happened)
    deadline = time.monotonic() + PATIENCE_S
    while not happened():
        assert all(process.poll() is None for process in alive), "a process of the cluster ended; see its log"
        assert time.monotonic() < deadline, f"nothing happened in {PATIENCE_S:g} s"
        time.sleep(0.05)
