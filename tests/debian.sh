# Packages of Debian that tests need; to be sourced by the setup.sh of a folder.

# install_from_debian WHAT PACKAGE...: installs those packages that are missing, if that can be done here; else says so.
install_from_debian() {
    local what=$1 package missing=()
    shift
    for package; do
        [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
    done
    [[ ${#missing[@]} != 0 ]] || return 0
    if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
        echo "WARNING: $what can be installed by root on Debian and its relatives only"
        return 0
    fi
    echo "installing ${missing[*]}"
    # RUNLEVEL=1: what is a daemon would be started as a service of the machine.
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null ||
        echo "WARNING: they could not be installed"
}
