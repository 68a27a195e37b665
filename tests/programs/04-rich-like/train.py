import sys, time, random

BATCH = int(sys.argv[1])
EPOCHS = 30
TRAIN = 12000


def bar(frac, width=40):
    n = int(frac * width * 2)
    full, half = divmod(n, 2)
    s = "\x1b[38;2;249;38;114m" + "━" * full + ("╸" if half else "")
    return s + "\x1b[0m\x1b[38;5;237m" + "━" * (width - full - half) + "\x1b[0m"


print("╭──────────────── \x1b[1mRun 2f9c\x1b[0m ────────────────╮")
print("│ model      unet-small      7.76 M params │")
print("│ images     12000 train / 1500 val        │")
print("│ precision  32                            │")
print("╰──────────────────────────────────────────╯")
print()
steps = -(-TRAIN // BATCH)
for e in range(EPOCHS):
    t0 = time.time()
    sys.stdout.write("\x1b[?25l")
    for i in range(1, steps + 1):
        n = BATCH if i < steps else TRAIN - BATCH * (steps - 1)
        time.sleep(0.004 + 0.002 * n)
        dt = time.time() - t0
        left = dt / i * (steps - i)
        sys.stdout.write(
            f"\r\x1b[2KEpoch {e + 1}/{EPOCHS} {bar(i / steps)} \x1b[35m{100 * i // steps:>3d}%\x1b[0m \x1b[32m{i}/{steps}\x1b[0m "
            f"\x1b[33m{int(dt) // 60}:{int(dt) % 60:02d}\x1b[0m \x1b[36m-{int(left) // 60}:{int(left) % 60:02d}\x1b[0m dice: {random.random():.3f}"
        )
        sys.stdout.flush()
    sys.stdout.write("\x1b[?25h\n")
