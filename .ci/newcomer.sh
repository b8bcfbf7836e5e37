#!/usr/bin/env bash
# Does what a newcomer does: clones the repository into an empty folder whose path has a space, with nothing beside it, and runs the
# two commands of the README there as an ordinary user, in an environment that has only what the clients of package registries need.
#
#   .ci/newcomer.sh SOURCE WORK   clones SOURCE to "WORK/my code/odonata"
#
# As root it makes a user for this; where that user cannot reach Rust's toolchain, it gets links to it. Otherwise it runs as the calling user.
# WORK/environment holds the variables, for steps that follow in the same clone.
set -euo pipefail
source=$1 work=$2
user=odonata-newcomer
clone="$work/my code/odonata"

step() {
    local begin=$SECONDS
    "$@"
    echo "$*: $((SECONDS - begin)) s of $SECONDS s"
}

mkdir -p "$work/my code" "$work/home"
git clone --quiet --no-local "$source" "$clone"

as_user=()
path=/usr/local/bin:/usr/bin:/bin
if [[ $(id -u) == 0 ]]; then
    id "$user" >/dev/null 2>&1 || useradd --system --home-dir "$work/home" --shell /bin/bash "$user"
    chmod 755 "$work"
    # Rust's toolchain, without rustup, where the user can read it: links cost no space.
    sysroot=$(rustc --print sysroot)
    cp -al "$sysroot" "$work/rust" 2>/dev/null || { rm -rf "$work/rust" && cp -a "$sysroot" "$work/rust"; }
    path=$work/rust/bin:$path
    chown -R "$user" "$work/my code" "$work/home"
    as_user=(setpriv --reuid "$user" --regid "$user" --clear-groups)
else
    path=$PATH
fi

# What registries of packages are reached by, and where certificates are.
{
    echo "PATH=$path"
    echo "HOME=$work/home"
    echo "LANG=C.UTF-8"
    env | grep -E '^((PIP|CARGO_(HTTP|NET|REGISTRIES|REGISTRY|SOURCE))_[A-Z_]*|SSL_CERT_(FILE|DIR)|(REQUESTS|CURL)_CA_BUNDLE|(https?|no|HTTPS?|NO)_(proxy|PROXY))=' || true
} >"$work/environment"
mapfile -t variables <"$work/environment"

newcomer() { (cd "$clone" && "${as_user[@]}" env -i "${variables[@]}" "$@"); }

# An ordinary user may find another Python than root does: the first that is new enough.
python=python3
for candidate in python3 python3.13 python3.12 python3.11; do
    if newcomer "$candidate" -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$candidate
        break
    fi
done
chosen=()
[[ $python == python3 ]] || chosen=("PYTHON=$python")

step newcomer make demo "${chosen[@]}"
step newcomer make test "${chosen[@]}"
