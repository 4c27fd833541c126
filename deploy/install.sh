#!/bin/sh
# Builds Carrel from this checkout and installs it: binary, man pages, completions, and the service when asked.
#
#   deploy/install.sh                    into ~/.local
#   deploy/install.sh --prefix /usr/local
#   deploy/install.sh --service          as root: also a systemd service, started
#   deploy/install.sh --program FILE     a carrel that was built elsewhere: nothing is built here
set -eu

prefix=${HOME}/.local
service=
program=
while [ $# -gt 0 ]; do
    case $1 in
    --prefix) prefix=${2:?--prefix needs a folder}; shift ;;
    --program) program=$(realpath "${2:?--program needs a file}"); shift ;;
    --service) service=yes; prefix=/usr/local ;;
    *) echo "install: there is no option $1; see the head of this file" >&2; exit 2 ;;
    esac
    shift
done
cd "$(dirname "$0")/.."

need() {
    command -v "$1" >/dev/null || { echo "install: $1 is missing: $2" >&2; exit 1; }
}
need git "Carrel needs 2.40 or newer"
if [ -z "$program" ]; then
    need cargo "Carrel is built with Rust 1.95 or newer, from rustup"
    need cc "a C compiler, such as the package gcc"
fi
[ -z "$service" ] || [ "$(id -u)" = 0 ] || { echo "install: --service is for root" >&2; exit 1; }

if [ -z "$program" ]; then
    make build
    program=${CARGO_TARGET_DIR:-target}/release/carrel
fi
install -d "$prefix/bin" "$prefix/share/man/man1" "$prefix/share/bash-completion/completions" \
    "$prefix/share/zsh/site-functions" "$prefix/share/fish/vendor_completions.d"
# Renamed into place: a server that runs keeps the file it was started from.
install -m 755 "$program" "$prefix/bin/.carrel.new"
mv -f "$prefix/bin/.carrel.new" "$prefix/bin/carrel"
"$prefix/bin/carrel" man "$prefix/share/man/man1"
"$prefix/bin/carrel" completions bash >"$prefix/share/bash-completion/completions/carrel"
"$prefix/bin/carrel" completions zsh >"$prefix/share/zsh/site-functions/_carrel"
"$prefix/bin/carrel" completions fish >"$prefix/share/fish/vendor_completions.d/carrel.fish"
if [ -n "$service" ]; then
    install -m 644 deploy/carrel.service /etc/systemd/system/carrel.service
    systemctl daemon-reload
    systemctl enable --now carrel
fi
echo "Carrel is installed: $prefix/bin/carrel"
case :$PATH: in
*:"$prefix/bin":*) ;;
*) echo "Put it on your PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
