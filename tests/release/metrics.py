"""Dashboard, alerts and guide speak only of metrics that the house has, and the guide of all of them."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MADE = re.compile(r'(?:counter|gauge|histogram)!\(\s*"(carrel_[a-z_]+)"')
# By a macro, or by what was made of one for several names.
NAMED = re.compile(r'(?:counter|gauge|histogram)!?\(\s*"(carrel_[a-z_]+)"')
SPOKEN = re.compile(r"\bcarrel_[a-z_]+\b")
# The words of a histogram's samples.
ENDINGS = ("_bucket", "_sum", "_count")


def main() -> int:
    made = {name for source in (ROOT / "crates").rglob("*.rs") for name in MADE.findall(source.read_text())}
    # Set from a table, by name.
    made |= {name for source in (ROOT / "crates").glob("*/src/**/*.rs") for name in re.findall(r'"(carrel_[a-z_]+)"', source.read_text())}
    wrong = []
    for place in ["docs/grafana/carrel.json", "docs/grafana/alerts.yaml"]:
        for name in sorted(set(SPOKEN.findall((ROOT / place).read_text()))):
            plain = next((name.removesuffix(end) for end in ENDINGS if name.endswith(end)), name)
            if name not in made and plain not in made:
                wrong.append(f"{place}: nobody makes {name}")
    guide = (ROOT / "docs/guides/operating.md").read_text()
    table = {name for line in guide.splitlines() if line.startswith("| `carrel_") for name in SPOKEN.findall(line.split("|")[1])}
    named = {name for source in (ROOT / "crates").glob("*/src/**/*.rs") for name in NAMED.findall(source.read_text())}
    wrong += [f"docs/guides/operating.md does not tell of {name}" for name in sorted(named - table)]
    wrong += [f"docs/guides/operating.md: nobody makes {name}" for name in sorted(table - named)]
    print("\n".join(wrong))
    return 1 if wrong else 0


sys.exit(main())
