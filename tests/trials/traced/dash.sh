#!/bin/sh
set -e
echo "dash $0 $-"
f() { echo "$1"; }
f x
bash -c 'echo "bash ${BASH_ENV-unset} $-"'
exit 3
