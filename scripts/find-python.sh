#!/usr/bin/env bash
# Prints the Python that the virtual environment is made from, or says in words why there is none.
#
# Takes $PYTHON when it is set, and otherwise the first of python3, python3.13, python3.12 and
# python3.11 that is new enough and not too new. It installs nothing.
set -euo pipefail

supported() {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
}

if [[ -n ${PYTHON:-} ]]; then
    candidates=("$PYTHON")
else
    candidates=(python3 python3.13 python3.12 python3.11)
fi

seen=()
for candidate in "${candidates[@]}"; do
    path=$(command -v "$candidate") || continue
    if supported "$path"; then
        printf '%s\n' "$path"
        exit 0
    fi
    version=$("$path" --version 2>&1) || version="does not start"
    seen+=("$candidate ($version)")
done

{
    printf 'The course needs Python 3.11, 3.12 or 3.13.\n'
    if [[ ${#seen[@]} -gt 0 ]]; then
        printf 'Found:  %s\n' "${seen[@]}"
    else
        printf 'Found none of: %s\n' "${candidates[*]}"
    fi
    printf 'Install one of them and name it, for example:  make setup PYTHON=python3.12\n'
} >&2
exit 1
