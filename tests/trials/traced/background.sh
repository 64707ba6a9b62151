#!/bin/bash
sleep 0.1 && echo late > /app/late.txt &
first=$!
(sleep 60) &
second=$!
{ sleep 60; } &
third=$!
for _ in {1..100}; do
  grep -q sleep "/proc/$second/comm" && break
  sleep 0.02
done
cat "/proc/$second/comm" > /app/comm.txt
sleep 60 | sleep 60 &
wait "$first"; echo "waited $?"
kill "$second" "$third" %%
wait "$second"; echo "killed $?"
coproc cat
echo through >&"${COPROC[1]}"
read -r back <&"${COPROC[0]}"; echo "$back"
kill "$COPROC_PID"
python3 -m http.server --bind 127.0.0.1 18080 > /dev/null 2>&1 &
server=$!
(cd /app && exec sleep 61) &
kill "$server"; wait "$server" 2> /dev/null; echo "server $?"
