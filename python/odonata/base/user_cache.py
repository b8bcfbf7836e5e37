"""The user's folder for data that can be computed again."""

from __future__ import annotations

from pathlib import Path


def user_cache() -> Path:
    """The folder; it may not exist."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("odonata", appauthor=False))
