#!/usr/bin/env bash
# Starts the workers of one machine; end them with Ctrl-C or SIGTERM.
#
#   deploy/dask/worker.sh tls://SCHEDULER:8786 CERTIFICATES [words for dask worker]
#
# CERTIFICATES is a folder with ca.pem, worker.pem and worker-key.pem. One grader for each processor; WORKERS=2 says otherwise.
# The course that this script lies in is the one that it grades with; NORMALIZATION_COURSE names another.
set -euo pipefail

here=$(cd -- "${BASH_SOURCE[0]%/*}" && pwd)
if [[ $# -lt 2 || $1 != tls://*:* ]]; then
    printf 'usage: %s tls://SCHEDULER:PORT CERTIFICATES [words for dask worker]\n' "$0" >&2
    exit 2
fi
address=$1 folder=$2
shift 2
export DASK_CONFIG=$here/dask.yaml
export NORMALIZATION_COURSE=${NORMALIZATION_COURSE:-$(cd -- "$here/../.." && pwd)}
# A process with one thread for each grader: what one of them dies of does not touch the others. Memory is bounded around
# each student's kernel, so Dask need not watch the worker, which holds next to nothing.
exec "${PYTHON:-$here/../../.venv/bin/python}" -m distributed.cli.dask_worker "$address" \
    --nworkers "${WORKERS:-$(nproc)}" --nthreads 1 --memory-limit 0 --no-dashboard \
    --tls-ca-file "$folder/ca.pem" --tls-cert "$folder/worker.pem" --tls-key "$folder/worker-key.pem" "$@"
