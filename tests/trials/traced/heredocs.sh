#!/bin/bash
name=world
cat <<E1 > /app/a; cat <<'E2' > /app/b
hello $name $(echo "sub ; ( paren")
E1
raw $name `x`
E2
cat <<-TABS
	tab stripped
	TABS
cat <<< "here $name"
cat /app/a /app/b
while IFS= read -r line; do printf '<%s>\n' "$line"; done <<X
 one
  two
X
bash -s <<'INNER'
echo "inner $0 $-"
exit 3
INNER
echo "$?"
