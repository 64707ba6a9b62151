#!/bin/bash
printf '%s\n' c a b |
  sort |
  tee /app/sorted.txt
seq 1000 | head -3
for i in 1 2 3; do echo "$i"; done | while read -r n; do echo "n=$n"; done | tac
yes | head -1 \
  | tr y n
shopt -s lastpipe
echo kept | read -r kept
echo "$kept"
seq 3 | (sum=0; while read -r n; do sum=$((sum + n)); done; echo "$sum")
