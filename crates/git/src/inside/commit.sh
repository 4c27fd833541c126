# Commits everything that is not ignored. Arguments: the working tree, the branch, where origin is, the commit that it
# began at, the author's name and address, the message. Prints the commit, or nothing when there is nothing to commit.
branch=$2 url=$3 base=$4
GIT_AUTHOR_NAME=$5 GIT_AUTHOR_EMAIL=$6 GIT_COMMITTER_NAME=$5 GIT_COMMITTER_EMAIL=$6
export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
unlock
mend
for state in rebase-merge rebase-apply MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD; do
    if [ -e ".git/$state" ] && [ -n "$(g ls-files --unmerged 2>/dev/null | head -n 1)" ]; then
        say "there are conflicts that nobody has resolved"
        exit 65
    fi
done
# Of a repository within this one only the name of its commit would be committed, which nobody else has, or nothing.
links=$(find . -mindepth 2 -name .git -prune -print | sed 's|^\./||; s|/\.git$||' | while IFS= read -r inner; do
    g check-ignore -q -- "$inner" || printf '%s\n' "$inner"
done | head -n 5)
if [ -n "$links" ]; then
    say "a git repository stands within the repository: $(printf '%s' "$links" | tr '\n' ' '); remove its .git and add the\
 files, or leave it out with a line in .gitignore"
    exit 67
fi
# What cannot be read would be left out without a word.
shut=$(find . -path ./.git -prune -o \( -type f -o -type d \) ! -readable -print 2>/dev/null | sed -n 's|^\./||p' |
    while IFS= read -r path; do
        g check-ignore -q -- "$path" || printf '%s\n' "$path"
    done | head -n 5)
if [ -n "$shut" ]; then
    say "git cannot read what is shut to its owner: $(printf '%s' "$shut" | tr '\n' ' '); open it (chmod u+rX), or leave it\
 out with a line in .gitignore"
    exit 68
fi
add_all
if g diff --cached --quiet --ignore-submodules=dirty HEAD 2>/dev/null; then exit 0; fi
printf '%s' "$7" | g commit --quiet --no-verify --cleanup=verbatim --file=- >&2
g rev-parse HEAD
