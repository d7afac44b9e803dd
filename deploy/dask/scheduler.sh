#!/usr/bin/env bash
# Starts the scheduler of a grading cluster; end it with Ctrl-C or SIGTERM.
#
#   deploy/dask/scheduler.sh tls://HOST:8786 CERTIFICATES
#
# HOST is the name or address of this machine that the others know it by (a port of 0 takes a free one); CERTIFICATES a folder
# with ca.pem, scheduler.pem and scheduler-key.pem. It needs no course and no sandbox.
set -euo pipefail

here=$(cd -- "${BASH_SOURCE[0]%/*}" && pwd)
if [[ $# -lt 2 || $1 != tls://*:* ]]; then
    printf 'usage: %s tls://HOST:PORT CERTIFICATES [words for dask scheduler]\n' "$0" >&2
    exit 2
fi
address=$1 folder=$2
shift 2
export DASK_CONFIG=$here/dask.yaml
exec "${PYTHON:-$here/../../.venv/bin/python}" -m distributed.cli.dask_scheduler \
    --host "${address%:*}" --port "${address##*:}" --no-dashboard --dashboard-address 127.0.0.1:0 --no-show \
    --tls-ca-file "$folder/ca.pem" --tls-cert "$folder/scheduler.pem" --tls-key "$folder/scheduler-key.pem" "$@"
