#!/bin/bash
set -eux
PS4='[$LINENO] '
name=x
f() { echo "in $1"; set +x; echo quiet; { set -x; } 2> /dev/null; }
f "$name"
for i in 1 2; do (echo "$i"); done
value=$(echo SUB)
[[ $value == SUB ]] && echo "$_"
{ set +x; } 2> /dev/null
echo off
bash -xc 'echo child'
set -x
exec 2> /app/trace.txt
echo to a file
false
