# What every errand inside a sandbox begins with. Whoever works there has no say in it: their settings, hooks and
# variables are left out, and their programs are given nothing that the sandbox has not.
set -eu
LC_ALL=C GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_TERMINAL_PROMPT=0 GIT_OPTIONAL_LOCKS=0 GIT_EDITOR=true
export LC_ALL GIT_CONFIG_NOSYSTEM GIT_CONFIG_GLOBAL GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS GIT_EDITOR
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_COMMON_DIR
unset GIT_CONFIG GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_NAMESPACE GIT_EXTERNAL_DIFF GIT_CEILING_DIRECTORIES
unset GIT_SHALLOW_FILE GIT_REPLACE_REF_BASE GIT_GRAFT_FILE GIT_ATTR_SOURCE GIT_TRACE
umask 022
url=
g() {
    # Theirs may say that an address is another one; the longest word wins.
    git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c 'safe.directory=*' -c commit.gpgSign=false \
        -c push.gpgSign=false -c core.pager=cat -c credential.helper= -c http.proxy= -c gc.auto=0 \
        -c maintenance.auto=false -c core.safecrlf=false -c advice.addEmbeddedRepo=false -c core.sparseCheckout=false \
        -c protocol.http.allow=always ${url:+-c "url.$url.insteadOf=$url" -c "url.$url.pushInsteadOf=$url"} \
        "$@"
}
borrowed=/run/carrel-objects
# Where no mirror is lent, the box beside the working tree is.
[ -d "$borrowed" ] || borrowed=$1.git/objects
say() { printf '%s\n' "$*" >&2; }
cd "$1" 2>/dev/null || { say "there is no working tree at $1"; exit 66; }
