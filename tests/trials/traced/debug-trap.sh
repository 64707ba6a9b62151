#!/bin/bash
f() { echo f; }
trap 'echo "next: $BASH_COMMAND"' DEBUG
echo one
f
trap - DEBUG
trap
set -T
trap 'echo returned' RETURN
f
