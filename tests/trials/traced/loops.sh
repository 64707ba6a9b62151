#!/bin/bash
total=0
for ((i = 0; i < 3000; i++)); do
  total=$((total + i))
  [ $((i % 1000)) -ne 0 ] || echo "$i"
done
echo "$total"
until [ "$total" -le 0 ]; do total=$((total - 1000000)); done
select x in a b; do echo "chose $x"; break; done <<< 2
case $x in a) echo a ;; b) echo b ;;& *) echo rest ;; esac
while :; do break; done
