# Takes what was brought into the box: a pack, where history ends, and where refs go. Argument: the working tree.
# What was brought lies in files that are gone afterwards; a second time finds it taken.
box=$1.git
GIT_DIR=$box
export GIT_DIR
[ -e "$box/carrel/in.refs" ] || exit 0
if [ -s "$box/carrel/in.ends" ]; then
    cat "$box/shallow" "$box/carrel/in.ends" 2>/dev/null | sort -u >"$box/carrel/ends"
    mv -f "$box/carrel/ends" "$box/shallow"
fi
if [ -s "$box/carrel/in.pack" ]; then g index-pack --stdin --fix-thin <"$box/carrel/in.pack" >/dev/null; fi
g update-ref --stdin <"$box/carrel/in.refs"
rm -f "$box/carrel/in.pack" "$box/carrel/in.ends" "$box/carrel/in.refs"
