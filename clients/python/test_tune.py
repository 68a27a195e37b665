"""sweetspot.tune() and run() with the real program: test_tune.py SWEETSPOT [TEST ...]."""

import contextlib
import functools
import io
import json
import os
import random
import select
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import types
import unittest
import weakref
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))
import sweetspot  # noqa: E402

PATIENCE_SECONDS = 60  # for what ends at once unless it is broken
# One short trial of each batch: it is not the measuring that is tested here.
QUICK = {"repeat": 1, "precision_of_estimate": 0.5, "quiet": True}
ONE = dict(QUICK, min=8, max=8)
TWO = dict(QUICK, min=8, max=16, multiple_of=8)


def steps(batch):
    while True:
        time.sleep(0.005)
        yield batch


class TestCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        clean = {name: value for name, value in os.environ.items()
                 if not name.startswith(("SWEETSPOT_", "SLURM_"))
                 and name not in ("RANK", "LOCAL_RANK", "WORLD_SIZE")}
        patch = mock.patch.dict(os.environ, clean, clear=True)
        patch.start()
        self.addCleanup(patch.stop)

    def kept(self):
        """Batch and outcome of each trial in the store of this folder, as they were run."""
        with contextlib.closing(sqlite3.connect("sweetspot.db")) as store:
            return store.execute("SELECT batch, outcome FROM trial ORDER BY id").fetchall()

    def children(self):
        return [int(pid) for task in os.listdir("/proc/self/task")
                for pid in Path("/proc/self/task/%s/children" % task).read_text().split()]

    def wait_for_the_end_of(self, pid):
        try:
            process = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        ended, _, _ = select.select([process], [], [], PATIENCE_SECONDS)
        os.close(process)
        self.assertTrue(ended, "it is still there")

    def script(self, text, *arguments, **popen):
        """A Python process with the client, in this folder."""
        environment = dict(os.environ, PYTHONPATH=str(Path(sweetspot.__file__).parent))
        return subprocess.Popen([sys.executable, "-B", *arguments, "-c", text], env=environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, **popen)


class TheAnswer(TestCase):
    def test_is_an_object(self):
        best = sweetspot.tune(steps, **TWO)
        self.assertIn(best.batch, (8, 16))
        self.assertEqual((int(best), best.micro_batch, best.accumulation), (best.batch,) * 2 + (1,))
        self.assertEqual(list(range(20))[best], best.batch)
        self.assertLess(best.bounds[0], best.samples_per_second)
        self.assertGreater(best.bounds[1], best.samples_per_second)
        self.assertLess(best.samples_per_second, best.batch / 0.005)
        self.assertLessEqual(best.alike[0], best.batch)
        self.assertGreater(best.memory_bytes, 1 << 20, "of this process")
        self.assertEqual(best.status, "found")
        self.assertIn("Train with batch %d" % best.batch, str(best))
        self.assertTrue(best.reasons and best.reasons[0] in str(best))
        self.assertEqual((best.study, best.store), (1, "sqlite:sweetspot.db"))
        self.assertIn("batch %d" % best.batch, repr(best))
        self.assertEqual(best.json["workload"], "steps({batch}) in " + os.path.abspath(__file__))
        self.assertEqual({trial["step_source"] for trial in best.json["trials"]},
                         {"client (python)"})
        self.assertEqual(best.json["recommendation"]["batch"], best.batch)
        shown = subprocess.run([os.environ["SWEETSPOT"], "report", "1", "--json"],
                               capture_output=True, check=True)
        self.assertEqual(json.loads(shown.stdout)["recommendation"]["batch"], best.batch)
        self.assertFalse(list(Path(".").glob("*.html")), "no page unless it is asked for")

    def test_the_budget_gives_what_is_known(self):
        best = sweetspot.tune(steps, **dict(QUICK, min=1, max=1 << 40, budget=6))
        self.assertEqual(best.status, "budget")
        self.assertIn("the budget of 6.0 s ended the search", best.reasons[0])

    def test_goes_to_stderr_in_lines_and_may_be_quiet(self):
        for quiet in (False, True):
            with contextlib.redirect_stderr(io.StringIO()) as talk, \
                    contextlib.redirect_stdout(io.StringIO()) as out:
                best = sweetspot.tune(steps, **dict(ONE, quiet=quiet))
            self.assertEqual(out.getvalue(), "")
            self.assertEqual(bool(talk.getvalue()), not quiet)
        self.assertTrue(best.sentence)

    def test_anew_unless_it_is_told_to_go_on(self):
        calls = []

        def train(batch):
            calls.append(batch)
            return steps(batch)

        first = sweetspot.tune(train, **ONE)
        again = sweetspot.tune(train, **ONE)
        self.assertEqual((first.study, again.study, calls), (1, 2, [8, 8]))
        known = sweetspot.tune(train, resume=True, **ONE)
        self.assertEqual((known.study, calls), (2, [8, 8]))

        def train(batch):  # another one of the same name
            calls.append(batch)
            yield from steps(batch)

        self.assertEqual(sweetspot.tune(train, resume=True, **ONE).study, 3)


class TheFunction(TestCase):
    def test_may_call_step_and_is_unwound(self):
        left = []

        def train(batch):
            try:
                while True:
                    try:
                        time.sleep(0.005)
                        sweetspot.step(batch)
                    except Exception:
                        left.append("caught")
            finally:
                left.append(batch)

        sweetspot.tune(train, **TWO)
        self.assertEqual(set(left), set(batch for batch, _ in self.kept()))

    def test_that_yields_is_unwound(self):
        left = []

        def train(batch):
            try:
                yield from steps(batch)
            finally:
                left.append(batch)

        sweetspot.tune(train, **ONE)
        self.assertEqual(left, [8])

    def test_that_ends_is_called_again(self):
        calls = []

        def train(batch):
            calls.append(batch)
            for _ in range(10):
                time.sleep(0.005)
                yield batch

        self.assertEqual(sweetspot.tune(train, **ONE).batch, 8)
        self.assertGreater(len(calls), 1)

    def test_of_one_step_is_measured_by_its_calls(self):
        def train(batch):
            time.sleep(0.005)
            sweetspot.step(batch)

        best = sweetspot.tune(train, **ONE)
        self.assertLess(best.samples_per_second, 8 / 0.005)

    def test_that_makes_no_step_is_told_what_is_missing(self):
        def forgetful(batch):
            pass

        with self.assertRaisesRegex(sweetspot.Error, r"forgetful\(8\) ended and made no step; call "
                                                     r"sweetspot.step\(samples\) after each"):
            sweetspot.tune(forgetful, **ONE)
        self.assertEqual(self.kept(), [])

    def test_of_fewer_samples_than_the_batch_limits_it(self):
        def train(batch):
            for _ in range(12 // batch):  # a loader that drops the last
                time.sleep(0.005)
                yield batch

        best = sweetspot.tune(train, **TWO)
        self.assertLessEqual(best.batch, 12)
        self.assertIn((16, "refused"), self.kept())

    def test_whose_data_end_in_a_short_batch(self):
        def train(batch):
            for samples in (batch, 4):
                time.sleep(0.005)
                yield samples

        best = sweetspot.tune(train, **TWO)
        self.assertEqual({outcome for _, outcome in self.kept()}, {"ok"})
        self.assertEqual(best.json["trials"][0]["samples_seen"] % 8, 0)

    def test_that_has_another_batch_is_refused(self):
        def train(batch):
            for _ in range(50):
                time.sleep(0.005)
                yield min(batch, 8)

        self.assertEqual(sweetspot.tune(train, **TWO).batch, 8)
        self.assertIn((16, "refused"), self.kept())

    def test_may_yield_anything_else(self):
        def train(batch):
            while True:
                time.sleep(0.005)
                yield random.choice([0.25, True, "loss", None])

        best = sweetspot.tune(train, **ONE)
        trial = best.json["trials"][0]
        self.assertEqual(trial["samples_seen"], 8 * (trial["steps"] + trial["warm_up_steps"]))

    def test_may_be_a_method_or_a_partial(self):
        class Work:
            def train(self, factor, batch):
                return steps(batch * factor // factor)

        best = sweetspot.tune(functools.partial(Work().train, 2), **ONE)
        self.assertIn("train({batch})", best.json["workload"])

    def test_that_is_none(self):
        with self.assertRaisesRegex(TypeError, "takes the function that trains"):
            sweetspot.tune(steps(8))

        async def train(batch):
            pass

        with self.assertRaisesRegex(TypeError, "async"):
            sweetspot.tune(train, **ONE)

    def test_may_have_workers_that_fork(self):
        def train(batch):
            pid = os.fork()
            if pid == 0:  # as a data loader's worker: it has the connection too
                sweetspot.step(batch)
                os._exit(0 if not sweetspot.enough() else 1)
            self.assertEqual(os.waitpid(pid, 0)[1], 0)
            yield from steps(batch)

        self.assertEqual(sweetspot.tune(train, **ONE).batch, 8)


class Exceptions(TestCase):
    def test_are_raised_as_they_are_and_what_was_measured_is_kept(self):
        class Mine(Exception):
            pass

        def train(batch):
            for made in steps(batch):
                if batch == 16:
                    raise Mine("at sixteen")
                yield made

        try:
            sweetspot.tune(train, **TWO)
            self.fail("it was not raised")
        except Mine as error:
            self.assertEqual(traceback.extract_tb(error.__traceback__)[-1].name, "train")
            if hasattr(error, "__notes__"):
                self.assertIn("this was batch 16", error.__notes__[0])
        self.assertEqual(self.children(), [], "the program has ended")
        self.assertIn((8, "ok"), self.kept())
        self.assertNotIn(16, [batch for batch, _ in self.kept()])
        self.assertIs(sweetspot.step(), False, "it is over")
        self.assertEqual(sweetspot.tune(steps, **ONE).batch, 8)

    def test_for_want_of_memory_are_results(self):
        class Tensors:
            pass

        held = []

        def train(batch):
            self.assertEqual([ref() for ref in held], [None] * len(held), "they are let go")
            tensors = Tensors()
            held.append(weakref.ref(tensors))
            try:
                for made in steps(batch):
                    if batch > 8:
                        raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
                    yield made
            except RuntimeError as error:
                raise ValueError("the framework's own words") from error

        best = sweetspot.tune(train, **TWO)
        self.assertEqual(best.batch, 8)
        failed = [trial for trial in best.json["trials"] if trial["outcome"] != "ok"]
        self.assertEqual([trial["outcome"] for trial in failed], ["out_of_memory"])
        self.assertEqual(failed[0]["note"], "ValueError: the framework's own words")
        self.assertIsNone(held[-1]())

    def test_for_want_of_memory_are_known_by_name_and_words(self):
        class OutOfMemoryError(RuntimeError):
            pass

        class ResourceExhaustedError(Exception):
            pass

        for error in (OutOfMemoryError(), MemoryError(), ResourceExhaustedError("OOM"),
                      RuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate"),
                      RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"),
                      OSError(12, "Cannot allocate memory")):
            self.assertTrue(sweetspot._is_out_of_memory(error), error)
        for error in (KeyboardInterrupt(), ValueError("out of memory"), RuntimeError("shapes"),
                      OSError(2, "No such file")):
            self.assertFalse(sweetspot._is_out_of_memory(error), error)

    def test_for_want_of_memory_everywhere(self):
        def train(batch):
            raise MemoryError("Unable to allocate 9 EiB")

        with self.assertRaisesRegex(sweetspot.Error, "no batch could be trained.*9 EiB"):
            sweetspot.tune(train, **ONE)

    def test_of_a_wrong_option_are_the_programs_sentence(self):
        with self.assertRaisesRegex(ValueError, "^sweetspot tune: min "):
            sweetspot.tune(steps, min=-3, quiet=True)
        with self.assertRaisesRegex(ValueError, "weather"):
            sweetspot.tune(steps, weather="fine", quiet=True)
        self.assertFalse(Path("sweetspot.db").exists())

    def test_of_a_function_that_does_not_use_its_batch_are_no_wrong_option(self):
        def train(batch):
            for _ in steps(batch):
                yield 3

        with self.assertRaisesRegex(sweetspot.Error,
                                    "does not use its batch.* had 3 samples") as raised:
            sweetspot.tune(train, **TWO)
        self.assertNotIn("--", str(raised.exception))

    def test_speak_of_arguments_and_not_of_flags(self):
        for said, wanted in (
                ("change --min, --max or --multiple-of", "change min, max or multiple_of"),
                ("surer with --repeat 4 (--budget 30s)", "surer with repeat=4 (budget=30s)"),
                ("leave out --for max-batch", "leave out goal max-batch"),
                ("--batch-arrives says so", "batch_arrives=True says so"),
                ("as sweetspot studies show 3 --db x.db", "as sweetspot studies show 3 --db x.db"),
                ("a -- b, well--known", "a -- b, well--known")):
            self.assertEqual(sweetspot._in_python(said), wanted)

    def test_when_the_program_is_missing(self):
        os.environ["SWEETSPOT"] = "/nowhere/sweetspot"
        with self.assertRaisesRegex(sweetspot.Error,
                                    "not found at SWEETSPOT=/nowhere/sweetspot; build it"):
            sweetspot.tune(steps)
        del os.environ["SWEETSPOT"]
        os.environ["PATH"] = "/nowhere"
        with self.assertRaisesRegex(sweetspot.Error, "not found on PATH"):
            sweetspot.tune(steps)

    def test_when_the_program_dies(self):
        def train(batch):
            for made in steps(batch):
                if batch == 16:
                    for pid in self.children():
                        os.kill(pid, signal.SIGKILL)
                yield made

        with self.assertRaisesRegex(sweetspot.Error, r"ended by signal 9 \(Killed\) at batch 16; "
                                                     "finished trials are kept"):
            sweetspot.tune(train, **TWO)
        self.assertIn((8, "ok"), self.kept())

    def test_nested_and_twice_at_once(self):
        def nested(batch):
            sweetspot.tune(steps, **ONE)

        with self.assertRaisesRegex(sweetspot.Error, "is running in this process already"):
            sweetspot.tune(nested, **ONE)

        refused = []

        def train(batch):
            def second():
                try:
                    sweetspot.tune(steps, **ONE)
                except sweetspot.Error as error:
                    refused.append(error)

            thread = threading.Thread(target=second)
            thread.start()
            thread.join()
            yield from steps(batch)

        self.assertEqual(sweetspot.tune(train, **ONE).batch, 8)
        self.assertEqual(len(refused), 1)

    def test_under_a_launcher_of_several_processes(self):
        os.environ["WORLD_SIZE"] = "4"
        with self.assertRaisesRegex(sweetspot.Error, "cannot lead 4 processes"):
            sweetspot.tune(steps)

    def test_in_a_program_that_sweetspot_runs(self):
        os.environ["SWEETSPOT_SOCKET"] = "/nowhere"
        with self.assertRaisesRegex(sweetspot.Error, r"call sweetspot.run\(train\) there"):
            sweetspot.tune(steps)


class Threads(TestCase):
    def test_any_may_tune(self):
        found = []
        thread = threading.Thread(target=lambda: found.append(sweetspot.tune(steps, **ONE)))
        thread.start()
        thread.join(PATIENCE_SECONDS)
        self.assertEqual(found[0].batch, 8)

    def test_a_step_of_another_thread_is_told_and_not_unwound(self):
        def train(batch):
            done = []

            def work():
                while not sweetspot.step(batch):
                    time.sleep(0.005)
                done.append(True)

            thread = threading.Thread(target=work)
            thread.start()
            thread.join(PATIENCE_SECONDS)
            self.assertEqual(done, [True])

        self.assertEqual(sweetspot.tune(train, **ONE).batch, 8)


TUNES = """
import os, signal, sys, time, sweetspot
def steps(batch):
    while True:
        time.sleep(0.005)
        yield batch
"""


class Processes(TestCase):
    def test_ctrl_c_is_a_keyboard_interrupt(self):
        script = self.script(TUNES + """
def train(batch):
    for made in steps(batch):
        if batch == 16:
            os.kill(0, signal.SIGINT)   # as a terminal does: to the whole group
        yield made
try:
    sweetspot.tune(train, repeat=1, min=8, max=16, multiple_of=8, precision_of_estimate=0.5)
except KeyboardInterrupt:
    print("interrupted", sweetspot.step())
""", start_new_session=True)
        out, err = script.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual((script.returncode, out), (0, "interrupted False\n"), err)
        self.assertIn((8, "ok"), self.kept())
        self.assertNotIn(16, [batch for batch, _ in self.kept()])

    @unittest.skipUnless(hasattr(os, "pidfd_open"), "Python 3.9 can wait for it")
    def test_the_program_goes_when_its_caller_is_killed(self):
        script = self.script(TUNES + """
def train(batch):
    for made in steps(batch):
        if batch == 16:
            children = open("/proc/self/task/%d/children" % os.getpid()).read().split()
            print(*children, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        yield made
sweetspot.tune(train, repeat=1, min=8, max=16, multiple_of=8, precision_of_estimate=0.5)
""")
        out, err = script.communicate(timeout=PATIENCE_SECONDS)  # its stderr ends with the program
        self.assertEqual(script.returncode, -signal.SIGKILL, err)
        self.assertEqual(len(out.split()), 1)
        self.wait_for_the_end_of(int(out))
        self.assertIn((8, "ok"), self.kept())

    def test_code_without_a_file_and_with_closures(self):
        script = self.script(TUNES + """
cell = '''
data = list(range(1000))
def make(model):
    def train(batch):
        for start in range(0, len(data), batch):
            model["weight"] += sum(data[start:start + batch])
            time.sleep(0.005)
            yield len(data[start:start + batch])
    return train
model = {"weight": 0}
best = sweetspot.tune(make(model), repeat=1, min=8, max=8, precision_of_estimate=0.5)
print(best.batch, model["weight"] > 0, best.json["workload"])
'''
del __import__("__main__").__dict__["__builtins__"]
exec(cell, {"sweetspot": sweetspot, "time": time})
""")
        out, err = script.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual(out, "8 True train({batch})\n", err)

    def test_run_in_a_program_that_sweetspot_runs(self):
        Path("program.py").write_text(TUNES + """
print("pid", os.getpid(), file=open("pids", "a"))
def train(batch):
    for made in steps(batch):
        if batch > 8:
            raise MemoryError("batch %d" % batch)
        yield made
sweetspot.run(train)
""")
        told = subprocess.run(
            [os.environ["SWEETSPOT"], "tune", "--json", "--no-report", "--batch-from-env", "--min",
             "8", "--max", "16", "--multiple-of", "8", "--repeat", "1", "--env",
             "PYTHONPATH=" + str(Path(sweetspot.__file__).parent), "--", sys.executable, "-B",
             "program.py"], capture_output=True, timeout=PATIENCE_SECONDS)
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertEqual(len(Path("pids").read_text().splitlines()), 1, "one process for all")
        self.assertIn((16, "out_of_memory"), self.kept())
        self.assertLessEqual(json.loads(told.stdout)["recommendation"]["batch"], 8)


class Run(TestCase):
    def test_outside_sweetspot_it_is_one_call_to_its_end(self):
        self.assertEqual(sweetspot.run(lambda batch: batch + 1, default=5), 6)

        def train(batch):
            yield batch
            yield batch
            return "trained"

        self.assertEqual(sweetspot.run(train), "trained")

    def test_the_decorator_trains_at_the_best(self):
        trained = []

        @sweetspot.find_batch_size(**ONE)
        def train(batch, data, epochs=1):
            """Trains."""
            for _ in range(10 * epochs):
                time.sleep(0.005)
                sweetspot.step(batch)
            trained.append(batch)
            return batch, data, epochs

        self.assertEqual((train.__doc__, train.answer), ("Trains.", None))
        self.assertEqual(train("images", epochs=2), (8, "images", 2))
        self.assertEqual(train.answer.batch, 8)

    def test_the_decorator_needs_no_options(self):
        @sweetspot.find_batch_size
        def train(batch):
            raise KeyError("it is called")

        self.assertRaises(KeyError, train)


class Restored(TestCase):
    class Part:
        """As a model or an optimizer of PyTorch."""

        def __init__(self):
            self.weights, self.gradients = {"w": [1, 2]}, None

        def state_dict(self):
            return self.weights

        def load_state_dict(self, state):
            self.weights = state

        def zero_grad(self, set_to_none):
            self.gradients = None

    def test_each_batch_and_what_follows_start_from_the_same(self):
        part, begun = self.Part(), []

        def train(batch):
            begun.append(list(part.weights["w"]))
            for made in steps(batch):
                part.weights["w"][0] += 1
                part.gradients = [1]
                if batch == 16:
                    raise MemoryError
                yield made

        sweetspot.tune(train, restore=[part], **TWO)
        self.assertEqual(begun, [[1, 2]] * len(self.kept()))
        self.assertEqual((part.weights, part.gradients), ({"w": [1, 2]}, None))

    def test_after_an_exception_too(self):
        part = self.Part()

        def train(batch):
            part.weights["w"].append(3)
            raise KeyError

        self.assertRaises(KeyError, sweetspot.tune, train, restore=[part], **ONE)
        self.assertEqual(part.weights, {"w": [1, 2]})

    def test_random_numbers(self):
        def train(batch):
            random.seed(4)
            yield from steps(batch)

        random.seed(3)
        expected = random.random()
        random.seed(3)
        sweetspot.tune(train, **ONE)
        self.assertEqual(random.random(), expected)


class Frameworks(TestCase):
    """The helpers with stand-ins; tests/python/test_frameworks.py has the real ones."""

    def framework(self, name, **contents):
        for part in (name.partition(".")[0], name):
            patch = mock.patch.dict(sys.modules, {part: types.ModuleType(part)})
            patch.start()
            self.addCleanup(patch.stop)
        vars(sys.modules[name]).update(contents)

    def lightning(self):
        made = []

        class Trainer:
            accelerator, device_ids, precision, world_size = object(), [0], "bf16-mixed", 1
            gradient_clip_val = gradient_clip_algorithm = datamodule = None

            def __init__(self, accumulate_grad_batches=1, callbacks=(), **options):
                self.accumulate_grad_batches, self.callbacks = accumulate_grad_batches, callbacks
                self.options, self.global_step, self.should_stop = options, 0, False
                made.append(self)

            def fit(self, model, datamodule=None):
                model._trainer = self
                for callback in self.callbacks:
                    if hasattr(callback, "setup"):
                        callback.setup(self, model, "fit")
                self.train_dataloader = types.SimpleNamespace(batch_size=model.batch_size)
                for callback in self.callbacks:
                    getattr(callback, "on_train_start", lambda *_: None)(self, model)
                for index in range(1000):
                    time.sleep(0.005)
                    model.weights["w"] += 1
                    self.global_step += (index + 1) % self.accumulate_grad_batches == 0
                    for callback in self.callbacks:
                        if hasattr(callback, "on_train_batch_end"):
                            callback.on_train_batch_end(self, model, None, None, index)

        class Model:
            batch_size, weights, _trainer = 3, {"w": 0}, None

            def state_dict(self):
                return dict(self.weights)

            def load_state_dict(self, state):
                self.weights = state

        self.framework("lightning.pytorch", Trainer=Trainer, Callback=object)
        return Trainer, Model(), made

    def test_lightning(self):
        Trainer, model, made = self.lightning()
        trainer = Trainer(accumulate_grad_batches=2)
        best = sweetspot.lightning_tune(trainer, model, **dict(TWO, min=16, max=16))
        self.assertEqual((best.batch, model.batch_size), (16, 8))
        self.assertEqual((model.weights, model._trainer), ({"w": 0}, None))
        self.assertEqual(made[1].options["precision"], "bf16-mixed")
        self.assertEqual(made[1].options["limit_val_batches"], 0)
        with self.assertRaisesRegex(ValueError, "neither the model nor the data module has 'size'"):
            sweetspot.lightning_tune(trainer, model, batch_arg_name="size")
        trainer.world_size = 2
        self.assertRaisesRegex(sweetspot.Error, "measures one device", sweetspot.lightning_tune,
                               trainer, model)

    def test_lightnings_batch_is_put_back_when_there_is_no_answer(self):
        Trainer, model, _ = self.lightning()
        with mock.patch.object(Trainer, "fit", side_effect=ZeroDivisionError):
            self.assertRaises(ZeroDivisionError, sweetspot.lightning_tune, Trainer(), model, **ONE)
        self.assertEqual(model.batch_size, 3)

    def test_lightnings_callback(self):
        Trainer, model, _ = self.lightning()
        finder = sweetspot.lightning_batch_finder(**ONE)
        trainer = Trainer(callbacks=[finder])
        with mock.patch.object(time, "sleep"):
            trainer.fit(model)
        self.assertEqual((finder.answer.batch, model.batch_size, model.weights["w"]), (8, 8, 1000))

    def test_hugging_face(self):
        self.framework("transformers", TrainerCallback=object)

        class Trainer:
            def __init__(self):
                self.args = types.SimpleNamespace(
                    world_size=1, n_gpu=0, gradient_accumulation_steps=2, auto_find_batch_size=True,
                    per_device_train_batch_size=3, train_batch_size=3)
                self.model = self.model_wrapped = Restored.Part()
                self.optimizer = self.lr_scheduler = None
                self.state = types.SimpleNamespace(train_batch_size=None, global_step=0)
                self.control = types.SimpleNamespace(should_training_stop=False)
                self.callback_handler = types.SimpleNamespace(callbacks=["theirs"])
                self.is_in_train, self._train_batch_size = False, 3

            def train(self):
                assert not self.args.auto_find_batch_size and self.optimizer is None
                self.is_in_train, self.optimizer = True, "one of this training"
                (callback,) = self.callback_handler.callbacks
                callback.on_train_begin(self.args, self.state, self.control)
                for _ in range(1000):
                    time.sleep(0.005)
                    self.model.weights["w"][0] += 1
                    self.state.global_step += 1
                    callback.on_step_end(self.args, self.state, self.control)

        trainer = Trainer()
        best = sweetspot.hf_tune(trainer, **dict(TWO, min=16, max=16))
        self.assertEqual((best.batch, trainer.args.per_device_train_batch_size), (16, 8))
        self.assertEqual((trainer.model.weights, trainer.optimizer), ({"w": [1, 2]}, None))
        self.assertEqual((trainer.state.global_step, trainer.control.should_training_stop,
                          trainer.is_in_train, trainer.args.auto_find_batch_size,
                          trainer.callback_handler.callbacks), (0, False, False, True, ["theirs"]))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("test_tune.py: give the path of the program sweetspot")
    os.environ["SWEETSPOT"] = os.path.abspath(sys.argv.pop(1))
    unittest.main()
