#!/bin/bash
set -e
(cd /app && echo in > sub.txt; pwd)
pwd
value=$(echo nested; (echo deeper; exit 2) || echo "got $?")
echo "$value"
{ echo grouped; echo twice; } > /app/group.txt
diff <(sort /app/group.txt) <(printf 'grouped\ntwice\n') && echo same
echo "$(< /app/sub.txt)" `echo ticks`
( sh -c 'cat /proc/$PPID/comm' )
x=$(sh -c 'cat /proc/$PPID/comm'); echo "$x"
(exit 6)
echo never
