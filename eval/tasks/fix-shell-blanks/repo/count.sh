#!/bin/sh
# Prints how many lines all text files of a folder have together.
sum=0
for file in $(ls $1/*.txt); do
    lines=$(wc -l < $file)
    sum=$((sum + lines))
done
echo $sum
