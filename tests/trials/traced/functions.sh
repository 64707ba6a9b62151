#!/usr/bin/env bash
set -euo pipefail
log() { echo "[$(caller | cut -d' ' -f1)] ${FUNCNAME[*]} $*"; }
make_it() {
  local name=$1
  mkdir -p "/app/$name"
  log "made $name"
  return "${2:-0}"
}
count() { [ "$1" -le 0 ] || { echo "$1"; count $(($1 - 1)); }; }
main() {
  make_it a
  make_it b 3 || echo "said $?"
  if make_it c 1; then echo taken; else echo "not taken $?"; fi
  inner() { echo inner; }
  inner
  count 3
  A=1 make_it d
  "make_it" e
  log "${PIPESTATUS[@]}" | tr a-z A-Z
}
main "$@"
declare -f main | head -3
unset -f log
