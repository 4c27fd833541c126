# Goes on from a saved commit. Arguments: the working tree, the commit, its ref, where to fetch it from, the branch.
# What was not committed is not committed now: the branch is where it was, the files are those that were saved.
commit=$2 ref=$3 url=$4 branch=$5
rm -f .git/index.lock
g cat-file -e "$commit^{commit}" 2>/dev/null || g fetch -q "$url" "$ref" >&2
parent=$(g rev-parse --verify --quiet "$commit^1" || true)
g read-tree --reset -u "$commit"
if [ -n "$parent" ]; then
    g update-ref -m "carrel: go on from saved work" "refs/heads/$branch" "$parent"
    g symbolic-ref HEAD "refs/heads/$branch"
    g read-tree --reset "$parent"
    g update-index -q --refresh >/dev/null || true
fi
