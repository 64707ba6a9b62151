#!/bin/bash
eval 'echo one; (exit 3)'; echo "$?"
cat > /app/lib.sh <<'LIB'
lib() { echo "lib $1"; return 2; }
echo sourced "$@"
return 5
LIB
. /app/lib.sh a b; echo "$?"
lib x; echo "$?"
source /dev/null
bash /app/lib.sh 2>&1; echo "$?"
alias hello='echo aliased'
shopt -s expand_aliases
alias builtin='echo nope' printf='echo nope'
hello
command -v hello
cmd=echo; $cmd dynamic; "$cmd" quoted
TIMEFORMAT=took; time true
