#!/bin/bash
head -c 300000 /dev/zero | tr '\0' '\377'
printf '\0\1\2\x1e\x1f\n'
echo $'\x1e\x1f'
head -c 3000000 /dev/zero | base64
