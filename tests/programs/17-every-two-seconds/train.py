"""word2vec, in the spirit of the C original but with minibatches"""
import os
import sys
import threading
import time

mb = int(os.environ["W2V_MINIBATCH"])
state = {"updates": 0, "stop": False}


def reporter():
    while not state["stop"]:
        time.sleep(2)
        print(time.strftime("%H:%M:%S"), "alpha: %.6f" % 0.025, " updates so far: %d" % state["updates"], " vocab 71291", file=sys.stdout)
        sys.stdout.flush()


print("Starting training using file text8")
print("Vocab size: 71291")
print("Words in train file: 16718843")
threading.Thread(target=reporter, daemon=True).start()
for _ in range(16718843 // mb):
    time.sleep(0.004 + 0.0002 * mb)
    state["updates"] += 1
