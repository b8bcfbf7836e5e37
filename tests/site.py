"""Checks the built site: `python tests/site.py site`.

Every page can be reached from the navigation, and no page needs another computer: the folder can be read
offline. If Chromium and Playwright are installed, all pages are opened at the width of a phone, and a search
is made. Exit code: 0, or 1 with the errors.
"""

from __future__ import annotations

import json
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin, urlparse

#: Bytes of the whole site.
LARGEST = 30_000_000


class Page(HTMLParser):
    """The resources of a page, and the targets of its navigation."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.navigation: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collects addresses."""
        found = {name: value or "" for name, value in attrs}
        if tag in ("img", "script", "iframe", "source") and "src" in found:
            self.fetched.append(found["src"])
        if tag == "link" and found.get("rel") not in ("canonical", "prev", "next", "alternate"):
            self.fetched.append(found.get("href", ""))
        if tag == "a" and "md-nav__link" in found.get("class", ""):
            self.navigation.add(found.get("href", "").partition("#")[0])


def check_browser(site: Path, pages: list[str]) -> str:
    """Checks that pages open without an error and offline, and that none is wider than a phone."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        return "not opened in a browser: no Chromium or no Playwright"
    wrong: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 390, "height": 844})
        tab.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        tab.on(
            "request", lambda request: wrong.append(request.url) if request.url.startswith("http") else None
        )
        for name in pages:
            tab.goto((site / name).resolve().as_uri())
            if tab.evaluate("document.documentElement.scrollWidth > innerWidth"):
                wrong.append("wider than a phone")
            if wrong:
                sys.exit(f"{name} in a browser: {'; '.join(wrong)}")
        tab = browser.new_page(viewport={"width": 1300, "height": 900})
        tab.goto((site / "index.html").resolve().as_uri())
        tab.fill("input.md-search__input", "eager threshold")
        tab.wait_for_selector(".md-search-result__item")
        browser.close()
    return "all open in a browser, and are searched"


def main() -> None:
    """Every check, in turn."""
    site = Path(sys.argv[1])
    pages = {str(path.relative_to(site)): Page() for path in site.rglob("*.html") if path.name != "404.html"}
    for name, page in pages.items():
        page.feed((site / name).read_text(encoding="utf-8"))
        outside = [address for address in page.fetched if urlparse(address).netloc]
        missing = [
            address
            for address in page.fetched
            if not urlparse(address).scheme and not (site / urljoin(name, address).partition("?")[0]).exists()
        ]
        if outside or missing:
            sys.exit(f"{name}: fetches {outside}, lacks {missing}")
    reached = {urljoin("index.html", address) or "index.html" for address in pages["index.html"].navigation}
    if unreached := set(pages) - reached - {"index.html"}:
        sys.exit(f"not in the navigation: {', '.join(sorted(unreached))}")
    indexed = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))["docs"]
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    if size > LARGEST:
        sys.exit(f"{size:,} bytes, more than {LARGEST:,}")
    opened = check_browser(site, sorted(pages))
    print(
        f"{site}/index.html: {len(pages)} pages ({opened}), {len(indexed)} sections, {size / 2**20:.1f} MiB"
    )


if __name__ == "__main__":
    main()
