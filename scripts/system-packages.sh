#!/usr/bin/env bash
# Installs the few system packages that pip cannot bring. Debian and Ubuntu only.
#
#   scripts/system-packages.sh          exit 1 when something is still missing at the end
#   scripts/system-packages.sh --soft   say what is missing and what that costs, then exit 0
#
# Nothing missing: nothing is printed, nothing is run, well under 0.1 s.
# Where it may not install (no root, no password-less sudo) it prints the line to run.
# OS_RELEASE names another os-release file (the tests use it).
set -euo pipefail

here=$(cd -- "${BASH_SOURCE[0]%/*}" && pwd)
soft=no
case "${1:-}" in
    "") ;;
    --soft) soft=yes ;;
    *)
        printf 'system-packages: unknown argument "%s"; the only one is --soft.\n' "$1" >&2
        exit 2
        ;;
esac

say() { printf 'system packages: %s\n' "$*"; }

has_any() {
    local name
    for name in "$@"; do
        if command -v "$name" >/dev/null; then return 0; fi
    done
    return 1
}

# Ends the script after the lacks were named: an error, or a remark in soft mode.
leave() {
    if [[ $soft == yes ]]; then exit 0; fi
    exit 1
}

packages=() # what apt-get is asked for
reasons=()  # one line for each lack: what it is for
costs=()    # one line for each lack: what does not work without it

lacking() { # PACKAGE(S) REASON COST
    local names
    read -ra names <<<"$1"
    packages+=("${names[@]}")
    reasons+=("$1: $2")
    costs+=("$3")
}

system=$(uname -s)
if [[ $system != Linux ]]; then
    say "this is $system, not Linux. The book and the labs work;"
    say "grading needs Linux (it runs students' code in bubblewrap) and refuses without --no-sandbox."
    exit 0
fi

distribution=
os_release=${OS_RELEASE:-/etc/os-release}
if [[ -r $os_release ]]; then
    while IFS='=' read -r key value; do
        if [[ $key == ID || $key == ID_LIKE ]]; then distribution+=" ${value//\"/}"; fi
    done <"$os_release"
fi
case "$distribution " in
    *" ubuntu "*) family=ubuntu ;;
    *" debian "*) family=debian ;;
    *) family=other ;;
esac

if ! has_any bwrap; then
    lacking bubblewrap "the box that students' code runs in while it is graded" \
        "without bubblewrap, grading refuses unless --no-sandbox is given"
fi

if [[ $family != other ]]; then
    status=$(dpkg-query -W -f '${db:Status-Abbrev}' libseccomp2 2>/dev/null) || status=
    if [[ $status != ii* ]]; then
        lacking libseccomp2 "the filter on the system calls of that code" \
            "without libseccomp2, the box cannot filter system calls"
    fi
fi

# Ubuntu's chromium-browser package is a stub that fetches a snap: having it proves nothing.
browser_note=
browsers=(chromium google-chrome google-chrome-stable)
if [[ $family != ubuntu ]]; then browsers+=(chromium-browser); fi
if ! has_any "${browsers[@]}"; then
    no_browser="without a browser, the tests of the built website are skipped"
    if [[ $family == ubuntu ]]; then
        browser_note="no browser found. Ubuntu ships Chromium as a snap, which is left to you: 'sudo snap install chromium', or install Google Chrome; $no_browser."
    else
        lacking "chromium fonts-dejavu-core" "the browser (and a font for it) that tests the website" "$no_browser"
    fi
fi

# Debian keeps the server's own programs off the path; this one says that they are there.
if ! has_any pg_createcluster initdb; then
    lacking postgresql "a database server, for the test of a gradebook in PostgreSQL" \
        "without postgresql, the test of a gradebook in PostgreSQL is skipped"
fi

# A Debian Python may come without ensurepip, and then cannot fill a virtual environment.
# A missing or unsuitable Python is not reported here: the set-up does that, in words.
if [[ ! -x $here/../.venv/bin/python ]]; then
    if python=$("$BASH" "$here/find-python.sh" 2>/dev/null) && ! "$python" -c 'import ensurepip' 2>/dev/null; then
        version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        lacking "python$version-venv" "lets $python make the virtual environment .venv" \
            "without python$version-venv, the set-up stops"
    fi
fi

if [[ ${#packages[@]} -eq 0 ]]; then
    if [[ -n $browser_note ]]; then
        say "$browser_note"
        leave
    fi
    exit 0
fi

if [[ $family == other ]]; then
    say "this is not Debian or Ubuntu, so nothing is installed. Missing here (Debian's names):"
    for line in "${reasons[@]}"; do say "  $line"; done
    for line in "${costs[@]}"; do say "  $line"; done
    say "Install them with the system's own package manager."
    leave
fi

install=(apt-get -o DPkg::Lock::Timeout=120 install --yes --no-install-recommends "${packages[@]}")
root=$(id -u)
if [[ $root -eq 0 ]]; then
    as_root=(env DEBIAN_FRONTEND=noninteractive)
elif has_any sudo && sudo -n true 2>/dev/null; then
    as_root=(sudo -n env DEBIAN_FRONTEND=noninteractive)
else
    say "missing, and installing needs root:"
    for line in "${reasons[@]}"; do say "  $line"; done
    say "Run this once:  sudo apt-get update && sudo apt-get install --yes --no-install-recommends ${packages[*]}"
    for line in "${costs[@]}"; do say "Until then: $line."; done
    if [[ -n $browser_note ]]; then say "$browser_note"; fi
    leave
fi

say "installing with apt-get:"
for line in "${reasons[@]}"; do say "  $line"; done
if [[ -n $browser_note ]]; then say "$browser_note"; fi

# An update that fails (no network, one broken source) need not matter: the lists may be recent.
"${as_root[@]}" apt-get -q update || say "apt-get update failed; trying with the package lists that are here."
if ! "${as_root[@]}" "${install[@]}"; then
    say "apt-get could not install: ${packages[*]}. Its own message stands above."
    for line in "${costs[@]}"; do say "Until it is installed: $line."; done
    leave
fi
if [[ -n $browser_note ]]; then leave; fi
