import argparse
import random
import time

p = argparse.ArgumentParser()
p.add_argument("--batch_size", type=int, default=64)
p.add_argument("--n_steps", type=int, default=1024)
a = p.parse_args()

print("Using cpu device\nWrapping the env with a `Monitor` wrapper\nWrapping the env in a DummyVecEnv.", flush=True)
start = time.time()
updates = 0
for it in range(1, 10000):
    time.sleep(0.15)  # the rollout
    for _ in range(-(-a.n_steps // a.batch_size)):
        time.sleep(0.0005 + 0.00002 * a.batch_size)
    updates += 10
    rows = [("rollout/", ""), ("   ep_len_mean", f"{random.uniform(20, 200):.1f}"), ("   ep_rew_mean", f"{random.uniform(20, 200):.1f}"),
            ("time/", ""), ("   fps", int(it * a.n_steps / (time.time() - start))), ("   iterations", it),
            ("   time_elapsed", int(time.time() - start)), ("   total_timesteps", it * a.n_steps),
            ("train/", ""), ("   loss", f"{random.random():.3g}"), ("   n_updates", updates)]
    rule = "-" * 38
    print(rule, *("| {:<20}| {:<13}|".format(k, v) for k, v in rows), rule, sep="\n", flush=True)
