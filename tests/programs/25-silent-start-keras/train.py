import argparse
import random
import sys
import time

ap = argparse.ArgumentParser()
ap.add_argument("--batch", type=int, default=32)
a = ap.parse_args()

time.sleep(15)  # reads 11 GB of npz into memory, says nothing

print('Model: "sequential_1"')
print("_________________________________________________________________")
print(" Layer (type)                Output Shape              Param #   ")
print("=================================================================")
print(" conv2d (Conv2D)             (None, 26, 26, 32)        320       ")
print(" flatten (Flatten)           (None, 5408)              0         ")
print(" dense (Dense)               (None, 10)                54090     ")
print("=================================================================")
print("Total params: 54,410")
print("Trainable params: 54,410")
print("Non-trainable params: 0")
print("_________________________________________________________________")

n = -(-9000 // a.batch)
for epoch in range(1, 31):
    print(f"Epoch {epoch}/30")
    last = ""
    t0 = time.time()
    for i in range(1, n + 1):
        time.sleep(0.004 + 0.001 * a.batch)
        k = int(30 * i / n)
        bar = "=" * 30 if i == n else "=" * max(k - 1, 0) + (">" if k else "") + "." * (30 - k)
        per = (time.time() - t0) / i
        tail = f" - ETA: {int(per * (n - i))}s" if i < n else f" - {int(time.time() - t0)}s {int(per * 1000)}ms/step"
        text = f"{i:{len(str(n))}d}/{n} [{bar}]{tail} - loss: {random.random():.4f} - accuracy: {random.random():.4f}"
        sys.stdout.write("\b" * len(last) + "\r" + text)
        sys.stdout.flush()
        last = text
    print(f" - val_loss: {random.random():.4f} - val_accuracy: {random.random():.4f}")
