#!/bin/bash
printf() { echo "my printf $*"; }
read() { echo "my read $*"; }
echo() { command echo "my echo $*"; }
trap() { command echo "my trap $*"; }
printf a; read b; echo c; trap d
declare -i n=3; n+=4; command echo "$n"
