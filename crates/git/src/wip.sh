# Saves a working tree as a commit without touching the index of whoever works there, and pushes it.
# usage: sh wip.sh WORKTREE REF. Prints the commit, or nothing when there is nothing new.
set -eu
cd "$1"
ref=$2
own=$(git rev-parse --absolute-git-dir)
# One at a time; a saver that was killed leaves its folder, and the next one takes it over after a while.
scratch=$own/carrel-wip
if ! mkdir "$scratch" 2>/dev/null; then
    [ -n "$(find "$scratch" -maxdepth 0 -mmin +2 2>/dev/null)" ] || exit 0
    touch "$scratch"
fi
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
rm -f "$scratch/index" "$scratch/index.lock"
cp -p "$own/index" "$scratch/index" 2>/dev/null || true
# Hooks and the person's own settings for adding files have no say here.
GIT_INDEX_FILE=$scratch/index
export GIT_INDEX_FILE
git -c core.safecrlf=false -c advice.addEmbeddedRepo=false add --all --ignore-errors >/dev/null 2>&1 || true
# What the gateway would refuse for its size must not keep everything else from being saved.
find . -name .git -prune -o -type f -size +51200k -print | while IFS= read -r path; do
    path=${path#./}
    git cat-file -e "HEAD:$path" 2>/dev/null || {
        echo "not saved, too large: $path" >&2
        git update-index --force-remove -- "$path" || true
    }
done
tree=$(git write-tree)
unset GIT_INDEX_FILE
head=$(git rev-parse --verify --quiet HEAD || true)
saved=$(cat "$own/carrel-wip-saved" 2>/dev/null || true)
[ "$saved" != "$tree $head" ] || exit 0
GIT_AUTHOR_NAME=Carrel GIT_AUTHOR_EMAIL=carrel@localhost GIT_COMMITTER_NAME=Carrel GIT_COMMITTER_EMAIL=carrel@localhost
export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
commit=$(git -c commit.gpgSign=false commit-tree "$tree" ${head:+-p "$head"} -m "wip: saved by Carrel")
git -c push.gpgSign=false push --quiet --force --no-verify origin "$commit:$ref" >&2
printf '%s\n' "$tree $head" >"$own/carrel-wip-saved"
printf '%s\n' "$commit"
