# Pushes what is checked out to the task's branch. Arguments: the working tree, the branch, where origin is, the commit
# that it began at. Prints the commit. A branch that somebody else has moved meanwhile is not run over.
branch=$2 url=$3 base=$4
unlock
mend
head=$(g rev-parse HEAD)
seen=$(g rev-parse --verify --quiet "refs/remotes/origin/$branch" || true)
if [ "$seen" != "$head" ] || ! g ls-remote --exit-code "$url" "refs/heads/$branch" | grep -q "^$head"; then
    if ! g push --quiet --no-verify "--force-with-lease=refs/heads/$branch:$seen" "$url" "HEAD:refs/heads/$branch" >&2; then
        tip=$(g ls-remote "$url" "refs/heads/$branch" | cut -f 1)
        if [ -n "$tip" ] && [ "$tip" != "$seen" ]; then
            echo "somebody else moved \`$branch\` to $tip: put your work on top of it with" \
                "\`git pull --rebase origin $branch\`" >&2
        fi
        exit 1
    fi
    g update-ref "refs/remotes/origin/$branch" "$head"
fi
printf '%s\n' "$head"
