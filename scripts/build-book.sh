#!/usr/bin/env bash
# Builds the website into _build/html. Offline; every Sphinx warning and dead reference is an error.
#
# Only pages that changed are read again. A warning is given when a page is read, so after a failed
# build the store of read pages is dropped: otherwise the next build would find nothing to complain
# about and pass.
set -euo pipefail

cd -- "${BASH_SOURCE[0]%/*}/.."
if ! .venv/bin/jupyter-book build . -W -n --keep-going; then
    rm -rf -- _build/.doctrees
    echo "book: the build stopped with the errors above; a warning counts as one." >&2
    exit 1
fi
