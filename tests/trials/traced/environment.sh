#!/bin/bash
env | sort
set -a
FROM_FILE=1
. /dev/stdin <<< 'ANOTHER=2'
set +a
env | sort > /app/env.txt
export -f 2> /dev/null
g() { echo g; }
export -f g
bash -c 'g; env | grep -c .'
python3 -c 'import os, subprocess; print(sorted(os.environ)); subprocess.run(["bash", "-c", "echo $-"])'
sh -c 'set | grep -c _workbench'
