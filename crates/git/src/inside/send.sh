# Packs what a ref of the box has and the house has not. Arguments: the working tree, the ref, where it was agreed on, the
# commit that the work began at, and `known` or `whole`: whether what was brought before counts as known.
# Prints where the ref is and where it was agreed to be (or nothing); nothing at all when that is the same.
box=$1.git base=$4
GIT_DIR=$box
export GIT_DIR
new=$(g rev-parse --verify --quiet "$2^{commit}" || true)
old=$(g rev-parse --verify --quiet "$3^{commit}" || true)
if [ -z "$new" ] || [ "$new" = "$old" ]; then exit 0; fi
mkdir -p "$box/carrel"
{
    printf '%s\n' "$new"
    if g cat-file -e "$base^{commit}" 2>/dev/null; then printf '^%s\n' "$base"; fi
    if [ "$5" = known ]; then g for-each-ref --format='^%(objectname)' refs/carrel/brought; fi
} | g pack-objects --revs --stdout -q --thin --delta-base-offset >"$box/carrel/out.pack"
printf '%s %s\n' "$new" "$old"
