# Writes down what came of a push that was carried. Arguments: the working tree, the ref, where it is agreed on, and the
# commit that the house took; without one it was refused, and everything is as if it had not been pushed.
box=$1.git
rm -f "$box/carrel/out.pack"
if [ -n "$4" ]; then
    GIT_DIR=$box g update-ref "$3" "$4"
    exit 0
fi
old=$(GIT_DIR=$box g rev-parse --verify --quiet "$3^{commit}" || true)
put() { if [ -n "$old" ]; then g update-ref "$1" "$old"; else g update-ref -d "$1"; fi; }
(
    GIT_DIR=$box
    export GIT_DIR
    put "$2"
)
case $2 in refs/heads/*) put "refs/remotes/origin/${2#refs/heads/}" 2>/dev/null || true ;; esac
