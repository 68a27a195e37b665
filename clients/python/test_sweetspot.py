"""Each promise of sweetspot.py, against a fake sweetspot at the other end of a real socket."""

import ast
import contextlib
import copy
import functools
import importlib.util
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import types
import unittest
from pathlib import Path
from unittest import mock

CLIENT = Path(__file__).resolve().with_name("sweetspot.py")
PATIENCE_SECONDS = 30  # for what ends at once unless it is broken


def load():
    """The module as a new process has it; under its name, so that its classes can be pickled."""
    spec = importlib.util.spec_from_file_location("sweetspot", CLIENT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["sweetspot"] = module
    spec.loader.exec_module(module)
    return module


class FakeSweetspot:
    """Listens in a folder of its own; reads and writes lines when a test says so."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "socket")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(4)
        self.listener.settimeout(PATIENCE_SECONDS)
        self.connection = None
        self.received = b""

    def close(self):
        for each in (self.listener, self.connection):
            if each is not None:
                each.close()
        self.folder.cleanup()

    def accept(self):
        self.connection, _ = self.listener.accept()
        self.connection.settimeout(PATIENCE_SECONDS)

    def nobody_connected(self):
        self.listener.setblocking(False)
        try:
            self.listener.accept()[0].close()
            return False
        except BlockingIOError:
            return True

    def read(self):
        """The next line; None at the end."""
        if self.connection is None:
            self.accept()
        while b"\n" not in self.received:
            chunk = self.connection.recv(1 << 20)
            if not chunk:
                assert not self.received, "half a line at the end: %r" % self.received
                return None
            self.received += chunk
        line, self.received = self.received.split(b"\n", 1)
        return json.loads(line)

    def read_until(self, kind):
        while True:
            message = self.read()
            if message is None or message["type"] == kind:
                return message

    def read_all(self):
        """What has arrived so far; nobody may be writing."""
        self.connection.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                chunk = self.connection.recv(1 << 20)
                if not chunk:
                    break
                self.received += chunk
        *lines, self.received = self.received.split(b"\n")
        return [json.loads(line) for line in lines]

    def send(self, message):
        line = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        self.connection.sendall(line)


SETTING = {"type": "setting", "batch": 64, "micro_batch": 32, "accumulation": 2,
           "precision": "bf16", "workers": 3, "learning_rate": 0.25}


class TestCase(unittest.TestCase):
    def setUp(self):
        clean = {name: value for name, value in os.environ.items()
                 if not name.startswith(("SWEETSPOT_", "SLURM_"))
                 and name not in ("RANK", "LOCAL_RANK", "WORLD_SIZE")}
        for patch in (mock.patch.dict(os.environ, clean, clear=True),
                      mock.patch.dict(sys.modules)):
            patch.start()
            self.addCleanup(patch.stop)
        for name in ("torch", "jax"):  # whatever loaded them, each test says what is there
            sys.modules.pop(name, None)

    def serve(self, **environment):
        """A fake sweetspot, and the client as its child would have it."""
        server = FakeSweetspot()
        self.addCleanup(server.close)
        os.environ["SWEETSPOT_SOCKET"] = server.path
        os.environ.update(environment)
        client = load()
        self.addCleanup(lambda: client._link and client._link.close())
        return server, client

    def within_patience(self, function):
        """Fails where the function never comes back."""
        result = []
        thread = threading.Thread(target=lambda: result.append(function()), daemon=True)
        thread.start()
        thread.join(PATIENCE_SECONDS)
        self.assertFalse(thread.is_alive(), "it waits for ever")
        self.assertTrue(result, "it raised")
        return result[0]


class Tensor:
    """As much of PyTorch's as a norm takes."""

    device = "cpu"

    def __init__(self, *values):
        self.values = list(values)

    def detach(self):
        return self

    float = detach

    def to(self, device):
        return self

    def norm(self):
        return Tensor(sum(value * value for value in self.values) ** 0.5)

    def __pow__(self, power):
        return Tensor(self.values[0] ** power)

    def __radd__(self, other):
        return Tensor(self.values[0] + other)

    def __float__(self):
        return float(self.values[0])

    __add__ = lambda self, other: Tensor(self.values[0] + other.values[0])


class Parameter:
    requires_grad = True
    grad = None


class NoiseTest(TestCase):
    def told(self, server):
        return [line for line in server.read_all() if line["type"] == "noise"]

    def test_squared_norms_are_told_with_their_batches(self):
        server, client = self.serve(SWEETSPOT_BATCH="64", SWEETSPOT_MICRO_BATCH="16")
        client.begin()
        server.accept()
        client.noise([3.0, 5.0], 2.0)
        client.noise(3, 2, small_batch=8, big_batch=32)
        client.noise(float("nan"), 2)
        self.assertEqual(self.told(server), [
            {"type": "noise", "small_batch": 16, "small_squared_norm": 17.0, "big_batch": 64,
             "big_squared_norm": 4.0},
            {"type": "noise", "small_batch": 8, "small_squared_norm": 9.0, "big_batch": 32,
             "big_squared_norm": 4.0}])

    def test_is_nothing_outside_sweetspot_and_never_raises(self):
        client = load()
        client.noise(3, 2)
        client.noise("no number", None)
        server, client = self.serve()
        client.begin()
        server.accept()
        client.noise("no number", None)

    def test_accumulated_micro_batches_give_the_first_and_all(self):
        for mean, first, last in ((True, (1.5, 2.0), (3.0, 4.0)), (False, (3.0, 4.0), (6.0, 8.0))):
            server, client = self.serve()
            client.begin()
            server.accept()
            weights, bias, unused = Parameter(), Parameter(), Parameter()
            gradients = client.GradientNoise([weights, bias, unused], every=2, mean=mean)
            for _ in range(3):
                weights.grad, bias.grad = Tensor(first[0]), Tensor(first[1])
                gradients.micro_batch(8)
                weights.grad, bias.grad = Tensor(last[0]), Tensor(last[1])
                gradients.micro_batch(8)
                gradients.update()
            told = self.told(server)
            self.assertEqual(len(told), 2)  # of three updates, the first and the third
            self.assertEqual((told[0]["small_batch"], told[0]["big_batch"]), (8, 16))
            self.assertAlmostEqual(told[0]["small_squared_norm"], 25)
            self.assertAlmostEqual(told[0]["big_squared_norm"], 25)


class TheFile(TestCase):
    def test_is_python_3_8(self):
        ast.parse(CLIENT.read_text(), feature_version=(3, 8))

    @unittest.skipUnless(hasattr(sys, "stdlib_module_names"), "Python 3.10 lists its library")
    def test_imports_the_standard_library_only(self):
        for node in ast.walk(ast.parse(CLIENT.read_text())):
            if isinstance(node, ast.Import):
                for name in node.names:
                    self.assertIn(name.name, sys.stdlib_module_names)
            elif isinstance(node, ast.ImportFrom):
                self.assertIn(node.module, sys.stdlib_module_names)

    def test_has_the_version_of_sweetspot(self):
        cmake = (CLIENT.parents[2] / "CMakeLists.txt").read_text()
        self.assertIn("project(sweetspot VERSION %s " % load().__version__, cmake)


class OutsideSweetspot(TestCase):
    def test_nothing_happens(self):
        client = load()
        with mock.patch("socket.socket", side_effect=AssertionError("a socket was made")):
            client.begin()
            self.assertIs(client.step(), False)
            self.assertIs(client.step(64), False)
            self.assertIs(client.enough(), False)
            self.assertEqual(list(client.batches(default=48)), [48])

    def test_the_device_is_not_waited_for(self):
        sys.modules["torch"] = mock.Mock()
        client = load()
        client.begin()
        client.step()
        self.assertEqual(list(client.batches(8)), [8])
        self.assertEqual(sys.modules["torch"].mock_calls, [])

    def test_a_loader_stays_what_it_is(self):
        loader = [1, 2, 3]
        self.assertIs(load().data(loader), loader)

    def test_the_setting_is_what_the_script_says(self):
        client = load()
        self.assertEqual(client.setting(), (64, 64, 1, "fp32", 1, 0.001))
        self.assertEqual(client.setting(batch=30, accumulation=4, workers=0, learning_rate=0.5),
                         (30, 8, 4, "fp32", 0, 0.5))

    def test_the_environment_goes_before_the_script(self):
        os.environ.update(SWEETSPOT_BATCH="96", SWEETSPOT_MICRO_BATCH="48",
                          SWEETSPOT_ACCUMULATION="2", SWEETSPOT_PRECISION="fp16",
                          SWEETSPOT_WORKERS="0", SWEETSPOT_LR="0.02")
        client = load()
        self.assertEqual(client.setting(batch=1, workers=7), (96, 48, 2, "fp16", 0, 0.02))

    def test_nonsense_in_the_environment_is_passed_over(self):
        os.environ.update(SWEETSPOT_BATCH="many", SWEETSPOT_ACCUMULATION="-1",
                          SWEETSPOT_WORKERS="", SWEETSPOT_LR="nan", SWEETSPOT_PRECISION="")
        self.assertEqual(load().setting(batch=32), (32, 32, 1, "fp32", 1, 0.001))

    def test_a_socket_that_nobody_listens_at(self):
        for path in ("/nowhere/socket", "", "x" * 4000, os.devnull):
            os.environ["SWEETSPOT_SOCKET"] = path
            client = load()
            self.assertIs(client.step(), False)
            self.assertEqual(list(client.batches(16)), [16])


class Steps(TestCase):
    def test_hello_begin_and_steps(self):
        server, client = self.serve()
        client.begin()
        self.assertIs(client.step(64), False)
        self.assertIs(client.step(), False)
        hello, begin, first, second = server.read(), server.read(), server.read(), server.read()
        self.assertEqual(hello, {"type": "hello", "protocol": 1, "client": "python",
                                 "client_version": client.__version__, "pid": os.getpid(),
                                 "session": False})
        self.assertEqual(set(begin), {"type", "at_seconds"})
        self.assertEqual(first["samples"], 64)
        self.assertEqual(set(second), {"type", "at_seconds", "dropped"})
        self.assertEqual(second["dropped"], 0)
        self.assertLessEqual(begin["at_seconds"], first["at_seconds"])
        self.assertLessEqual(first["at_seconds"], second["at_seconds"])

    def test_a_metric_is_told_and_no_training(self):
        server, client = self.serve()
        client.metric(accuracy=0.75, loss=None)
        client.metric(loss="0.5")
        client.metric(accuracy="much")
        told = server.read_until("metric")
        self.assertEqual(told["accuracy"], 0.75)
        self.assertNotIn("loss", told)
        self.assertEqual(server.read()["type"], "begin")
        self.assertEqual(server.read()["loss"], 0.5)
        self.assertEqual([server.read()["type"] for _ in range(2)], ["begin", "begin"])

    def test_times_are_of_the_monotonic_clock(self):
        server, client = self.serve()
        with mock.patch("time.monotonic", return_value=12345.678901234):
            client.step()
        self.assertEqual(server.read_until("step")["at_seconds"], 12345.678901234)

    def test_a_full_socket_drops_and_counts_and_never_waits(self):
        server, client = self.serve()

        def fill():
            steps = 0
            while client._link is None or client._link.dropped < 100:
                client.step(steps)
                steps += 1
            return steps

        steps = self.within_patience(fill)
        server.accept()
        seen = [line for line in server.read_all() if line["type"] == "step"]
        self.assertEqual([line["samples"] for line in seen], list(range(steps - 100)))
        client.step(steps)
        self.assertEqual(server.read_all()[0]["dropped"], 100)

    def test_what_is_left_of_a_line_goes_first(self):
        server, client = self.serve()
        client.step(0)
        server.read_until("step")
        wire = client._link._socket
        for allowance in range(1, 80):  # bytes that the socket takes before it is full
            left = allowance

            def send(data, flags):
                nonlocal left
                if left == 0:
                    raise BlockingIOError
                sent = wire.send(data[:left], flags)
                left -= sent
                return sent

            before = client._link.dropped
            client._link._socket = mock.Mock(wraps=wire, send=send)
            client.step(1)  # partly
            client.step(2)  # not at all, or partly
            client.step(3)
            client._link._socket = wire
            client.step(4)
            lines = server.read_all()  # every one is whole, or this raises
            dropped = client._link.dropped - before
            self.assertEqual([line["samples"] for line in lines],
                             [1, 2, 3, 4][:3 - dropped] + [4])
            self.assertEqual(lines[-1]["dropped"], client._link.dropped)
            self.assertGreater(dropped, 0)

    def test_no_line_begins_before_the_one_before_is_out(self):
        server, client = self.serve()
        client.begin()
        server.accept()
        wire = client._link._socket
        client._link._socket = mock.Mock(
            wraps=wire, send=lambda data, flags: wire.send(data[:10], flags))
        for samples in range(100):
            client.step(samples)
        steps = [line for line in server.read_all() if line["type"] == "step"]
        self.assertGreater(len(steps), 5)
        for before, line in enumerate(steps):
            self.assertEqual(line["samples"], before + line["dropped"])

    def test_a_begin_that_is_dropped_is_a_gap_too(self):
        server, client = self.serve()
        client.step()
        full = mock.Mock(wraps=client._link._socket, send=mock.Mock(side_effect=BlockingIOError))
        with mock.patch.object(client._link, "_socket", full):
            client.begin()
        client.step()
        server.read_until("step")
        self.assertEqual(server.read()["dropped"], 1)

    def test_threads_do_not_mix_their_lines(self):
        server, client = self.serve()
        client.begin()
        server.accept()
        threads = [threading.Thread(target=lambda: [client.step(7) for _ in range(500)])
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        lines = []
        while any(thread.is_alive() for thread in threads):
            lines += server.read_all()
        lines += server.read_all()
        steps = [line for line in lines if line["type"] == "step"]
        self.assertEqual(len(steps) + client._link.dropped, 2000)
        times = [line["at_seconds"] for line in steps]
        self.assertEqual(times, sorted(times))

    def test_a_signal_handler_that_steps_inside_a_step(self):
        server, client = self.serve()
        client.begin()
        with client._link._lock:  # as held by the step that the signal came into
            self.within_patience(client.step)
        self.assertEqual(client._link.dropped, 1)
        client.step()
        self.assertEqual(server.read_until("step")["dropped"], 1)

    def test_an_error_of_its_own_ends_it_quietly(self):
        server, client = self.serve()
        client.step()
        self.assertIs(client.step(samples="many"), False)
        self.assertIs(client.step(), False)
        server.read_until("step")
        self.assertIsNone(server.read())

    def test_ctrl_c_in_a_step_is_the_scripts(self):
        server, client = self.serve()
        client.begin()
        with mock.patch.object(client, "_synchronize", side_effect=KeyboardInterrupt):
            self.assertRaises(KeyboardInterrupt, client.step)

    def test_waiting_for_data_is_reported_with_the_step(self):
        server, client = self.serve()
        clock = iter(range(1000))
        with mock.patch("time.monotonic", lambda: float(next(clock))):
            loader = client.data([10, 20])
            self.assertEqual(len(loader), 2)
            seen = []
            for item in loader:
                seen.append(item)
                client.step()
            client.step()
            client.step(data_wait_seconds=0.5)
        self.assertEqual(seen, [10, 20])
        steps = [server.read_until("step") for _ in range(4)]
        self.assertEqual([line.get("data_wait_seconds") for line in steps], [1.0, 1.0, None, 0.5])

    def test_a_timed_loader_has_the_loaders_attributes(self):
        _, client = self.serve()
        loader = client.data(types.SimpleNamespace(dataset="digits"))
        self.assertEqual(loader.dataset, "digits")
        self.assertEqual(copy.copy(loader).dataset, "digits")
        self.assertFalse(hasattr(loader, "nothing"))


class SweetspotGoesAway(TestCase):
    def test_in_the_middle_of_a_loop(self):
        server, client = self.serve()
        client.step()
        server.accept()
        server.connection.close()
        for _ in range(3):
            self.assertIs(client.step(), False)
        client.begin()
        self.assertIsNone(client._link._socket)

    def test_in_the_middle_of_a_batch_of_a_session(self):
        server, client = self.serve()
        batches = client.batches()
        thread = threading.Thread(target=lambda: (server.read_until("ready"), server.send(SETTING)))
        thread.start()
        self.assertEqual(self.within_patience(lambda: next(batches)), 64)
        thread.join()
        self.assertIs(client.step(), False)
        server.connection.close()
        client.step()
        self.assertIs(client.step(), True)
        self.assertIs(client.enough(), True)
        self.assertEqual(list(batches), [])
        self.assertEqual(list(client.batches()), [])

    def test_while_a_session_waits_for_a_setting(self):
        server, client = self.serve()
        thread = threading.Thread(
            target=lambda: (server.read_until("ready"), server.connection.close()))
        thread.start()
        self.assertEqual(self.within_patience(lambda: list(client.batches())), [])
        thread.join()

    def test_under_the_default_action_for_sigpipe(self):
        server = FakeSweetspot()
        self.addCleanup(server.close)
        script = """
import os, signal, sweetspot
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
sweetspot.begin()
os.write(1, b"go")
os.read(0, 1)
for _ in range(5): sweetspot.step()
print("trained")
"""
        environment = dict(os.environ, PYTHONPATH=str(CLIENT.parent), SWEETSPOT_SOCKET=server.path)
        with subprocess.Popen([sys.executable, "-B", "-c", script], env=environment,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            self.assertEqual(child.stdout.read(2), b"go")
            server.accept()
            server.connection.close()
            server.listener.close()
            output, _ = child.communicate(b"x", timeout=PATIENCE_SECONDS)
        self.assertEqual((child.returncode, output), (0, b"trained\n"))


class Forks(TestCase):
    def in_a_child(self, function):
        """Runs it in a forked process, which must end well."""
        pid = os.fork()
        if pid == 0:
            signal.alarm(PATIENCE_SECONDS)
            try:
                function()
                os._exit(0)
            finally:
                os._exit(1)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)

    def test_a_worker_writes_nothing(self):
        server, client = self.serve()
        client.step(1)

        def worker():
            assert client.step(2) is False
            client.begin()
            assert client.enough() is False
            assert list(client.batches(8)) == [8]

        self.in_a_child(worker)
        client.step(3)
        client._link.close()
        self.assertEqual([server.read().get("samples") for _ in range(3)], [None, 1, 3])
        self.assertIsNone(server.read())

    def test_a_worker_that_forked_unseen_by_python_writes_nothing(self):
        server, client = self.serve()
        client.step(1)
        with mock.patch("os.getpid", return_value=os.getpid() + 1):
            client.step(2)
            client.begin()
        client.step(3)
        self.assertEqual([server.read().get("samples") for _ in range(3)], [None, 1, 3])

    def test_a_worker_does_not_hold_the_connection_open(self):
        server, client = self.serve()
        client.step()
        ours, theirs = socket.socketpair()
        with ours, theirs:
            pid = os.fork()
            if pid == 0:
                theirs.send(b"x")
                theirs.recv(1)  # until the test is done
                os._exit(0)
            theirs_end = ours.recv(1)
            client._link.close()
            server.read_until("step")
            self.assertIsNone(server.read())
            ours.send(theirs_end)
            os.waitpid(pid, 0)

    def test_a_fork_while_another_thread_connects(self):
        _, client = self.serve()
        with client._opening:
            self.in_a_child(lambda: client.step())

    def test_a_session_in_a_worker_is_not_over(self):
        server, client = self.serve()
        thread = threading.Thread(target=lambda: (server.read_until("ready"), server.send(SETTING)))
        thread.start()
        next(client.batches())
        thread.join()

        def worker():
            assert client.step() is False
            assert client.enough() is False
            assert client.setting().batch == 64

        self.in_a_child(worker)


class BadLines(TestCase):
    def client_that_got(self, *lines):
        server, client = self.serve()
        client.begin()
        server.accept()
        for line in lines:
            server.send(line)
            client.step()
        return server, client

    def test_are_counted_and_never_fatal(self):
        bad = [b"\n", b"nonsense\n", b"[1]\n", b"7\n", b"null\n", b"{\"type\":\n", b"\xff\xfe\n",
               b"\x00\n", b"[" * 20000 + b"\n"]
        server, client = self.client_that_got(*bad)
        self.assertEqual(client._link.bad_lines, len(bad))
        client.step(5)
        self.assertIn(5, [line.get("samples") for line in server.read_all()])

    def test_unknown_types_and_keys_are_no_bad_lines(self):
        _, client = self.client_that_got(b"{}\n", b'{"type":"later"}\n', b'{"type":7}\n',
                                         b'{"type":["x"],"y":{}}\n')
        self.assertEqual(client._link.bad_lines, 0)
        self.assertIsNotNone(client._link._socket)

    def test_a_line_without_end_takes_no_memory(self):
        server, client = self.serve()
        client.begin()
        server.accept()
        for _ in range(20):
            server.send(b"x" * 30000)
            client.step()
        self.assertLessEqual(len(client._link._received), 1 << 16)
        server.send(b"x\nnonsense\n")
        for _ in range(20):
            client.step()
        self.assertEqual(client._link.bad_lines, 2)  # the endless one, and the one behind it

    def test_a_line_that_is_too_long_is_not_read(self):
        server, client = self.serve()
        client.begin()
        server.accept()
        line = json.dumps({"type": "done", "filling": "x" * (1 << 16)}).encode() + b"\n"
        for part in (line[:60000], line[60000:]):
            server.send(part)
            client.step()
        self.assertEqual(client._link.bad_lines, 1)
        self.assertIsNotNone(client._link._socket)

    def test_lines_may_come_in_pieces(self):
        server, client = self.serve()
        setting = json.dumps(SETTING).encode() + b"\n"

        def drip():
            server.read_until("ready")
            for byte in b"nonsense\n" + setting:
                server.send(bytes([byte]))

        thread = threading.Thread(target=drip)
        thread.start()
        self.assertEqual(self.within_patience(lambda: next(client.batches())), 64)
        thread.join()

    def test_a_setting_without_a_batch_ends_the_session(self):
        for batch in (None, 0, -4, "many", [], 1e400):
            server, client = self.serve()
            thread = threading.Thread(target=lambda: (
                server.read_until("ready"), server.send({"type": "setting", "batch": batch})))
            thread.start()
            self.assertEqual(self.within_patience(lambda: list(client.batches())), [])
            thread.join()


class Sessions(TestCase):
    def talk(self, server, dialogue):
        """Runs the other side in a thread; what it raises fails the test."""
        errors = []

        def run():
            try:
                dialogue()
            except BaseException as error:
                errors.append(error)
                server.connection.close()

        thread = threading.Thread(target=run)
        thread.start()

        def finish():
            thread.join(PATIENCE_SECONDS)
            self.assertEqual(errors, [])

        self.addCleanup(finish)

    def test_one_process_trains_batch_after_batch(self):
        server, client = self.serve(SWEETSPOT_BATCH="1")
        order = []

        def dialogue():
            hello = server.read()
            self.assertEqual((hello["type"], hello["session"]), ("hello", True))
            for batch in (64, 128, 96):
                self.assertEqual(server.read()["type"], "ready")
                server.send(dict(SETTING, batch=batch))
                self.assertEqual(server.read()["type"], "begin")
                for _ in range(3):
                    self.assertEqual(server.read()["samples"], batch)
                server.send({"type": "enough"})
                while server.read()["type"] != "ready":
                    pass
                server.received = b'{"type":"ready"}\n' + server.received
            self.assertEqual(server.read()["type"], "ready")
            server.send({"type": "done"})

        self.talk(server, dialogue)

        def script():
            for batch in client.batches(default=7):
                order.append(batch)
                self.assertIs(client.enough(), False)
                self.assertEqual(client.setting(), (batch, 32, 2, "bf16", 3, 0.25))
                while not client.step(batch):
                    pass
                self.assertIs(client.enough(), True)
            return True

        self.within_patience(script)
        self.assertEqual(order, [64, 128, 96])
        self.assertEqual(list(client.batches()), [])

    def lines_of(self, train, count):
        """The first lines of a function's setting, a step as its samples."""
        server, client = self.serve()
        said = []

        def dialogue():
            server.read_until("ready")
            server.send(SETTING)
            for _ in range(count):
                line = server.read()
                said.append(line.get("samples", line["type"]))
            server.send({"type": "enough"})
            server.read_until("ready")
            server.send({"type": "done"})

        self.talk(server, dialogue)
        self.within_patience(lambda: client.run(functools.partial(train, client)) is None)
        return said

    def test_a_functions_clock_starts_at_its_first_step(self):
        def train(client, batch):
            yield from (64, 64, 64)

        self.assertEqual(self.lines_of(train, 7), ["begin"] + ["begin", 64, 64] * 2)

    def test_a_function_may_start_its_clock_itself(self):
        def train(client, batch):
            client.begin()
            client.step(64)
            client.step(64)

        self.assertEqual(self.lines_of(train, 7), ["begin"] + ["begin", 64, 64] * 2)

    def test_a_functions_short_last_step_is_a_mark(self):
        def train(client, batch):
            yield from (64, 64, 10)

        self.assertEqual(self.lines_of(train, 7), ["begin"] + ["begin", 64, "begin"] * 2)

    def test_a_functions_only_step_is_timed_from_the_second_call_on(self):
        def train(client, batch):
            yield from (64, 10)

        self.assertEqual(self.lines_of(train, 9),
                         ["begin", "begin", "begin"] + ["begin", 64, "begin"] * 2)

    def test_short_steps_alone_are_told(self):
        def train(client, batch):
            yield from (32, 32, 32)

        self.assertEqual(self.lines_of(train, 7), ["begin"] + ["begin", 32, 32] * 2)

    def test_enough_for_the_batch_before_does_not_end_the_next(self):
        server, client = self.serve()

        def dialogue():
            server.read_until("ready")
            server.send(SETTING)
            server.read_until("ready")  # the script ended the batch of its own accord
            server.send({"type": "enough"})
            server.send(dict(SETTING, batch=128))
            server.read_until("ready")
            server.send({"type": "done"})

        self.talk(server, dialogue)
        for batch in client.batches():
            self.assertIs(client.step(), False)
            self.assertIs(client.enough(), False)

    def test_gaps_in_a_setting_are_filled(self):
        server, client = self.serve(SWEETSPOT_WORKERS="9")

        def dialogue():
            server.read_until("ready")
            server.send({"type": "setting", "batch": 100, "accumulation": 2, "learning_rate": None,
                         "new": "key"})

        self.talk(server, dialogue)
        next(client.batches())
        self.assertEqual(client.setting(learning_rate=0.5), (100, 50, 2, "fp32", 1, 0.5))

    def test_ready_waits_where_a_step_would_be_dropped(self):
        server, client = self.serve()
        go_on = threading.Event()

        def dialogue():
            server.read_until("ready")
            server.send(SETTING)
            go_on.wait(PATIENCE_SECONDS)
            server.read_until("ready")
            server.send({"type": "done"})

        self.talk(server, dialogue)
        batches = client.batches()
        next(batches)
        while client._link.dropped == 0:
            client.step()
        go_on.set()
        self.assertEqual(self.within_patience(lambda: list(batches)), [])

    def test_ready_comes_behind_the_rest_of_a_line(self):
        server, client = self.serve()

        def dialogue():
            server.read_until("ready")
            server.send(SETTING)
            self.assertEqual([server.read()["type"] for _ in range(3)], ["begin", "step", "ready"])
            server.send({"type": "done"})

        self.talk(server, dialogue)
        batches = client.batches()
        next(batches)
        wire = client._link._socket
        half = mock.Mock(wraps=wire, send=lambda data, flags: wire.send(data[:10], flags))
        with mock.patch.object(client._link, "_socket", half):
            client.step()
        self.assertEqual(self.within_patience(lambda: list(batches)), [])

    def test_another_threads_step_is_none_of_the_next_batch(self):
        server, client = self.serve()
        batches = client.batches()
        given = []
        waiting = threading.Thread(target=lambda: given.append(next(batches)))
        waiting.start()
        server.read_until("ready")
        client.step()
        client.begin()
        server.send(SETTING)
        waiting.join(PATIENCE_SECONDS)
        self.assertEqual(given, [64])
        self.assertEqual([line["type"] for line in server.read_all()], ["begin"])

    def test_ctrl_c_while_it_waits_is_the_scripts(self):
        server, client = self.serve()
        client._open(session=True)
        with mock.patch.object(client._link, "_receive", side_effect=KeyboardInterrupt):
            with self.assertRaises(KeyboardInterrupt):
                next(client.batches())
        self.assertIs(client.enough(), True)
        self.assertIsNotNone(server.read_until("ready"))
        self.assertIsNone(server.read())

    def test_after_a_step_there_is_no_session(self):
        server, client = self.serve(SWEETSPOT_BATCH="24")
        client.step()
        self.assertEqual(list(client.batches()), [24])
        self.assertEqual([server.read()["type"] for _ in range(3)], ["hello", "step", "begin"])

    def test_enough_outside_a_session_ends_nothing(self):
        server, client = self.serve()
        client.begin()
        server.accept()
        server.send({"type": "enough"})
        self.assertIs(client.step(), False)
        self.assertIs(client.enough(), False)


class Ranks(TestCase):
    def test_only_the_first_talks(self):
        for name in ("RANK", "LOCAL_RANK", "SLURM_PROCID"):
            with mock.patch.dict(os.environ, {name: "1", "SWEETSPOT_BATCH": "24"}):
                server, client = self.serve()
                client.begin()
                self.assertIs(client.step(), False)
                self.assertEqual(list(client.batches(8)), [24])
                self.assertTrue(server.nobody_connected())
            with mock.patch.dict(os.environ, {name: "0"}):
                server, client = self.serve()
                client.step()
                self.assertFalse(server.nobody_connected())

    def test_the_rank_of_all_processes_decides(self):
        for rank, local, silent in (("4", "0", True), ("0", "1", False)):
            with mock.patch.dict(os.environ, {"RANK": rank, "LOCAL_RANK": local}):
                server, client = self.serve()
                client.step()
                self.assertEqual(server.nobody_connected(), silent)

    def test_several_processes_have_no_session(self):
        server, client = self.serve(RANK="0", WORLD_SIZE="2", SWEETSPOT_BATCH="24")
        self.assertEqual(list(client.batches()), [24])
        self.assertIs(server.read()["session"], False)
        self.assertEqual(server.read()["type"], "begin")


class Devices(TestCase):
    def fake_torch(self, initialized=True):
        cuda = mock.Mock()
        cuda.is_initialized.return_value = initialized
        cuda.current_device.return_value = 2
        cuda.max_memory_reserved.return_value = 1 << 30
        cuda.memory_allocated.return_value = cuda.max_memory_allocated.return_value = 0
        cuda.memory_reserved.return_value = 1 << 20
        cuda.mem_get_info.return_value = (7 << 30, 8 << 30)
        cuda.get_per_process_memory_fraction.return_value = 1.0
        torch = types.SimpleNamespace(cuda=cuda)
        sys.modules["torch"] = torch
        return torch

    def test_cuda_is_waited_for_before_the_time_is_taken(self):
        torch = self.fake_torch()
        server, client = self.serve()
        now = [1.0]
        torch.cuda.synchronize.side_effect = lambda: now.__setitem__(0, now[0] + 10)
        with mock.patch("time.monotonic", lambda: now[0]):
            client.begin()
            client.step()
        self.assertEqual(server.read_until("begin")["at_seconds"], 11.0)
        self.assertEqual(server.read_until("step")["at_seconds"], 21.0)

    def test_cuda_that_is_not_used_is_left_alone(self):
        torch = self.fake_torch(initialized=False)
        server, client = self.serve()
        client.step()
        self.assertEqual({call[0] for call in torch.cuda.method_calls}, {"is_initialized"})

    def test_apples_devices_are_waited_for(self):
        torch = self.fake_torch(initialized=False)
        torch.mps = mock.Mock()
        torch.backends = mock.Mock()
        torch.backends.mps.is_available.return_value = True
        _, client = self.serve()
        client.step()
        torch.mps.synchronize.assert_called_once_with()

    def fake_jax(self, **bridge):
        sys.modules["jax"] = jax = mock.Mock()
        sys.modules["jax._src.xla_bridge"] = types.SimpleNamespace(**bridge)
        jax.live_arrays.return_value = ["weights"]
        return jax

    def test_jax_is_waited_for(self):
        for bridge in ({"backends_are_initialized": lambda: True}, {"_backends": {"cpu": 1}}):
            jax = self.fake_jax(**bridge)
            _, client = self.serve()
            client.step()
            jax.block_until_ready.assert_called_once_with(["weights"])

    def test_jax_that_is_only_imported_is_not_started(self):
        for bridge in ({"backends_are_initialized": lambda: False}, {"_backends": {}}):
            jax = self.fake_jax(**bridge)
            _, client = self.serve()
            client.step()
            self.assertEqual(jax.mock_calls, [])

    def test_peak_memory_after_the_first_steps_then_ten_times_a_second(self):
        self.fake_torch()
        server, client = self.serve()
        now = [0.0]
        with mock.patch("time.monotonic", lambda: now[0]):
            client.begin()
            for now[0] in (4.98, 4.99, 5.0, 5.05, 5.09, 5.11, 5.16, 5.26):
                client.step()
        server.accept()
        lines = server.read_all()
        kinds = [line["type"] for line in lines]
        self.assertEqual(kinds, ["hello", "begin"] + 3 * ["step", "memory"] + [
            "step", "step", "step", "memory", "step", "step", "memory"])
        self.assertEqual(lines[3], {
            "type": "memory", "device": "cuda:2", "peak_bytes": 1 << 30, "allocated_bytes": 0,
            "capacity_bytes": (7 << 30) + (1 << 20), "how": "torch.cuda.max_memory_reserved"})

    def told_capacity(self, torch):
        server, client = self.serve()
        client.step()
        return server.read_until("memory").get("capacity_bytes")

    def test_a_cap_on_torchs_memory_is_told(self):
        torch = self.fake_torch()
        torch.cuda.get_per_process_memory_fraction.return_value = 0.25
        self.assertEqual(self.told_capacity(torch), 2 << 30)
        del torch.cuda.get_per_process_memory_fraction  # before PyTorch 2.8
        self.assertEqual(self.told_capacity(torch), (7 << 30) + (1 << 20))
        torch.cuda.mem_get_info.side_effect = RuntimeError("not on this build")
        self.assertIsNone(self.told_capacity(torch))

    def test_jax_tells_its_peak_where_it_grew(self):
        jax = self.fake_jax(backends_are_initialized=lambda: True)
        stats = {"peak_bytes_in_use": 5000, "bytes_limit": 9000}
        gpu = types.SimpleNamespace(platform="gpu", id=1, memory_stats=lambda: stats)
        cpu = types.SimpleNamespace(platform="cpu", id=0, memory_stats=lambda: None)
        jax.local_devices.return_value = [cpu, gpu]
        server, client = self.serve()
        told = []

        def dialogue():
            while True:
                line = server.read()
                if line["type"] == "memory":
                    told.append(line)
                if line["type"] == "ready":
                    told.append("ready")
                    done = told.count("ready") == 3
                    server.send({"type": "done"} if done else SETTING)
                    if done:
                        return

        thread = threading.Thread(target=dialogue)
        thread.start()
        for peak, _ in zip((5000, 7000), client.batches()):
            stats["peak_bytes_in_use"] = peak
            client.step()
        for _ in client.batches():
            pass
        thread.join(PATIENCE_SECONDS)
        memory = {"type": "memory", "device": "gpu:1", "peak_bytes": 7000, "capacity_bytes": 9000,
                  "how": "jax.Device.memory_stats"}
        self.assertEqual(told, [dict(memory, peak_bytes=5000), "ready", "ready", memory, memory,
                                "ready"], "the second batch took no more than there was before")

    def test_tensorflow_tells_its_peak_once_it_runs(self):
        tensorflow = mock.Mock()
        context = types.SimpleNamespace(_initialized=False)
        sys.modules["tensorflow"] = tensorflow
        sys.modules["tensorflow.python.eager.context"] = types.SimpleNamespace(
            context_safe=lambda: context)
        tensorflow.config.list_logical_devices.return_value = [mock.Mock(), mock.Mock()]
        experimental = tensorflow.config.experimental
        experimental.get_memory_info.side_effect = [{"peak": 10}, {"peak": 20}]
        server, client = self.serve()
        client.step()
        self.assertEqual(tensorflow.mock_calls, [], "to ask would start it")
        context._initialized = True
        client.step()
        self.assertEqual(server.read_until("memory"), {
            "type": "memory", "device": "cuda:1", "peak_bytes": 20,
            "how": "tf.config.experimental.get_memory_info"})

    def ask_for(self, settings, server):
        """Answers a session with this many settings; the thread that does, and what it read."""
        kinds = []

        def dialogue():
            while True:
                line = server.read()
                kinds.append(line["type"])
                if line["type"] == "ready":
                    done = kinds.count("ready") > settings
                    server.send({"type": "done"} if done else SETTING)
                    if done:
                        return

        thread = threading.Thread(target=dialogue)
        thread.start()
        return thread, kinds

    def test_each_batch_of_a_session_has_its_own_peak(self):
        torch = self.fake_torch()
        server, client = self.serve()
        thread, kinds = self.ask_for(2, server)
        frees = []
        with mock.patch("gc.collect", lambda: frees.append(len(kinds))):
            for _ in client.batches():
                torch.cuda.reset_peak_memory_stats.assert_called_once_with()
                torch.cuda.empty_cache.assert_called_once_with()
                torch.cuda.reset_mock()
                client.step()
        thread.join(PATIENCE_SECONDS)
        self.assertEqual(frees, [], "nothing was left allocated")
        self.assertEqual(kinds, ["hello", "memory", "ready", "begin", "step", "memory",
                                 "memory", "ready", "begin", "step", "memory", "memory", "ready"])

    def test_garbage_is_collected_where_memory_did_not_come_back(self):
        torch = self.fake_torch()
        server, client = self.serve()
        thread, _ = self.ask_for(4, server)
        frees = []
        kept = iter([100, 100, 300, 300])  # after each batch; the first makes an optimizer's state
        with mock.patch("gc.collect", lambda: frees.append(torch.cuda.memory_allocated())):
            for _ in client.batches():
                client.step()
                torch.cuda.memory_allocated.return_value = next(kept)
        thread.join(PATIENCE_SECONDS)
        self.assertEqual(frees, [100, 300])

    def test_an_error_of_the_device_is_not_raised_here(self):
        torch = self.fake_torch()
        torch.cuda.synchronize.side_effect = RuntimeError("CUDA error")
        server, client = self.serve()
        self.assertIs(client.step(), False)
        self.assertIsNone(client._link._socket)


class Callbacks(TestCase):
    def fake_framework(self, name, **contents):
        parts = name.split(".")
        for i in range(1, len(parts) + 1):
            sys.modules[".".join(parts[:i])] = types.ModuleType(".".join(parts[:i]))
        vars(sys.modules[name]).update(contents)

    def said(self, server):
        """begin as "begin", a step as its samples."""
        if server.connection is None:
            server.accept()
        return [line.get("samples") if line["type"] == "step" else line["type"]
                for line in server.read_all() if line["type"] != "hello"]

    def answer_enough(self, server, client):
        """The client is in a session and its batch is measured."""
        thread = threading.Thread(target=lambda: (server.read_until("ready"), server.send(SETTING),
                                                  server.send({"type": "enough"})))
        thread.start()
        next(client.batches())
        thread.join()

    def keras(self, client, accumulated=None):
        callback = client.keras_callback()
        callback.model = types.SimpleNamespace(
            optimizer=types.SimpleNamespace(gradient_accumulation_steps=accumulated),
            stop_training=False)
        return callback

    def test_keras(self):
        class Callback:
            pass

        self.fake_framework("keras.callbacks", Callback=Callback)
        server, client = self.serve()
        callback = self.keras(client)
        self.assertIsInstance(callback, Callback)
        callback.on_train_begin()
        for epoch in range(2):
            callback.on_epoch_begin(epoch)
            callback.on_train_batch_end(0, {"loss": 1.0})
            callback.on_train_batch_end(1)
            callback.on_test_end()
        self.assertEqual(self.said(server), ["begin"] + [None, None, "begin"] * 2)

    def test_keras_that_accumulates(self):
        self.fake_framework("keras.callbacks", Callback=object)
        server, client = self.serve()
        callback = self.keras(client, accumulated=3)
        callback.on_train_begin()
        callback.on_epoch_begin(0)
        for batch in range(7):
            callback.on_train_batch_end(batch)
        self.assertEqual(self.said(server), ["begin", None, None])

    def test_keras_that_runs_several_steps_at_once(self):
        self.fake_framework("keras.callbacks", Callback=object)
        server, client = self.serve(SWEETSPOT_BATCH="10")
        callback = self.keras(client)
        callback.on_epoch_begin(0)
        callback.on_train_batch_end(3)
        callback.on_train_batch_end(7)
        callback.on_train_batch_end(8)
        server.accept()
        steps = [line for line in server.read_all() if line["type"] == "step"]
        self.assertEqual([step.get("updates", 1) for step in steps], [4, 4, 1])
        self.assertNotIn("samples", steps[0])  # four times the setting's batch

    def test_keras_stops_when_measured(self):
        self.fake_framework("keras.callbacks", Callback=object)
        server, client = self.serve()
        callback = self.keras(client)
        self.answer_enough(server, client)
        callback.on_train_batch_end(0)
        self.assertIs(callback.model.stop_training, True)

    def test_the_keras_that_is_loaded_is_taken(self):
        loaded, other = type("Loaded", (), {}), type("Other", (), {})
        self.fake_framework("tf_keras.callbacks", Callback=loaded)
        sys.modules.pop("keras", None)
        client = load()
        real = client.importlib.import_module

        def installed(name):
            if name == "keras.callbacks":
                return types.SimpleNamespace(Callback=other)
            return real(name)

        with mock.patch.object(client.importlib, "import_module", installed):
            self.assertIsInstance(client.keras_callback(), loaded)

    def lightning_trainer(self, **values):
        trainer = types.SimpleNamespace(global_step=0, world_size=2, should_stop=False,
                                        train_dataloader=types.SimpleNamespace(batch_size=16))
        vars(trainer).update(values)
        return trainer

    def test_lightning_counts_weight_updates(self):
        for name in ("lightning.pytorch", "pytorch_lightning"):
            with mock.patch.dict(sys.modules):
                self.fake_framework(name, Callback=object)
                server, client = self.serve()
                callback = client.lightning_callback()
                trainer = self.lightning_trainer()
                callback.on_train_start(trainer, None)
                for updates in (0, 1, 1, 2, 3):  # the last group of an epoch is a short one
                    trainer.global_step = updates
                    callback.on_train_batch_end(trainer, None, {}, None, 0)
                callback.on_validation_end(trainer, None)
                self.assertEqual(self.said(server), ["begin", 64, 64, 32, "begin"])

    def test_lightning_with_batches_of_unknown_size(self):
        self.fake_framework("lightning.pytorch", Callback=object)
        server, client = self.serve()
        callback = client.lightning_callback()
        trainer = self.lightning_trainer(train_dataloader=[1, 2], global_step=1)
        callback.on_train_batch_end(trainer, None, {}, None, 0)
        self.assertEqual(self.said(server), [None])

    def test_lightning_stops_when_measured(self):
        self.fake_framework("lightning.pytorch", Callback=object)
        server, client = self.serve()
        self.answer_enough(server, client)
        trainer = self.lightning_trainer(global_step=1)
        client.lightning_callback().on_train_batch_end(trainer, None, {}, None, 0)
        self.assertIs(trainer.should_stop, True)

    def test_lightnings_callback_survives_a_pickle(self):
        self.fake_framework("lightning.pytorch", Callback=object)
        pickled = pickle.dumps(load().lightning_callback())
        load()  # as in the process that lightning spawns
        self.assertEqual(type(pickle.loads(pickled)).__name__, "LightningCallback")

    def hf_call(self, callback, event, control=None, **state):
        args = types.SimpleNamespace(per_device_train_batch_size=8, gradient_accumulation_steps=4,
                                     world_size=2, n_gpu=1)
        getattr(callback, event)(args, types.SimpleNamespace(**state), control, model=None)

    def test_hugging_face(self):
        self.fake_framework("transformers", TrainerCallback=object)
        server, client = self.serve()
        callback = client.hf_callback()
        self.hf_call(callback, "on_train_begin")
        self.hf_call(callback, "on_step_end")
        self.hf_call(callback, "on_step_end", train_batch_size=4)  # auto_find_batch_size halved it
        self.hf_call(callback, "on_evaluate")
        self.hf_call(callback, "on_save")
        self.assertEqual(self.said(server), ["begin", 64, 32, "begin", "begin"])

    def test_hugging_face_stops_when_measured(self):
        self.fake_framework("transformers", TrainerCallback=object)
        server, client = self.serve()
        self.answer_enough(server, client)
        control = types.SimpleNamespace(should_training_stop=False)
        self.hf_call(client.hf_callback(), "on_step_end", control)
        self.assertIs(control.should_training_stop, True)

    def ultralytics(self, client):
        events = {}
        model = types.SimpleNamespace(
            add_callback=lambda event, function: events.setdefault(event, function))
        self.assertIs(client.ultralytics_callbacks(model), model)
        return events

    def test_ultralytics(self):
        server, client = self.serve()
        events = self.ultralytics(client)
        trainer = types.SimpleNamespace(batch_size=16, stop=False)
        events["on_train_start"](trainer)
        events["on_train_batch_end"](trainer)
        events["on_fit_epoch_end"](trainer)
        self.assertEqual(self.said(server), ["begin", 16, "begin"])
        self.assertIs(trainer.stop, False)

    def test_ultralytics_stops_when_measured(self):
        server, client = self.serve()
        self.answer_enough(server, client)
        trainer = types.SimpleNamespace(batch_size=16, stop=False)
        self.ultralytics(client)["on_train_batch_end"](trainer)
        self.assertIs(trainer.stop, True)

    def test_a_framework_that_changed_does_not_end_the_training(self):
        self.fake_framework("lightning.pytorch", Callback=object)
        server, client = self.serve()
        callback = client.lightning_callback()
        client.begin()
        callback.on_train_batch_end(object(), None, {}, None, 0)
        self.assertIsNone(client._link._socket)

    def test_a_framework_that_is_not_there_is_named(self):
        client = load()
        with mock.patch.dict(sys.modules, {"transformers": None}):
            self.assertRaisesRegex(ImportError, "transformers", client.hf_callback)

    def test_callbacks_do_nothing_outside(self):
        self.fake_framework("transformers", TrainerCallback=object)
        client = load()
        with mock.patch("socket.socket", side_effect=AssertionError("a socket was made")):
            self.hf_call(client.hf_callback(), "on_train_begin")
            self.hf_call(client.hf_callback(), "on_step_end")


if __name__ == "__main__":
    unittest.main()
