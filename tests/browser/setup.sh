#!/usr/bin/env bash
# Sees to the browser in which tests open reports: Chromium, which playwright (of the extra dev) drives.
#
# With ODONATA_BROWSER_INSTALL=1, and if it may, it first installs Debian's if there is none.
set -euo pipefail
source "$(dirname "$0")/../debian.sh"

present() { command -v chromium || command -v chromium-browser || command -v google-chrome; }

if [[ ${ODONATA_BROWSER_INSTALL:-} == 1 ]] && ! present >/dev/null; then
    install_from_debian Chromium chromium
fi
present >/dev/null || echo "WARNING: no Chromium on this machine: the tests that open reports in it are skipped"
