"""Starts a grading cluster on SLURM with dask-jobqueue: the scheduler here, its workers as jobs; ends with Ctrl-C.

    python deploy/dask/slurm.py CERTIFICATES --jobs 4 [--graders 8] [--queue NAME] [--account NAME] [--walltime 02:00:00]
    python deploy/dask/slurm.py CERTIFICATES --show-job      # only print the job script

Run it where jobs can be submitted and compute nodes can connect to, a login node for most. The course, its .venv and
CERTIFICATES (as certificates.py made it) must be readable on the nodes under the same paths; the keys by you alone.
Then, on this machine:  autograder grade LAB --executor dask --scheduler ADDRESS --tls-ca ... --tls-cert ... --tls-key ...
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
COURSE = HERE.parents[1]
os.environ.setdefault("DASK_CONFIG", str(HERE / "dask.yaml"))  # before dask is imported

from dask_jobqueue import SLURMCluster  # noqa: E402
from distributed import Security  # noqa: E402

MEMORY_OF_A_GRADER_MB = 3072
"""Grader and template have about 1 GB, and a student's kernel up to its limit of 2 GB (`--memory`)."""


def cluster(given: argparse.Namespace) -> SLURMCluster:
    """Return the cluster that the words describe: one job is `graders` worker processes of one thread each."""
    files = given.certificates.resolve()
    security = Security(
        require_encryption=True,
        tls_ca_file=str(files / "ca.pem"),
        tls_scheduler_cert=str(files / "scheduler.pem"),
        tls_scheduler_key=str(files / "scheduler-key.pem"),
        tls_worker_cert=str(files / "worker.pem"),
        tls_worker_key=str(files / "worker-key.pem"),
        tls_client_cert=str(files / "client.pem"),
        tls_client_key=str(files / "client-key.pem"),
    )
    return SLURMCluster(
        cores=given.graders,
        processes=given.graders,
        memory=f"{given.graders * MEMORY_OF_A_GRADER_MB} MiB",
        queue=given.queue,
        account=given.account,
        walltime=given.walltime,
        interface=given.interface,
        protocol="tls://",
        security=security,
        python=sys.executable,
        scheduler_options={"port": given.port, "dashboard_address": "127.0.0.1:0", "dashboard": False},
        worker_extra_args=["--no-dashboard", "--memory-limit", "0"],
        job_script_prologue=[
            f"export DASK_CONFIG={HERE / 'dask.yaml'}",
            f"export NORMALIZATION_COURSE={COURSE}",
        ],
    )


def main() -> None:
    """Start it, say where it is, and wait."""
    parser = argparse.ArgumentParser(description="Start a grading cluster on SLURM.")
    parser.add_argument("certificates", type=Path, metavar="CERTIFICATES")
    parser.add_argument("--jobs", type=int, default=1, help="how many SLURM jobs (%(default)d)")
    parser.add_argument("--graders", type=int, default=8, help="graders in a job, one processor each (%(default)d)")
    parser.add_argument("--port", type=int, default=8786, help="of the scheduler (%(default)d)")
    parser.add_argument("--interface", help="the network that nodes reach this machine by, as ib0")
    parser.add_argument("--queue")
    parser.add_argument("--account")
    parser.add_argument("--walltime", default="02:00:00")
    parser.add_argument("--show-job", action="store_true", help="print the job script and submit nothing")
    given = parser.parse_args()
    with cluster(given) as running:
        if given.show_job:
            print(running.job_script())
            return
        # Not `scale`: a job that is cancelled, or whose node fails, is to be replaced.
        running.adapt(minimum_jobs=given.jobs, maximum_jobs=given.jobs)
        print(
            f"scheduler: {running.scheduler_address}; {given.jobs} jobs are submitted; Ctrl-C ends all of it",
            flush=True,
        )
        told = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: told.set())
        told.wait()


if __name__ == "__main__":
    main()
