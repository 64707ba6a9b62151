#!/bin/bash -x
echo traced
true
