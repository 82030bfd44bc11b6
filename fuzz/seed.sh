#!/bin/sh
# Fills fuzz/corpus from the captured samples: small ones, since short inputs fuzz faster.
set -eu
cd "$(dirname "$0")"
samples=../tests/oracle
for target in executable cache json log; do mkdir -p "corpus/$target"; done
for program in "$samples"/programs/*; do
  name=$(basename "$program")
  if [ "$(wc -c < "$program/exec.bin")" -lt 40000 ]; then cp "$program/exec.bin" "corpus/executable/$name"; fi
  if [ "$(wc -c < "$program/vlog.txt")" -lt 12000 ]; then cp "$program/vlog.txt" "corpus/log/$name"; fi
done
cp "$samples"/cache/*-cache ../tests/samples/*-cache corpus/cache/
cp ../www/programs/*.json corpus/json/
wc -c corpus/*/* | tail -n 1
