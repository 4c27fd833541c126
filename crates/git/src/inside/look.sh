# Looks at a working tree. Arguments: the working tree, the commit that it began at, the branch that it goes to.
# Prints one fact a line. A repository that cannot be read counts as changed.
base=$2 onto=$3
if ! g rev-parse --git-dir >/dev/null 2>&1 || [ ! -d .git ]; then
    echo dirty yes
    exit 0
fi
branch=$(g symbolic-ref --quiet HEAD 2>/dev/null || true)
case $branch in refs/heads/*) echo "branch ${branch#refs/heads/}" ;; esac
head=$(g rev-parse --verify --quiet 'HEAD^{commit}' 2>/dev/null || true)
if [ -n "$head" ]; then
    echo "head $head"
    set -- "$head"
    for known in "$base" "refs/remotes/origin/$onto"; do
        if g cat-file -e "$known^{commit}" 2>/dev/null; then set -- "$@" "^$known"; fi
    done
    echo "ahead $(g rev-list --count "$@" 2>/dev/null || echo 0)"
fi
changes=$(g status --porcelain --untracked-files=normal --ignore-submodules=dirty 2>/dev/null || echo broken)
if [ -n "$changes" ]; then echo dirty yes; fi
for state in rebase-merge:rebase rebase-apply:rebase MERGE_HEAD:merge CHERRY_PICK_HEAD:cherry-pick REVERT_HEAD:revert \
    BISECT_LOG:bisect; do
    if [ -e ".git/${state%%:*}" ]; then
        echo "doing ${state##*:}"
        break
    fi
done
