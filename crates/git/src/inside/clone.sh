# Makes a checkout where there are no layers: a clone through the gateway, or of the box. Arguments: the working tree, where origin is,
# the branch, the commit, the author's name and address, the task (or nothing), and how much to fetch (whole, blobless).
# A second time finds it made.
url=$2 branch=$3 commit=$4
[ ! -e .git/carrel/cloned ] || exit 0
rm -rf .git
g init -q --template= --initial-branch="$branch" .
if [ -d "$borrowed" ]; then
    printf '%s\n' "$borrowed" >.git/objects/info/alternates
    if [ -s "$url/shallow" ]; then cp "$url/shallow" .git/shallow; fi
fi
g config core.logallrefupdates true
g config remote.origin.url "$url"
g config remote.origin.fetch '+refs/heads/*:refs/remotes/origin/*'
g config push.default current
g config push.autoSetupRemote true
if [ -n "$5" ]; then
    g config user.name "$5"
    g config user.email "$6"
fi
if [ "$8" = blobless ]; then
    g config remote.origin.promisor true
    g config remote.origin.partialclonefilter blob:none
    g fetch -q --filter=blob:none origin >&2
else
    g fetch -q origin >&2
fi
g remote set-head origin --auto >/dev/null 2>&1 || true
g cat-file -e "$commit^{commit}" 2>/dev/null || g fetch -q origin "$commit" >&2
if [ -n "$7" ]; then
    mkdir -p .git/hooks
    printf '%s\n' '#!/bin/sh' '# Says which task a commit belongs to.' \
        "exec git interpret-trailers --in-place --if-exists doNothing --trailer 'Carrel-Task: $7' \"\$1\"" \
        >.git/hooks/commit-msg
    chmod 755 .git/hooks/commit-msg
fi
g update-ref "refs/heads/$branch" "$commit"
g symbolic-ref HEAD "refs/heads/$branch"
g read-tree --reset -u HEAD
mkdir -p .git/carrel
: >.git/carrel/cloned
