#!/bin/bash
set -euo pipefail

mkdir -p /app
cp /solution/ini2json.py /app/ini2json.py
