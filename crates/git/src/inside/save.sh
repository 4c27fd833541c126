# Saves a working tree as a commit without touching anything of whoever works there, and pushes it.
# Arguments: the working tree, the ref, where to push, the commit that it began at (or nothing), and the largest file in KiB.
# Prints a line `large PATH` for each file that is too large to be saved, `shut PATH` for each that cannot be read, then the
# commit, or nothing when there is nothing new.
ref=$2 url=$3 base=$4 most=$5
here=$PWD own=$PWD/.git
# A repository of our own beside theirs: whatever is wrong with theirs does not keep files from being saved.
if [ -d "$own" ] && mkdir -p "$own/carrel/save" 2>/dev/null && [ -w "$own/carrel/save" ]; then
    scratch=$own/carrel/save
    # One at a time. The kernel lets go of what a killed saver held.
    if command -v flock >/dev/null 2>&1 && exec 9>"$scratch/turn" && flock -w 60 9; then
        :
    else
        # Where there is no flock, or its holder hangs, a saver that was killed leaves its lock; the next one takes it over
        # after a while.
        tries=0
        until mkdir "$scratch/lock" 2>/dev/null; do
            tries=$((tries + 1))
            if [ -n "$(find "$scratch/lock" -maxdepth 0 -mmin +5 2>/dev/null)" ] || [ "$tries" -gt 600 ]; then
                touch "$scratch/lock"
                break
            fi
            sleep 0.1
        done
        trap 'rmdir "$scratch/lock" 2>/dev/null || rm -rf "$scratch/lock"' EXIT
    fi
else
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
fi
trap 'exit 1' HUP INT TERM
# Every program that is started here is waited for by a task: what the shell can do itself, it does.
if [ ! -f "$scratch/git/HEAD" ] || ! GIT_DIR=$scratch/git g rev-parse --git-dir >/dev/null 2>&1; then
    rm -rf "$scratch/git" "$scratch/index" "$scratch/saved"
    g init -q --bare --template= "$scratch/git"
    printf '[core]\n\tbare = false\n\tcheckStat = minimal\n\ttrustctime = false\n' >>"$scratch/git/config"
fi
if [ ! -d "$scratch/git/info" ] || [ ! -d "$scratch/git/objects/info" ]; then
    mkdir -p "$scratch/git/info" "$scratch/git/objects/info"
fi
{
    if [ -d "$own/objects" ]; then printf '%s\n' "$own/objects"; fi
    if [ -d "$borrowed" ]; then printf '%s\n' "$borrowed"; fi
} >"$scratch/git/objects/info/alternates"
if [ -f "$own/shallow" ]; then cp "$own/shallow" "$scratch/git/shallow"; fi
# What the gateway would refuse for its size must not keep everything else from being saved. Nor does what goes away while it
# is looked for, or a folder that is shut to its owner.
find . -name .git -prune -print -o -type f -size +"$most"k -print >"$scratch/found" 2>/dev/null || true
odd=
while IFS= read -r line; do
    if [ "$line" != ./.git ]; then odd=yes && break; fi
done <"$scratch/found"
: >"$scratch/large"
if [ -n "$odd" ]; then
    sed -n '
        /\/\.git$/d
        s/[][*?\\!#]/\\&/g
        s/ $/\\ /
        s|^\./|/|p' "$scratch/found" >"$scratch/large"
fi
cat "$own/info/exclude" "$scratch/large" >"$scratch/git/info/exclude" 2>/dev/null || true
# Their index says what need not be read again.
[ -f "$scratch/index" ] || cp -p "$own/index" "$scratch/index" 2>/dev/null || true
if [ -e "$scratch/index.lock" ]; then rm -f "$scratch/index.lock"; fi
GIT_DIR=$scratch/git GIT_WORK_TREE=$here GIT_INDEX_FILE=$scratch/index
export GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
if ! g add --all --ignore-errors >/dev/null 2>&1 && ! g ls-files >/dev/null 2>&1; then
    rm -f "$scratch/index" "$scratch/index.lock"
    g add --all --ignore-errors >/dev/null 2>&1 || true
fi
head=$(GIT_DIR=$own g rev-parse --verify --quiet 'HEAD^{commit}' || true)
if [ -z "$head" ]; then
    # Their repository is gone. Where the files are gone with it there is nothing to save, and what was saved before is not
    # replaced by that; else they stand where the work was when it was saved last.
    [ -n "$(g ls-files | head -n 1)" ] || exit 0
    last=$(g ls-remote "$url" "$ref" 2>/dev/null | cut -f 1) || last=
    if [ -n "$last" ]; then
        g cat-file -e "$last^{commit}" 2>/dev/null || g fetch -q "$url" "$ref" >&2 || true
        head=$(g rev-parse --verify --quiet "$last^1^{commit}" || true)
    fi
    [ -n "$head" ] || head=$base
fi
# What they track although it is ignored.
GIT_INDEX_FILE=$own/index g ls-files -z --cached --ignored --exclude-standard >"$scratch/kept" 2>/dev/null || true
if [ -s "$scratch/kept" ]; then
    g add --force --ignore-errors --pathspec-from-file="$scratch/kept" --pathspec-file-nul >/dev/null 2>&1 || true
fi
# A repository within this one would be saved as the name of a commit that nobody has. Its files are saved instead, as
# if it were a folder. The outer ones come first, because one may stand within another.
[ -z "$odd" ] || sed -n 's|^\./\(..*\)/\.git$|\1|p' "$scratch/found" | sort | while IFS= read -r inner; do
    if [ ! -d "$inner" ] || [ -L "$inner" ] || g check-ignore -q -- "$inner"; then continue; fi
    rm -f "$scratch/inner" "$scratch/inner.lock"
    while IFS= read -r large; do
        case $large in "/$inner"/*) printf '%s\n' "${large#"/$inner"}" ;; esac
    done <"$scratch/large" >"$scratch/inner-large"
    GIT_WORK_TREE=$here/$inner GIT_INDEX_FILE=$scratch/inner g -C "$inner" -c core.excludesFile="$scratch/inner-large" \
        add --all --ignore-errors . >/dev/null 2>&1 || true
    held=$(GIT_INDEX_FILE=$scratch/inner g write-tree) || continue
    g rm -r -q -f --cached --ignore-unmatch -- ":(literal)$inner" >/dev/null 2>&1 || true
    g read-tree --prefix="$inner/" "$held" 2>/dev/null || true
done
# What its owner has shut cannot be read by git either, and would be missing without a word.
find . -path ./.git -prune -o \( -type f -o -type d \) ! -readable -print 2>/dev/null | sed -n 's|^\./||p' |
    while IFS= read -r shut; do
        if g check-ignore -q -- "$shut"; then continue; fi
        printf 'shut %s\n' "$shut"
    done | head -n 50 | cut -c 1-500
# What is tracked is added whatever is excluded: a file that grew too large is saved as that commit has it. Whoever reads
# the timeline hears of it, and of what is new and too large, but not of what they ignore themselves.
leave_large() {
    [ -s "$scratch/large" ] || return 0
    sed -n -e '/\/\.git$/d' -e 's|^\./||p' "$scratch/found" >"$scratch/named"
    g ls-files -z | among_large >"$scratch/tracked"
    if [ -n "$1" ]; then
        g diff-index --cached --name-only -z "$1" | among_large >"$scratch/grown"
    else
        cp "$scratch/tracked" "$scratch/grown"
    fi
    if [ -s "$scratch/grown" ]; then
        tr '\n' '\0' <"$scratch/grown" >"$scratch/paths"
        set -- "$1" --pathspec-from-file="$scratch/paths" --pathspec-file-nul
        if [ -n "$1" ]; then g --literal-pathspecs reset -q "$@"; else shift && g --literal-pathspecs rm -q -f --cached "$@"; fi \
            >/dev/null 2>&1 || true
    fi
    cat "$own/info/exclude" >"$scratch/git/info/exclude" 2>/dev/null || : >"$scratch/git/info/exclude"
    tr '\n' '\0' <"$scratch/named" | g check-ignore -z --stdin 2>/dev/null | tr '\0' '\n' >"$scratch/ignored" || true
    {
        cat "$scratch/grown"
        grep -vxF -f "$scratch/tracked" "$scratch/named" | grep -vxF -f "$scratch/ignored" || true
    } | sort -u | sed -n -e 's/^/large /' -e '1,50p' | cut -c 1-500
}
among_large() { tr '\0' '\n' | grep -xF -f "$scratch/named" || true; }
leave_large "$head"
tree=$(g write-tree)
saved=
if [ -f "$scratch/saved" ]; then IFS= read -r saved <"$scratch/saved" || true; fi
[ "$saved" != "$tree $head" ] || exit 0
GIT_AUTHOR_NAME=Carrel GIT_AUTHOR_EMAIL=carrel@localhost GIT_COMMITTER_NAME=Carrel GIT_COMMITTER_EMAIL=carrel@localhost
export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
save() {
    commit=$(g commit-tree "$tree" ${1:+-p "$1"} -m "wip: saved by Carrel") || return 1
    g push --quiet --force --no-verify "$url" "$commit:$ref" 2>"$scratch/heard" && return 0
    cat "$scratch/heard" >&2
    return 1
}
seen="$tree $head" tries=0
: >"$scratch/heard"
until save "$head"; do
    [ -n "$base" ] && [ "$base" != "$head" ] || exit 1
    tries=$((tries + 1))
    case $(cat "$scratch/heard") in
    # The ref may have moved meanwhile.
    *'[remote rejected]'*) if [ "$tries" = 1 ]; then continue; fi ;;
    # Their history is not left behind because the house was away for a moment.
    *) if g rev-list --objects "$head" "^$base" >/dev/null 2>&1; then exit 1; fi ;;
    esac
    # Their own commits are damaged, or have what is too large; the other files can still be saved.
    leave_large "$base"
    tree=$(g write-tree)
    save "$base" || exit 1
    break
done
printf '%s\n' "$seen" >"$scratch/saved"
# Where the mirror is borrowed from, what was pushed is found there.
if [ -d "$borrowed" ]; then rm -rf "$scratch/git/objects"/??; fi
printf '%s\n' "$commit"
