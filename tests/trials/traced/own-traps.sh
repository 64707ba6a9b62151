#!/bin/bash
set -E
cleanup() { echo "cleanup $? $BASH_COMMAND"; rm -f /app/tmp; }
trap cleanup EXIT
trap 'echo "error $? at $LINENO: $BASH_COMMAND"' ERR
trap 'echo usr1; echo again' USR1
trap 'echo child' CHLD
touch /app/tmp
false
f() { false; true; }
f
kill -USR1 $$
sleep 0.01
trap - CHLD
(exit 3)
exit 4
