#!/bin/bash
mkdir -p /app/src
cat > /app/src/main.py <<'PY'
print("hello $HOME")
PY
python3 /app/src/main.py
echo done >&2
