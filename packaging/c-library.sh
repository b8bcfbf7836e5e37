#!/usr/bin/env bash
# Installs the library for C that Cargo has built: header, shared and static library, file for pkg-config.
#
#   packaging/c-library.sh BUILT PREFIX   BUILT is Cargo's folder with libodonata.a, such as target/release
set -euo pipefail
sources=$(cd "$(dirname "$0")/.." && pwd)
built=$1
mkdir -p "$2"
prefix=$(cd "$2" && pwd)
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$sources/Cargo.toml")
header=$sources/crates/system/odonata-c/include/odonata.h
abi=$(sed -n 's/^#define ODONATA_ABI //p' "$header")

mkdir -p "$prefix/include" "$prefix/lib/pkgconfig"
install -m 644 "$header" "$prefix/include"
install -m 644 "$built/libodonata.a" "$prefix/lib"
if [[ -e $built/libodonata.so ]]; then
    install -m 755 "$built/libodonata.so" "$prefix/lib/libodonata.so.$abi"
    ln -sf "libodonata.so.$abi" "$prefix/lib/libodonata.so"
else
    install -m 755 "$built/libodonata.dylib" "$prefix/lib"
fi
cat >"$prefix/lib/pkgconfig/odonata.pc" <<END
prefix=$prefix
includedir=\${prefix}/include
libdir=\${prefix}/lib

Name: Odonata
Description: The network of an HPC machine, simulated in packets
Version: $version
Cflags: -I\${includedir}
Libs: -L\${libdir} -lodonata
Libs.private: -lpthread -ldl -lm
END
echo "installed into $prefix: odonata.h, libodonata, odonata.pc"
