#!/usr/bin/env bash
# Makes .venv and installs the project with all its extras at the versions of constraints.txt.
#
# The Makefile calls it when one of its inputs changed. Safe to run again at any time, also after
# an interruption. pip's own settings (PIP_INDEX_URL, PIP_FIND_LINKS, ...) pass through untouched.
#   PYTHON       the interpreter to start from
#   TORCH_INDEX  where to take torch from alone: an index address, or a folder of wheel files
set -euo pipefail

cd -- "${BASH_SOURCE[0]%/*}/.."
venv=.venv
say() { printf 'setup: %s\n' "$*"; }

if [[ -e $venv && ! -f $venv/pyvenv.cfg ]]; then
    if [[ -n $(ls -A "$venv") ]]; then
        say "$venv exists and is not a virtual environment; move it away and try again." >&2
        exit 1
    fi
fi
# An environment made half-way, or whose Python has since been removed, is made anew.
if [[ -e $venv ]] && ! PYTHON=$venv/bin/python "$BASH" scripts/find-python.sh >/dev/null 2>&1; then
    say "$venv has no working Python 3.11 to 3.13; making it anew."
    rm -rf -- "$venv"
fi
if [[ -e $venv ]] && ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    say "$venv has no working pip; making it anew."
    rm -rf -- "$venv"
fi

if [[ ! -e $venv ]]; then
    python=$("$BASH" scripts/find-python.sh)
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        say "$python cannot make virtual environments (its ensurepip or venv module is missing)." >&2
        say "On Debian and Ubuntu:  sudo apt-get install python$version-venv" >&2
        exit 1
    fi
    say "making $venv with $("$python" --version) ($python)"
    "$python" -m venv "$venv"
fi

pip=("$venv/bin/python" -m pip --disable-pip-version-check)
if ! {
    # pip itself first, so that every machine resolves with the same one.
    "${pip[@]}" install --quiet --upgrade --constraint constraints.txt pip &&
        if [[ -n ${TORCH_INDEX:-} ]]; then
            case "$TORCH_INDEX" in
                *://*) source=(--index-url "$TORCH_INDEX") ;;
                *) source=(--no-index --find-links "$TORCH_INDEX") ;;
            esac
            say "installing torch from $TORCH_INDEX"
            # --no-deps: what torch needs comes from the usual index, at the pinned versions.
            "${pip[@]}" install --no-deps --constraint constraints.txt "${source[@]}" torch
        fi &&
        say "installing the project and its tools (the first time: some minutes)" &&
        "${pip[@]}" install --quiet --constraint constraints.txt --build-constraint constraints.txt \
            --editable '.[grading,book,cluster,postgres,dev]' &&
        "${pip[@]}" check
}; then
    say "pip stopped with the error above." >&2
    say "No network? Set PIP_INDEX_URL or PIP_FIND_LINKS to a mirror or a folder of wheel files." >&2
    say "Not enough disk? On Linux, torch from the usual index brings several GB of CUDA libraries;" >&2
    say "the CPU build:  make setup TORCH_INDEX=https://download.pytorch.org/whl/cpu" >&2
    exit 1
fi
say "ready in $venv"
