# Makes a repository of what is left of one. Needs $branch, $url and $base. Files of the working tree are not touched.
mend() {
    if [ -d .git ] && [ "$(g rev-parse --is-inside-work-tree 2>/dev/null)" = true ]; then return 0; fi
    say "the repository here was broken; what can be had of it is put together again"
    if [ -d .git/objects ] && [ ! -L .git/objects ]; then
        # Only its settings, or what it has checked out, cannot be read.
        for name in config HEAD; do
            if [ -e ".git/$name" ]; then mv -f ".git/$name" ".git/$name.broken"; fi
        done
        rm -f .git/commondir .git/gitdir
    else
        rm -rf .git
    fi
    g init -q --template= --initial-branch="$branch" . >/dev/null
    printf 'ref: refs/heads/%s\n' "$branch" >.git/HEAD
    g config core.checkStat minimal
    g config core.trustctime false
    g config remote.origin.url "$url"
    g config remote.origin.fetch '+refs/heads/*:refs/remotes/origin/*'
    g config push.default current
    if [ -d "$borrowed" ]; then
        mkdir -p .git/objects/info
        printf '%s\n' "$borrowed" >.git/objects/info/alternates
        if [ -s "$url/shallow" ]; then cp "$url/shallow" .git/shallow; fi
    fi
    g fetch -q "$url" '+refs/heads/*:refs/remotes/origin/*' >&2 || true
    if ! g rev-parse --verify --quiet 'HEAD^{commit}' >/dev/null; then
        start=$(g rev-parse --verify --quiet "refs/remotes/origin/$branch^{commit}" || printf '%s' "$base")
        rm -f ".git/refs/heads/$branch"
        g update-ref "refs/heads/$branch" "$start"
    fi
    rm -f .git/index .git/index.lock
    g read-tree HEAD
}

# Locks that somebody who was killed has left. Nobody works here when this is called.
unlock() {
    rm -f .git/*.lock .git/refs/*.lock .git/refs/heads/*.lock .git/refs/tags/*.lock .git/refs/remotes/origin/*.lock \
        ".git/refs/heads/$branch.lock" ".git/refs/remotes/origin/$branch.lock"
}

# Everything that is not ignored, into the index. A broken index is made anew.
add_all() {
    g add --all --ignore-errors >/dev/null 2>&1 && return 0
    g ls-files >/dev/null 2>&1 && return 0
    rm -f .git/index
    g read-tree HEAD
    g add --all --ignore-errors >/dev/null 2>&1 || true
}
