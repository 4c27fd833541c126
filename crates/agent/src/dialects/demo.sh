# The demo agent of Carrel. A script: no model, no key, no network. It reads what is asked, makes a small change in the
# repository it stands in, checks it, commits it, and says what it does in lines of JSON.
#
# Words in the prompt that make it do something else, for trying things out:
#   [ask]      ends its first turn with a question        [fail]     fails
#   [forget]   changes a file and does not commit it      [nothing]  does nothing
set -eu

pause=${CARREL_DEMO_PAUSE:-0.4}
prompt=${CARREL_PROMPT:-$(cat)}
first_line=$(printf '%s\n' "$prompt" | sed -n '/[^[:space:]]/{s/^[[:space:]#*>-]*//;s/[[:space:]]*$//;p;q;}' | tr -d '\000-\037')
uses=0

main() {
    wish=$(short 100 "${first_line:-A small change}")
    if ! top=$(git rev-parse --show-toplevel 2>/dev/null); then
        say "I am the demo agent: a script, not a model. There is no repository on this desk, so I can only answer: $wish"
        exit 0
    fi
    cd "$top"
    branch=$(git symbolic-ref --quiet --short HEAD || git rev-parse --short HEAD)
    say "I am the demo agent: a script, not a model. I was asked: $wish"
    look_around
    case $prompt in
    *'[fail]'*) echo "The prompt asked the demo agent to fail." >&2; exit 1 ;;
    *'[nothing]'*) say "I was asked to do nothing, and did it."; exit 0 ;;
    *'[ask]'*)
        if [ "${CARREL_FIRST:-yes}" = yes ]; then
            conversation "${CARREL_CONVERSATION:-}"
            say "Before I go on I need a decision.

QUESTION: Shall I go on with: $wish?"
            exit 0
        fi
        ;;
    esac
    choose_file
    tool write "$file" write_section
    tool "git diff --check" "git diff --check" git diff --check
    if [ -n "${CARREL_CHECK:-}" ]; then
        tool check "$CARREL_CHECK" sh -c "$CARREL_CHECK"
    fi
    conversation "$file"
    case $prompt in
    *'[forget]'*) say "I wrote $file and forgot to commit it."; exit 0 ;;
    esac
    tool commit "git commit" commit
    # The work of a session is saved and has no branch at the house.
    if [ "${branch#session-}" = "$branch" ] && git remote get-url origin >/dev/null 2>&1; then
        tool push "git push origin HEAD:$branch" git push --quiet origin "HEAD:refs/heads/$branch" || true
    fi
    say "Done. $file now says what was asked for; the change is committed on $branch as $(git rev-parse --short HEAD)."
}

look_around() {
    files=$(git ls-files | wc -l | tr -d ' ')
    tool look "git ls-files | wc -l" echo "$files files"
    say "This is the branch $branch, with $files files."
}

# A text file that the prompt names, or the one of the turn before; else a new one that is named after the wish.
choose_file() {
    file=${CARREL_CONVERSATION:-}
    if [ -n "$file" ] && [ -f "$file" ]; then
        return 0
    fi
    for word in $(printf '%s' "$prompt" | tr -c 'A-Za-z0-9._/-' ' '); do
        word=${word%.}
        for name in "$word" "$word.md"; do
            case $name in
            /* | -* | *..*) ;;
            *.md | *.txt | *.rst)
                if [ -f "$name" ] && git ls-files --error-unmatch -- "$name" >/dev/null 2>&1; then
                    file=$name
                    return 0
                fi
                ;;
            esac
        done
    done
    slug=$(printf '%s' "$wish" | tr 'A-Z' 'a-z' | tr -c 'a-z0-9' '-' | tr -s '-' | cut -c 1-40 | sed 's/^-*//;s/-*$//')
    file=docs/${slug:-note}.md
}

write_section() {
    mkdir -p "$(dirname "$file")"
    if [ -s "$file" ]; then
        # A file may end without a line break.
        [ -z "$(tail -c 1 "$file")" ] || echo >>"$file"
        mark='##'
        echo >>"$file"
    else
        mark='#'
    fi
    {
        printf '%s %s\n\n' "$mark" "$wish"
        printf '%s\n' "$prompt" | sed 's/^[#>]*[[:space:]]*//;s/[[:space:]]*$//' | sed '/./,$!d' | head -n 40
        printf '\nWritten by the demo agent'
        [ -z "${CARREL_TASK:-}" ] || printf ' for task %s' "$CARREL_TASK"
        printf '.\n'
    } >>"$file"
    wc -l <"$file" | sed "s|^ *|$file: |;s|\$| lines|"
}

commit() {
    git add -- "$file"
    summary=$(short 60 "$wish" | sed 's/[.!?[:space:]]*$//')
    # A capital at the beginning becomes a small letter, unless it begins a word of capitals.
    summary=$(printf '%s' "$summary" | awk '{ if ($0 ~ /^[A-Z][A-Z]/) print; else print tolower(substr($0, 1, 1)) substr($0, 2) }')
    set -- --quiet -m "docs: ${summary:-a small change}"
    [ -z "${CARREL_TASK:-}" ] || set -- "$@" -m "Carrel-Task: $CARREL_TASK"
    if git config user.email >/dev/null; then
        git commit "$@"
    else
        git -c user.name="Demo agent" -c user.email=demo@carrel.invalid commit "$@"
    fi
    git log -1 --format='%h %s'
}

# Runs something as a tool: name, title, command.
tool() {
    uses=$((uses + 1))
    name=$1 title=$2
    shift 2
    printf '{"moment":"tool_began","id":"%s","name":"%s","title":"%s"}\n' "$uses" "$(quote "$name")" "$(quote "$title")"
    sleep "$pause"
    code=0
    output=$("$@" 2>&1) || code=$?
    ok=true
    [ "$code" = 0 ] || ok=false
    printf '{"moment":"tool_ended","id":"%s","ok":%s,"output":"%s"}\n' "$uses" "$ok" "$(quote "$output")"
    return "$code"
}

say() {
    printf '{"moment":"said","text":"%s"}\n' "$(quote "$1")"
    sleep "$pause"
}

conversation() {
    [ -z "$1" ] || printf '{"moment":"conversation","id":"%s"}\n' "$(quote "$1")"
}

# The first words of a text, as many as fit into so many bytes: a cut inside a word may be a cut inside a letter.
short() {
    cut=$(printf '%s' "$2" | head -c "$1")
    if [ "$cut" = "$2" ]; then printf '%s' "$2"; else printf '%s' "${cut% *}"; fi
}

# A text as it stands between quotes in JSON; what is longer than 4 KB is cut.
quote() {
    printf '%s' "$1" | head -c 4000 | tr -d '\000-\010\013-\037' | sed 's/\\/\\\\/g;s/"/\\"/g;s/	/\\t/g' | awk 'NR > 1 { printf "\\n" } { printf "%s", $0 }'
}

main
