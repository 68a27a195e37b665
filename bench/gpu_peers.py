#!/usr/bin/env python3
"""The peers' side of the GPU benchmark: paper-cnn in PyTorch and JAX, data already on the GPU.

Argument: eager | graph | compile | jax. Says one line of JSON when ready, then answers each
"run PRECISION BATCH STEPS" on stdin with the seconds of that many full training steps. The peers
are at their best: TF32 or bf16, channels last, fused Adam, a scan over many steps in JAX.
"""
import json
import os
import sys
import time

RATES = 0.25, 0.5  # of the two dropouts


class Torch:
    def __init__(self, how):
        import torch
        self.torch, self.how, self.ready = torch, how, {}
        torch.backends.cudnn.benchmark = True
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
        self.version = f"PyTorch {torch.__version__} {how}"

    def make(self, precision, batch):
        torch = self.torch
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision != "fp32"
        torch.manual_seed(1000)
        nn = torch.nn
        model = nn.Sequential(
            nn.Conv2d(1, 32, 4), nn.ReLU(True), nn.MaxPool2d(2), nn.Conv2d(32, 64, 4), nn.ReLU(True),
            nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(RATES[0]), nn.Linear(1024, 500), nn.ReLU(True),
            nn.Dropout(RATES[1]), nn.Linear(500, 10)).cuda().to(memory_format=torch.channels_last)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.001, fused=True,
                                     capturable=self.how == "graph")
        loss_of = nn.CrossEntropyLoss()
        images = torch.rand(4, batch, 1, 28, 28, device="cuda")
        labels = torch.randint(0, 10, (4, batch), device="cuda")
        mixed = torch.autocast("cuda", torch.bfloat16, enabled=precision == "bf16", cache_enabled=False)

        def step(i):
            optimizer.zero_grad(set_to_none=True)
            with mixed:
                loss = loss_of(model(images[i % 4].contiguous(memory_format=torch.channels_last)),
                               labels[i % 4])
            loss.backward()
            optimizer.step()
        if self.how == "compile":
            model.compile()
        if self.how != "graph":
            return step
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for i in range(4):
                step(i)
        torch.cuda.synchronize()
        graphs = []
        for i in range(4):
            graphs.append(torch.cuda.CUDAGraph())
            with torch.cuda.graph(graphs[-1]):
                step(i)
        return lambda i: graphs[i % 4].replay()

    def run(self, precision, batch, steps):
        key = precision, batch
        if key not in self.ready:
            self.ready.clear()
            self.ready[key] = self.make(precision, batch)
            for i in range(8):
                self.ready[key](i)
        step = self.ready[key]
        self.torch.cuda.synchronize()
        start = time.perf_counter()
        for i in range(steps):
            step(i)
        self.torch.cuda.synchronize()
        return time.perf_counter() - start


class Jax:
    at_once = 20  # steps of one scan

    def __init__(self):
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        import jax
        self.jax, self.version, self.ready = jax, f"JAX {jax.__version__}", {}

    def make(self, precision, batch):
        jax = self.jax
        jnp, lax = jax.numpy, jax.lax
        kind = jnp.bfloat16 if precision == "bf16" else jnp.float32
        matmul = {"fp32": "highest", "tf32": "tensorfloat32", "bf16": "default"}[precision]
        keys = jax.random.split(jax.random.key(1000), 6)
        normal = lambda i, *shape: 0.05 * jax.random.normal(keys[i], shape)
        parameters = [normal(0, 4, 4, 1, 32), jnp.zeros(32), normal(1, 4, 4, 32, 64), jnp.zeros(64),
                      normal(2, 1024, 500), jnp.zeros(500), normal(3, 500, 10), jnp.zeros(10)]
        images = jax.random.uniform(keys[4], (4, batch, 28, 28, 1))
        labels = jax.random.randint(keys[5], (4, batch), 0, 10)

        def conv(x, w, b):
            x = lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = jax.nn.relu(x + b)
            return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

        def drop(x, key, rate):
            return jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0)

        def loss_of(p, x, y, key):
            p = [v.astype(kind) for v in p]
            a, b = jax.random.split(key)
            x = conv(conv(x.astype(kind), p[0], p[1]), p[2], p[3]).reshape(batch, -1)
            x = jax.nn.relu(drop(x, a, RATES[0]) @ p[4] + p[5])
            x = (drop(x, b, RATES[1]) @ p[6] + p[7]).astype(jnp.float32)
            return -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], 1).mean()

        def step(state, i):
            p, m, v, t, key = state
            key, used = jax.random.split(key)
            loss, g = jax.value_and_grad(loss_of)(p, images[i % 4], labels[i % 4], used)
            t = t + 1
            m = [0.9 * a + 0.1 * b for a, b in zip(m, g)]
            v = [0.999 * a + 0.001 * b * b for a, b in zip(v, g)]
            rate = 0.001 * jnp.sqrt(1 - 0.999 ** t) / (1 - 0.9 ** t)
            p = [w - rate * a / (jnp.sqrt(b) + 1e-7) for w, a, b in zip(p, m, v)]
            return (p, m, v, t, key), loss

        @jax.jit
        def many(state):
            with jax.default_matmul_precision(matmul):
                return lax.scan(step, state, jnp.arange(self.at_once), unroll=4)
        zeros = [jnp.zeros_like(w) for w in parameters]
        return many, (parameters, zeros, zeros, jnp.float32(0), jax.random.key(7))

    def run(self, precision, batch, steps):
        key = precision, batch
        if key not in self.ready:
            self.ready.clear()
            many, state = self.make(precision, batch)
            state, _ = many(state)
            self.ready[key] = [many, self.jax.block_until_ready(state)]
        many, state = self.ready[key]
        start = time.perf_counter()
        launches = max(1, round(steps / self.at_once))
        for _ in range(launches):
            state, _ = many(state)
        self.ready[key][1] = self.jax.block_until_ready(state)
        return (time.perf_counter() - start) * steps / (launches * self.at_once)


def main():
    peer = Jax() if sys.argv[1] == "jax" else Torch(sys.argv[1])
    print(json.dumps({"version": peer.version}), flush=True)
    for line in sys.stdin:
        _, precision, batch, steps = line.split()
        print(peer.run(precision, int(batch), int(steps)), flush=True)


if __name__ == "__main__":
    main()
