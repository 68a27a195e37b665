#!/bin/bash
# caffe.sh train --solver=FILE
for arg in "$@"; do
  case $arg in --solver=*) solver=${arg#--solver=} ;; esac
done
value() { awk -v k="$1:" '$1 == k { print $2 }' "$solver"; }
batch=$(value batch_size)
display=$(value display)
max=$(value max_iter)
glog() { printf 'I%(%m%d %H:%M:%S)T.%06d %5d %s] %s\n' -1 $((RANDOM * 30)) $$ "$1" "$2" >&2; }

glog caffe.cpp:197 "Use CPU."
glog solver.cpp:45 "Initializing solver from parameters: "
cat "$solver" >&2
glog layer_factory.hpp:77 "Creating layer mnist"
glog net.cpp:84 "Creating Layer conv1"
glog net.cpp:122 "Setting up conv1"
glog net.cpp:129 "Top shape: $batch 20 24 24 ($((batch * 11520)))"
glog net.cpp:137 "Memory required for data: $((batch * 4 * 15064))"
glog net.cpp:255 "Network initialization done."
glog solver.cpp:279 "Solving LeNet"
glog solver.cpp:280 "Learning Rate Policy: inv"

# 30 ms for the update, half a millisecond for each picture
pause=$(awk -v b="$batch" 'BEGIN { printf "%.4f", 0.028 + 0.0005 * b }')
for ((i = 0; i <= max; i++)); do
  if ((i % display == 0)); then
    glog solver.cpp:218 "Iteration $i (29.1 iter/s, 0.17s/$display iters), loss = 0.$((RANDOM % 9000 + 1000))"
    glog solver.cpp:237 "    Train net output #0: loss = 0.$((RANDOM % 9000 + 1000)) (* 1 = 0.3 loss)"
    glog sgd_solver.cpp:105 "Iteration $i, lr = 0.01"
  fi
  sleep "$pause"
done
