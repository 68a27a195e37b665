#!/usr/bin/env python3
"""The peers' side of the GPU benchmark: networks in PyTorch or JAX, data already on the GPU.

Arguments: eager | graph | compile | jax. Prints one line of JSON when ready, then answers each line on
stdin, or prints "failed: why". MODEL is paper-cnn by default, HOW the process's own; a process of eager or
graph also answers for the other, and both train one model.
    run PRECISION BATCH STEPS [MODEL [HOW]]   seconds of that many full training steps
    forget PRECISION BATCH 0 [MODEL]          frees what `run` keeps for the next time
The peers are at their best: channels last, fused Adam, the step in a CUDA graph (compiled too, if
it can be captured), a scan over many steps in JAX. SWEETSPOT_PEER_DEVICE=cpu tries it without a GPU.
"""
import functools
import json
import os
import sys
import time

import keras_network

INPUT_SETS = 4
DEVICE = os.environ.get("SWEETSPOT_PEER_DEVICE", "cuda")


class Torch:
    def __init__(self, how):
        # Many of these processes compile at a time: each in its own thread, without helpers.
        os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
        import torch
        self.torch, self.how, self.ready = torch, how, {}
        torch.backends.cudnn.benchmark = True
        if how == "compile":
            # It recompiles one class of modules only a few times otherwise, and forgets none that is ready.
            torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 10**6
        self.version = f"PyTorch {torch.__version__} {how}"

    def forget(self, key):
        self.ready.pop(key, None)
        if DEVICE == "cuda":
            self.torch.cuda.empty_cache()

    def make(self, model, precision, batch):
        """{how: a function that trains the i-th step}; both modes of a graph process train one model."""
        import torch_network
        torch, network = self.torch, keras_network.read(model)
        torch.manual_seed(1000)
        arrange = torch_network.channels_last
        model = arrange(torch_network.build(network).to(DEVICE)).train()
        fast = {"fused": True, "capturable": self.how != "eager"} if DEVICE == "cuda" else {}
        optimizer = torch.optim.Adam(model.parameters(), lr=0.001, **fast)
        loss_of = torch_network.loss_of(network)
        data = [(arrange(torch_network.inputs(network, batch, device=DEVICE)),
                 torch_network.answers(network, batch, device=DEVICE)) for _ in range(INPUT_SETS)]
        kind = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
        mixed = torch.autocast(DEVICE, kind or torch.bfloat16, enabled=kind is not None, cache_enabled=False)
        scaler = self.scaler(precision == "fp16")

        def forward(inputs, answers):
            return loss_of(model(inputs), answers)
        if self.how == "compile":
            # The function, since PyTorch does not compile the forward pass of its own nn.Sequential; for this batch alone.
            forward = torch.compile(forward, dynamic=False)

        def step(i):
            inputs, answers = data[i % INPUT_SETS]
            optimizer.zero_grad(set_to_none=True)
            with mixed:
                loss = forward(inputs, answers)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        if self.how == "eager" or DEVICE != "cuda":
            return {"eager": step, self.how: step}
        try:
            return {"eager": step, self.how: self.captured(step)}
        except RuntimeError as error:
            print("the step cannot be captured:", error, file=sys.stderr, flush=True)
            torch.cuda.synchronize()
            return {"eager": step} if self.how == "graph" else {"compile": step}  # it cannot be captured

    def scaler(self, enabled):
        """For the loss; with a fused Adam it does not synchronise."""
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
            # One pool: they run one after the other, and none reads another's memory.
            with torch.cuda.graph(graph, pool=graphs[0].pool() if graphs else None):
                step(i)
            graphs.append(graph)
        return lambda i: graphs[i % INPUT_SETS].replay()

    def wait(self):
        if DEVICE == "cuda":
            self.torch.cuda.synchronize()

    def run(self, key, steps, how):
        precision = key[1]
        torch = self.torch
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision != "fp32"
        if key not in self.ready:
            self.ready[key] = self.make(*key)
            for i in range(2 * INPUT_SETS):
                self.ready[key].get(self.how, self.ready[key].get("eager"))(i)
            if DEVICE == "cuda":
                torch.cuda.empty_cache()  # what trying cuDNN's algorithms took: other processes need it
        if (how or self.how) not in self.ready[key]:
            raise RuntimeError("the step cannot be captured")
        step = self.ready[key][how or self.how]
        self.wait()
        start = time.perf_counter()
        for i in range(steps):
            step(i)
        self.wait()
        return time.perf_counter() - start


class Jax:
    def __init__(self):
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        # Its allocator keeps what trying algorithms took, and several processes share the GPU: without a limit
        # the later ones fail.
        os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.08")
        import jax
        jax.config.update("jax_default_prng_impl", "rbg")  # dropout with the GPU's own generator
        self.jax, self.version, self.ready = jax, f"JAX {jax.__version__}", {}

    def forget(self, key):
        self.ready.pop(key, None)

    def make(self, model, precision, batch):
        """[a function of the state that trains some steps, the state, how many steps]"""
        import jax_network
        jax, network = self.jax, keras_network.read(model)
        jnp, lax, map_all = jax.numpy, jax.lax, jax.tree_util.tree_map
        kind = {"bf16": jnp.bfloat16, "fp16": jnp.float16}.get(precision, jnp.float32)
        matmul = {"fp32": "highest", "tf32": "tensorfloat32"}.get(precision, "default")
        scale = 1024.0 if precision == "fp16" else 1.0
        keys = jax.random.split(jax.random.key(1000), 3)
        trained, statistics = jax.jit(functools.partial(jax_network.initial, network))(keys[0])
        inputs = jax.random.uniform(keys[1], (INPUT_SETS, batch, *network.input))
        if network.softmax:
            answers = jax.random.randint(keys[2], (INPUT_SETS, batch), 0, network.output[-1])
        else:
            answers = jax.random.uniform(keys[2], (INPUT_SETS, batch, *network.output))

        def loss_of(p, statistics, x, y, key):
            p = map_all(lambda w: w.astype(kind), p)
            outputs, moved = jax_network.apply(network, p, statistics, x.astype(kind), key)
            return scale * jax_network.loss(network, outputs, y), moved

        def step(data, state, i):
            p, statistics, m, v, t, key = state
            key, used = jax.random.split(key)
            x, y = (each[i % INPUT_SETS] for each in data)
            (loss, statistics), g = jax.value_and_grad(loss_of, has_aux=True)(p, statistics, x, y, used)
            t = t + 1
            m = map_all(lambda a, b: 0.9 * a + (0.1 / scale) * b, m, g)
            v = map_all(lambda a, b: 0.999 * a + 0.001 * jnp.square(b / scale), v, g)
            rate = 0.001 * jnp.sqrt(1 - 0.999 ** t) / (1 - 0.9 ** t)
            p = map_all(lambda w, a, b: w - rate * a / (jnp.sqrt(b) + 1e-7), p, m, v)
            return (p, statistics, m, v, t, key), loss

        # A long step hides the loop's overhead, and compiling four steps takes four times as long.
        at_once, unroll = 20 if batch <= 256 else 4, 4 if batch <= 64 and len(network.layers) <= 16 else 1

        @jax.jit
        def many(state, data):  # an argument, so that it is not compiled in as a constant
            with jax.default_matmul_precision(matmul):
                return lax.scan(functools.partial(step, data), state, jnp.arange(at_once), unroll=unroll)
        zeros = map_all(jnp.zeros_like, trained)
        state = trained, statistics, zeros, zeros, jnp.float32(0), jax.random.key(7)
        return [lambda state: many(state, (inputs, answers)), state, at_once]

    def run(self, key, steps, _):
        if key not in self.ready:
            made = self.make(*key)
            made[1] = self.jax.block_until_ready(made[0](made[1])[0])
            self.ready[key] = made
        many, state, at_once = self.ready[key]
        start = time.perf_counter()
        launches = max(1, round(steps / at_once))
        for _ in range(launches):
            state, _ = many(state)
        self.ready[key][1] = self.jax.block_until_ready(state)
        return (time.perf_counter() - start) * steps / (launches * at_once)


def answer(peer, what, precision, batch, steps, model="paper-cnn", how=None):
    key = model, precision, int(batch)
    if what == "forget":
        peer.forget(key)
        return "forgotten"
    try:
        return peer.run(key, int(steps), how)
    except Exception:
        if key not in peer.ready:
            peer.forget(key)  # frees its partial results
        raise


def main():
    peer = Jax() if sys.argv[1] == "jax" else Torch(sys.argv[1])
    print(json.dumps({"version": peer.version}), flush=True)
    for line in sys.stdin:
        try:
            print(answer(peer, *line.split()), flush=True)
        except Exception as error:  # any failure concerns only this network and batch
            print("failed:", type(error).__name__, (str(error).splitlines() or [""])[0][:200], flush=True)


if __name__ == "__main__":
    main()
