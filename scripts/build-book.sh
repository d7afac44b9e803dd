#!/usr/bin/env bash
# Builds the website into _build/html, or with EDITION=student into _build/student; scripts/build_book.py says how.
set -euo pipefail
cd -- "${BASH_SOURCE[0]%/*}/.."
exec .venv/bin/python scripts/build_book.py "${EDITION:-full}"
