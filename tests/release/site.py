"""Every link of the built site that stays in it leads to something, and every page of the documentation is in it."""

import html.parser
import pathlib
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Page(html.parser.HTMLParser):
    """What a page links to, and where it can be entered."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and name in ("href", "src"):
                self.links.append(value)
            elif value and name == "id":
                self.ids.add(value)


def main(site: pathlib.Path) -> int:
    pages = {}
    for place in site.rglob("*.html"):
        page = Page()
        page.feed(place.read_text())
        pages[place.resolve()] = page
    wrong = set()
    for place, page in pages.items():
        # It is shown at any address, and its links are those of the top.
        if place.name in ("404.html", "toc.html"):
            continue
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (place.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else place
            target = target / "index.html" if target.is_dir() else target
            shown = f"{place.relative_to(site.resolve())}: {link}"
            if not target.exists():
                wrong.add(f"{shown} leads nowhere")
            elif parts.fragment and target in pages and parts.fragment not in pages[target].ids:
                wrong.add(f"{shown}: there is no such heading")
    for source in (ROOT / "docs").rglob("*.md"):
        name = source.relative_to(ROOT / "docs")
        if name.name == "SUMMARY.md":
            continue
        name = name.with_name("index.html") if name.name == "README.md" else name.with_suffix(".html")
        if not (site / name).exists():
            wrong.add(f"docs/{source.relative_to(ROOT / 'docs')} has no page")
    print("\n".join(sorted(wrong)))
    print(f"{len(pages)} pages, {len(wrong)} wrong links")
    return 1 if wrong or len(pages) < 2 else 0


sys.exit(main(pathlib.Path(sys.argv[1])))
