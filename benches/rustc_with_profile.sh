#!/bin/sh
# RUSTC_WRAPPER of profile-guided optimisation: adds $PROFILE_FLAG for what the wheel is made of, not for build scripts and macros.
# RUSTFLAGS would say the same, but Cargo names functions by it, so that the build that uses a profile would find none of
# the functions that the build that made it had counted. Cargo does not see this flag: each build needs a target folder of its own.
rustc=$1
shift
case " $* " in
  *" --crate-name "*" --target "*) exec "$rustc" "$@" "$PROFILE_FLAG" ;;
  *) exec "$rustc" "$@" ;;
esac
