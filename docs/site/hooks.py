"""Hooks of MkDocs: pages outside of `docs/`, and links to other files.

The site has the same pages as the repository and the same links between them. A link is written as it works
in the repository, `../ARCHITECTURE.md`, and becomes a link between pages of the site here. A link to a file
that is no page, such as source code, becomes plain text.
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

# Material warns at every build that MkDocs 2 will not be able to run it; pyproject.toml has MkDocs below 2.
os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")

ROOT = Path(__file__).parents[2]

#: Pages of the repository outside of `docs/`, by their place on the site.
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

#: A link or a picture outside of code.
LINK = re.compile(
    r"(?P<code>^```.*?^```|`[^`\n]+`(?!\]))|(?P<text>!?\[[^\]]*\])\((?P<to>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)",
    re.MULTILINE | re.DOTALL,
)


@cache
def title(page: str) -> str:
    """The title of a page of the repository, which is better than its file name."""
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
        # A file or a folder that is no page. MkDocs reports missing pages in docs/.
        known = place in ELSEWHERE or (ROOT / target).exists()
        return found["text"][1:-1] if known and not found["text"].startswith("!") else found[0]

    return LINK.sub(link, markdown)
