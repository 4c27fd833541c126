"""Every link of the documentation that stays in the repository leads to something, and every page is in the book."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(page: pathlib.Path) -> set[str]:
    """What a page can be entered at, as GitHub and mdBook name headings."""
    found = set()
    for line in page.read_text().splitlines():
        if line.startswith("#"):
            words = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower())
            found.add(words.replace(" ", "-"))
    return found


def main() -> int:
    wrong = []
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
        for link in LINK.findall(re.sub(r"`[^`\n]*`", "", text)):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if not target.exists():
                wrong.append(f"{page.relative_to(ROOT)}: {link} leads nowhere")
            elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                wrong.append(f"{page.relative_to(ROOT)}: {link}: there is no such heading")
    book = (ROOT / "docs/SUMMARY.md").read_text()
    for page in (ROOT / "docs/guides").glob("*.md"):
        if f"guides/{page.name}" not in book:
            wrong.append(f"docs/guides/{page.name} is not in docs/SUMMARY.md")
    # The book takes their titles from there.
    table = (ROOT / "docs/decisions/README.md").read_text()
    for page in (ROOT / "docs/decisions").glob("[0-9]*.md"):
        if f"[{page.name[:4]}]({page.name})" not in table:
            wrong.append(f"docs/decisions/{page.name} is not in docs/decisions/README.md")
    print("\n".join(wrong))
    return 1 if wrong else 0


sys.exit(main())
