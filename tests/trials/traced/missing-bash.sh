#!/usr/local/bin/bash
echo never
