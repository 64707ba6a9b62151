#!/bin/bash
if [ "${AGAIN-}" != 1 ]; then
  AGAIN=1 exec bash "$0" with "two words"
fi
echo "again: $# $2"
bash -c 'echo "$0 $-"'
