"""What the documentation leans on is there: tests by their names, files by their paths, commands of `make` and of the bench."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
# Decisions tell of their own day, and are not kept up to date.
PAGES += [page for page in sorted((ROOT / "docs").rglob("*.md")) if "decisions" not in page.parts]

tracked = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True,
                         text=True, check=True).stdout.split("\n")
sources = "\n".join((ROOT / name).read_text() for name in tracked if name.endswith(".rs") and (ROOT / name).is_file())
functions = set(re.findall(r"\bfn (\w+)", sources))
targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.M))
parts = set(re.findall(r"^    (\w+),$", re.search(r"enum Part \{(.*?)^\}", (ROOT / "bench/src/lib.rs").read_text(), re.S | re.M)[1],
                       re.M))
parts = {part.lower() for part in parts}
scripts = (ROOT / "web/package.json").read_text()

missing = []
for page in PAGES:
    text = page.read_text()
    place = page.relative_to(ROOT)
    # A sentence with underscores is the name of a test.
    for name in re.findall(r"`(?:test\()?([a-z]\w*(?:_\w+){3,})\)?`", text):
        if name not in functions and name not in sources:
            missing.append(f"{place}: no test or name `{name}`")
    for path in re.findall(r"`((?:crates|bench|tests|web|scripts|deploy|docs|fuzz)/[\w./-]+)`", text):
        # What is built is not there before.
        if not (ROOT / path).exists() and not path.startswith("web/dist"):
            missing.append(f"{place}: no file `{path}`")
    for target in re.findall(r"(?:`|^|\s)make ([a-z][a-z-]+)(?:`|$|  | [A-Z])", text, re.M):
        if target not in targets:
            missing.append(f"{place}: no `make {target}`")
    for part in re.findall(r"(?:carrel bench|make bench ARGS=\"?)\s*([a-z]+)", text):
        if part not in parts:
            missing.append(f"{place}: no `carrel bench {part}`")
    for script in re.findall(r"npm run (?:--silent )?([a-z0-9:]+)", text):
        if f'"{script}":' not in scripts:
            missing.append(f"{place}: no `npm run {script}`")

print("\n".join(missing))
sys.exit(bool(missing))
