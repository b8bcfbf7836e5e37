"""Hooks of MkDocs: pages that lie outside of `docs/`, and links to whatever is no page.

The site has the same pages as the repository and the same links between them: a link is written as it works
in the repository, `../ARCHITECTURE.md`, and is turned here into one between pages of the site. What a link
names that is no page of the site, a file of source code, stays as its text.
"""

from __future__ import annotations

import os
import posixpath
import re
from functools import cache
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

# Material says at every build that MkDocs 2 will not be able to run it; pyproject.toml has MkDocs below 2.
os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")

ROOT = Path(__file__).parents[2]

#: Pages of the repository outside of `docs/`, by where they stand on the site.
ELSEWHERE = {
    "project/architecture.md": "ARCHITECTURE.md",
    "project/contributing.md": "CONTRIBUTING.md",
    "project/changelog.md": "CHANGELOG.md",
    "project/programs.md": "programs/README.md",
    "project/benches.md": "benches/README.md",
    "project/studies.md": "studies/README.md",
    **{
        f"project/study-{page.parent.name}{'' if page.stem == 'README' else '-' + page.stem.lower()}.md": str(
            page.relative_to(ROOT)
        )
        for page in sorted((ROOT / "studies").glob("*/[A-Z]*.md"))
    },
    "project/digests.md": "tests/digests/README.md",
    "project/fuzz.md": "fuzz/README.md",
    "project/hostile.md": "tests/hostile/README.md",
}

#: Place on the site of every page of the repository.
PLACES = {source: place for place, source in ELSEWHERE.items()} | {"README.md": "index.md"}

#: A link or a picture, not inside of code.
LINK = re.compile(
    r"(?P<code>^```.*?^```|`[^`\n]+`(?!\]))|(?P<text>!?\[[^\]]*\])\((?P<to>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)",
    re.MULTILINE | re.DOTALL,
)


@cache
def title(page: str) -> str:
    """The title of a page of the repository, which says more than the name of its file."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    return next((line[2:] for line in lines if line.startswith("# ")), page)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages from outside of `docs/`, and the pictures in their folders."""
    for place, source in ELSEWHERE.items():
        if (ROOT / source).exists():
            files.append(File.generated(config, place, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turns links between files of the repository into links between pages of the site."""
    place = page.file.src_uri
    source = ELSEWHERE.get(place, f"docs/{place}")

    def link(found: re.Match[str]) -> str:
        if found["code"] or ":" in found["to"]:
            return found[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), found["to"]))
        on_site = PLACES.get(target, target.removeprefix("docs/"))
        if (target in PLACES or target.startswith("docs/")) and files.get_file_from_path(on_site):
            to = posixpath.relpath(on_site, posixpath.dirname(place) or ".")
            text = f"[{title(target)}]" if found["text"].endswith(".md]") else found["text"]
            return f"{text}({to}{found['anchor'] or ''})"
        # A file or a folder that is no page. Of pages in docs/,
        # what does not exist is left to MkDocs to complain of.
        known = place in ELSEWHERE or (ROOT / target).exists()
        return found["text"][1:-1] if known and not found["text"].startswith("!") else found[0]

    return LINK.sub(link, markdown)
