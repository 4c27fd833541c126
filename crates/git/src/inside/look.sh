# Looks at a working tree. Arguments: the working tree, the commit that its task began at (or nothing), the branch that it
# goes to, its own branch.
# Prints one fact a line. A repository that cannot be read counts as changed.
base=$2 onto=$3 own=$4
head= branch= dirty=
# One run of git where all is well.
told=
if [ -d .git ]; then
    told=$(g status --porcelain=v2 --branch --no-ahead-behind --untracked-files=normal --ignore-submodules=dirty \
        2>/dev/null) || told=
fi
if [ -n "$told" ]; then
    while IFS= read -r line; do
        case $line in
        '# branch.oid ('* | '# branch.head ('*) ;;
        '# branch.oid '*) head=${line#'# branch.oid '} ;;
        '# branch.head '*) branch=refs/heads/${line#'# branch.head '} ;;
        '# '*) ;;
        *)
            dirty=yes
            break
            ;;
        esac
    done <<END
$told
END
else
    dirty=yes
    if [ -d .git ] && g rev-parse --git-dir >/dev/null 2>&1; then
        branch=$(g symbolic-ref --quiet HEAD 2>/dev/null || true)
        head=$(g rev-parse --verify --quiet 'HEAD^{commit}' 2>/dev/null || true)
    fi
fi
case $branch in refs/heads/*) echo "branch ${branch#refs/heads/}" ;; esac
if [ -n "$head" ]; then
    echo "head $head"
    if ! ahead=$(g rev-list --count "$head" "^$base" "^refs/remotes/origin/$onto" 2>/dev/null); then
        set -- "$head"
        for known in "$base" "refs/remotes/origin/$onto"; do
            if g cat-file -e "$known^{commit}" 2>/dev/null; then set -- "$@" "^$known"; fi
        done
        ahead=$(g rev-list --count "$@" 2>/dev/null || echo 0)
    fi
    echo "ahead $ahead"
    if [ "$branch" != "refs/heads/$own" ]; then
        # What its own branch has and this has not, and what this has that is on nobody's branch.
        set --
        for known in "refs/heads/$own" "refs/remotes/origin/$own"; do
            if g cat-file -e "$known^{commit}" 2>/dev/null; then set -- "$@" "$known"; fi
        done
        if [ $# -gt 0 ]; then
            echo "aside $(g rev-list --count "$@" "^$head" "^refs/remotes/origin/$onto" 2>/dev/null || echo 0)"
        fi
        echo "new $(g rev-list --count "$head" --not "--exclude=refs/remotes/origin/$own" --remotes=origin \
            2>/dev/null || echo 0)"
    fi
fi
if [ -n "$dirty" ]; then echo dirty yes; fi
for state in rebase-merge:rebase rebase-apply:rebase MERGE_HEAD:merge CHERRY_PICK_HEAD:cherry-pick REVERT_HEAD:revert \
    BISECT_LOG:bisect; do
    if [ -e ".git/${state%%:*}" ]; then
        echo "doing ${state##*:}"
        break
    fi
done
