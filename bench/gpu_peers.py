#!/usr/bin/env python3
"""The peers' side of the GPU benchmark: a network in PyTorch or JAX, data already on the GPU.

Arguments: eager | graph | compile | jax [MODEL]; paper-cnn unless a model is given. Says one line of
JSON when ready, then answers each line on stdin, or says "failed: why":
    run PRECISION BATCH STEPS   seconds of that many full training steps
    load MODEL                  "loaded": trains that network from now on
The peers are at their best: channels last, fused Adam, the step in a CUDA graph (compiled too, where
it can be captured), a scan over many steps in JAX. SWEETSPOT_PEER_DEVICE=cpu tries it without a GPU.
"""
import json
import os
import sys
import time

import keras_network

INPUT_SETS = 4
DEVICE = os.environ.get("SWEETSPOT_PEER_DEVICE", "cuda")


class Torch:
    def __init__(self, how):
        import torch
        self.torch, self.how, self.ready = torch, how, {}
        torch.backends.cudnn.benchmark = True
        self.version = f"PyTorch {torch.__version__} {how}"

    def load(self, network):
        self.network = network
        self.forget()
        if self.how == "compile":
            self.torch._dynamo.reset()

    def forget(self):
        self.ready.clear()
        if DEVICE == "cuda":
            self.torch.cuda.empty_cache()

    def make(self, precision, batch):
        import torch_network
        torch = self.torch
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision != "fp32"
        torch.manual_seed(1000)
        arrange = torch_network.channels_last
        model = arrange(torch_network.build(self.network).to(DEVICE)).train()
        fast = {"fused": True, "capturable": self.how != "eager"} if DEVICE == "cuda" else {}
        optimizer = torch.optim.Adam(model.parameters(), lr=0.001, **fast)
        loss_of = torch_network.loss_of(self.network)
        data = [(arrange(torch_network.inputs(self.network, batch, device=DEVICE)),
                 torch_network.answers(self.network, batch, device=DEVICE)) for _ in range(INPUT_SETS)]
        kind = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
        mixed = torch.autocast(DEVICE, kind or torch.bfloat16, enabled=kind is not None, cache_enabled=False)
        scaler = self.scaler(precision == "fp16")
        if self.how == "compile":
            model.compile()

        def step(i):
            inputs, answers = data[i % INPUT_SETS]
            optimizer.zero_grad(set_to_none=True)
            with mixed:
                loss = loss_of(model(inputs), answers)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        if self.how == "eager" or DEVICE != "cuda":
            return step
        try:
            return self.captured(step)
        except RuntimeError:
            if self.how == "graph":
                raise
            torch.cuda.synchronize()
            return step  # compiled, but not to be captured

    def scaler(self, enabled):
        """Of the loss; with a fused Adam it waits for nothing."""
        amp = self.torch.amp
        if hasattr(amp, "GradScaler"):
            return amp.GradScaler(DEVICE, enabled=enabled)
        return self.torch.cuda.amp.GradScaler(enabled=enabled)

    def captured(self, step):
        torch = self.torch
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for i in range(INPUT_SETS):
                step(i)
        torch.cuda.synchronize()
        graphs = []
        for i in range(INPUT_SETS):
            graph = torch.cuda.CUDAGraph()
            # One pool: they run one after the other, and nothing of one is read by the next.
            with torch.cuda.graph(graph, pool=graphs[0].pool() if graphs else None):
                step(i)
            graphs.append(graph)
        return lambda i: graphs[i % INPUT_SETS].replay()

    def wait(self):
        if DEVICE == "cuda":
            self.torch.cuda.synchronize()

    def run(self, precision, batch, steps):
        key = precision, batch
        if key not in self.ready:
            self.forget()
            self.ready[key] = self.make(precision, batch)
            for i in range(2 * INPUT_SETS):
                self.ready[key](i)
        step = self.ready[key]
        self.wait()
        start = time.perf_counter()
        for i in range(steps):
            step(i)
        self.wait()
        return time.perf_counter() - start


class Jax:
    at_once = 20  # steps of one scan

    def __init__(self):
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        import jax
        self.jax, self.version, self.ready = jax, f"JAX {jax.__version__}", {}

    def load(self, network):
        self.network = network
        self.ready.clear()
        self.jax.clear_caches()

    def make(self, precision, batch):
        import jax_network
        jax, network = self.jax, self.network
        jnp, lax, map_all = jax.numpy, jax.lax, jax.tree_util.tree_map
        kind = {"bf16": jnp.bfloat16, "fp16": jnp.float16}.get(precision, jnp.float32)
        matmul = {"fp32": "highest", "tf32": "tensorfloat32"}.get(precision, "default")
        scale = 1024.0 if precision == "fp16" else 1.0
        keys = jax.random.split(jax.random.key(1000), 3)
        trained, statistics = jax_network.initial(network, keys[0])
        inputs = jax.random.uniform(keys[1], (INPUT_SETS, batch, *network.input))
        if network.softmax:
            answers = jax.random.randint(keys[2], (INPUT_SETS, batch), 0, network.output[-1])
        else:
            answers = jax.random.uniform(keys[2], (INPUT_SETS, batch, *network.output))

        def loss_of(p, statistics, x, y, key):
            p = map_all(lambda w: w.astype(kind), p)
            outputs, moved = jax_network.apply(network, p, statistics, x.astype(kind), key)
            return scale * jax_network.loss(network, outputs, y), moved

        def step(state, i):
            p, statistics, m, v, t, key = state
            key, used = jax.random.split(key)
            (loss, statistics), g = jax.value_and_grad(loss_of, has_aux=True)(
                p, statistics, inputs[i % INPUT_SETS], answers[i % INPUT_SETS], used)
            t = t + 1
            m = map_all(lambda a, b: 0.9 * a + (0.1 / scale) * b, m, g)
            v = map_all(lambda a, b: 0.999 * a + 0.001 * jnp.square(b / scale), v, g)
            rate = 0.001 * jnp.sqrt(1 - 0.999 ** t) / (1 - 0.9 ** t)
            p = map_all(lambda w, a, b: w - rate * a / (jnp.sqrt(b) + 1e-7), p, m, v)
            return (p, statistics, m, v, t, key), loss

        # The loop's own cost hides behind a large batch, and compiling four steps takes four times as long.
        unroll = 4 if batch <= 256 else 1

        @jax.jit
        def many(state):
            with jax.default_matmul_precision(matmul):
                return lax.scan(step, state, jnp.arange(self.at_once), unroll=unroll)
        zeros = map_all(jnp.zeros_like, trained)
        return many, (trained, statistics, zeros, zeros, jnp.float32(0), jax.random.key(7))

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


def answer(peer, words):
    if words[0] == "load":
        peer.load(keras_network.read(words[1]))
        return "loaded"
    precision, batch, steps = words[1:]
    return peer.run(precision, int(batch), int(steps))


def main():
    peer = Jax() if sys.argv[1] == "jax" else Torch(sys.argv[1])
    peer.load(keras_network.read(sys.argv[2] if len(sys.argv) > 2 else "paper-cnn"))
    print(json.dumps({"version": peer.version}), flush=True)
    for line in sys.stdin:
        try:
            print(answer(peer, line.split()), flush=True)
        except Exception as error:  # whatever it is, it is this network's and batch's alone
            peer.ready.clear()
            print("failed:", type(error).__name__, (str(error).splitlines() or [""])[0][:200], flush=True)


if __name__ == "__main__":
    main()
