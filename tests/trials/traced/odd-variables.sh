#!/bin/bash
set -u
IFS=,
echo $((1 + 1)) "$_"
IFS=0123456789
a=(x 1 y); echo "${a[*]}"
IFS=
true | false
echo "${PIPESTATUS[@]}"
set -f; echo *; set +f
shopt -s nullglob failglob extglob
set -o noclobber
echo first > /app/x
echo second > /app/x
echo "$?"
set -o posix
X=1 export Y=2
echo "${X-unset} $Y"
LC_ALL=C
printf '%b' 'bytes \xff\xfe\n'
echo "ünïcode $_"
