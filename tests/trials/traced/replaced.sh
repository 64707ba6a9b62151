#!/bin/bash
echo first
trap 'echo never' USR1
exec env -i PATH="$PATH" python3 -c 'import os; print("python", sorted(os.environ)); raise SystemExit(5)'
