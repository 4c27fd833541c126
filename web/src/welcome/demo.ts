/** What the first run is made of when nothing else is at hand. */

export const SAMPLE = 'sample'

export const DEMO_WISH = 'Write a short poem about a quiet desk'

/** A script that plays an agent: it thinks aloud, writes a file, commits, and is done. Plain sh and git, nothing else. */
export const DEMO_COMMAND = `set -e
echo "Reading the wish: $CARREL_PROMPT"
sleep 1
echo "Looking around the repository."
git log --oneline -5 2>/dev/null || true
ls
sleep 1
echo "Writing POEM.md"
cat > POEM.md <<'END'
# A quiet desk

A lamp, two walls, a page begun,
the branch is mine till work is done.
I push, I rest, I leave no trace,
and someone else may have the place.
END
git add POEM.md
git commit -q -m "docs: add a poem about a quiet desk"
sleep 1
echo "Done: one file, one commit."`
