#!/bin/bash
echo "ends in CR"
