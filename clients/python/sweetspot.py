"""Finds the batch size to train with. One file, standard library only: copy it or import it.

From a script or a notebook, with the program `sweetspot` on PATH or named by the variable
SWEETSPOT:

        def train(batch):
            model, loader = make_model(), make_loader(batch)
            for x, y in loader:
                ...
                optimizer.step()
                yield len(x)            # one weight update has ended; or sweetspot.step(len(x))

        best = sweetspot.tune(train, max=1024)
        loader = make_loader(best.batch)

The function trains in this process, batch after batch; an out-of-memory batch is survived.
`@sweetspot.find_batch_size` makes it a decorator; `sweetspot.lightning_tune(trainer, model)` and
`sweetspot.hf_tune(trainer)` do it for Lightning and for Hugging Face's Trainer.

From the command line, for a whole program:

    sweetspot tune -- python train.py --batch-size {batch}

Under that command this module reports to sweetspot; anywhere else every function below is a cheap
no-op and the script trains as usual. It never raises, never waits for sweetspot inside the
training loop, and drops a report (counted, so that no time is taken across the gap) rather than
delay training.

1. One line in a loop, once per weight update:

        for x, y in loader:
            ...
            optimizer.step()
            sweetspot.step(len(x))      # without a number: as many samples as the setting's batch

   `sweetspot.begin()` before the loop times the first step too; call it again after anything that
   is not training (an evaluation, a checkpoint). `for x, y in sweetspot.data(loader)` also reports
   how long each step waited for its data, which shows sweetspot that loading is the bottleneck.
   `sweetspot.metric(accuracy=0.98)` after an evaluation is used by `--for accuracy=0.99`.

2. A callback, if you do not write the loop yourself:

        model.fit(..., callbacks=[sweetspot.keras_callback()])
        Trainer(..., callbacks=[sweetspot.lightning_callback()])          # Lightning
        Trainer(..., callbacks=[sweetspot.hf_callback()])                 # Hugging Face
        sweetspot.ultralytics_callbacks(model); model.train(...)          # Ultralytics

3. A session, which pays for imports and data once instead of per batch size, and survives an
   out-of-memory batch. The function is as for tune():

        sweetspot.run(train, default=64)

   Outside sweetspot it is train(64), run to its end. Your own loop works too, but dies at an
   out-of-memory batch; outside sweetspot `step` is never true:

        for batch in sweetspot.batches(default=64):
            model, loader = make_model(), make_loader(batch)
            sweetspot.begin()
            for x, y in forever(loader):
                ...
                if sweetspot.step(len(x)):
                    break               # this batch size is measured

`sweetspot.noise(small_norm, big_norm, small_batch, big_batch)` reports the gradient noise, and
`sweetspot.GradientNoise` does so for a PyTorch loop that accumulates micro-batches.

`sweetspot.setting()` is the setting to train with: batch, micro_batch, accumulation, precision,
workers and learning_rate. The protocol is in docs/protocol.md of sweetspot's sources.
"""

import contextlib
import copy
import functools
import gc
import importlib
import inspect
import json
import logging
import math
import numbers
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
import zlib
from collections import deque
from typing import NamedTuple

__version__ = "0.1.0"
__all__ = ["tune", "find_batch_size", "lightning_tune", "lightning_batch_finder", "hf_tune",
           "Answer", "Error", "Enough", "run", "step", "begin", "data", "batches", "enough",
           "metric", "setting", "Setting", "noise", "GradientNoise", "keras_callback",
           "lightning_callback", "hf_callback", "ultralytics_callbacks"]

_PROTOCOL = 1
_LONGEST_LINE = 64 * 1024
_SECONDS_BETWEEN_MEMORY_REPORTS = 0.1  # asking takes up to 0.2 ms
_FIRST_MEMORY_REPORTS = 3  # of the first steps: the first one only creates the optimizer's state
_TRACE_BYTES = 64 << 20  # a library's workspace stays allocated
# MSG_NOSIGNAL: a script that reset SIGPIPE must survive sweetspot. Not every system that imports
# this file has them all.
_DONT_WAIT = getattr(socket, "MSG_DONTWAIT", 0)
_SEND_AT_ONCE = _DONT_WAIT | getattr(socket, "MSG_NOSIGNAL", 0)


class Setting(NamedTuple):
    """What to train with. batch is the samples per weight update: micro_batch x accumulation."""

    batch: int
    micro_batch: int
    accumulation: int
    precision: str
    workers: int
    learning_rate: float


class Answer:
    """The result of tune(). int(answer) is its batch, str(answer) the sentence and its reasons.

    batch, micro_batch, accumulation, workers: what to train with
    samples_per_second, bounds: its throughput, and the 95% interval
    alike: the smallest and the largest batch that would do about as well
    memory_bytes: what it takes; None if unknown
    sentence, reasons: the same in words, and why
    status: "found", or "budget" if that ended first
    study, store: where every trial is stored: sweetspot studies show STUDY --db STORE
    json: all of it, as `sweetspot tune --json` prints it
    """

    def __init__(self, answer, store):
        made = answer["recommendation"]
        self.batch = made["batch"]
        self.micro_batch = made["micro_batch"]
        self.accumulation = made["accumulation"]
        self.workers = made["workers"]
        self.samples_per_second = made["samples_per_second"]
        found = [row["samples_per_second"] for row in made["rows"]
                 if row["batch"] in (self.batch, self.micro_batch) and row["samples_per_second"]]
        self.bounds = (found[0]["low"], found[0]["high"]) if found else None
        alike = made.get("alike")
        self.alike = (alike["low_batch"], alike["high_batch"]) if alike else None
        self.memory_bytes = made["memory_bytes"]
        self.sentence = _in_python(made["sentence"])
        self.reasons = [_in_python(reason["text"]) for reason in made["reasons"]]
        self.status = answer["status"]
        self.study = int(answer["study"])
        self.store = store
        self.json = answer

    def __index__(self):
        return self.batch

    __int__ = __index__

    def __repr__(self):
        return "<sweetspot.Answer: batch %d, %.4g samples/s, study %d of %s>" % (
            self.batch, self.samples_per_second, self.study, self.store)

    def __str__(self):
        return "\n  ".join([self.sentence] + self.reasons)


class Error(RuntimeError):
    """Why tune() has no answer. `answer` is the best known one, or None."""

    answer = None


class Enough(BaseException):
    """This batch is measured: step() raises it to leave the function that tune() or run() called.

    It is not an Exception, so that `except Exception` in a training loop does not catch it.
    """


# ---- what users call


def tune(train, *, min=None, max=None, budget=None, restore=(), resume=False, report=False,
         quiet=False, **flags):
    """The batch size to train with, as an Answer. train(batch) runs steps in this process.

    train is a generator function that yields after each weight update (yield len(x) passes the
    samples of the step), or a plain function that calls step(). It is left when enough is
    measured, by GeneratorExit or by Enough, and called again if it ends earlier. An out-of-memory
    batch is a result; any other exception of train is raised here unchanged.

    min, max: the batches to try; budget: seconds, or a text such as "2m", to answer within.
    restore: models and optimizers (anything with state_dict and load_state_dict) that every batch
    starts from and that are restored afterwards. The random states of Python, NumPy and PyTorch
    are always restored.
    resume: continue the study of an earlier call. Only you know whether what the function uses is
    still the same, so by default each call measures again.
    report: write the HTML report next to the store. quiet: print nothing on stderr.
    flags: any other of `sweetspot tune`, with _ for -: multiple_of=8, tolerance=0.02,
    memory_limit="4GiB", goal="max-batch" (--for), db="sqlite:studies.db".

    ValueError for invalid options, Error if there is no answer. Finished trials are always kept
    in the store.
    """
    if not callable(train):
        raise TypeError("sweetspot.tune() takes the function that trains: tune(train), not "
                        "tune(train(64))")
    if os.environ.get("SWEETSPOT_SOCKET"):
        raise Error("sweetspot.tune() was called in a program that sweetspot runs; call "
                    "sweetspot.run(train) there")
    if _world_size() > 1:
        raise Error("sweetspot.tune() cannot lead %d processes that train together; run them with "
                    "sweetspot tune -- torchrun ..." % _world_size())
    program = _program()
    if not _tuning.acquire(blocking=False):
        raise Error("sweetspot.tune() is running in this process already; one at a time, for two "
                    "would disturb each other")
    try:
        flags = dict(flags, min=min, max=max, budget=budget, report=report, resume=resume)
        with _Restored(restore) as restored:
            return _Tuning(program, train, flags, quiet).run(restored.again)
    finally:
        _tuning.release()


def find_batch_size(function=None, **options):
    """A decorator: the function is called with the best batch before its own arguments.

        @sweetspot.find_batch_size(max=1024)
        def train(batch, model): ...

        train(model)        # tunes with it, then trains: train(best.batch, model)

    The options are tune()'s. The last Answer is train.answer. In a program that sweetspot runs, it
    is run().
    """

    def decorate(function):
        @functools.wraps(function)
        def found(*arguments, **keywords):
            def train(batch):
                return function(batch, *arguments, **keywords)

            train.__name__, train.__wrapped__ = getattr(function, "__name__", "train"), function
            if os.environ.get("SWEETSPOT_SOCKET"):
                return run(train)
            found.answer = tune(train, **options)
            return _to_its_end(train(found.answer.batch))

        found.answer = None
        return found

    return decorate if function is None else decorate(function)


def lightning_tune(trainer, model, train_dataloaders=None, datamodule=None,
                   batch_arg_name="batch_size", **options):
    """Finds the batch size for a Lightning trainer, sets it, and returns the Answer.

        sweetspot.lightning_tune(trainer, model, datamodule=data)
        trainer.fit(model, datamodule=data)

    As for Lightning's own scale_batch_size, the model or the data module has an attribute or a
    hyperparameter of that name, from which its train_dataloader() makes batches. It is measured
    with separate trainers, on the same device and in the same precision, without validation,
    loggers and checkpoints; the model starts from the same weights afterwards. The options are
    tune()'s.
    """
    if train_dataloaders is not None:
        raise ValueError("lightning_tune() cannot change the batch size of a loader that is made "
                         "already; let train_dataloader() of the model or of a data module make it")
    if trainer.world_size > 1:
        raise Error("lightning_tune() measures one device, and this trainer has %d; run the script "
                    "with sweetspot tune --" % trainer.world_size)
    holders = list(_batch_holders(batch_arg_name, model, datamodule))
    if not holders:
        raise ValueError("neither the model nor the data module has %r; give it one that "
                         "train_dataloader() reads, or name it with batch_arg_name"
                         % batch_arg_name)
    before = [_held(holder, batch_arg_name) for holder in holders]
    accumulation = int(trainer.accumulate_grad_batches)
    options = dict({"accumulation": accumulation, "restore": [model]}, **options)

    def fit(batch):
        for holder in holders:
            _hold(holder, batch_arg_name, setting().micro_batch)
        _tuning_trainer(trainer).fit(model, datamodule=datamodule)

    fit.__name__ = type(model).__name__
    own_trainer = getattr(model, "_trainer", None)
    try:
        with _silenced("lightning", "lightning.pytorch", "lightning.fabric", "pytorch_lightning",
                       "lightning_fabric"):
            answer = tune(fit, **options)
        before = [answer.micro_batch] * len(holders)
        return answer
    finally:
        for holder, value in zip(holders, before):
            _hold(holder, batch_arg_name, value)
        model._trainer = own_trainer


def lightning_batch_finder(batch_arg_name="batch_size", **options):
    """A callback for Lightning's Trainer that calls lightning_tune() before training begins.

        Trainer(callbacks=[sweetspot.lightning_batch_finder(max=1024)])

    The Answer is the callback's `answer`.
    """
    return _callback_class("LightningBatchFinder")(batch_arg_name, options)


def hf_tune(trainer, **options):
    """Finds the batch size for Hugging Face's Trainer, sets it, and returns the Answer.

        sweetspot.hf_tune(trainer)
        trainer.train()

    It sets args.per_device_train_batch_size: the Trainer creates its loader before it calls any
    callback. Measured without callbacks, so that nothing is logged, evaluated or saved; the model
    starts from the same weights afterwards. The options are tune()'s.
    """
    args = trainer.args
    if args.world_size > 1:
        raise Error("hf_tune() measures one process, and there are %d; run the script with "
                    "sweetspot tune --" % args.world_size)
    devices = getattr(args, "n_gpu", 1) or 1
    accumulation = int(args.gradient_accumulation_steps)
    model, handler = trainer.model, trainer.callback_handler
    parts = [part for part in (model, trainer.optimizer) if part is not None]
    options = dict({"accumulation": accumulation, "multiple_of": accumulation * devices,
                    "restore": parts}, **options)
    kept = {name: getattr(trainer, name) for name in (
        "optimizer", "lr_scheduler", "state", "control", "model", "model_wrapped", "is_in_train",
        "_train_batch_size") if hasattr(trainer, name)}
    callbacks, per_device = handler.callbacks, args.per_device_train_batch_size
    finds_itself = getattr(args, "auto_find_batch_size", False)
    forward = vars(model).get("forward") if model is not None else None

    def put_back():
        for name, value in kept.items():
            setattr(trainer, name, value)
        # Accelerate wraps the forward function once more for each training.
        if model is not None and vars(model).pop("_original_forward", None) is not None:
            vars(model).pop("forward", None)
            if forward is not None:
                model.forward = forward

    def train(batch):
        put_back()
        trainer.state, trainer.control = copy.copy(kept["state"]), copy.copy(kept["control"])
        args.per_device_train_batch_size = setting().micro_batch // devices
        trainer._train_batch_size = args.train_batch_size
        trainer.train()

    train.__name__ = type(model).__name__ if model is not None else "train"
    handler.callbacks = [_callback_class("HFTuningCallback")()]
    args.auto_find_batch_size = False
    try:
        answer = tune(train, **options)
        per_device = answer.micro_batch // devices
        return answer
    finally:
        put_back()
        args.per_device_train_batch_size = per_device
        trainer._train_batch_size = args.train_batch_size
        handler.callbacks = callbacks
        args.auto_find_batch_size = finds_itself


def run(train, default=64):
    """Calls train(batch) with each batch that sweetspot asks for; outside it, train(default) once.

    For a program that sweetspot runs; train is as for tune(). An out-of-memory batch is reported
    and survived, so that one process serves the whole study. Several processes that train together
    are restarted for each batch. Returns train's result if it is called once.
    """
    link = _link or _open(session=_world_size() == 1)
    if link.pid != os.getpid() or not link.session:
        begin()
        return _to_its_end(train(setting(batch=default).batch))
    _follow(link, train)
    return None


def step(samples=None, data_wait_seconds=None, updates=1, loss=None):
    """One weight update has ended. True in a session when this batch is measured and may end.

    In a function that tune() or run() called it raises Enough instead, which ends that function.

    samples: the samples it used, on all devices together; None for the setting's batch.
    updates: how many weight updates have ended, if a framework runs several at once; samples
    and data_wait_seconds then cover all of them.
    data_wait_seconds: how much of its time was spent waiting for data, if sweetspot.data() does
    not already measure it.
    loss: a number, if the program has it anyway: reading one from a GPU would synchronise.
    """
    done = _report(samples, data_wait_seconds, updates, loss)
    if done and _link.caller == threading.get_ident():
        raise Enough
    return done


def _report(samples=None, data_wait_seconds=None, updates=1, loss=None):
    link = _link or _open()
    if link.pid != os.getpid():
        return False
    try:
        link.step(samples, data_wait_seconds, updates, loss)
    except OSError:
        link.close()  # sweetspot has closed the connection
    except Exception:
        if link.raises:
            raise
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


def metric(accuracy=None, loss=None):
    """The network's result on its test data: for sweetspot tune --for accuracy=0.99.

    Accuracies are fractions, 0.99 for 99%. The next step starts now: evaluation is not training.
    """
    link = _link or _open()
    if link.pid != os.getpid():
        return
    try:
        link.metric(accuracy, loss)
    except Exception:
        link.close()


def data(loader):
    """The same batches; how long each was waited for is reported with its step."""
    link = _link or _open()
    return loader if link is _off else _TimedLoader(loader)


def batches(default=64):
    """Each batch size that sweetspot asks for, until it has enough; outside it `default`, once.

    Between two batches, garbage and PyTorch's cached device memory are freed. Several processes
    that train together cannot follow one of them from batch to batch: there it also yields one
    batch, and sweetspot restarts them for each. So it does if step() or begin() was called before.
    """
    link = _link or _open(session=_world_size() == 1)
    if link.pid != os.getpid() or not link.session:
        begin()
        yield setting(batch=default).batch
        return
    while link.next_setting():
        yield setting(batch=default).batch


def enough():
    """Whether the last batch of batches() is measured. As of the last step()."""
    return _link is not None and _link.pid == os.getpid() and _link.enough


def setting(batch=64, micro_batch=None, accumulation=1, precision="fp32", workers=1,
            learning_rate=0.001):
    """The setting of the session, else of the environment; the arguments are the defaults."""
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


def noise(small_norm, big_norm, small_batch=None, big_batch=None):
    """Reports the gradient noise, from its norm over few samples and over many.

    Both are of the mean loss, at the same weights; the few may be among the many. Over the steps
    sweetspot computes tr(Sigma)/|G|^2, the batch beyond which a sample is worth less.

    small_norm: the norm, or a list of them, one per small batch
    small_batch, big_batch: their samples; None for the setting's micro_batch and batch
    """
    link = _link or _open()
    if link.pid != os.getpid():
        return
    try:
        norms = small_norm if isinstance(small_norm, (list, tuple)) else [small_norm]
        now = setting()
        link.noise(sum(float(norm) ** 2 for norm in norms) / len(norms), float(big_norm) ** 2,
                   int(small_batch or now.micro_batch), int(big_batch or now.batch))
    except Exception:
        link.close()


class GradientNoise:
    """noise() for a loop in PyTorch that accumulates micro-batches.

        gradients = sweetspot.GradientNoise(model.parameters())
        for update in ...:
            for x, y in micro_batches:
                (loss_of(x, y) / len(micro_batches)).backward()
                gradients.micro_batch(len(x))
            gradients.update()          # before optimizer.step() and zero_grad()
            optimizer.step()
            optimizer.zero_grad()

    The gradient of an update's first micro-batch is the small one, that of all of them the big one.
    So nothing is copied, and no memory is allocated. The factor of a GradScaler cancels out.

    every: only every n-th update, since reading a norm from a GPU synchronises
    mean: the losses were divided by the number of micro-batches; False if they were not, and the
    gradients are a sum
    """

    def __init__(self, parameters, every=10, mean=True):
        self._parameters = [each for each in parameters if each.requires_grad]
        self._every, self._mean = max(1, int(every)), mean
        self._updates = 0
        self._begin()

    def micro_batch(self, samples):
        """backward() of a micro-batch of this many samples has ended."""
        self._parts += 1
        self._samples += int(samples)
        if self._parts == 1:
            self._first_samples = int(samples)
            if self._is_measured():
                self._first = self._norm()

    def update(self, samples=None):
        """All of them have. samples: of the update on all devices, if others have theirs."""
        first, parts, total = self._first, self._parts, int(samples or self._samples)
        if first is not None and parts > 1 and total > self._first_samples:
            # A mean over the parts contains the first one's gradient divided by their number, a sum
            # contains it whole.
            small, big = (parts, 1) if self._mean else (1, 1 / parts)
            noise(small * first, big * self._norm(), self._first_samples, total)
        self._updates += 1
        self._begin()

    def _begin(self):
        self._parts, self._samples, self._first_samples, self._first = 0, 0, 0, None

    def _is_measured(self):
        return (_link or _open()) is not _off and self._updates % self._every == 0

    def _norm(self):
        # Summed on the device, and read once.
        squares = [each.grad.detach().float().norm() ** 2 for each in self._parameters
                   if each.grad is not None]
        return float(sum(square.to(squares[0].device) for square in squares)) ** 0.5


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
    """Adds the callbacks to an Ultralytics model and returns it, so that .train() can follow.

    A step is one batch of its loader, however many of them it accumulates for a weight update.
    """
    model.add_callback("on_train_start", _ultralytics_begin)
    model.add_callback("on_train_batch_end", _ultralytics_step)
    model.add_callback("on_fit_epoch_end", _ultralytics_begin)  # the validation is not a step
    return model


# ---- the connection


class _Off:
    """A placeholder if there is no connection."""

    pid = None  # no process has it
    session = enough = False
    asked = caller = None

    def close(self):
        pass


class _Link:
    """The connection to sweetspot. Only next_setting() ever waits for the other side."""

    def __init__(self, connected, session):
        self.pid = os.getpid()
        self.session = session
        self.enough = False
        self.asked = None       # the setting that sweetspot asked for last
        self.raises = False     # raise errors: a caller that waits for an answer needs them
        self.caller = None      # the thread in a function that tune() or run() called
        self.steps = 0          # that such a function made
        self.timed_steps = 0    # of them, those reported with a time
        self._clock_runs = True
        self._full = False      # this call has made a step of the whole batch
        self.dropped = 0        # lines with a time that were dropped
        self.bad_lines = 0
        self.data_wait_seconds = None
        self._lock = threading.Lock()
        self._unsent = b""      # the rest of a partially sent line
        self._received = b""    # the beginning of a line
        self._skipping = False  # inside a line that is too long
        self._answered = False
        self._waiting = False
        self._held = 0          # device memory when the setting began
        self._memory_reported_at = None
        self._memory_reports = 0  # of this setting
        self._epoch = None        # its number of batches, as reported for this setting
        self._peak_before = 0     # of earlier settings, if it cannot be reset
        self._socket = connected
        self._send({"type": "hello", "protocol": _PROTOCOL, "client": "python",
                    "client_version": __version__, "pid": self.pid, "session": session})

    def close(self):
        """The end, for any reason: a session is over, any other training continues alone."""
        self.enough = self.session
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def metric(self, accuracy, loss):
        if self._socket is None or self._waiting:
            return
        message = {"type": "metric"}
        for name, value in (("accuracy", accuracy), ("loss", loss)):
            number = None if value is None else _number(value, float, -1e300)
            if number is not None:
                message[name] = number
        if len(message) > 1:
            self._send_timed(message)
        self.begin()

    def begin(self):
        if self._socket is None or self._waiting:
            return
        _synchronize()
        self.data_wait_seconds = None
        self._clock_runs = True
        self._send_timed({"type": "begin"})

    def tell_epoch(self, batches):
        """The number of batches per epoch; reported once per setting."""
        if self._socket is None or self._epoch == batches or not self._lock.acquire(False):
            return
        try:
            if self._send({"type": "epoch", "batches": batches}):
                self._epoch = batches
        finally:
            self._lock.release()

    def noise(self, small_squared, big_squared, small_batch, big_batch):
        """Norms of an update's gradients; dropped if the socket is full, which does no harm."""
        if self._socket is None or self._waiting or not self._lock.acquire(False):
            return
        try:
            if all(map(math.isfinite, (small_squared, big_squared))):
                self._send({"type": "noise", "small_batch": small_batch, "big_batch": big_batch,
                            "small_squared_norm": small_squared, "big_squared_norm": big_squared})
        finally:
            self._lock.release()

    def call_begins(self, clock_runs):
        """A function is called. Its clock runs from here, or from its first step or begin()."""
        self.caller = threading.get_ident()
        if clock_runs:
            self.begin()
        self._clock_runs, self._full = clock_runs, False

    def _only_marks(self, samples, updates):
        """Steps of a function that only start the clock: the first of a call, whose clock does not
        run yet, and the short one at the end of its data. If all are short, they count."""
        short = samples is not None and int(samples) < updates * setting().batch
        marks = not self._clock_runs or (short and self._full)
        self._full = self._full or not short
        return marks

    def step(self, samples, data_wait_seconds, updates, loss):
        if self._socket is None or self._waiting:
            return
        self.steps += 1
        if self.caller is not None and self._only_marks(samples, updates):
            self.begin()
            return
        self.timed_steps += 1
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
        loss = None if loss is None else _number(loss, float, -1e300)
        if loss is not None:
            message["loss"] = loss
        self._send_timed(message)
        self._report_memory()
        # The lock protects another thread's half-read line; what is missed now is read a step
        # later.
        if self._socket is not None and self._lock.acquire(False):
            try:
                self._receive(_DONT_WAIT)
            finally:
                self._lock.release()

    def next_setting(self, failure=None):
        """Waits for the next setting of the session; False when there is none."""
        if self._socket is None:
            return False
        try:
            if failure is None:
                _synchronize()
            memory = self._memory()
            peak = _allocated("max_memory_allocated")
            _free_memory(self._held)
            lines = b"" if memory is None else _line(memory)
            if failure is not None:
                lines += _line(dict(failure, type="failed", kept_bytes=self._kept(peak)))
            self._held = _allocated("memory_allocated")
            self._peak_before = (_jax_memory() or {}).get("peak_bytes", 0)
            return self._ask(lines)
        except Exception as error:
            self.close()
            if self.raises and not isinstance(error, OSError):  # sweetspot has disconnected
                raise
            return False
        except BaseException:  # Ctrl-C: a line may be partially sent
            self.close()
            raise

    def _kept(self, peak):
        """Device memory of a failed batch that was not released; small remainders do not count."""
        kept = _allocated("memory_allocated") - self._held
        return kept if kept > max(_TRACE_BYTES, (peak - self._held) // 10) else 0

    def _ask(self, first_lines):
        self._answered = False
        self._waiting = True
        try:
            unsent, self._unsent = self._unsent, b""
            self._socket.sendall(unsent + first_lines + _line({"type": "ready"}),
                                 _SEND_AT_ONCE & ~_DONT_WAIT)
            while self._socket is not None and not self._answered:
                self._receive(0)
        finally:
            self._waiting = False
        if self._socket is None:
            return False
        self._memory_reported_at, self._memory_reports, self._epoch = None, 0, None
        self.begin()
        return True

    def _send_timed(self, message):
        # Sending takes microseconds: a longer wait can only be a signal handler that interrupted
        # the holder of the lock, which must not deadlock.
        if not self._lock.acquire(timeout=0.1):
            self.dropped += 1
            return
        try:
            message["at_seconds"] = time.monotonic()  # inside the lock: lines are in time order
            if message["type"] == "step":
                message["dropped"] = self.dropped
            if not self._send(message):
                self.dropped += 1
        finally:
            self._lock.release()

    def _send(self, message):
        """False if the socket is full. A line is started only when the previous one is sent."""
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
        except Exception:  # not UTF-8, not JSON, not an object, nested too deep
            self.bad_lines += 1
            return
        if kind == "enough":
            self.enough = self.session
        elif kind == "setting" and self._waiting:
            if _number(message.get("batch"), int, 1) is None:
                self.bad_lines += 1
                self.close()  # nothing to train, and no second answer to wait for
                return
            self.asked, self.enough, self._answered = message, False, True
        elif kind == "done":
            self.close()

    def _memory(self):
        """The peak of this setting so far, if it can be separated from earlier ones."""
        message = _memory_message()
        if message and message["how"] == _JAX_PEAK and message["peak_bytes"] <= self._peak_before:
            return None
        return message

    def _report_memory(self):
        now, last = time.monotonic(), self._memory_reported_at
        if (self._memory_reports >= _FIRST_MEMORY_REPORTS and last is not None
                and now - last < _SECONDS_BETWEEN_MEMORY_REPORTS):
            return
        message = self._memory()
        if message is None or not self._lock.acquire(False):
            return
        try:
            if self._send(message):
                self._memory_reported_at = now
                self._memory_reports += 1
        finally:
            self._lock.release()


_off = _Off()
_link = None  # until the first call
_opening = threading.Lock()
_tuning = threading.Lock()  # held while tune() runs


def _open(session=False):
    """Connects when run under sweetspot, at the first call; never tries twice."""
    global _link
    with _opening:
        if _link is None:
            path = os.environ.get("SWEETSPOT_SOCKET")
            try:
                _link = _Link(_connected(path), session) if path and _is_first_rank() else _off
            except Exception:
                _link = _off
        return _link


def _connected(path):
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # Only the connection: in the loop each call uses MSG_DONTWAIT, in _ask() none does.
        connected.setblocking(False)
        connected.connect(path)
        connected.setblocking(True)
    except Exception:
        connected.close()
        raise
    return connected


def _after_fork():
    """A data loader's worker: silent by its pid, and must not look like a reader to sweetspot."""
    global _opening, _tuning
    _opening, _tuning = threading.Lock(), threading.Lock()  # another thread may have held them
    if _link is not None:
        _link.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _line(message):
    return json.dumps(message, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _number(value, kind, least):
    """The value as a number, or None: it is untrusted input."""
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
    """From the first variable that is set: RANK counts all processes, LOCAL_RANK one machine's."""
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
    """A data loader that sums how long its batches were waited for."""

    def __init__(self, loader):
        self._loader = loader

    def __len__(self):
        return len(self._loader)

    def __getattr__(self, name):
        if name.startswith("_"):  # copy and pickle ask before _loader exists
            raise AttributeError(name)
        return getattr(self._loader, name)

    def __iter__(self):
        with contextlib.suppress(Exception):  # not every loader knows
            _link.tell_epoch(len(self._loader))
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


# ---- functions that train


def _follow(link, train, before_each=lambda: None):
    """Measures train() at each setting, until sweetspot has no further one."""
    link.raises = True
    failure = None
    while link.next_setting(failure):
        before_each()
        failure = _measure(link, train, setting().batch)


def _measure(link, train, batch):
    """Calls train() until its batch is measured; returns None, or what to report as `failed`."""
    clock_runs = False
    while not link.enough:
        before, timed_before = link.steps, link.timed_steps
        try:
            link.call_begins(clock_runs)
            _drive(train(batch))
        except Enough:
            break
        except BaseException as error:
            if not _is_out_of_memory(error):
                raise
            reason = _in_short(error)
            _let_go_of_frames(error)  # they hold the tensors
            return {"outcome": "out_of_memory", "reason": reason}
        finally:
            link.caller = None
        if link.steps == before and not link.enough:
            return _without_a_step(link, train, batch)
        # The only step of a call has no time except that of the whole call.
        clock_runs = clock_runs or link.timed_steps == timed_before
    return None


def _without_a_step(link, train, batch):
    name = "%s(%d)" % (_name_of(train), batch)
    if link.steps == 0:
        raise Error("%s ended and made no step; call sweetspot.step(samples) after each weight "
                    "update, or yield there" % name)
    return {"outcome": "refused",
            "reason": "%s made no step; the data may have fewer samples" % name}


def _drive(made):
    """A generator's steps: it yields after each, and is closed when enough is measured."""
    if inspect.iscoroutine(made):
        made.close()
        raise TypeError("sweetspot cannot wait for an async function; hand over a plain one")
    if not hasattr(made, "__next__"):
        return
    try:
        for samples in made:
            told = isinstance(samples, numbers.Integral) and not isinstance(samples, bool)
            if _report(int(samples) if told else None):
                break
    finally:
        if hasattr(made, "close"):
            made.close()


def _to_its_end(made):
    """The result of a training function that is not measured."""
    if not hasattr(made, "__next__"):
        return made
    while True:
        try:
            samples = next(made)
        except StopIteration as end:
            return end.value
        _report(int(samples) if isinstance(samples, numbers.Integral) else None)


def _is_out_of_memory(error):
    """By the messages and names of the frameworks, none of which need be installed."""
    while error is not None:
        names = {kind.__name__ for kind in type(error).__mro__}
        if names & {"MemoryError", "OutOfMemoryError", "ResourceExhaustedError"}:
            return True
        words = str(error).lower()
        if names & {"RuntimeError", "OSError"} and any(part in words for part in _MEMORY_WORDS):
            return True
        error = error.__cause__
    return False


_MEMORY_WORDS = ("out of memory", "resource_exhausted", "resource exhausted",
                 "can't allocate memory", "cannot allocate memory", "cublas_status_alloc_failed",
                 "cudnn_status_alloc_failed", "cudaerrormemoryallocation")


def _in_short(error):
    words = " ".join(str(error).split())  # frameworks report how much memory there was
    return ("%s: %s" % (type(error).__name__, words) if words else type(error).__name__)[:1400]


def _let_go_of_frames(error):
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


def _without_arguments(train):
    while isinstance(train, functools.partial):
        train = train.func
    return train


def _name_of(train):
    train = _without_arguments(train)
    return getattr(train, "__name__", type(train).__name__)


class _Restored:
    """Restores models, optimizers and random states when this is left."""

    def __init__(self, parts):
        self._parts = [(part, _on_host(part.state_dict())) for part in parts]
        self._random = random.getstate()
        numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
        self._numpy = numpy and numpy.random.get_state()
        self._torch = torch and torch.get_rng_state()
        cuda = _cuda()
        self._cuda = cuda and cuda.get_rng_state_all()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.again()
        random.setstate(self._random)
        if self._numpy is not None:
            sys.modules["numpy"].random.set_state(self._numpy)
        if self._torch is not None:
            sys.modules["torch"].set_rng_state(self._torch)
        cuda = _cuda()
        if cuda is not None and self._cuda is not None:
            cuda.set_rng_state_all(self._cuda)
        elif cuda is not None:  # it was not in use before: each starts from its seed
            for generator in cuda.default_generators:
                generator.manual_seed(generator.initial_seed())

    def again(self):
        for part, state in self._parts:
            # An optimizer keeps the tensors that it is given.
            part.load_state_dict(copy.deepcopy(state))
            if hasattr(part, "zero_grad"):  # a loop may have been left between backward and step
                part.zero_grad(set_to_none=True)


def _on_host(state):
    """A copy that takes no device memory."""
    if isinstance(state, dict):
        return type(state)((key, _on_host(value)) for key, value in state.items())
    if isinstance(state, (list, tuple)):
        return type(state)(_on_host(value) for value in state)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(state, torch.Tensor):
        return state.detach().to("cpu", copy=True)
    return copy.deepcopy(state)


def _program():
    named = os.environ.get("SWEETSPOT")
    found = shutil.which(named or "sweetspot")
    if found is None:
        where = "at SWEETSPOT=%s" % named if named else "on PATH"
        raise Error("the program sweetspot was not found %s; build it with make, and put it on "
                    "PATH or its path into the variable SWEETSPOT" % where)
    return found


class _Tuning:
    """One run of `sweetspot tune` next to this process, which trains batch after batch for it."""

    def __init__(self, program, train, flags, quiet):
        self._train, self._quiet = train, quiet
        self._store = flags.get("db") or os.environ.get("SWEETSPOT_DB") or "sqlite:sweetspot.db"
        self._arguments = ([program, "tune", "--json"] + _flags(flags)
                           + ["--env", "SWEETSPOT_FUNCTION=" + _mark(train)])
        self._name = _title(train)
        self._said = deque(maxlen=20)  # lines of its stderr

    def run(self, before_each):
        global _link
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with contextlib.ExitStack() as stack:
            stack.callback(theirs.close)
            stack.callback(ours.close)
            output = stack.enter_context(tempfile.TemporaryFile())
            link = _Link(ours, session=True)  # its hello waits there for the program
            # In its own session: Ctrl-C is for this process, which closes the connection then.
            process = subprocess.Popen(
                self._arguments + ["--attach", str(theirs.fileno()), "--"] + self._name,
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno()], start_new_session=True)
            theirs.close()
            relay = threading.Thread(target=self._relay, args=(process.stderr,), daemon=True)
            relay.start()
            before, _link = _link, link
            try:
                _follow(link, self._train, before_each)
            except BaseException as error:
                self._quiet = True  # no need to report that there is no answer
                link.close()
                self._end(process, relay)
                self._tell_where(error, link)
                raise
            finally:
                link.close()
                _link = before
            self._end(process, relay)
            output.seek(0)
            return self._answer(process.returncode, output.read(), link)

    def _relay(self, stream):
        with stream:
            for line in stream:
                text = _in_python(line.decode("utf-8", "replace"))
                self._said.append(text.rstrip("\n"))
                if not self._quiet and sys.stderr is not None:
                    with contextlib.suppress(Exception):
                        sys.stderr.write(text)

    def _end(self, process, relay):
        """It ends once the other end is closed, and saves what it has measured."""
        try:
            process.wait(_SECONDS_TO_SAVE)
        except BaseException as error:
            process.kill()
            process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
        relay.join(_SECONDS_TO_SAVE)

    def _tell_where(self, error, link):
        asked = (link.asked or {}).get("batch")
        if asked is not None and isinstance(error, Exception) and hasattr(error, "add_note"):
            way_out = " (min=2 leaves it out)" if asked == 1 else ""
            error.add_note("sweetspot: this was batch %d%s; the batches before it are kept in %s"
                           % (asked, way_out, self._store))

    def _answer(self, code, output, link):
        try:
            told = json.loads(output.decode("utf-8"))
        except ValueError:
            told = None
        answer = Answer(told, self._store) if told and told.get("recommendation") else None
        if code in (0, 4) and answer is not None:
            if not self._quiet and sys.stderr is not None:
                print(answer.sentence, file=sys.stderr)
            return answer
        last = self._said[-1] if self._said else ""
        last = last[len("sweetspot: "):] if last.startswith("sweetspot: ") else last
        if code == 2 and told is None:
            raise ValueError("sweetspot tune: " + last)
        if code < 0:
            last = ("sweetspot was ended by signal %d (%s) at batch %s; finished trials are kept "
                    "in %s" % (-code, signal.strsignal(-code),
                            (link.asked or {}).get("batch", "none"), self._store))
        error = Error(last or "sweetspot ended with %d and said nothing" % code)
        error.answer = answer
        raise error


_SECONDS_TO_SAVE = 60


def _in_python(text):
    """The program's messages about flags, in terms of tune()'s arguments. A complete command in
    them stays unchanged."""

    def argument(found):
        command, name, value = found.groups()
        if command:
            return command
        name = {"for": "goal", "no-report": "report"}.get(name, name.replace("-", "_"))
        if name == "fresh":
            return "resume=False"
        value = value or ("True" if name in _SWITCHES else None)
        return name if value is None else "%s=%s" % (name, value)

    return re.sub(r"(sweetspot [a-z]+ [^\n]*)|(?<![\w-])--([a-z][a-z-]*)(?:[ =](\d[\w.]*%?))?",
                  argument, text)


_SWITCHES = ("batch_arrives", "resume", "report")


def _flags(flags):
    flags = dict(flags)
    flags["for"] = flags.pop("goal", None)
    flags["fresh"] = not flags.pop("resume")
    flags["no_report"] = not flags.pop("report")
    words = []
    for name, value in flags.items():
        if value is None or value is False:
            continue
        words.append("--" + name.replace("_", "-"))
        if name in ("budget", "timeout", "grace") and isinstance(value, numbers.Real):
            value = "%gs" % value
        if value is not True:
            words.append(str(value))
    return words


def _title(train):
    """The name of the study: "train({batch}) in script.py"."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    if not script:
        return ["%s({batch})" % _name_of(train)]
    near = os.path.relpath(script)
    return ["%s({batch})" % _name_of(train), "in", script if near.startswith("..") else near]


def _mark(train):
    """Distinguishes an edited function from the previous one, but not what it uses."""
    code = getattr(inspect.unwrap(_without_arguments(train)), "__code__", None)
    parts, mark = [code], 0
    while parts:
        part = parts.pop()
        if inspect.iscode(part):
            mark = zlib.crc32(part.co_code, mark)
            parts += part.co_consts + part.co_names
        else:
            mark = zlib.crc32(repr(part).encode(), mark)
    return "%08x" % mark


# ---- the frameworks, only when the script has loaded them


def _cuda():
    """torch.cuda if the script uses it; asking must not create a context."""
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
    """Many libraries import JAX incidentally; starting its backend would take the GPU's memory."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    started = getattr(bridge, "backends_are_initialized", None)
    return started() if started is not None else bool(getattr(bridge, "_backends", None))


def _memory_message():
    """The device memory reported by the frameworks; None if none does."""
    return _torch_memory() or _jax_memory() or _tensorflow_memory()


def _torch_memory():
    cuda = _cuda()
    if cuda is None:
        return None
    message = {"type": "memory", "device": "cuda:%d" % cuda.current_device(),
               "peak_bytes": int(cuda.max_memory_reserved()),
               "how": "torch.cuda.max_memory_reserved",
               "allocated_bytes": int(cuda.max_memory_allocated())}
    with contextlib.suppress(Exception):  # not every version and build supports it
        free, whole = cuda.mem_get_info()
        capacity = free + int(cuda.memory_reserved())
        # Since PyTorch 2.8; before that, only an out-of-memory message shows that less was allowed.
        share = getattr(cuda, "get_per_process_memory_fraction", None)
        if share is not None:
            capacity = min(capacity, int(float(share()) * whole))
        message["capacity_bytes"] = capacity
    return message


_JAX_PEAK = "jax.Device.memory_stats"


def _jax_memory():
    """Its peak cannot be reset: a batch that takes less than an earlier one reports nothing."""
    jax = sys.modules.get("jax")
    if jax is None or not _jax_is_used():
        return None
    told = [(device, device.memory_stats()) for device in jax.local_devices()
            if hasattr(device, "memory_stats")]
    told = [(stats["peak_bytes_in_use"], stats, device) for device, stats in told
            if stats and "peak_bytes_in_use" in stats]
    if not told:
        return None
    peak, stats, device = max(told, key=lambda each: each[0])
    message = {"type": "memory", "device": "%s:%d" % (device.platform, device.id),
               "peak_bytes": int(peak), "how": _JAX_PEAK}
    if stats.get("bytes_limit"):
        message["capacity_bytes"] = int(stats["bytes_limit"])
    return message


def _tensorflow_memory():
    tensorflow = _tensorflow()
    if tensorflow is None:
        return None
    experimental = tensorflow.config.experimental
    told = [(experimental.get_memory_info(gpu.name)["peak"], number)
            for number, gpu in enumerate(tensorflow.config.list_logical_devices("GPU"))]
    if not told:
        return None
    peak, number = max(told)
    return {"type": "memory", "device": "cuda:%d" % number, "peak_bytes": int(peak),
            "how": "tf.config.experimental.get_memory_info"}


def _tensorflow():
    """TensorFlow once it has its devices; asking earlier would take the GPU's memory."""
    eager = sys.modules.get("tensorflow.python.eager.context")
    context = getattr(eager, "context_safe", lambda: None)()
    used = context is not None and getattr(context, "_initialized", False)
    return sys.modules.get("tensorflow") if used else None


def _allocated(which):
    """Device memory in bytes; 0 if unknown."""
    cuda = _cuda()
    return int(getattr(cuda, which)()) if cuda is not None else 0


def _free_memory(held):
    """So that the previous batch does not count against the next one. held: allocated before it."""
    cuda = _cuda()
    # With large libraries loaded a collection takes a good part of a second: not if everything
    # came back without it.
    if cuda is None or int(cuda.memory_allocated()) > held:
        gc.collect()
    if cuda is not None:
        cuda.empty_cache()
        cuda.reset_peak_memory_stats()
    tensorflow = _tensorflow()
    if tensorflow is not None:
        for gpu in tensorflow.config.list_logical_devices("GPU"):
            tensorflow.config.experimental.reset_memory_stats(gpu.name)


def _quiet(function):
    """For callbacks: frameworks differ between versions; that must not end a training."""

    @functools.wraps(function)
    def guarded(*arguments, **keywords):
        try:
            function(*arguments, **keywords)
        except Exception:
            (_link or _off).close()

    return guarded


def _framework(*names):
    """The module of the first framework that is loaded, else that can be imported."""
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
        _last = -1     # index of the previous batch
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
            if _report(updates=updates):
                self.model.stop_training = True

        @_quiet
        def on_test_end(self, logs=None):
            begin()  # the validation is not a step

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
            if _report(samples):
                trainer.should_stop = True

        @_quiet
        def on_validation_end(self, trainer, pl_module):
            begin()  # the validation is not a step

    return LightningCallback


def _make_lightning_tuning_callback():
    class LightningTuningCallback(_callback_class("LightningCallback")):
        def on_train_start(self, trainer, pl_module):
            super().on_train_start(trainer, pl_module)
            for schedule in getattr(trainer, "lr_scheduler_configs", ()):
                schedule.strict = False  # it may wait for a validation metric, which is off

        def on_train_batch_end(self, trainer, *arguments, **keywords):
            super().on_train_batch_end(trainer, *arguments, **keywords)
            if trainer.should_stop:
                raise Enough  # before the end of an epoch that was not one

    return LightningTuningCallback


def _make_lightning_batch_finder():
    lightning = _framework("lightning.pytorch", "pytorch_lightning")

    class LightningBatchFinder(lightning.Callback):
        def __init__(self, batch_arg_name, options):
            self.answer = None
            self._name, self._options = batch_arg_name, options

        def setup(self, trainer, pl_module, stage):
            if stage != "fit" or self.answer is not None:
                return
            self.answer = lightning_tune(trainer, pl_module, datamodule=trainer.datamodule,
                                         batch_arg_name=self._name, **self._options)

    return LightningBatchFinder


def _tuning_trainer(trainer):
    """A trainer for the steps alone, on the device and in the precision of another."""
    lightning = _framework("lightning.pytorch", "pytorch_lightning")
    return lightning.Trainer(
        accelerator=type(trainer.accelerator)(), devices=_device_list(trainer),
        precision=trainer.precision, accumulate_grad_batches=trainer.accumulate_grad_batches,
        gradient_clip_val=trainer.gradient_clip_val,
        gradient_clip_algorithm=trainer.gradient_clip_algorithm, max_epochs=-1,
        callbacks=[_callback_class("LightningTuningCallback")()], logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        limit_val_batches=0, num_sanity_val_steps=0)


def _device_list(trainer):
    ids = list(trainer.device_ids)
    return 1 if type(trainer.accelerator).__name__ == "CPUAccelerator" else ids


def _batch_holders(name, *owners):
    """The model, the data module and their hyperparameters, if they have the attribute."""
    for owner in owners:
        hyperparameters = getattr(owner, "hparams", None)
        if owner is not None and hasattr(owner, name):
            yield owner
        if isinstance(hyperparameters, dict) and name in hyperparameters:
            yield hyperparameters


def _held(holder, name):
    return holder[name] if isinstance(holder, dict) else getattr(holder, name)


def _hold(holder, name, value):
    if isinstance(holder, dict):
        holder[name] = value
    else:
        setattr(holder, name, value)


@contextlib.contextmanager
def _silenced(*loggers):
    """A trainer per batch would report the same devices repeatedly."""
    levels = [(logging.getLogger(name), logging.getLogger(name).level) for name in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for logger, _ in levels:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for logger, level in levels:
                logger.setLevel(level)


def _make_hf_callback():
    transformers = _framework("transformers")

    class HFCallback(transformers.TrainerCallback):
        @_quiet
        def on_train_begin(self, args, state, control, **keywords):
            begin()

        @_quiet
        def on_step_end(self, args, state, control, **keywords):
            # The state's number is the current one: auto_find_batch_size changes it.
            per_process = getattr(state, "train_batch_size", None)
            if per_process is None:
                per_process = args.per_device_train_batch_size * max(1, getattr(args, "n_gpu", 1))
            if _report(per_process * args.gradient_accumulation_steps * args.world_size):
                control.should_training_stop = True

        @_quiet
        def on_evaluate(self, args, state, control, **keywords):
            begin()  # neither the evaluation nor a checkpoint is a step

        @_quiet
        def on_save(self, args, state, control, **keywords):
            begin()

    return HFCallback


def _make_hf_tuning_callback():
    class HFTuningCallback(_callback_class("HFCallback")):
        def on_step_end(self, args, state, control, **keywords):
            super().on_step_end(args, state, control, **keywords)
            if control.should_training_stop:
                raise Enough

    return HFTuningCallback


@_quiet
def _ultralytics_begin(trainer):
    begin()


@_quiet
def _ultralytics_step(trainer):
    if _report(trainer.batch_size):  # of all devices together; the one in use, if it was reduced
        trainer.stop = True


_makers = {"KerasCallback": _make_keras_callback, "LightningCallback": _make_lightning_callback,
           "LightningTuningCallback": _make_lightning_tuning_callback,
           "LightningBatchFinder": _make_lightning_batch_finder,
           "HFCallback": _make_hf_callback, "HFTuningCallback": _make_hf_tuning_callback}


def _callback_class(name):
    """Created at first use and kept under its name in this module, so that it can be pickled."""
    if name not in globals():
        made = _makers[name]()
        made.__qualname__ = name
        globals()[name] = made
    return globals()[name]


def __getattr__(name):
    if name in _makers:  # unpickled in a process that has not created it yet
        return _callback_class(name)
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
