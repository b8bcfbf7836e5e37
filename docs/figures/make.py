"""Makes the pictures of docs/gallery.md: `make gallery`.

The page's own commands run in a temporary folder; pictures that the page shows are kept. Reports are opened
in Chromium (tests/browser/setup.sh installs it).
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/python"))
from console_blocks import Place  # noqa: E402

FIGURES = Path(__file__).parent

#: Pictures of the report: colors, the heading at the top, size in pixels.
REPORT = {
    "report.png": ("light", None, (1200, 900)),
    "report-machine.png": ("dark", "The machine", (1200, 820)),
    "report-latency.png": ("light", "Latency", (1200, 620)),
}

#: Largest picture for the repository, in bytes.
LARGEST = 200_000


def photograph(page: Path, folder: Path) -> None:
    """Pictures of a report, in `folder`."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, (colors, heading, (width, height)) in REPORT.items():
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=colors)
            tab = context.new_page()
            tab.goto(page.as_uri())
            if heading is not None:
                tab.get_by_role("heading", name=heading, exact=True).first.scroll_into_view_if_needed()
                tab.get_by_role("heading", name=heading, exact=True).first.evaluate("h => h.scrollIntoView()")
            tab.wait_for_timeout(2500)
            tab.screenshot(path=folder / name)
            context.close()
        browser.close()


def smaller(picture: Path) -> None:
    """Reduces the colors if Pillow is installed, which comes with matplotlib."""
    from PIL import Image

    with Image.open(picture) as image:
        image.convert("RGB").quantize(128).save(picture, optimize=True)


def main() -> None:
    """Runs the page, and keeps its pictures."""
    text = (ROOT / "docs/gallery.md").read_text(encoding="utf-8")
    wanted = re.findall(r"\(figures/([\w-]+\.png)\)", text)
    with tempfile.TemporaryDirectory(prefix="odonata-gallery-") as name:
        folder = Path(name)
        for _, command, code, printed in Place(folder).page(text):
            if code != 0:
                sys.exit(f"$ {command.text}\n" + "\n".join(printed))
        photograph(folder / "together.html", folder)
        for picture in wanted:
            smaller(folder / picture)
            size = (folder / picture).stat().st_size
            if size > LARGEST:
                sys.exit(f"{picture} has {size:,} bytes, more than {LARGEST:,}")
            shutil.copyfile(folder / picture, FIGURES / picture)
            print(f"docs/figures/{picture}: {size:,} bytes")


if __name__ == "__main__":
    main()
