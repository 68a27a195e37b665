"""Tells sweetspot when a training step ends. One file, standard library only: copy it or import it.

    sweetspot tune -- python train.py --batch-size {batch}

Under that command this module reports to sweetspot; anywhere else every function is a cheap no-op
and the script trains as always. It never raises, never waits for sweetspot inside the training
loop, and drops a report (counted, so that no time is taken across the gap) rather than be late.

1. One line in a loop, once for each weight update:

        for x, y in loader:
            ...
            optimizer.step()
            sweetspot.step(len(x))      # without a number: as many samples as the setting's batch

   `sweetspot.begin()` before the loop times the first step too; call it again after a pause that is
   no training (an evaluation, a checkpoint). `for x, y in sweetspot.data(loader)` also tells how
   long each step waited for its data, which is how sweetspot finds out that loading is the limit.

2. A callback, for those who do not write the loop themselves:

        model.fit(..., callbacks=[sweetspot.keras_callback()])
        Trainer(..., callbacks=[sweetspot.lightning_callback()])          # Lightning
        Trainer(..., callbacks=[sweetspot.hf_callback()])                 # Hugging Face
        sweetspot.ultralytics_callbacks(model); model.train(...)          # Ultralytics

3. A session, which pays for imports and data once and not for each batch size:

        def train(batch):               # a function: what it made is gone when it returns
            model, loader = make_model(), make_loader(batch)
            sweetspot.begin()
            for x, y in forever(loader):
                ...
                if sweetspot.step(len(x)):
                    break               # this batch size is measured

        for batch in sweetspot.batches(default=64):
            train(batch)

   Outside sweetspot `batches` gives `default` once and `step` is never true.

`sweetspot.setting()` is the setting to train with: batch, micro_batch, accumulation, precision,
workers and learning_rate. The protocol is in docs/protocol.md of sweetspot's sources.
"""

import functools
import gc
import importlib
import json
import os
import socket
import sys
import threading
import time
from typing import NamedTuple

__version__ = "0.1.0"
__all__ = ["step", "begin", "data", "batches", "enough", "setting", "Setting", "keras_callback",
           "lightning_callback", "hf_callback", "ultralytics_callbacks"]

_PROTOCOL = 1
_LONGEST_LINE = 64 * 1024
_SECONDS_BETWEEN_MEMORY_REPORTS = 1.0
# MSG_NOSIGNAL: a script that set SIGPIPE back to its default must outlive sweetspot. Not every
# system that imports this file has them all.
_DONT_WAIT = getattr(socket, "MSG_DONTWAIT", 0)
_SEND_AT_ONCE = _DONT_WAIT | getattr(socket, "MSG_NOSIGNAL", 0)


class Setting(NamedTuple):
    """What to train with. batch is the samples of one weight update: micro_batch x accumulation."""

    batch: int
    micro_batch: int
    accumulation: int
    precision: str
    workers: int
    learning_rate: float


# ---- what users call


def step(samples=None, data_wait_seconds=None, updates=1):
    """One weight update has ended. True in a session when this batch is measured and may end.

    samples: how many went into it, on all devices together; None for the setting's batch.
    updates: how many weight updates have ended, where a framework runs several in one go; samples
    and data_wait_seconds are those of all of them.
    data_wait_seconds: how much of its time was spent waiting for data, when sweetspot.data() does
    not measure that already.
    """
    link = _link or _open()
    if link.pid != os.getpid():
        return False
    try:
        link.step(samples, data_wait_seconds, updates)
    except Exception:
        link.close()
    return link.enough


def begin():
    """The next step starts now."""
    link = _link or _open()
    if link.pid != os.getpid():
        return
    try:
        link.begin()
    except Exception:
        link.close()


def data(loader):
    """The same batches; how long each was waited for is reported with the step that uses it."""
    link = _link or _open()
    return loader if link is _off else _TimedLoader(loader)


def batches(default=64):
    """Each batch size that sweetspot asks for, until it knows enough; outside it `default`, once.

    Between two batches, garbage and PyTorch's cached device memory are freed. Several processes
    that train together cannot follow one of them from batch to batch: there it gives one batch too,
    and sweetspot starts them anew for each. So it does when step() or begin() was called before.
    """
    link = _link or _open(session=_world_size() == 1)
    if link.pid != os.getpid() or not link.session:
        begin()
        yield setting(batch=default).batch
        return
    while link.next_setting():
        yield setting(batch=default).batch


def enough():
    """Whether the batch that batches() gave last is measured. As of the last step()."""
    return _link is not None and _link.pid == os.getpid() and _link.enough


def setting(batch=64, micro_batch=None, accumulation=1, precision="fp32", workers=1,
            learning_rate=0.001):
    """The setting of the session, else of the environment; the arguments fill the gaps."""
    asked = (_link and _link.asked) or _environment()
    batch = _number(asked.get("batch"), int, 1) or batch
    accumulation = _number(asked.get("accumulation"), int, 1) or accumulation
    asked_workers = _number(asked.get("workers"), int, 0)
    return Setting(
        batch=batch,
        micro_batch=(_number(asked.get("micro_batch"), int, 1) or micro_batch
                     or -(-batch // accumulation)),
        accumulation=accumulation,
        precision=str(asked.get("precision") or precision),
        workers=workers if asked_workers is None else asked_workers,
        learning_rate=_number(asked.get("learning_rate"), float, 0.0) or learning_rate)


def keras_callback():
    """A callback for Keras' fit(): Keras 3, TensorFlow's Keras or tf_keras, whichever is loaded."""
    return _callback_class("KerasCallback")()


def lightning_callback():
    """A callback for Lightning's Trainer, of lightning.pytorch or pytorch_lightning."""
    return _callback_class("LightningCallback")()


def hf_callback():
    """A callback for the Trainer of Hugging Face's transformers."""
    return _callback_class("HFCallback")()


def ultralytics_callbacks(model):
    """Adds the callbacks to an Ultralytics model and gives it back, so that .train() can follow.

    A step is one batch of its loader, whatever number of them it accumulates for a weight update.
    """
    model.add_callback("on_train_start", _ultralytics_begin)
    model.add_callback("on_train_batch_end", _ultralytics_step)
    model.add_callback("on_fit_epoch_end", _ultralytics_begin)  # the validation is no step
    return model


# ---- the connection


class _Off:
    """Stands for the connection where there is none."""

    pid = None  # no process has it
    session = enough = False
    asked = None

    def close(self):
        pass


class _Link:
    """The connection to sweetspot. Only next_setting() ever waits for the other side."""

    def __init__(self, path, session):
        self.pid = os.getpid()
        self.session = session
        self.enough = False
        self.asked = None       # the setting that sweetspot asked for last
        self.dropped = 0        # lines with a time that were thrown away
        self.bad_lines = 0
        self.data_wait_seconds = None
        self._lock = threading.Lock()
        self._unsent = b""      # the rest of a line of which a part is sent
        self._received = b""    # the beginning of a line
        self._skipping = False  # inside a line that is too long
        self._answered = False
        self._waiting = False
        self._memory_reported_at = None
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # Only the connection: in the loop each call carries MSG_DONTWAIT, in _ask() none does.
            self._socket.setblocking(False)
            self._socket.connect(path)
            self._socket.setblocking(True)
        except Exception:
            self._socket.close()
            raise
        self._send({"type": "hello", "protocol": _PROTOCOL, "client": "python",
                    "client_version": __version__, "pid": self.pid, "session": session})

    def close(self):
        """The end, for whatever reason: a session is over, any other training goes on alone."""
        self.enough = self.session
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def begin(self):
        if self._socket is None or self._waiting:
            return
        _synchronize()
        self.data_wait_seconds = None
        self._send_timed({"type": "begin"})

    def step(self, samples, data_wait_seconds, updates):
        if self._socket is None or self._waiting:
            return
        _synchronize()
        message = {"type": "step"}
        if samples is not None:
            message["samples"] = int(samples)
        if updates != 1:
            message["updates"] = int(updates)
        if data_wait_seconds is None:
            data_wait_seconds = self.data_wait_seconds
        if data_wait_seconds is not None:
            message["data_wait_seconds"] = float(data_wait_seconds)
        self.data_wait_seconds = None
        self._send_timed(message)
        self._report_memory()
        # The lock is for another thread's half-read line; what is missed now is read a step later.
        if self._socket is not None and self._lock.acquire(False):
            try:
                self._receive(_DONT_WAIT)
            finally:
                self._lock.release()

    def next_setting(self):
        """Waits for the next setting of the session; False when there is none."""
        if self._socket is None:
            return False
        try:
            _synchronize()
            memory = _memory_message()
            _free_memory()
            return self._ask(b"" if memory is None else _line(memory))
        except Exception:
            self.close()
            return False
        except BaseException:  # Ctrl-C: half a line may be out
            self.close()
            raise

    def _ask(self, memory_line):
        self._answered = False
        self._waiting = True
        try:
            unsent, self._unsent = self._unsent, b""
            self._socket.sendall(unsent + memory_line + _line({"type": "ready"}),
                                 _SEND_AT_ONCE & ~_DONT_WAIT)
            while self._socket is not None and not self._answered:
                self._receive(0)
        finally:
            self._waiting = False
        if self._socket is None:
            return False
        self._memory_reported_at = None
        self.begin()
        return True

    def _send_timed(self, message):
        # Sending takes microseconds: a longer wait can only be a signal handler that interrupted
        # the holder of the lock, which must not wait for itself.
        if not self._lock.acquire(timeout=0.1):
            self.dropped += 1
            return
        try:
            message["at_seconds"] = time.monotonic()  # in the lock: lines are in the order of times
            if message["type"] == "step":
                message["dropped"] = self.dropped
            if not self._send(message):
                self.dropped += 1
        finally:
            self._lock.release()

    def _send(self, message):
        """False when the socket is full. A line is begun only when the one before is out."""
        try:
            if self._unsent:
                self._unsent = self._unsent[self._socket.send(self._unsent, _SEND_AT_ONCE):]
            if self._unsent:
                return False
            line = _line(message)
            self._unsent = line[self._socket.send(line, _SEND_AT_ONCE):]
            return True
        except (BlockingIOError, InterruptedError):
            return False

    def _receive(self, flags):
        try:
            chunk = self._socket.recv(_LONGEST_LINE, flags)
        except (BlockingIOError, InterruptedError):
            return
        if not chunk:
            self.close()
            return
        *lines, self._received = (self._received + chunk).split(b"\n")
        for line in lines:
            if not self._skipping:
                self._take(line)
            self._skipping = False
        if len(self._received) > _LONGEST_LINE:
            self.bad_lines += not self._skipping
            self._skipping, self._received = True, b""

    def _take(self, line):
        try:
            if len(line) > _LONGEST_LINE:
                raise ValueError
            message = json.loads(line.decode("utf-8"))
            kind = message.get("type")
        except Exception:  # no UTF-8, no JSON, no object, nested too deep
            self.bad_lines += 1
            return
        if kind == "enough":
            self.enough = self.session
        elif kind == "setting" and self._waiting:
            if _number(message.get("batch"), int, 1) is None:
                self.bad_lines += 1
                self.close()  # there is nothing to train, and no second answer to wait for
                return
            self.asked, self.enough, self._answered = message, False, True
        elif kind == "done":
            self.close()

    def _report_memory(self):
        now, last = time.monotonic(), self._memory_reported_at
        if last is not None and now - last < _SECONDS_BETWEEN_MEMORY_REPORTS:
            return
        message = _memory_message()
        if message is None or not self._lock.acquire(False):
            return
        try:
            if self._send(message):
                self._memory_reported_at = now
        finally:
            self._lock.release()


_off = _Off()
_link = None  # until the first call
_opening = threading.Lock()


def _open(session=False):
    """Connects when run under sweetspot, at the first call; never tries twice."""
    global _link
    with _opening:
        if _link is None:
            path = os.environ.get("SWEETSPOT_SOCKET")
            try:
                _link = _Link(path, session) if path and _is_first_rank() else _off
            except Exception:
                _link = _off
        return _link


def _after_fork():
    """A data loader's worker: it is silent by its pid; sweetspot shall not see it as a reader."""
    global _opening
    _opening = threading.Lock()  # another thread may have held it
    if _link is not None:
        _link.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _line(message):
    return json.dumps(message, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _number(value, kind, least):
    """The value as a number, or None: it comes from outside."""
    try:
        number = kind(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if least <= number < float("inf") else None


def _environment():
    names = {"batch": "BATCH", "micro_batch": "MICRO_BATCH", "accumulation": "ACCUMULATION",
             "precision": "PRECISION", "workers": "WORKERS", "learning_rate": "LR"}
    return {key: os.environ.get("SWEETSPOT_" + name) for key, name in names.items()}


def _first_number_of(*names):
    """Of the first variable that is set: RANK counts all processes, LOCAL_RANK one machine's."""
    for name in names:
        value = _number(os.environ.get(name), int, -1)
        if value is not None:
            return value
    return None


def _is_first_rank():
    return (_first_number_of("RANK", "LOCAL_RANK", "SLURM_PROCID") or 0) <= 0


def _world_size():
    return max(1, _first_number_of("WORLD_SIZE", "SLURM_STEP_NUM_TASKS") or 1)


class _TimedLoader:
    """A data loader that adds up how long its batches were waited for."""

    def __init__(self, loader):
        self._loader = loader

    def __len__(self):
        return len(self._loader)

    def __getattr__(self, name):
        if name.startswith("_"):  # copy and pickle ask before _loader is there
            raise AttributeError(name)
        return getattr(self._loader, name)

    def __iter__(self):
        started = time.monotonic()  # before iter(): it starts the workers
        iterator = iter(self._loader)
        while True:
            try:
                item = next(iterator)
            except StopIteration:
                return
            _link.data_wait_seconds = (_link.data_wait_seconds or 0.0) + time.monotonic() - started
            yield item
            started = time.monotonic()


# ---- the frameworks, only when the script has loaded them


def _cuda():
    """torch.cuda when the script uses it; asking must not create a context."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return cuda if cuda is not None and cuda.is_initialized() else None


def _synchronize():
    """Waits for the device: steps are only queued when the Python line has run."""
    torch = sys.modules.get("torch")
    if torch is not None:
        cuda, mps = _cuda(), getattr(torch, "mps", None)
        if cuda is not None:
            cuda.synchronize()
        elif mps is not None and torch.backends.mps.is_available():
            mps.synchronize()
    jax = sys.modules.get("jax")
    if jax is not None and _jax_is_used():
        jax.block_until_ready(jax.live_arrays())


def _jax_is_used():
    """Many libraries import JAX in passing; to start its backend would take the GPU's memory."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    started = getattr(bridge, "backends_are_initialized", None)
    return started() if started is not None else bool(getattr(bridge, "_backends", None))


def _memory_message():
    cuda = _cuda()
    if cuda is None:
        return None
    return {"type": "memory", "device": "cuda:%d" % cuda.current_device(),
            "peak_bytes": int(cuda.max_memory_reserved()), "how": "torch.cuda.max_memory_reserved"}


def _free_memory():
    """So that the batch before does not count against the next one."""
    gc.collect()
    cuda = _cuda()
    if cuda is not None:
        cuda.empty_cache()
        cuda.reset_peak_memory_stats()


def _quiet(function):
    """For callbacks: frameworks differ from version to version; no training shall end by that."""

    @functools.wraps(function)
    def guarded(*arguments, **keywords):
        try:
            function(*arguments, **keywords)
        except Exception:
            (_link or _off).close()

    return guarded


def _framework(*names):
    """The module of the first framework that is loaded already, else that can be imported."""
    loaded = [name for name in names if name.partition(".")[0] in sys.modules]
    for name in loaded + [name for name in names[:-1] if name not in loaded]:
        try:
            return importlib.import_module(name)
        except ImportError:
            pass
    return importlib.import_module(names[-1])


def _make_keras_callback():
    keras = _framework("keras.callbacks", "tf_keras.callbacks", "tensorflow.keras.callbacks")

    class KerasCallback(keras.Callback):
        _last = -1     # index of the batch before
        _pending = 0   # batches since the last weight update

        @_quiet
        def on_train_begin(self, logs=None):
            self._pending = 0
            begin()

        @_quiet
        def on_epoch_begin(self, epoch, logs=None):
            self._last = -1

        @_quiet
        def on_train_batch_end(self, batch, logs=None):
            # steps_per_execution runs several batches between two calls of this.
            run, self._last = batch - self._last, batch
            self._pending += run
            accumulated = getattr(self.model.optimizer, "gradient_accumulation_steps", None) or 1
            if self._pending < accumulated:
                return
            updates, self._pending = divmod(self._pending, accumulated)
            if step(updates=updates):
                self.model.stop_training = True

        @_quiet
        def on_test_end(self, logs=None):
            begin()  # the validation is no step

    return KerasCallback


def _make_lightning_callback():
    lightning = _framework("lightning.pytorch", "pytorch_lightning")

    class LightningCallback(lightning.Callback):
        _updates = 0        # the trainer's global_step: weight updates so far
        _micro_batches = 0  # since the last of them

        @_quiet
        def on_train_start(self, trainer, pl_module):
            self._updates, self._micro_batches = trainer.global_step, 0
            begin()

        @_quiet
        def on_train_batch_end(self, trainer, *arguments, **keywords):
            self._micro_batches += 1
            if trainer.global_step == self._updates:
                return  # gradients are being accumulated
            micro_batch = getattr(trainer.train_dataloader, "batch_size", None)
            samples = None
            if isinstance(micro_batch, int):
                samples = micro_batch * self._micro_batches * trainer.world_size
            self._updates, self._micro_batches = trainer.global_step, 0
            if step(samples):
                trainer.should_stop = True

        @_quiet
        def on_validation_end(self, trainer, pl_module):
            begin()  # the validation is no step

    return LightningCallback


def _make_hf_callback():
    transformers = _framework("transformers")

    class HFCallback(transformers.TrainerCallback):
        @_quiet
        def on_train_begin(self, args, state, control, **keywords):
            begin()

        @_quiet
        def on_step_end(self, args, state, control, **keywords):
            # The state's number is the one in use: auto_find_batch_size changes it.
            per_process = getattr(state, "train_batch_size", None)
            if per_process is None:
                per_process = args.per_device_train_batch_size * max(1, getattr(args, "n_gpu", 1))
            if step(per_process * args.gradient_accumulation_steps * args.world_size):
                control.should_training_stop = True

        @_quiet
        def on_evaluate(self, args, state, control, **keywords):
            begin()  # neither the evaluation nor a checkpoint is a step

        @_quiet
        def on_save(self, args, state, control, **keywords):
            begin()

    return HFCallback


@_quiet
def _ultralytics_begin(trainer):
    begin()


@_quiet
def _ultralytics_step(trainer):
    if step(trainer.batch_size):  # of all devices together; the one in use, if it was reduced
        trainer.stop = True


_makers = {"KerasCallback": _make_keras_callback, "LightningCallback": _make_lightning_callback,
           "HFCallback": _make_hf_callback}


def _callback_class(name):
    """Made at first use and kept under its name in this module, so that it can be pickled."""
    if name not in globals():
        made = _makers[name]()
        made.__qualname__ = name
        globals()[name] = made
    return globals()[name]


def __getattr__(name):
    if name in _makers:  # unpickled in a process that has not made it yet
        return _callback_class(name)
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
