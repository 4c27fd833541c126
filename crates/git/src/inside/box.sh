# Makes the box, or finds it: a bare repository beside the working tree that stands for origin where nobody can be asked.
# Arguments: the working tree, the branch that its HEAD is. Prints its refs, a commit and a name in each line.
box=$1.git
[ -d "$box" ] || { say "there is no box at $box"; exit 66; }
if [ ! -e "$box/carrel/made" ]; then
    find "$box" -mindepth 1 -delete
    g init -q --bare --template= "$box"
    # The working tree borrows from it: nothing goes away.
    GIT_DIR=$box g config gc.auto 0
    GIT_DIR=$box g config receive.autogc false
    mkdir -p "$box/carrel"
    : >"$box/carrel/made"
fi
GIT_DIR=$box g symbolic-ref HEAD "refs/heads/$2"
GIT_DIR=$box g for-each-ref --format='%(objectname) %(refname)'
